"""Random allocation on the command line: priced, checked, compared, solved for, saved; bad input refused by name."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dosimeter.cli.app import app
from dosimeter.events import Gaussian, RandomAllocation, event_from_json, event_to_json
from dosimeter.pld.accountant import Accountant

SAMPLE: dict[str, Any] = {"batching": "allocation", "steps": 100, "selected": 1}
PASS: dict[str, Any] = {"mechanism": "gaussian", "noise_multiplier": "1", "sample": SAMPLE, "count": 3}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def plan(*steps: dict[str, Any], relation: str = "add_remove") -> str:
    Path("plan.json").write_text(json.dumps({"relation": relation, "delta": "1e-6", "steps": list(steps)}))
    return "plan.json"


def run(*args: str) -> Any:
    return CliRunner().invoke(app, list(args))


def said(*args: str) -> Any:
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_a_pass_is_priced_and_checked_by_two_engines() -> None:
    """epsilon at a delta, delta at an epsilon: the second engine's interval holds the first one's."""
    account = Accountant()
    account.append(RandomAllocation(100, 1, Gaussian(1)), 3)
    exact = account.epsilon("1e-6")
    priced = said("account", plan(PASS), "--check")
    assert [priced["at_epsilon"][end] for end in ("lower", "upper")] == [str(exact.lower), str(exact.upper)]
    level = said("account", plan(PASS), "--check", "--epsilon", "1")
    for first, second in ((priced["at_epsilon"], priced["check_epsilon"]), (level["delta"], level["check_delta"])):
        assert Decimal(second["lower"]) <= Decimal(first["lower"])
        assert Decimal(first["upper"]) <= Decimal(second["upper"])
    assert Decimal(priced["check_epsilon"]["upper"]) < Decimal(priced["check_epsilon"]["lower"]) * Decimal("1.01")


def test_theorems_are_compared() -> None:
    """The exact price and the sum of Renyi divergences, which is above it and far below known steps."""
    rows = {row["theorem"]: row for row in said("compare", plan(PASS))["theorems"]}
    exact, sums = (Decimal(rows[name]["epsilon"]) for name in ("exact (saddle line)", "rdp_sum"))
    known = said("account", plan({"mechanism": "gaussian", "noise_multiplier": "1", "count": 3}))
    assert exact < sums < Decimal(known["at_epsilon"]["lower"]) / 3


def test_noise_and_steps_can_be_the_unknown() -> None:
    """What is found meets the target, and a little less does not."""
    noisy = {**PASS, "noise_multiplier": "?"}
    found = said("calibrate", plan(noisy), "--epsilon", "1")
    assert found["unknown"] == "noise_multiplier"
    Path("filled.json").write_text(json.dumps(found["plan"]))
    reached = Decimal(said("account", "filled.json", "--delta", "1e-6")["at_epsilon"]["upper"])
    assert Decimal("0.9999") < reached <= 1
    less = {**PASS, "noise_multiplier": found["not_certified"]}
    assert Decimal(said("account", plan(less))["at_epsilon"]["upper"]) > 1


def test_the_event_of_a_plan_survives_json() -> None:
    """What `account --json` prints is the event, and reads back to the same price."""
    (step,) = said("account", plan(PASS))["plan"]["steps"]
    event = event_from_json(step["event"])
    assert event_from_json(json.loads(json.dumps(event_to_json(event)))) == event
    again = Accountant()
    again.append(event, step["count"])
    assert str(again.epsilon("1e-6").upper) == said("account", plan(PASS))["at_epsilon"]["upper"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"steps": 0}, "steps=0"),
        ({"steps": "2.5"}, "steps="),
        ({"steps": "many"}, "steps="),
        ({"steps": 10**13}, "steps=10000000000000"),
        ({"steps": None}, "steps"),
        ({"steps": True}, "steps"),
        ({"selected": 101}, "selected=101"),
        ({"selected": 0}, "selected=0"),
        ({"selected": -1}, "selected"),
        ({"selected": "nan"}, "selected="),
        ({"rate": "0.1"}, "rate"),
        ({"probability": "0.1"}, "probability"),
        ({"batching": "alocation"}, "alocation"),
    ],
)
def test_bad_numbers_are_refused_by_name(change: dict[str, Any], named: str) -> None:
    """Out of range, not whole, missing, misspelt, of another scheme: the step and the key are named, nothing priced."""
    sample = {key: value for key, value in {**SAMPLE, **change}.items() if value is not None}
    result = run("account", plan(PASS, {**PASS, "sample": sample}))
    assert result.exit_code != 0
    assert "step 2" in result.output
    assert named in result.output
    assert "Traceback" not in result.output


def test_other_relations_are_refused_and_other_noise_has_a_weaker_price() -> None:
    """Replacing a record is another question; without a pair of its own, an allocation costs what known steps cost."""
    replaced = run("account", plan(PASS, relation="replace_one"))
    assert replaced.exit_code != 0
    assert "add_remove" in replaced.output
    laplace = {"mechanism": "laplace", "scale": "3", "l1_sensitivity": "1", "sample": SAMPLE}
    other = said("account", plan(laplace))
    known = said("account", plan({"mechanism": "laplace", "scale": "3", "l1_sensitivity": "1"}))
    assert (other["engine"], other["at_epsilon"]["lower"]) == ("notions_folded", "0")  # a bound, and said to be one
    assert Decimal(known["at_epsilon"]["lower"]) <= Decimal(other["at_epsilon"]["upper"]) <= Decimal("0.3333333334")
    assert said("account", plan(PASS, relation="zero_out"))["at_epsilon"] == said("account", plan(PASS))["at_epsilon"]

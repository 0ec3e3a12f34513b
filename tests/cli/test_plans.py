"""Plans fixed in advance on the command line: exact prices, calibration, theorems side by side."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dosimeter.cli.app import app
from dosimeter.exact import Bound

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan(step: dict[str, Any], **more: Any) -> str:
    """Write a plan of one step, and return its name."""
    Path("plan.json").write_text(json.dumps({"relation": "add_remove", "steps": [step], **more}))
    return "plan.json"


def run(*words: str, code: int = 0) -> str:
    """What a command printed."""
    result = RUNNER.invoke(app, list(words))
    assert result.exit_code == code, result.output + result.stderr
    assert "Traceback" not in result.output + result.stderr
    return result.output if code == 0 else result.output + result.stderr


def run_json(*words: str) -> Any:
    """What a command printed as JSON."""
    return json.loads(run(*words, "--json"))


SGD = {
    "mechanism": "gaussian",
    "noise_multiplier": "1",
    "count": 300,
    "sample": {"batching": "poisson", "probability": "0.01"},
}


@pytest.mark.parametrize(
    ("step", "delta", "epsilon"),
    [
        ({"mechanism": "gaussian", "noise_multiplier": "20", "count": 1000}, "1e-5", "7.51127590074"),
        ({"mechanism": "gaussian", "noise_multiplier": "20", "count": 1000}, "1e-100", "34.6877277464"),
        ({"mechanism": "randomized_response", "epsilon": "0.1", "count": 1000}, "1e-6", "19.3446714480"),
        (SGD, "1e-5", "1.068091114"),
    ],
)
def test_a_plan_has_an_exact_price(step: dict[str, Any], delta: str, epsilon: str) -> None:
    """The bounds enclose the known value to all its digits, and are tight."""
    ends = run_json("account", plan(step), "--delta", delta)["at_epsilon"]
    lower, upper, truth = Decimal(ends["lower"]), Decimal(ends["upper"]), Decimal(epsilon)
    assert lower <= truth * (1 + Decimal("1e-9"))
    assert truth * (1 - Decimal("1e-9")) <= upper
    assert (upper - lower) / truth < Decimal("1e-6")


def test_delta_and_epsilon_agree() -> None:
    """Reading the delta at the epsilon just found gives the delta asked for."""
    name = plan(SGD, delta="1e-5", title="training")
    epsilon = run_json("account", name)["at_epsilon"]["upper"]
    delta = run_json("account", name, "--epsilon", epsilon)["delta"]
    assert Decimal(delta["lower"]) <= Decimal("1e-5") * (1 + Decimal("1e-6"))
    assert Decimal(delta["upper"]) >= Decimal("1e-5") * (1 - Decimal("1e-6"))
    assert "training" in run("account", name)


def test_a_plan_has_a_price_for_groups() -> None:
    """--group 3: three times the sensitivity, and who has coins of their own decides about sampled steps."""
    gaussian = {"mechanism": "gaussian", "noise_multiplier": "3"}
    said = run_json("account", plan(gaussian), "--delta", "1e-5", "--group", "3")
    assert Decimal(said["at_epsilon"]["upper"]) == pytest.approx(Decimal("4.37717809568"), rel=Decimal("1e-9"))
    prices = [
        Decimal(run_json("account", plan(SGD), "--delta", "1e-5", *words)["at_epsilon"]["upper"])
        for words in ((), ("--group", "2", "--group-sampling", "groups"), ("--group", "2"))
    ]
    assert prices[0] < prices[1]
    assert prices[0] < prices[2]
    assert float(prices[2]) == pytest.approx(2.39652, rel=1e-4)  # the events alone would say 3.7076
    assert "by profile_of_a_group" in run("account", plan(SGD), "--delta", "1e-5", "--group", "2")
    assert "groups of 3" in run("account", plan(gaussian), "--delta", "1e-5", "--group", "3")
    assert "size=0" in run("account", plan(SGD), "--delta", "1e-5", "--group", "0", code=1)
    assert "sampling" in run("account", plan(SGD), "--delta", "1e-5", "--group", "2", "--group-sampling", "x", code=1)


def test_a_second_engine_is_asked_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """--check shows the other engine's interval, which meets the first; a contradiction is one sentence and code 1."""
    said = run_json("account", plan(SGD), "--delta", "1e-5", "--epsilon", "1", "--check")
    for first, second in (("at_epsilon", "check_epsilon"), ("delta", "check_delta")):
        assert Decimal(said[second]["lower"]) <= Decimal(said[first]["upper"])
        assert Decimal(said[first]["lower"]) <= Decimal(said[second]["upper"])
    assert "second engine" in run("account", plan(SGD), "--delta", "1e-5", "--check")
    assert "check_epsilon" not in run_json("account", plan(SGD), "--delta", "1e-5")

    def wrong(*_: Any, **__: Any) -> Bound:
        return Bound(Decimal(2), Decimal(3))

    monkeypatch.setattr("dosimeter.pld.cross_check.tilted_epsilon", wrong)
    assert "contradict each other" in run("account", plan(SGD), "--delta", "1e-5", "--check", code=1)


@pytest.mark.parametrize(
    ("step", "value"),
    [
        ({"mechanism": "gaussian", "noise_multiplier": "?"}, "4.22467888932684"),
        ({"mechanism": "gaussian", "sigma": "?", "l2_sensitivity": "2"}, "8.44935777865368"),
        ({"mechanism": "laplace", "scale": "?", "l1_sensitivity": "1"}, "0.99999"),
        ({"mechanism": "gaussian", "noise_multiplier": "20", "count": "?"}, "22"),
        ({"mechanism": "gaussian", "sigma": "10", "l2_sensitivity": "?"}, "2.36704"),
    ],
)
def test_the_unknown_is_found_on_the_safe_side(step: dict[str, Any], value: str) -> None:
    """The value found meets the target by certificate, and agrees with what is known."""
    found = run_json("calibrate", plan(step), "--epsilon", "1", "--delta", "1e-6")
    assert Decimal(found["epsilon"]["upper"]) <= 1
    assert float(found["value"]) == pytest.approx(float(value), rel=1e-4)
    assert found["not_certified"] is not None
    filled = found["plan"]
    Path("filled.json").write_text(json.dumps(filled))
    again = run_json("account", "filled.json", "--delta", "1e-6")["at_epsilon"]
    assert Decimal(again["upper"]) <= 1


def test_training_noise_and_sampling_are_found() -> None:
    """Noise, probability and steps of a sampled plan are each found from the others."""
    noise = run_json(
        "calibrate", plan({**SGD, "noise_multiplier": "?", "count": 1000}), "--epsilon", "1", "--delta", "1e-5"
    )
    assert float(noise["value"]) == pytest.approx(1.41461941, rel=1e-7)
    step = {**SGD, "noise_multiplier": "1.41461941", "count": 1000}
    sampled = {**step, "sample": {"batching": "poisson", "probability": "?"}}
    assert float(run_json("calibrate", plan(sampled), "--epsilon", "1", "--delta", "1e-5")["value"]) == pytest.approx(
        0.01, rel=1e-6
    )
    assert int(run_json("calibrate", plan({**step, "count": "?"}), "--epsilon", "1", "--delta", "1e-5")["value"]) in (
        999,
        1000,
    )


LAPLACE = {"mechanism": "laplace", "scale": "20", "l1_sensitivity": "1", "count": 2}
NESTED = {
    "kind": "composed",
    "events": [
        {"kind": "repeated", "count": 3, "event": {"kind": "gaussian", "sigma": "?", "l2_sensitivity": "1"}},
        {"kind": "laplace", "scale": "20", "l1_sensitivity": "1"},
    ],
}
BATCHES = {"mechanism": "gaussian", "sigma": "1.1", "l2_sensitivity": "2", "count": 1000}


def exchanged(**sizes: Any) -> dict[str, Any]:
    """A training run on batches of fixed size."""
    return {**BATCHES, "sample": {"batching": "fixed_size", **sizes}}


@pytest.mark.parametrize(
    ("steps", "relation", "unknown", "whole"),
    [
        ([{**SGD, "noise_multiplier": "?"}, LAPLACE], "add_remove", "noise_multiplier", False),
        ([{"event": NESTED, "count": 2}], "add_remove", "sigma", False),
        (
            [{"mechanism": "gaussian", "sigma": "20", "l2_sensitivity": "?"}, LAPLACE],
            "add_remove",
            "l2_sensitivity",
            False,
        ),
        ([{"mechanism": "randomized_response", "epsilon": "?", "count": 50}], "add_remove", "epsilon", False),
        (
            [
                {"mechanism": "randomized_response", "epsilon": "0.3", "delta": "?"},
                {"mechanism": "gaussian", "noise_multiplier": "5"},
            ],
            "add_remove",
            "delta",
            False,
        ),
        ([{**SGD, "count": "?"}, LAPLACE], "add_remove", "count", True),
        ([{**SGD, "sample": {"batching": "poisson", "probability": "?"}}], "add_remove", "probability", False),
        (
            [{**SGD, "sample": {"batching": "poisson", "expected_batch_size": "?", "population": 60000}}],
            "add_remove",
            "expected_batch_size",
            True,
        ),
        ([exchanged(batch_size="?", population=60000)], "replace_one", "batch_size", True),
        ([exchanged(batch_size=20, population="?")], "replace_one", "population", True),
        (
            [
                {
                    "mechanism": "gaussian",
                    "noise_multiplier": "9",
                    "sample": {"batching": "allocation", "steps": 30, "selected": "?"},
                }
            ],
            "add_remove",
            "selected",
            True,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_any_number_of_a_plan_can_be_the_unknown(
    steps: list[dict[str, Any]], relation: str, unknown: str, whole: bool
) -> None:
    """Every key, in every kind of step: the filled plan costs at most the target, and is nearly all of it."""
    Path("plan.json").write_text(json.dumps({"relation": relation, "delta": "1e-5", "steps": steps}))
    found = run_json("calibrate", "plan.json", "--epsilon", "1")
    assert found["unknown"] == unknown
    assert found["way"] == "privacy_loss_distribution"
    Path("filled.json").write_text(json.dumps(found["plan"]))
    again = Decimal(run_json("account", "filled.json", "--delta", "1e-5")["at_epsilon"]["upper"])
    assert again <= 1
    assert again >= (Decimal("0.9") if whole else 1 - Decimal("2e-6"))
    assert found["not_certified"] is not None
    if whole:
        assert abs(int(found["not_certified"]) - int(found["value"])) == 1


def test_epsilon_or_delta_can_be_the_unknown() -> None:
    """--epsilon ? and --delta ? turn the question round, and agree with each other."""
    name = plan(SGD)
    epsilon = run_json("calibrate", name, "--epsilon", "?", "--delta", "1e-5")
    assert epsilon["unknown"] == "epsilon"
    assert float(epsilon["value"]) == pytest.approx(1.068091114, rel=1e-8)
    delta = run_json("calibrate", name, "--epsilon", epsilon["value"], "--delta", "?")
    assert float(delta["value"]) == pytest.approx(1e-5, rel=1e-6)
    assert run_json("calibrate", plan(SGD, delta="?"), "--epsilon", epsilon["value"])["value"] == delta["value"]
    assert "delta = 1." in run("calibrate", name, "--epsilon", "1", "--delta", "?")
    assert "epsilon = 1.068" in run("calibrate", name, "--epsilon", "?", "--delta", "1e-5")


def test_groups_and_epsilon_zero_are_calibrated_for() -> None:
    """A group of two needs twice the noise; at epsilon 0 noise limits the advantage."""
    gaussian = plan({"mechanism": "gaussian", "noise_multiplier": "?"})
    two = run_json("calibrate", gaussian, "--epsilon", "1", "--delta", "1e-6", "--group", "2")
    assert float(two["value"]) == pytest.approx(2 * 4.22467888932684, rel=1e-8)
    none = run_json("calibrate", gaussian, "--epsilon", "0", "--delta", "1e-5")
    assert float(none["value"]) == pytest.approx(39894.228, rel=1e-7)


def test_a_plan_without_a_law_is_calibrated_by_a_theorem() -> None:
    """The answer says that it is a bound, and which theorem holds it."""
    name = plan({"mechanism": "discrete_gaussian", "sigma": "?", "l2_sensitivity": "3", "count": 5})
    assert run_json("calibrate", name, "--epsilon", "1", "--delta", "1e-6")["way"] == "zcdp_sum"
    assert "priced by zcdp_sum" in run("calibrate", name, "--epsilon", "1", "--delta", "1e-6")
    wide = plan({"mechanism": "gaussian", "noise_multiplier": "?"})
    assert "whole range" in run("calibrate", wide, "--epsilon", "1e12", "--delta", "1e-6")


def test_a_plan_without_a_law_has_a_price_by_a_theorem() -> None:
    """An integer vector is priced by what zCDP says of it, and the answer says so; a delta of it is not made up."""
    name = plan({"mechanism": "discrete_gaussian", "sigma": "30.4", "l2_sensitivity": "3", "count": 5})
    said = run_json("account", name, "--delta", "1e-6")
    assert said["engine"] == "zcdp_sum"
    assert Decimal("0.99") < Decimal(said["at_epsilon"]["upper"]) < 1
    assert "which only bounds it" in run("account", name, "--delta", "1e-6")
    assert "account in zCDP" in run("account", name, "--epsilon", "1", code=1)


def test_theorems_stand_side_by_side() -> None:
    """The exact price is below every theorem; theorems keep their known order; the figure is drawn."""
    name = plan({"mechanism": "randomized_response", "epsilon": "0.1", "count": 100}, delta="1e-5")
    rows = {row["theorem"]: row["epsilon"] for row in run_json("compare", name, "--figure", "c.svg")["theorems"]}
    exact = Decimal(rows.pop("exact (saddle line)"))
    assert exact == pytest.approx(Decimal("4.30679137251651"), rel=Decimal("1e-9"))
    assert all(exact <= Decimal(epsilon) * (1 + Decimal("1e-9")) for epsilon in rows.values() if epsilon)
    assert Decimal(rows["optimal_homogeneous"]) < Decimal(rows["advanced_zcdp"]) < Decimal(rows["basic"])
    ET.parse("c.svg")
    assert "optimal_homogeneous" in run("compare", name)


def test_sampled_plans_are_compared_by_their_divergences() -> None:
    """For sampled steps the Renyi sum stands beside the exact price, above it."""
    rows = {r["theorem"]: r["epsilon"] for r in run_json("compare", plan(SGD), "--delta", "1e-5")["theorems"]}
    assert Decimal(rows["exact (saddle line)"]) < Decimal(rows["rdp_sum"]) < 2 * Decimal(rows["exact (saddle line)"])


def test_a_profile_is_drawn() -> None:
    """The figure of a plan is a valid drawing with its profile."""
    run("account", plan(SGD, delta="1e-5"), "--figure", "profile.svg")
    assert len(list(ET.parse("profile.svg").getroot().iter())) > 10


@pytest.mark.parametrize(
    ("words", "step", "say"),
    [
        (("account",), SGD, "--delta"),
        (("account", "--delta", "0"), SGD, "delta=0"),
        (("account", "--delta", "1"), SGD, "delta"),
        (("account", "--delta", "NaN"), SGD, "delta"),
        (("account", "--delta", "1e-6"), {**SGD, "noise": 3}, "noise"),
        (("account", "--delta", "1e-6"), {"mechanism": "magic"}, "magic"),
        (("account", "--delta", "1e-6"), {**SGD, "count": 0}, "count"),
        (("account", "--delta", "1e-6"), {**SGD, "noise_multiplier": "-1"}, "step 1"),
        (("calibrate", "--epsilon", "1", "--delta", "1e-6"), SGD, "?"),
        (("calibrate", "--epsilon", "1"), {**SGD, "count": "?"}, "--delta"),
        (("calibrate", "--epsilon", "0", "--delta", "0"), {**SGD, "count": "?"}, "nothing may be learnt"),
        (("calibrate", "--epsilon", "?", "--delta", "?"), SGD, "both unknown"),
        (("calibrate", "--epsilon", "?", "--delta", "1e-6"), {**SGD, "count": "?"}, "an unknown too (count)"),
        (("calibrate", "--epsilon", "NaN", "--delta", "1e-6"), {**SGD, "count": "?"}, "epsilon"),
        (("calibrate", "--epsilon", "-1", "--delta", "1e-6"), {**SGD, "count": "?"}, "epsilon"),
        (("calibrate", "--epsilon", "inf", "--delta", "1e-6"), {**SGD, "count": "?"}, "epsilon"),
        (("calibrate", "--epsilon", "1", "--delta", "1"), {**SGD, "count": "?"}, "delta"),
        (("calibrate", "--epsilon", "1", "--delta", "0"), {**SGD, "count": "?"}, "delta=0"),
        (("calibrate", "--epsilon", "1", "--delta", "1e-6"), {**SGD, "count": "?", "noise_multiplier": "?"}, "several"),
        (("calibrate", "--epsilon", "1", "--delta", "1e-6"), {**SGD, "mechanism": "?"}, "cannot be unknown"),
        (
            ("calibrate", "--epsilon", "0.001", "--delta", "1e-9"),
            {"mechanism": "gaussian", "noise_multiplier": "1", "count": "?"},
            "no count from 1 to 1000000000 meets epsilon=0.001",
        ),
        (("compare",), SGD, "--delta"),
    ],
)
def test_bad_plans_get_one_sentence(words: tuple[str, ...], step: dict[str, Any], say: str) -> None:
    """Malformed plans, missing deltas and targets that nothing meets: what is wrong and what to do."""
    assert say in run(words[0], plan(step), *words[1:], code=1)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"relation": "add_remove"}', '{"steps": []}', "\x00\x01"])
def test_bad_files_get_one_sentence(content: str) -> None:
    """What is no plan file is said to be none."""
    Path("plan.json").write_text(content)
    assert "dosimeter:" in run("account", "plan.json", "--delta", "1e-6", code=1)
    assert "nothing.json" in run("account", "nothing.json", "--delta", "1e-6", code=1)
    assert "plan.txt" in run("account", "plan.txt", "--delta", "1e-6", code=1)

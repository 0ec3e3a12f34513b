"""Opening accounts that price whole profiles from the command line, and asking them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dosimeter.adaptive.filters import PlanResidueFilter, ResidueFilter
from dosimeter.cli.app import app
from dosimeter.cli.rules import filter_from_words
from dosimeter.errors import InputError
from dosimeter.events import Laplace, RandomizedResponse

RUNNER = CliRunner()
PLAN = """{"relation": "add_remove", "steps": [
  {"mechanism": "randomized_response", "epsilon": "0.1", "count": 20},
  {"mechanism": "laplace", "scale": "8", "l1_sensitivity": "1", "count": 5}
]}"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a few rows and a plan."""
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("person,age\n1,34\n2,51\n")
    Path("plan.json").write_text(PLAN)
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    """What a command printed."""
    result = RUNNER.invoke(app, list(words))
    assert result.exit_code == code, result.output + result.stderr
    assert "Traceback" not in result.output + result.stderr
    return result.output if code == 0 else result.output + result.stderr


def test_a_plan_opens_an_account_at_its_least_epsilon() -> None:
    """The plan, its reserve and its slack are those of the options; epsilon is found where it was left out."""
    words = ("open", "people.csv", "--plan", "plan.json", "--delta", "1e-5", "--reserve", "0.2", "--slack", "1e-6")
    opened = json.loads(run(*words, "--json"))
    steps = ((RandomizedResponse("0.1"), 20), (Laplace(8), 5))
    least = PlanResidueFilter.smallest_epsilon(steps, "1e-5", "1e-6", "0.2")
    assert opened["filter"] == PlanResidueFilter(steps, least, "1e-5", "1e-6", reserve="0.2").to_json()
    assert opened["remaining"]["steps of run 1"] == "20"
    assert "steps of run 2 5" in run("remaining")
    assert json.loads(run("audit", "--json"))["ok"]


def test_a_question_is_paid_from_the_reserve_and_stated() -> None:
    """Asked in epsilon, charged in mu squared; the statement says so and the audit proves it."""
    run("open", "people.csv", "--plan", "plan.json", "--delta", "1e-5", "--reserve", "0.2")
    run("ask", "people.csv", "count", "--epsilon", "0.2")
    assert "mu squared" in run("statement")
    assert json.loads(run("audit", "--json"))["ok"]


def test_a_gaussian_account_takes_slack_and_queries() -> None:
    """The two shares of a residue account can be set; without --filter they mean one."""
    expected = ResidueFilter("1", "1e-6", "1e-7", 50).to_json()
    options = ("--epsilon", "1", "--delta", "1e-6", "--slack", "1e-7", "--queries", "50")
    assert json.loads(run("open", "people.csv", *options, "--json"))["filter"] == expected


@pytest.mark.parametrize(
    ("word", "given", "says"),
    [
        ("residue_plan", {"delta": "1e-5"}, "needs --plan"),
        ("residue_plan", {"plan": "plan.json"}, "needs --plan"),
        ("residue_plan", {"plan": "plan.json", "delta": "1e-5", "rho": "1"}, "--rho does not belong"),
        ("residue_plan", {"plan": "plan.json", "delta": "1e-5", "epsilon": "0.1"}, "smallest_epsilon"),
        ("residue_plan", {"plan": "none.json", "delta": "1e-5"}, "cannot be read"),
        ("zcdp", {"rho": "1", "slack": "1e-7"}, "--slack does not belong"),
        ("approx", {"epsilon": "1", "delta": "1e-6", "plan": "plan.json"}, "--plan does not belong"),
    ],
)
def test_options_that_do_not_fit_are_refused(word: str, given: dict[str, Any], says: str) -> None:
    """One sentence names the option and what the kind has."""
    with pytest.raises(InputError, match=says):
        filter_from_words(word, given)

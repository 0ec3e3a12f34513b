"""Opening an account with a menu from the command line, asking it, and proving it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dosimeter.adaptive.filters import MenuFilter
from dosimeter.cli.app import app
from dosimeter.cli.rules import filter_from_words, words_of
from dosimeter.errors import InputError
from dosimeter.events import DiscreteLaplace, RandomizedResponse

RUNNER = CliRunner()
MENU = """{"relation": "add_remove", "entries": [
  {"mechanism": "randomized_response", "epsilon": "0.1", "cost": 1},
  {"mechanism": "randomized_response", "epsilon": "0.2", "cost": 4}
]}"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a few rows and a menu."""
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("person,age\n1,34\n2,51\n")
    Path("menu.json").write_text(MENU)
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    """What a command printed."""
    result = RUNNER.invoke(app, list(words))
    assert result.exit_code == code, result.output + result.stderr
    assert "Traceback" not in result.output + result.stderr
    return result.output if code == 0 else result.output + result.stderr


def test_a_menu_is_opened_asked_stated_and_audited() -> None:
    """The largest budget is found; a question is charged as the entry that covers its noise."""
    words = ("open", "people.csv", "--menu", "menu.json", "--epsilon", "1", "--delta", "1e-6")
    opened = json.loads(run(*words, "--json"))
    rule = MenuFilter.of("1", "1e-6", [RandomizedResponse("0.1"), RandomizedResponse("0.2")])
    assert opened["filter"] == rule.to_json()
    assert opened["remaining"] == {"units": str(rule.units)}
    for price, units in (("0.1", 1), ("0.15", 5), ("0.2", 9)):
        run("ask", "people.csv", "count", "--epsilon", price)
        run("ask", "people.csv", "count", "--epsilon", price)  # the same question again costs nothing
        assert json.loads(run("remaining", "--json"))["spent"] == {"units": str(units)}
    assert "menu" in run("ask", "people.csv", "count", "--epsilon", "0.3", code=1)
    assert "units 4" in run("statement")
    readings = json.loads(run("remaining", "--json"))["odometers"]
    assert 0 < float(readings[0]["bound"]) < 10
    assert json.loads(run("audit", "--json"))["ok"]
    assert "menu" in run("accounts")


def test_a_saved_menu_is_opened_and_an_altered_one_is_not() -> None:
    """`open --filter FILE` verifies the certificate before it opens anything."""
    data = MenuFilter.of("1", "1e-6", [DiscreteLaplace(20)]).to_json()
    Path("forged.json").write_text(json.dumps(data | {"units": data["units"] + 1}))
    assert "worst case" in run("open", "people.csv", "--filter", "forged.json", code=1)
    Path("filter.json").write_text(json.dumps(data))
    assert json.loads(run("open", "people.csv", "--filter", "filter.json", "--json"))["filter"] == data


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"epsilon": "1", "delta": "1e-6"}, "needs --menu"),
        ({"menu": "menu.json", "epsilon": "1"}, "needs --menu"),
        ({"menu": "menu.json", "epsilon": "1", "delta": "1e-6", "rho": "1"}, "--rho does not belong"),
        ({"menu": "none.json", "epsilon": "1", "delta": "1e-6"}, "cannot be read"),
        ({"menu": "menu.txt", "epsilon": "1", "delta": "1e-6"}, "is not a"),
    ],
)
def test_options_that_do_not_fit_are_refused(given: dict[str, Any], says: str) -> None:
    """One sentence names the option and what the kind has."""
    with pytest.raises(InputError, match=says):
        filter_from_words("menu", given)
    with pytest.raises(InputError, match="--menu does not belong"):
        filter_from_words("approx", {"menu": "menu.json", "epsilon": "1", "delta": "1e-6"})


def test_a_menu_needs_a_file_to_be_said() -> None:
    """No options say it, so `advise` has it saved."""
    assert words_of(MenuFilter.of("1", "1e-6", [RandomizedResponse("0.1")])) is None


def test_playing_against_a_menu_reaches_its_claim_and_no_more() -> None:
    """The optimal strategy against the menu filter of the boxes that are offered reaches most of what is claimed."""
    words = ("--epsilon", "1", "--delta", "0.01", "--strategy", "optimal")
    (played,) = json.loads(run("play", "--filter", "menu", *words, "--json"))
    assert played["filter"] == "menu"
    assert 0.9 * float(played["delta"]["claimed"]) < float(played["delta"]["lower"]) <= 0.01
    assert played["delta"]["verdict"] != "beaten"

"""`dosimeter advise`, and opening an account with what it recommends."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dosimeter.adaptive.filters import FILTERS
from dosimeter.cli.app import app
from dosimeter.cli.rules import filter_from_words, words_of
from dosimeter.errors import InputError

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a few rows."""
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("person,age\n1,34\n2,51\n")
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    """What a command printed."""
    result = RUNNER.invoke(app, list(words))
    assert result.exit_code == code, result.output + result.stderr
    assert "Traceback" not in result.output + result.stderr
    return result.output if code == 0 else result.output + result.stderr


def advise(*words: str) -> Any:
    """What `advise` said, as JSON."""
    return json.loads(run("advise", *words, "--json"))


def test_it_recommends_and_says_how_to_open() -> None:
    """Many small pure queries: the residue filter, with the command that opens exactly that filter."""
    said = advise("--epsilon", "1", "--delta", "1e-6", "--pure", "0.01x500")
    assert said["recommended"] == "residue"
    admitted = {one["kind"]: one.get("admitted") for one in said["offers"]}
    assert admitted["approx_published"] == 349
    assert admitted["approx"] == 487
    assert said["command"] == "dosimeter open DATA --filter residue --epsilon 1 --delta 1e-6"
    words = said["command"].replace("DATA", "people.csv").split()[1:]
    opened = json.loads(run(*words, "--json"))
    assert opened["filter"] == next(one["filter"] for one in said["offers"] if one["kind"] == "residue")


def test_every_kind_stands_in_the_table() -> None:
    """The table for people names each kind that can be opened, and below it why the others cannot."""
    text = run("advise", "--epsilon", "1", "--delta", "1e-6", "--pure", "0.2x5", "--gaussian", "30x2")
    for kind in FILTERS:
        assert kind[:8] in text
    assert "not pure: gaussian cannot be charged in pure" in text
    assert "expected: 5 x pure 0.2, 2 x gaussian 30" in text
    assert "open it with: dosimeter open DATA --filter" in text


def test_a_filter_that_words_cannot_say_is_saved_and_opened() -> None:
    """`--save` writes the filter; `open --filter FILE` opens it, to the digit."""
    plan = {
        "relation": "add_remove",
        "steps": [
            {"mechanism": "gaussian", "noise_multiplier": "1", "count": 500, "sample": SAMPLE},
            {"mechanism": "randomized_response", "epsilon": "0.1", "delta": "1e-9"},
        ],
    }
    Path("plan.json").write_text(json.dumps(plan))
    said = advise("plan.json", "--epsilon", "2", "--delta", "1e-5", "--save", "filter.json")
    stored = json.loads(Path("filter.json").read_text())
    assert stored == next(one["filter"] for one in said["offers"] if one["kind"] == said["recommended"])
    assert said["command"] == "dosimeter open DATA --filter filter.json"
    opened = json.loads(run("open", "people.csv", "--filter", "filter.json", "--json"))
    assert opened["filter"] == stored


SAMPLE = {"batching": "poisson", "probability": "0.01"}


@pytest.mark.parametrize("name", ["figure.svg", "figure.png"])
def test_the_figure_is_drawn(name: str) -> None:
    """SVG that parses and names every kind with a number, or PNG."""
    run("advise", "--epsilon", "1", "--delta", "1e-6", "--laplace", "0.05x20", "--figure", name)
    raw = Path(name).read_bytes()
    if name.endswith("svg"):
        words = " ".join(ET.fromstring(raw).itertext())
        assert "residue" in words
        assert "expected 20" in words
    else:
        assert raw.startswith(b"\x89PNG")
        assert len(raw) > 5000


def test_sampled_steps_and_targets_in_other_notions() -> None:
    """`--sgd` expects steps on Poisson samples; `--mu` and `--rho` are targets of their own."""
    said = advise("--mu", "1", "--gaussian", "20x100")
    assert said["recommended"] == "gdp"
    assert said["command"] == "dosimeter open DATA --filter gdp --mu 1"
    assert {o["kind"]: o.get("admitted") for o in advise("--rho", "0.5", "--gaussian", "20x9")["offers"]}["zcdp"] == 400
    said = advise("--epsilon", "1", "--delta", "1e-6", "--sgd", "0.01/4x3")
    assert said["sketch"][0]["event"]["kind"] == "poisson_sampled"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--epsilon", "1"), "nothing is expected"),
        (("--epsilon", "1", "--pure", "0.01"), "EPSILONxCOUNT"),
        (("--epsilon", "1", "--pure", "0.01x-3"), "EPSILONxCOUNT"),
        (("--epsilon", "1", "--gaussian", "ax3"), "noise_multiplier"),
        (("--epsilon", "1", "--sgd", "0.01x3"), "PROBABILITY/NOISE"),
        (("--pure", "0.01x3"), "one of: epsilon"),
        (("--epsilon", "1", "--mu", "1", "--pure", "0.01x3"), "one of: epsilon"),
        (("--epsilon", "1", "--pure", "0.01x0"), "count"),
    ],
)
def test_what_cannot_be_understood_is_said(words: tuple[str, ...], message: str) -> None:
    """One sentence that names the option and its form."""
    assert message in run("advise", *words, code=1)


# --- filters in words


@pytest.mark.parametrize("kind", FILTERS)
def test_a_kind_in_words_is_that_kind_or_says_what_it_needs(kind: str) -> None:
    """Every registered kind can be named; those that need more than a budget's numbers ask for a file."""
    given = {"pure": {"epsilon": "1"}, "zcdp": {"rho": "0.1"}, "gdp": {"mu": "0.5"}}.get(
        kind, {"epsilon": "1", "delta": "1e-6"}
    )
    if kind in {"rdp", "rdp_curve", "rdp_weighted", "menu", "residue_plan"}:
        with pytest.raises(InputError, match=r"file|does not belong|needs --plan|needs --menu"):
            filter_from_words(kind, given)
        return
    filter_ = filter_from_words(kind, given)
    assert filter_.kind == kind
    assert words_of(filter_) == given


def test_wrong_words_for_a_filter() -> None:
    """Unknown kinds, numbers that do not belong, missing numbers, files that hold no filter."""
    Path("broken.json").write_text("{")
    Path("other.json").write_text('{"kind": "nothing"}')
    for words, message in (
        (("best", "--epsilon", "1"), "is unknown"),
        (("gdp", "--epsilon", "1"), "does not belong"),
        (("approx", "--epsilon", "1"), "needs more"),
        (("broken.json",), "not JSON"),
        (("other.json",), "unknown"),
        (("missing.json",), "cannot be read"),
        (("other.json", "--mu", "1"), "leave --mu out"),
    ):
        assert message in run("open", "people.csv", "--filter", *words, code=1), words

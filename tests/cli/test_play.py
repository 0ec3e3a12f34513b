"""`dosimeter play`: the box game on the command line."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dosimeter.adaptive.filters import FILTERS
from dosimeter.adaptive.playground import BUILT_IN
from dosimeter.cli.app import app

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    """What `play` printed."""
    result = RUNNER.invoke(app, ["play", *words])
    assert result.exit_code == code, result.output + result.stderr
    assert "Traceback" not in result.output + result.stderr
    return result.output if code == 0 else result.output + result.stderr


def play(*words: str) -> Any:
    """The results, as JSON."""
    return json.loads(run(*words, "--json"))


def test_every_built_in_strategy_plays() -> None:
    """Without a strategy all of them play, exactly, and none beats the filter."""
    found = play("--epsilon", "1", "--delta", "0.05", "--base", "1.2", "--boxes", "1,2")
    assert [one["strategy"] for one in found] == list(BUILT_IN)
    for one in found:
        assert one["exact"]
        assert one["delta"]["verdict"] == "kept"
        assert Decimal(one["delta"]["upper"]) <= Decimal("0.05")
    assert "exactly; claimed at most" in run("--strategy", "doubling")


@pytest.mark.parametrize("kind", FILTERS)
def test_every_kind_of_filter_can_be_played_against(kind: str) -> None:
    """Any registered kind, opened for a target where words alone are not enough."""
    budget = ("--epsilon", "1", *(() if kind == "pure" else ("--delta", "0.05")))
    found = play(
        "--filter", kind, *budget, "--strategy", "steady-large", "--base", "1.2", "--boxes", "1,2", "--at", "1"
    )
    assert found[0]["filter"] == kind
    assert found[0]["delta"]["verdict"] == "kept"


def test_monte_carlo_is_named_an_estimate_and_repeats() -> None:
    """`--runs` draws; the seed repeats the draws; the words say that it is an estimate."""
    words = ("--strategy", "doubling", "--runs", "300", "--seed", "7")
    assert "an estimate" in run(*words)
    assert play(*words) == play(*words)
    assert play(*words)[0]["seed"] == 7


def test_an_odometer_is_read_after_every_box() -> None:
    """Its crossing probability stands beside the filter's delta."""
    for kind in ("mixture", "filter", "stitched"):
        found = play(
            "--filter", "zcdp", "--rho", "0.2", "--odometer", kind, "--crossing", "0.1", "--strategy", "doubling"
        )
        assert found[0]["crossing"]["claimed"] == "0.1"
        assert found[0]["crossing"]["verdict"] == "kept"


def test_a_strategy_of_ones_own_is_a_file() -> None:
    """A file with choose(seen) is a strategy; one that stops at once reaches nothing."""
    Path("mine.py").write_text("def choose(seen):\n    return seen.open[0] if len(seen.memory) < 3 else None\n")
    found = play("--strategy", "mine.py")
    assert found[0]["rounds"] == "3.0"
    assert found[0]["strategy"] == "choose"


def test_a_beaten_claim_has_its_own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a filter ever claimed too little, the command would say so: here the claim is made too small."""
    from dosimeter.adaptive.playground import played

    monkeypatch.setattr(played, "claimed_delta", lambda rule, level: Decimal("1e-9"))
    assert "beaten" in run("--strategy", "doubling", code=4)


@pytest.mark.parametrize("name", ["runs.svg", "runs.png"])
def test_the_figure_shows_runs(name: str) -> None:
    """Runs against the clock, the odometer's reading and the level."""
    run("--filter", "zcdp", "--rho", "0.2", "--odometer", "mixture", "--strategy", "doubling", "--figure", name)
    raw = Path(name).read_bytes()
    if name.endswith("png"):
        assert raw.startswith(b"\x89PNG")
        return
    root = ET.fromstring(raw)
    assert "mixture odometer" in " ".join(root.itertext())
    assert len([one for one in root.iter() if "quiet" in one.get("class", "")]) == 24


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--filter", "best"), "unknown"),
        (("--filter", "zcdp", "--epsilon", "1"), "target allows none"),
        (("--strategy", "clever"), "unknown"),
        (("--strategy", "none.py"), "no file"),
        (("--boxes", "1,x"), "whole numbers"),
        (("--base", "0.5"), "above 1"),
        (("--odometer", "rogers"), "unknown here"),
        (("--rounds", "0"), "rounds"),
        (("--runs", "0"), "runs"),
        (("--gaussian", "-1"), "positive"),
    ],
)
def test_wrong_words_get_one_sentence(words: tuple[str, ...], message: str) -> None:
    """The option, the value, the way out."""
    assert message in run(*words, code=1)


def test_a_file_that_is_no_strategy_says_so() -> None:
    """It must define choose(seen)."""
    Path("empty.py").write_text("x = 1\n")
    assert "choose(seen)" in run("--strategy", "empty.py", code=1)


def seated(typed: str, *words: str) -> Any:
    """A game at the table with these lines typed."""
    result = RUNNER.invoke(app, ["play", "--interactive", *words], input=typed)
    assert result.exit_code == 0, result.output
    assert "Traceback" not in result.output
    return result


def test_a_person_can_play() -> None:
    """Lines typed are choices; the game tells how it ended; an input that ends is leaving."""
    game = seated("1\nh\ns\nin\n", "--seed", "3")
    assert "of the budget used" in game.stdout
    assert "hint: " in game.stdout
    assert "the person was in: right" in game.stdout
    assert "no guess" in seated("", "--seed", "3").stdout


def test_a_game_at_the_table_as_json() -> None:
    """The conversation goes to standard error, and the game is printed for a machine."""
    game = seated("1\ns\nout\n", "--seed", "3", "--json")
    found = json.loads(game.stdout)
    assert found["guess"] == "out"
    assert [one["box"] for one in found["opened"]] == [1]
    assert "of the budget used" in game.stderr


def test_a_stored_strategy_is_played(place: Path) -> None:
    """A computed optimum that somebody stored reaches what it says; what is no strategy is refused in one sentence."""
    from fractions import Fraction

    from dosimeter.adaptive.adversary import Menu, best_strategy

    best = best_strategy(Menu.responses(Fraction("0.182321556793954626"), (1, 2)), 8, "0.5")
    (place / "best.json").write_text(json.dumps(best.to_json()))
    words = ("--filter", "zcdp", "--rho", "50", "--base", "1.2", "--boxes", "1,2", "--at", "0.5", "--rounds", "8")
    found = play(*words, "--strategy", "best.json")
    assert found[0]["strategy"] == "computed optimum"
    assert abs(float(found[0]["delta"]["lower"]) - best.value) < 1e-9
    run(*words, "--strategy", "best.json", "--runs", "50", "--figure", "runs.svg")
    assert ET.parse(place / "runs.svg").getroot() is not None
    (place / "bad.json").write_text("{}")
    (place / "worse.json").write_text("nonsense")
    for name, reason in (("bad.json", "exactly the fields"), ("worse.json", "as JSON"), ("missing.json", "no file")):
        assert reason in run(*words, "--strategy", name, code=1)

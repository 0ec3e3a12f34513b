"""A person at the table: what she is shown, what she may do, and that the worlds are drawn as the boxes say."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dosimeter.accounting.menus import response_options
from dosimeter.adaptive.filters import BasicFilter, PureFilter
from dosimeter.adaptive.game import from_laws
from dosimeter.adaptive.playground import Option, Sitting, Table, built_in, interval, sit_down
from dosimeter.notions import PureDP

F = Fraction


def table(cap: str = "2.3", rounds: int = 10) -> Table:
    """Responses at odds 3 and 9 under a budget for two of the first."""
    rule = PureFilter(cap)
    return Table(rule, response_options(rule, "3", (1, 2)), F(3), "1", rounds)


def sit(words: str, game: Table | None = None, **more: Any) -> tuple[Sitting, list[str]]:
    """A game with these lines typed; what came of it and what was said."""
    lines, said = iter(words.split()), list[str]()
    found = sit_down(game or table(), lambda: next(lines, None), said.append, **{"seed": 1, **more})
    return found, said


def test_a_game_shows_the_budget_the_boxes_and_the_loss() -> None:
    """Two boxes fit; the third request is refused and costs nothing; the guess is judged."""
    found, said = sit("1 1 1 s in")
    assert [one.box for one in found.opened] == [1, 1]
    assert found.refused == 1
    assert found.guess == "in"
    assert found.right == (found.world == "in")
    text = "\n".join(said)
    assert "0% of the budget used" in text
    assert "96% of the budget used" in text
    assert "too dear now" in text
    assert "the filter refuses it" in text
    assert said[-1] == found.in_words()
    assert found.loss == pytest.approx(sum(one.jump or 0 for one in found.opened) * 1.0986122886681098)


def test_the_dear_box_closes_when_half_of_the_budget_is_used() -> None:
    """What the filter would refuse is marked before it is asked."""
    _, said = sit("1 q")
    assert not any("too dear" in line for line in said[:4])
    assert any(line.strip().startswith("2:") and "too dear" in line for line in said[4:])


def test_anything_else_that_is_typed_explains_the_keys() -> None:
    """Words, numbers of no box, other digits and nothing at all change nothing."""
    found, said = sit("what 0 3 -1 \u0662 1e0 99999999999999999999 1 s out")
    assert len(found.opened) == 1
    assert sum("type a box's number" in line for line in said) == 7


@pytest.mark.parametrize("words", ["q", "", "1 q", "1 s q", "1 s maybe perhaps no", "1"])
def test_leaving_is_no_guess(words: str) -> None:
    """Leaving, an input that ends, and three answers that are none."""
    found, said = sit(words)
    assert found.guess is None
    assert not found.right
    assert "no guess" in said[-1]


def test_a_hint_is_what_a_strategy_would_do() -> None:
    """The same as the strategy chooses, and nothing is charged for it; without a strategy there is none to give."""
    game = table()
    found, said = sit("h 1 h s in", game, hint=built_in("steady-large", game))
    assert [line for line in said if line.startswith("hint")] == ["hint: box 2", "hint: box 1"]
    assert len(found.opened) == 1
    assert "hint: stop" in sit("h q")[1]


def test_the_number_of_rounds_ends_the_game() -> None:
    """After the last round only the guess is asked."""
    found, said = sit("1 in", table(rounds=1))
    assert len(found.opened) == 1
    assert found.guess == "in"
    assert "in or out" in said[-2]


def test_a_box_that_gives_the_world_away_ends_the_game() -> None:
    """A failure shows an answer that only one world can give; the loss is infinite, with the sign of the world."""
    rule = BasicFilter("9", "0.9")
    game = Table(rule, response_options(rule, "2", (1,), ("0.9",)), F(2), "1", 9)
    for seed in range(6):
        found, said = sit("1 " + "in", game, seed=seed)
        if found.opened[-1].jump is None:
            assert found.loss == (float("inf") if found.world == "in" else float("-inf"))
            assert f"the person is {found.world}" in "\n".join(said)
            assert found.to_json()["opened"][-1]["jump"] is None
            break
    else:
        pytest.fail("no box failed")


def test_the_seed_is_the_game() -> None:
    """The same seed repeats it, and JSON holds all of it."""
    assert sit("1 1 s in", seed=5) == sit("1 1 s in", seed=5)
    found, _ = sit("1 1 s in", seed=5)
    assert found.to_json() | {"opened": None} == {
        "world": found.world,
        "guess": "in",
        "opened": None,
        "refused": 0,
        "loss": repr(found.loss),
        "spent": repr(found.spent),
        "epsilon": "1.0",
    }


def trusting(said: list[str]) -> Callable[[], str]:
    """A player who opens one box and believes it."""
    typed = iter(["1", "s"])

    def read() -> str:
        follow = "in" if any("for the person" in line for line in said) else "out"
        return next(typed, follow)

    return read


def share_right(box: Any, games: int) -> Any:
    """How often believing one box is right."""
    rule = PureFilter("10")
    game = Table(rule, [Option(box, PureDP("2"))], F(3), "1", 5)
    right = 0
    for seed in range(games):
        said: list[str] = []
        right += sit_down(game, trusting(said), said.append, seed=seed).right
    return interval(right, games)


def test_worlds_and_answers_are_drawn_as_the_boxes_say() -> None:
    """Believing a response at odds 3 is right three times out of four; the control, a box that says nothing, half."""
    found = share_right(from_laws("odds 3", [F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]), 1500)
    assert found.low <= 0.75 <= found.high
    blind = share_right(from_laws("nothing", [F(1, 2), F(1, 2)], [F(1, 2), F(1, 2)]), 1500)
    assert blind.low <= 0.5 <= blind.high < 0.75

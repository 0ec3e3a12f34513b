"""One Gaussian draw answers every adaptive Gaussian game, and no distinguisher does better than with that draw.

Statistical tests fix their seeds; each compares thousands of games and would reject a right simulator with probability
below 1e-6. The control, the simulator without the square root, is rejected by the same comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dosimeter.adaptive.filters.one_gaussian import OneGaussian
from dosimeter.adaptive.playground import Transcript, advantage, gaussian_game
from dosimeter.adaptive.playground import gaussian as room
from dosimeter.errors import InputError
from dosimeter.notions.profiles import gaussian_delta

RUNS = 4000
FALSE_ALARM = 1e-6
D = Decimal


def by_sign(answers: Sequence[float]) -> str | None:
    """Loud after a good answer, which uses up the budget of 2; quieter after a bad one."""
    if len(answers) == 3:
        return None
    if not answers:
        return "1.2"
    return ("1.6", "0")[len(answers) - 1] if answers[0] > 0.6 else ("0.2", "-1")[len(answers) - 1]


def by_size(answers: Sequence[float]) -> str | None:
    """As loud as the last answer was large."""
    if len(answers) == 4:
        return None
    return "1" if not answers or abs(answers[-1]) > 1 else "0.5"


LISTENERS: list[Callable[[Sequence[float]], str | None]] = [by_sign, by_size]


def residuals(games: Sequence[Transcript], person: int) -> np.ndarray:
    """W_i - b mu_i of the first three answers: independent standard normals, if the game is right."""
    rows = [[w - person * m for w, m in zip(one.answers[:3], one.mus[:3], strict=True)] for one in games]
    return np.array(rows)


def p_values(games: Sequence[Transcript], person: int) -> list[float]:
    """Each answer's law, its law after a good and a bad first answer, correlations, and the radius."""
    z = residuals(games, person)
    found = [stats.kstest(z[:, i], "norm").pvalue for i in range(3)]
    for after in (z[:, 0] > 0, z[:, 0] <= 0):
        found += [stats.kstest(z[after, i], "norm").pvalue for i in (1, 2)]
    found += [stats.pearsonr(z[:, i], z[:, j]).pvalue for i, j in ((0, 1), (0, 2), (1, 2))]
    found.append(stats.kstest((z**2).sum(axis=1), "chi2", args=(3,)).pvalue)
    return [float(p) for p in found]


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("one_draw", [False, True])
def test_the_answers_are_independent_gaussians_around_what_was_asked(
    listener: Callable[[Sequence[float]], str | None], person: bool, one_draw: bool
) -> None:
    """Drawn one by one or computed from one draw, in both worlds, for strategies that look back: the same law."""
    games = gaussian_game(listener, mu="2", person=person, runs=RUNS, seed=20220601, one_draw=one_draw)
    assert min(p_values(games, int(person))) > FALSE_ALARM / 11


def test_both_ways_have_the_same_privacy_loss() -> None:
    """Two samples of losses, one from each way of playing: a Kolmogorov-Smirnov test finds no difference."""
    real, simulated = (
        gaussian_game(by_sign, mu="2", person=True, runs=RUNS, seed=s, one_draw=one)
        for s, one in ((1, False), (2, True))
    )
    assert stats.ks_2samp([g.loss for g in real], [g.loss for g in simulated]).pvalue > FALSE_ALARM


def test_the_simulator_without_its_square_root_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: fresh noise with the factor as printed in the source's footnote fails the same comparisons."""

    class Flawed(OneGaussian):
        def answer(self, share: Any, noise: Any) -> tuple[Decimal, OneGaussian]:
            m = float(share)
            factor = math.sqrt(max(0.0, 1 - m * m / max(1e-12, float(1 - self.asked)))) if m else 1.0
            value, after = super().answer(share, repr(float(noise) * factor))
            return value, Flawed(after.observation, after.asked, after.told)

    monkeypatch.setattr(room, "OneGaussian", Flawed)
    games = gaussian_game(by_size, mu="2", person=True, runs=RUNS, seed=20220601, one_draw=True)
    assert min(p_values(games, 1)) < FALSE_ALARM / 1000


def test_a_used_up_budget_shows_the_one_draw_and_nothing_else() -> None:
    """When the squares add up to the budget, sum mu_i W_i is mu times the draw: its law is that of one answer."""
    games = gaussian_game(
        lambda a: "0.5" if len(a) < 4 else None, mu="1", person=True, runs=RUNS, seed=4, one_draw=True
    )
    told = [sum(m * w for m, w in zip(g.mus, g.answers, strict=True)) for g in games]
    assert stats.kstest(np.array(told) - 1, "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("one_draw", [False, True])
@pytest.mark.parametrize("epsilon", ["0", "0.5", "1.5"])
def test_no_distinguisher_does_better_than_with_the_draw(one_draw: bool, epsilon: str) -> None:
    """The best distinguisher's delta is that of one draw when the budget is used up, and less otherwise."""
    truth = float(gaussian_delta("1", epsilon))

    def all_of_it(answers: Sequence[float]) -> str | None:
        if len(answers) == 2:
            return None
        return "0.6" if not answers else "0.8"

    def some_of_it(answers: Sequence[float]) -> str | None:
        return None if len(answers) == 2 else "0.6"

    used, saved = (
        advantage(gaussian_game(f, mu="1", person=True, runs=RUNS, seed=9, one_draw=one_draw), float(epsilon))
        for f in (all_of_it, some_of_it)
    )
    assert used.low <= truth <= used.high
    assert saved.low <= truth
    assert saved.estimate < used.estimate


def test_a_distinguisher_of_louder_answers_is_told_apart() -> None:
    """The control: answers of mu = 2 have more advantage than one draw of mu = 1 allows."""
    games = gaussian_game(lambda a: "2" if not a else None, mu="2", person=True, runs=RUNS, seed=9, one_draw=False)
    assert advantage(games, 0.5).low > float(gaussian_delta("1", "0.5"))


def test_the_budget_is_kept_and_seeds_repeat() -> None:
    """Asking for more than is left is refused; the same seed gives the same games, another one others."""
    for one_draw in (False, True):
        with pytest.raises(InputError, match="more than is left"):
            gaussian_game(lambda a: "0.8", mu="1", person=True, runs=1, seed=0, one_draw=one_draw)
        games = [gaussian_game(by_sign, mu="2", person=True, runs=5, seed=s, one_draw=one_draw) for s in (3, 3, 4)]
        assert games[0] == games[1] != games[2]
    third = "0.333333333333333333333333333333"
    assert gaussian_game(lambda a: third if len(a) < 3 else None, mu="0.7", person=False, runs=2, seed=0, one_draw=True)

"""The Gaussian game: a player chooses how loudly each answer speaks, and one draw can answer all of it.

In the real game every answer is drawn from N(b mu_i, 1) on its own, mu_i chosen from all earlier answers. In the
simulated one a single W_0 ~ N(b mu, 1) is looked at, once, and the answers are computed from it and fresh noise. Both
transcripts have the same law, so no player and no distinguisher sees more than W_0 shows: that is mu-GDP.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias, final

from dosimeter.adaptive.filters.one_gaussian import OneGaussian
from dosimeter.adaptive.playground.sampled import Estimate, interval
from dosimeter.errors import InputError
from dosimeter.exact import Number, amount, divide_down, multiply_up, show, subtract_down, to_decimal
from dosimeter.exact import count as read_count

Listener: TypeAlias = "Callable[[Sequence[float]], Number | None]"  # from the answers so far, the next mu_i; None stops
MOST_ROUNDS: Final = 10_000


@final
@dataclass(frozen=True, slots=True)
class Transcript:
    """What one game showed.

    Args:
        mus: how loudly each answer spoke.
        answers: the answers.
        loss: the privacy loss, log of the likelihood ratio of b = 1 to b = 0: the sum of mu_i W_i - mu_i^2 / 2.
    """

    mus: tuple[float, ...]
    answers: tuple[float, ...]

    @property
    def loss(self) -> float:
        """The privacy loss of the transcript."""
        return sum(m * w - m * m / 2 for m, w in zip(self.mus, self.answers, strict=True))


def gaussian_game(
    listener: Listener,
    *,
    mu: Number,
    person: bool,
    runs: int,
    seed: int,
    one_draw: bool,
    rounds: int = 100,
) -> list[Transcript]:
    """Play the Gaussian game many times, with answers drawn one by one or computed from one draw.

    Guarantee:
        For every listener with sum mu_i^2 <= mu^2 on every path the two ways give transcripts of the same law. Seeded
        floating point: a demonstration, never noise for a release.

    Args:
        listener: chooses mu_i, of any sign, from all earlier answers, or stops.
        mu: the budget.
        person: whether b = 1 (the person's data is there) or b = 0.
        runs: how many games.
        seed: of the generator.
        one_draw: compute the answers from one draw each game, or draw each answer.
        rounds: at most so many answers in a game.

    Raises:
        InputError: the listener asks for more than is left of the budget.

    Reference:
        Smith, Thakurta 2022, the simulator F* of the main theorem, with the square root that its footnote lacks;
        `dosimeter.adaptive.filters.one_gaussian` has the recursion and its proof.
    """
    budget = amount(mu, "mu")
    games, longest = read_count(runs, "runs", largest=10**7), read_count(rounds, "rounds", largest=MOST_ROUNDS)
    dice = random.Random(seed)  # noqa: S311 - a game, never a release
    return [_game(listener, budget, int(person), dice, one_draw, longest) for _ in range(games)]


def advantage(transcripts: Sequence[Transcript], epsilon: float) -> Estimate:
    """How well the best distinguisher does on games with the person: an estimate of delta at an epsilon.

    With sum mu_i^2 <= mu^2 the truth is at most the delta of one Gaussian of this mu.

    Reference: delta = E_1[(1 - e^(epsilon - L))+].
    """
    return interval(
        math.fsum(max(0.0, -math.expm1(min(0.0, epsilon - one.loss))) for one in transcripts), len(transcripts)
    )


def _game(listener: Listener, mu: Decimal, b: int, dice: random.Random, one_draw: bool, rounds: int) -> Transcript:
    simulator = OneGaussian(Decimal(repr(b * float(mu) + dice.gauss(0.0, 1.0)))) if one_draw else None
    left = multiply_up(mu, mu)
    mus: list[float] = []
    answers: list[float] = []
    for _ in range(rounds):
        wanted = listener(answers)
        if wanted is None:
            break
        loud = to_decimal(wanted, "mu")
        left = subtract_down(left, multiply_up(loud, loud))
        if left < 0:
            raise InputError(f"the listener asked for mu={show(wanted)}, more than is left of mu={mu}")
        noise = dice.gauss(0.0, 1.0)
        if simulator is None:
            answers.append(b * float(loud) + noise)
        else:
            share = divide_down(abs(loud), mu)
            answer, simulator = simulator.answer(share if loud >= 0 else -share, repr(noise))
            answers.append(float(answer))
        mus.append(float(loud))
    return Transcript(tuple(mus), tuple(answers))

"""A box: what one round may reveal, as exact probabilities under both hypotheses.

P is the world with the person, Q the world without. A box with rational probabilities has exact likelihood ratios, so
laws, worst cases and counterexamples can be exact rationals. Every (epsilon, delta)-DP mechanism is a randomised image
of randomised response with the same parameters, so for such rounds nothing is lost by playing only that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dosimeter.errors import InputError

INFINITE = None  # the likelihood ratio of an outcome that the world without the person cannot show


@final
@dataclass(frozen=True, slots=True)
class Box:
    """The outcomes of one round, each with its probability under P and under Q.

    Args:
        name: what the box is called in a plan.
        outcomes: pairs of exact probabilities; each column adds up to 1.
    """

    name: str
    outcomes: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        exact = tuple((Fraction(p), Fraction(q)) for p, q in self.outcomes)
        object.__setattr__(self, "outcomes", exact)
        if any(p < 0 or q < 0 for p, q in exact):
            raise InputError(f"box {self.name!r} has a negative probability")
        if sum(p for p, _ in exact) != 1 or sum(q for _, q in exact) != 1:
            raise InputError(f"box {self.name!r}: the probabilities do not add up to 1 in both worlds")

    def reversed(self) -> Box:
        """The same box with the two worlds exchanged: the other direction of a neighbouring pair."""
        return Box(f"{self.name} reversed", tuple((q, p) for p, q in self.outcomes))

    def ratios(self) -> tuple[Fraction | None, ...]:
        """The likelihood ratio of each outcome; INFINITE where only P can show it."""
        return tuple(p / q if q else INFINITE for p, q in self.outcomes)


def randomized_response(odds: Fraction, failure: Fraction | int = 0) -> Box:
    """(epsilon, delta)-randomised response with e^epsilon = `odds` and delta = `failure`.

    Guarantee: the least private (epsilon, delta)-DP mechanism; every other one is a randomised image of it.

    Args:
        odds: e^epsilon, at least 1.
        failure: delta, in [0, 1].

    Reference: Kairouz, Oh, Viswanath 2015.
    """
    odds, failure = Fraction(odds), Fraction(failure)
    if odds < 1 or not 0 <= failure <= 1:
        raise InputError(f"odds={odds} must be at least 1 and failure={failure} in [0, 1]")
    high, low = (1 - failure) * odds / (1 + odds), (1 - failure) / (1 + odds)
    failed = ((failure, Fraction(0)), (Fraction(0), failure)) if failure else ()
    name = f"RR(log {odds})" if not failure else f"RR(log {odds}, {failure})"
    return Box(name, ((high, low), (low, high), *failed))


def three_atoms(odds: Fraction, weight: Fraction) -> Box:
    """A symmetric box that mostly says nothing: ratio `odds` with probability `weight` under P, its mirror, else 1.

    Guarantee: a coarsening of any symmetric pair whose tail has this mass and ratio, for example of two Gaussians.

    Args:
        odds: the ratio of the telling outcome, above 1.
        weight: its probability under P, at most odds / (1 + odds).

    Reference: merging outcomes is post-processing.
    """
    mirrored = weight / odds
    rest = 1 - weight - mirrored
    return Box(f"atoms(log {odds}, {float(weight):g})", ((weight, mirrored), (mirrored, weight), (rest, rest)))


def from_laws(name: str, under_p: Sequence[Fraction], under_q: Sequence[Fraction]) -> Box:
    """A box from two lists of probabilities over the same outcomes."""
    return Box(name, tuple(zip(under_p, under_q, strict=True)))


def lattice_steps(box: Box, base: Fraction) -> tuple[list[tuple[int, Fraction]], Fraction]:
    """The box's losses as whole multiples of log(base), with their probabilities under P, and the infinite loss's.

    Raises:
        InputError: a likelihood ratio is not a power of the base.
    """
    if base <= 1:
        raise InputError(f"base={base} is not above 1")
    steps: dict[int, Fraction] = {}
    infinite = Fraction(0)
    for (p, q), ratio in zip(box.outcomes, box.ratios(), strict=True):
        if not p:
            continue
        if not q or ratio is None:
            infinite += p
            continue
        step = round((math.log(ratio.numerator) - math.log(ratio.denominator)) / math.log(base))
        if base**step != ratio:
            raise InputError(f"box {box.name!r} has the ratio {ratio}, which is not a power of {base}")
        steps[step] = steps.get(step, Fraction(0)) + p
    return sorted(steps.items()), infinite

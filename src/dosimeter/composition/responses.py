"""Totals of randomized responses with different epsilons, where they can be listed exactly.

The loss of a product of randomized responses takes one value per way of lying, exponentially many. Two cases remain in
reach. Few distinct totals: split the mechanisms into two halves, list each half's totals, and join them (2^30 totals
are two lists of 2^15). Epsilons on a common lattice: multiply polynomials.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dosimeter.composition.hockey_stick import LossLaw
from dosimeter.composition.homogeneous import BinomialLaw
from dosimeter.composition.parts import Counts, epsilon_counts
from dosimeter.enclosure import ball
from dosimeter.errors import NoGuaranteeError

if TYPE_CHECKING:
    from typing import Any

    from dosimeter.enclosure import Ball

    Tails = tuple[list[int], list[Ball], list[Ball]]

LARGEST_HALF: Final = 1 << 15
LARGEST_LATTICE: Final = 1 << 15


class LatticeLaw:
    """The total loss of randomized responses whose epsilons are whole multiples of one step."""

    def __init__(self, step: Fraction, multiples: dict[int, int]) -> None:
        """`multiples` says how many mechanisms have an epsilon of so many steps."""
        self.step = step
        self.multiples = multiples
        self.length = sum(multiple * times for multiple, times in multiples.items())
        self._tails: dict[int, tuple[list[Ball], list[Ball]]] = {}

    def top(self) -> Fraction:
        """The loss when every response is truthful."""
        return self.length * self.step

    def tails(self, epsilon: Decimal) -> tuple[Ball, Ball]:
        """P and Q of the losses above `epsilon`: read off suffix sums, computed once per precision."""
        import flint

        above_p, above_q = self._tails.get(flint.ctx.prec) or self._suffix_sums()
        lies = (self.length - Fraction(epsilon) / self.step) / 2
        number = min(max(-(-lies.numerator // lies.denominator), 0), self.length + 1)
        return above_p[number], above_q[number]

    def _suffix_sums(self) -> tuple[list[Ball], list[Ball]]:
        """Sums over the largest losses: entry n covers the losses length, length - 2, ... (n of them), in steps."""
        import flint

        factors = [_lie_polynomial(self.step, multiple, times) for multiple, times in self.multiples.items()]
        while len(factors) > 1:
            factors = [a * b for a, b in zip(factors[::2], factors[1::2], strict=False)] + factors[len(factors) & ~1 :]
        masses = factors[0].coeffs() if factors else [flint.arb(1)]
        masses += [flint.arb(0)] * (self.length + 1 - len(masses))
        rise, weight = (2 * ball(self.step)).exp(), (-ball(self.top())).exp()
        above_p, above_q = [flint.arb(0)], [flint.arb(0)]
        for mass in masses:
            above_p.append(above_p[-1] + mass)
            above_q.append(above_q[-1] + mass * weight)
            weight *= rise
        self._tails = {flint.ctx.prec: (above_p, above_q)}
        return above_p, above_q


def _lie_polynomial(step: Fraction, multiple: int, times: int) -> Any:
    """The law of `times` responses: the coefficient of x^(multiple j) is the chance of j lies."""
    import flint

    log_true = -(-ball(multiple * step)).exp().log1p()
    term, odds = (times * log_true).exp(), (-ball(multiple * step)).exp()
    coefficients = [flint.arb(0)] * (multiple * times + 1)
    for lies in range(times + 1):
        coefficients[multiple * lies] = term
        term = term * odds * (times - lies) / (lies + 1)
    return flint.arb_poly(coefficients)


class SplitLaw:
    """The total loss of two independent halves whose totals are listed: integers in units of a tiny common step."""

    def __init__(self, unit: Fraction, halves: tuple[dict[int, int], dict[int, int]]) -> None:
        """Each half says how many mechanisms have an epsilon of so many units."""
        self.unit = unit
        self.halves = halves
        self._listed: dict[int, tuple[Tails, Tails]] = {}

    def top(self) -> Fraction:
        """The loss when every response is truthful."""
        return sum(multiple * times for half in self.halves for multiple, times in half.items()) * self.unit

    def tails(self, epsilon: Decimal) -> tuple[Ball, Ball]:
        """P and Q of the losses above `epsilon`: each total of one half meets the tail of the other."""
        import flint

        (totals, mass_p, mass_q), (other, tail_p, tail_q) = self._listed.get(flint.ctx.prec) or self._list()
        level = Fraction(epsilon) / self.unit
        threshold = level.numerator // level.denominator  # a whole total is above the level when above its floor
        above_p, above_q = flint.arb(0), flint.arb(0)
        for total, p, q in zip(totals, mass_p, mass_q, strict=True):
            first = bisect_right(other, threshold - total)
            above_p += p * tail_p[first]
            above_q += q * tail_q[first]
        return above_p, above_q

    def _list(self) -> tuple[Tails, Tails]:
        import flint

        small, large = sorted((_totals(self.unit, half) for half in self.halves), key=len)
        totals = sorted(small)
        lone = (totals, [small[t] for t in totals], [small[-t] for t in totals])  # Q is P mirrored
        other = sorted(large)
        tail_p, tail_q = [flint.arb(0)], [flint.arb(0)]
        for total in reversed(other):
            tail_p.append(tail_p[-1] + large[total])
            tail_q.append(tail_q[-1] + large[-total])
        self._listed = {flint.ctx.prec: (lone, (other, tail_p[::-1], tail_q[::-1]))}
        return self._listed[flint.ctx.prec]


def _totals(unit: Fraction, half: dict[int, int]) -> dict[int, Ball]:
    """The P-mass of every total of one half."""
    masses = {0: ball(1)}
    for multiple, times in half.items():
        masses = _with_responses(masses, unit, multiple, times)
    return masses


def _with_responses(masses: dict[int, Ball], unit: Fraction, multiple: int, times: int) -> dict[int, Ball]:
    """Add `times` responses of epsilon `multiple` units; equal totals are merged."""
    factor = _lie_polynomial(unit * multiple, 1, times).coeffs()
    grown: dict[int, Ball] = {}
    for total, mass in masses.items():
        for lies, chance in enumerate(factor):
            at = total + (times - 2 * lies) * multiple
            grown[at] = grown[at] + mass * chance if at in grown else mass * chance
    return grown


def exact_law(counts: Counts) -> LossLaw | None:
    """The law of the total where it can be listed exactly; None where only a bracket is in reach."""
    epsilons = epsilon_counts(counts)
    if len(epsilons) <= 1:
        return BinomialLaw(*next(iter(epsilons.items()), (Decimal(0), 1)))
    unit, multiples = _common_unit(epsilons)
    lattice = LatticeLaw(unit, multiples)
    if lattice.length <= LARGEST_LATTICE:
        return lattice
    halves = _halve(multiples)
    return SplitLaw(unit, halves) if halves else None


def loss_atoms(counts: Counts, most: int) -> list[tuple[Ball, Ball]]:
    """The total loss of randomized responses as points: (loss, P-mass) at the current precision.

    Raises:
        NoGuaranteeError: there are more than `most` of them.
    """
    unit, multiples = _common_unit(epsilon_counts(counts))
    masses = {0: ball(1)}
    for multiple, times in multiples.items():
        masses = _with_responses(masses, unit, multiple, times)
        if len(masses) > most:
            raise NoGuaranteeError(f"the total loss takes more than {most} values; use a privacy loss distribution")
    return [(ball(total * unit), mass) for total, mass in masses.items()]


def _common_unit(epsilons: dict[Decimal, int]) -> tuple[Fraction, dict[int, int]]:
    if not epsilons:
        return Fraction(1), {}
    ratios = {Fraction(epsilon): times for epsilon, times in epsilons.items()}
    denominator = math.lcm(*(ratio.denominator for ratio in ratios))
    divisor = math.gcd(*(int(ratio * denominator) for ratio in ratios))
    unit = Fraction(divisor, denominator)
    return unit, {int(ratio / unit): times for ratio, times in ratios.items()}


def _halve(multiples: dict[int, int]) -> tuple[dict[int, int], dict[int, int]] | None:
    """Two halves of about equally many totals, or None when even halves are too long to list."""
    first: dict[int, int] = {}
    second: dict[int, int] = {}
    size_first = size_second = 1
    for multiple, times in sorted(multiples.items(), key=lambda item: -item[1]):
        if size_first <= size_second:
            first[multiple], size_first = times, size_first * (times + 1)
        else:
            second[multiple], size_second = times, size_second * (times + 1)
    return (first, second) if max(size_first, size_second) <= LARGEST_HALF else None

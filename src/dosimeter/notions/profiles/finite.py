"""Two distributions on finitely many outputs: hockey-stick and Renyi divergences, and the best tests between them.

This is what a mechanism with a table of probabilities is measured by, and what the theorems are tested against.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import SMALLEST, ZERO, Number, fraction_up, show
from dosimeter.notions.profiles.reading import read_fraction, read_level, read_order_from_one
from dosimeter.notions.profiles.solving import enclose_nonnegative, probability_up

if TYPE_CHECKING:
    Ball: TypeAlias = Any


def hockey_stick(p: Sequence[Number], q: Sequence[Number], epsilon: Number) -> Decimal:
    """sum (p - e^epsilon q)+ for any real epsilon: the delta at epsilon of the ordered pair (P, Q).

    Guarantee: rounded up. The delta of a mechanism is the larger one of both orders.

    Args:
        p: probabilities, exact (ratios as text or Fraction stay exact), with sum 1.
        q: likewise, over the same outputs.
        epsilon: in [-1e12, 1e12].

    Reference: Barthe, Olmedo (2013); Steinke (2022), Proposition 7.
    """
    pair, level = read_pair(p, q), read_level(epsilon)
    if not level:
        tv = sum((max(Fraction(0), a - b) for a, b in pair), Fraction(0))
        return max(SMALLEST, fraction_up(tv)) if tv else ZERO
    if all(a == b for a, b in pair) and level > 0:
        return ZERO

    def delta() -> Ball:
        factor = ball(level).exp()
        total = ball(0)
        for a, b in pair:
            if a:
                term = ball(a) - factor * ball(b)
                total = total + (term if term > 0 else ball(0) if term <= 0 else term.max(0))
        return total

    return probability_up(delta)


def renyi_divergence(p: Sequence[Number], q: Sequence[Number], order: Number) -> Decimal:
    """log(sum p^a q^(1-a)) / (a-1); at order 1 the Kullback-Leibler divergence sum p log(p/q).

    Guarantee: rounded up.

    Args:
        p: probabilities, exact, with sum 1.
        q: likewise, over the same outputs.
        order: in [1, 1e6].

    Raises:
        NoGuaranteeError: some output is impossible under Q and possible under P; the divergence is infinite.

    Reference: van Erven, Harremoes (2014), Definition 2.
    """
    pair, order = read_pair(p, q), read_order_from_one(order)
    if any(a and not b for a, b in pair):
        raise NoGuaranteeError("an output is possible under p and impossible under q; the divergence is infinite")
    if all(a == b for a, b in pair):
        return ZERO

    def divergence() -> Ball:
        a = ball(order)
        logs = [(x, ball(x).log(), ball(y).log()) for x, y in pair if x]
        if order == 1:
            return sum((ball(x) * (log_p - log_q) for x, log_p, log_q in logs), ball(0))
        return sum(((a * log_p + (1 - a) * log_q).exp() for _, log_p, log_q in logs), ball(0)).log() / (a - 1)

    return max(ZERO, up(enclose_nonnegative(divergence)))


def best_tests(p: Sequence[Number], q: Sequence[Number]) -> tuple[tuple[Fraction, Fraction], ...]:
    """The vertices (false-positive rate under P, false-negative rate under Q) of the trade-off function T(P, Q).

    Guarantee: exact; between the vertices the function is linear (randomised tests).

    Reference: Neyman, Pearson (1933).
    """
    pair = read_pair(p, q)
    ordered = sorted(pair, key=lambda ab: (ab[0] > 0, ab[1] == 0, ab[0] / ab[1] if ab[1] else Fraction(0)))
    vertices: list[tuple[Fraction, Fraction]] = []
    x, miss = Fraction(0), Fraction(1)
    for a, b in ordered:
        if a and (not vertices):
            vertices.append((x, miss))
        x, miss = x + a, miss - b
        if a:
            vertices.append((x, miss))
    return tuple(vertices)


def read_pair(p: Sequence[Number], q: Sequence[Number]) -> tuple[tuple[Fraction, Fraction], ...]:
    """Two distributions over the same outputs, exact."""
    if len(p) != len(q) or not p:
        raise InputError(f"two distributions need the same outputs; got {len(p)} and {len(q)} probabilities")
    return tuple(zip(_distribution(p, "p"), _distribution(q, "q"), strict=True))


def _distribution(values: Sequence[Number], name: str) -> tuple[Fraction, ...]:
    exact = tuple(_probability(value, name) for value in values)
    if sum(exact) != 1:
        raise InputError(f"the probabilities in {name} do not sum to exactly 1; give them as text or as Fractions")
    return exact


def _probability(value: Number, name: str) -> Fraction:
    parsed = read_fraction(value, name)
    if not 0 <= parsed <= 1:
        raise InputError(f"{name} holds {show(value)}, which is outside [0, 1]")
    return parsed

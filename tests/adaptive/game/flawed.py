"""Rules and readings that look right and are not: each is written down as people write it, to be beaten.

None of them exists in the package. They are the controls of the attacks: an adversary that could not beat these would
prove nothing about the others.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from math import comb

import mpmath

from dosimeter.adaptive.game import Box, Rule, exact_law, randomized_response

F = Fraction
DIGITS = 60


def natural_rule(odds: list[Fraction], level: Fraction, delta: Fraction) -> Rule[tuple[Fraction, ...]]:
    """'Compose the realised parameters optimally, as if they had been fixed, and stop at the target.'"""

    @cache
    def composed(sequence: tuple[Fraction, ...]) -> Fraction:
        law = exact_law(lambda h: randomized_response(sequence[len(h)]), rounds=len(sequence))
        return law.hockey_stick(level)

    def moves(run: tuple[Fraction, ...]) -> Iterable[tuple[Box, tuple[Fraction, ...]]]:
        for value in odds:
            after = tuple(sorted((*run, value)))
            if composed(after) <= delta:
                yield randomized_response(value), after

    return Rule((), moves)


def natural_values(x: Fraction, u: Fraction, v: Fraction, k: int, level: Fraction) -> dict[str, Fraction]:
    """First a response at odds x; then one at u, or k at v: both plans' deltas, and the adaptive choice's."""

    def plan(second: list[Fraction]) -> Fraction:
        sequence = [x, *second]
        return exact_law(lambda h: randomized_response(sequence[len(h)]), rounds=len(sequence)).hockey_stick(level)

    def adaptive(history: tuple[tuple[Box, int], ...]) -> Box | None:
        if not history:
            return randomized_response(x)
        second = [u] if history[0][1] == 0 else [v] * k
        return randomized_response(second[len(history) - 1]) if len(history) <= len(second) else None

    return {"X": plan([u]), "Y": plan([v] * k), "adaptive": exact_law(adaptive, rounds=k + 1).hockey_stick(level)}


def binomial_delta(v: Fraction, k: int, level: Fraction) -> Fraction:
    """delta of k responses at odds v, by the binomial sum; a second route to the plans above."""
    terms = (comb(k, i) * max(F(0), v ** (k - i) - level * v**i) for i in range(k + 1))
    return sum(terms, F(0)) / (1 + v) ** k


def rational(value: mpmath.mpf) -> Fraction:
    """A high-precision number as the exact ratio it is stored as."""
    sign, mantissa, exponent, _ = value._mpf_
    magnitude = F(int(mantissa)) * F(2) ** exponent
    return -magnitude if sign else magnitude


def atoms(loss: mpmath.mpf, weight: mpmath.mpf) -> Box:
    """A symmetric box: this loss with this probability under P, mirrored under Q, else loss 0."""
    p, q = rational(weight), rational(weight * mpmath.exp(-loss))
    rest = 1 - p - q
    return Box(f"atoms({mpmath.nstr(loss, 5)})", ((p, q), (q, p), (rest, rest)))


def renyi(box: Box, order: int) -> mpmath.mpf:
    """The Renyi divergence of a symmetric box."""
    moment = sum(
        mpmath.mpf(p.numerator)
        / p.denominator
        * mpmath.exp((order - 1) * mpmath.log(mpmath.mpf((p / q).numerator) / (p / q).denominator))
        for p, q in box.outcomes
        if p
    )
    return mpmath.log(moment) / (order - 1)


def order_budget(order: int, epsilon: mpmath.mpf, delta: mpmath.mpf, weight: float = 1.0) -> mpmath.mpf:
    """What the tight conversion leaves for one order, as if it had been chosen beforehand."""
    constant = mpmath.mpf(1) / order * (1 - mpmath.mpf(1) / order) ** (order - 1)
    return epsilon + mpmath.log(weight * delta / constant) / (order - 1)


def steering_boxes(
    epsilon: mpmath.mpf, delta: mpmath.mpf, orders: tuple[int, int], weight: mpmath.mpf, loss: mpmath.mpf
) -> tuple[Box, Box, Box]:
    """A first box, and the two second boxes that use up the budget of the first and of the second order exactly."""
    first = atoms(loss, weight)

    def second(order: int, so_far: mpmath.mpf) -> Box:
        kappa = mpmath.log(mpmath.mpf(order) / (order - 1)) + epsilon - so_far
        left = order_budget(order, epsilon, delta) - renyi(first, order)
        spread = mpmath.exp((order - 1) * kappa) + mpmath.exp(-order * kappa) - 1 - mpmath.exp(-kappa)
        return atoms(kappa, (mpmath.exp((order - 1) * left) - 1) / spread)

    return first, second(orders[0], mpmath.mpf(0)), second(orders[1], loss)


def steered_delta(
    epsilon: mpmath.mpf, delta: mpmath.mpf, orders: tuple[int, int], weight: mpmath.mpf, loss: mpmath.mpf
) -> Fraction:
    """The delta of the run that is steered to the second order if its first loss was positive, else to the first."""
    first, plain, lucky = steering_boxes(epsilon, delta, orders, weight, loss)

    def choose(history: tuple[tuple[Box, int], ...]) -> Box | None:
        if not history:
            return first
        return (lucky if history[0][1] == 0 else plain) if len(history) == 1 else None

    return exact_law(choose, rounds=2).hockey_stick(rational(mpmath.exp(epsilon)))

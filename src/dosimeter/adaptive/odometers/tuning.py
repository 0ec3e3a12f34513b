"""Parameters of odometers, chosen for the intrinsic time one expects to reach.

They must be fixed before the interaction. A poor choice is loose, never wrong: every positive parameter is valid, so
these numbers are rounded to nearby values without a side.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from dosimeter.adaptive.boundaries import log_one_over, mixture_wealth, read_probability
from dosimeter.enclosure import ball, down, enclose, precision
from dosimeter.exact import Number, amount

if TYPE_CHECKING:
    from dosimeter.enclosure import Ball

_BITS = 256


def line_target(epsilon: Number, delta: Number) -> Decimal:
    """The intrinsic time at which advanced composition reaches epsilon: where a line should touch it.

    Guarantee: none is needed; `line` at this target is tangent to sqrt(2 log(1/delta) V) + V/2 at height epsilon.

    Args:
        epsilon: the reading at the point of tangency, > 0.
        delta: the line's crossing probability, in (0, 1).

    Returns:
        y = (sqrt(2 log(1/delta) + 2 epsilon) - sqrt(2 log(1/delta)))^2.

    Raises:
        InputError: a parameter is outside its range.

    Reference: Whitehouse et al. 2023, Theorem 3, with 2 epsilon under the root (with the printed epsilon the reading
    at y is epsilon/2).
    """
    height, share = amount(epsilon, "epsilon"), read_probability(delta)

    def value() -> Ball:
        level = (2 * log_one_over(share)).sqrt()
        return (2 * ball(height) / (level + (level * level + 2 * ball(height)).sqrt())) ** 2

    return down(enclose(value))


def gamma_two_sided(intrinsic_time: Number, delta: Number) -> Decimal:
    """The gamma that makes the two-sided mixture lowest at a given intrinsic time.

    Guarantee: none is needed; every gamma is valid. With 2 delta for delta it is close to the one-sided optimum.

    Args:
        intrinsic_time: the V to be lowest at, > 0.
        delta: crossing probability, in (0, 1).

    Returns:
        V / (-W(-delta^2/e) - 1), W the lower branch of Lambert's function.

    Raises:
        InputError: a parameter is outside its range.

    Reference: Howard et al. 2021, section 3.5.
    """
    time, share = amount(intrinsic_time, "intrinsic_time"), read_probability(delta)

    def value() -> Ball:
        import flint

        return ball(time) / (-(-(ball(share) ** 2) / flint.arb(1).exp()).lambertw(-1) - 1)

    return max(down(enclose(value)), Decimal("1e-300"))


def gamma_one_sided(intrinsic_time: Number, delta: Number) -> Decimal:
    """The gamma that makes the exact one-sided mixture lowest at a given intrinsic time.

    Guarantee: none is needed; every gamma is valid.

    Args:
        intrinsic_time: the V to be lowest at, > 0.
        delta: crossing probability, in (0, 1).

    Returns:
        V / (x (x + h)), x the root of log(4/(1 + x (x + h)))/2 + x^2/2 + log Phi(x) = log(1/delta), h = phi(x)/Phi(x).

    Raises:
        InputError: a parameter is outside its range.

    Reference: stationarity of the boundary in gamma.
    """
    time, share = amount(intrinsic_time, "intrinsic_time"), read_probability(delta)
    with precision(_BITS):
        low, high = ball(0), ball(1)
        while _one_sided_gap(high, share) < 0:
            high = 2 * high
        for _ in range(120):
            middle = ((low + high) / 2).mid()
            low, high = (middle, high) if _one_sided_gap(middle, share) < 0 else (low, middle)
        spread = high * mixture_wealth(ball(0), ball(1))(high)[1]
        return max(down((ball(time) / spread).mid()), Decimal("1e-300"))


def _one_sided_gap(x: Ball, delta: Decimal) -> Ball:
    log_wealth, slope = mixture_wealth(ball(0), ball(1))(x)  # log 2 + x^2/2 + log Phi(x), and x + h
    return log_wealth - (1 + x * slope).log() / 2 - log_one_over(delta)

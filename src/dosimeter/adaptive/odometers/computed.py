"""What computed odometers share: a shape, a horizon, and a scale whose crossing probability is certified.

The scale is the smallest, to about five digits, for which the certified probability is within `delta`; a hair is left
unused, so that the certificate also holds on a machine whose last digits differ. Whoever builds an odometer with a
scale of their own has it checked; one that is read back from JSON is taken at its word until `verify` is called, as
the audit of a ledger does.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Final

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import brief_up, text

AHEAD: Final = 1 + 1e-6  # how much of delta a new scale leaves unused
_SIX_UP: Final = decimal.Context(prec=6, rounding=decimal.ROUND_CEILING)
_RESOLUTION: Final = 1e-5
_TURNS: Final = 60

Probability = Callable[[Decimal], float]


def tightest_scale(crossing: Probability, delta: Decimal, guess: float, rough: Probability | None = None) -> Decimal:
    """The smallest scale, to about five digits, whose crossing probability is certainly within delta.

    Args:
        crossing: an upper bound of the crossing probability of a scale; falls as the scale grows.
        delta: the largest crossing probability, in (0, 1).
        guess: a scale to begin with, > 0.
        rough: a cheaper function that is close to `crossing`, to begin with.

    Returns:
        A scale of six digits at which `crossing`, with a hair added, is at most delta.

    Raises:
        NoGuaranteeError: no scale up to a million times the guess is enough.
    """
    if rough is not None:
        guess = float(_searched(rough, delta, guess, 1e-3))
    return _searched(crossing, delta, guess, _RESOLUTION)


def require_certified(probability: float, delta: Decimal, scale: Decimal) -> None:
    """Refuse a scale whose crossing probability is not certainly within delta.

    Raises:
        InputError: names both, and the way out.
    """
    if not Fraction(probability) <= Fraction(delta):
        raise InputError(
            f"a boundary of scale={text(scale)} is only certified for delta={brief_up(Decimal(probability))}, above "
            f"delta={text(delta)}; use `computed`, which finds the scale"
        )


def _searched(crossing: Probability, delta: Decimal, guess: float, resolution: float) -> Decimal:
    """Secant steps in log F against log c, inside a bracket once there is one; every fourth step halves the bracket.

    A scale is accepted where log F is within `resolution` (times ten) below its target, or the bracket is as narrow.
    """
    share = math.log(float(delta) * (1 - 1e-15) / AHEAD)
    slope = -2 * max(1.0, -share)  # of a Gaussian tail
    low, high = -math.inf, math.inf
    best: Decimal | None = None
    x, before = math.log(guess), None
    for turn in range(_TURNS):
        at = _SIX_UP.create_decimal(math.exp(x))
        found = crossing(at)
        x, here = math.log(float(at)), (math.log(found) - share if found > 0 else -1e3)
        if here <= 0:
            best, high = at if best is None else min(best, at), min(high, x)
        else:
            low = max(low, x)
        if best is not None and (-10 * resolution <= here <= 0 or high - low <= resolution):
            return best
        if before is not None and abs(x - before[0]) > 1e-9 and here != before[1] and here > -700:
            slope = min((here - before[1]) / (x - before[0]), -0.1)
        before = (x, here)
        x += (-here - 4 * resolution) / slope
        if math.isfinite(high) and math.isfinite(low) and (turn % 4 == 3 or not low < x < high):
            x = (low + high) / 2
        x = min(max(x, before[0] - 1), before[0] + 1)
        if x > math.log(guess) + 14:
            break
    raise NoGuaranteeError("no scale of this shape keeps the crossing probability within delta; take another shape")

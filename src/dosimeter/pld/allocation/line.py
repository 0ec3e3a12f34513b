"""The law of an allocated record on a line: what the saddle engine asks of every law.

Remove: E e^((c + it) L) = E (S/t)^(1 + c + it), since dP = (S/t) dQ. Add: the loss is -L under Q, so it is
E (S/t)^(-(c + it)).
"""

from __future__ import annotations

import math
from typing import TypeGuard

import numpy as np

from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.allocation.law import AllocatedGaussianLaw
from dosimeter.pld.allocation.mellin import LARGEST_ORDER, LEAST_ORDER, Mean, vertical, whole_moments
from dosimeter.pld.laws.law import Direction, Law, Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.saddle.characteristic import Characteristic, finish


def is_allocated(law: Law) -> TypeGuard[AllocatedGaussianLaw]:
    """Whether a law is one of these (a single step is a plain Gaussian)."""
    return isinstance(law, AllocatedGaussianLaw) and law.steps > 1


def gaussian_share(law: AllocatedGaussianLaw) -> float:
    """The variance of the Gaussian loss inside the law, rounded down: |phi(t)| <= e^(-share t^2 / 2)."""
    return float(law.mu_squared / law.steps) * (1 - 4 * UNIT)


def on_heights(
    law: AllocatedGaussianLaw, direction: Direction, order: float, step: float, count: int
) -> Characteristic:
    """The tilted characteristic function."""
    found = vertical(_mean(law), _exponent(direction, order), step, count)
    ratio = found.ratio.conj() if direction is Direction.REMOVE else found.ratio
    centre = float(np.angle(ratio[1])) / step if count > 1 else 0.0
    heights = step * np.arange(count, dtype=float)
    turned = heights * centre
    change = ratio * np.exp(-1j * turned) - 1
    error = found.error + np.abs(ratio) * UNIT * (8 + 4 * np.abs(turned))
    return finish((found.log_moment, found.log_error, centre), change, error)


def log_moment(law: AllocatedGaussianLaw, direction: Direction, order: float) -> tuple[float, float]:
    """Bounds of log E_P[e^(order L)] for every order > 0.

    Where the moment itself is out of reach: `log_moment_above`, and from below the Gaussian loss of the mean of the
    noise (see `frame`) or, to remove, the largest of the Y_i.
    """
    try:
        found = vertical(_mean(law), _exponent(direction, order), 1.0, 1)
        return found.log_moment - found.log_error, found.log_moment + found.log_error
    except NoGuaranteeError:
        below = order * (order + 1) * gaussian_share(law) / 2 * (1 - 8 * UNIT)
        if direction is Direction.REMOVE:
            below = max(below, _mean(law).log_moment_below(1 + order))
        above = log_moment_above(law, direction, order)
        return min(below, above), above


def _moment(law: AllocatedGaussianLaw, direction: Direction, order: float) -> float:
    found = vertical(_mean(law), _exponent(direction, order), 1.0, 1)
    return found.log_moment + found.log_error


def log_moment_above(law: AllocatedGaussianLaw, direction: Direction, order: float) -> float:
    """An upper bound of log E_P[e^(order L)] for every order > 0.

    Remove: a chord between whole orders. Add: the moment itself. Out of their reach: Jensen's inequality for the mean
    of the Y_i, or of their logarithms.
    """
    bound = _jensen(law, direction, order)
    try:
        if direction is Direction.REMOVE:
            return min(bound, _mean(law).log_moment_above(math.nextafter(1 + order, math.inf)))
        return min(bound, _moment(law, direction, order))
    except NoGuaranteeError:
        return bound


def log_end(law: AllocatedGaussianLaw, height: float) -> float:
    """log of a bound of |phi| from this height on."""
    return -0.5 * gaussian_share(law) * height * height * (1 - 4 * UNIT)


def largest_order(law: AllocatedGaussianLaw, direction: Direction) -> float:
    """Up to this order moments are computed; where they are too large for floating point, they stop earlier."""
    root = math.sqrt(float(law.mu_squared))
    if direction is Direction.REMOVE:
        known = len(whole_moments(_mean(law))) - 1
        return min(LARGEST_ORDER - 1, max(min(30 / root - 3, 0.8 * known - 2), 0.5))
    return min(-LEAST_ORDER / 2, 60 / root)


def rough_moments(law: AllocatedGaussianLaw, direction: Direction, orders: Reals) -> Reals:
    """About log E_P[e^(order L)]: for choosing lines."""
    square, t = float(law.mu_squared), law.steps
    widest: Reals = np.array([_jensen(law, direction, float(c)) for c in orders])
    gain = math.log1p(math.expm1(min(square, 500.0)) / t)  # log E (S/t)^2
    if direction is Direction.ADD:
        return np.minimum(orders * (orders + 1) * (gain / 2), widest)
    known = np.array(whole_moments(_mean(law)))[2:]
    if not len(known):
        return widest
    n = np.arange(2.0, len(known) + 2)
    share = np.interp(np.clip(orders + 1, n[0], n[-1]), n, known / (n * (n - 1)))
    near: Reals = np.minimum(orders * (orders + 1) * share, widest)
    result: Reals = np.where(orders + 1 > n[-1], widest, near)
    return result


def _jensen(law: AllocatedGaussianLaw, direction: Direction, order: float) -> float:
    square = float(law.mu_squared) * (1 + 4 * UNIT)
    result = order * (order + 1) * square / 2
    if direction is Direction.ADD:
        result = min(result, order * order * square / (2 * law.steps) + order * square / 2)
    return result * (1 + 8 * UNIT)


def _mean(law: AllocatedGaussianLaw) -> Mean:
    return Mean(math.sqrt(float(law.mu_squared)), law.steps)


def _exponent(direction: Direction, order: float) -> float:
    return 1 + order if direction is Direction.REMOVE else -order

"""Ball arithmetic: a transcendental number is enclosed, then rounded against the spender.

A ball (``flint.arb``) is a midpoint with a radius that certainly contains the true value; every operation keeps
that promise. `enclose` raises the working precision until the ball is narrow, so the decimals that leave this
module are right to 25 digits *and* on the stated side of the truth. Nothing here trusts a floating-point library.
"""

from __future__ import annotations

import decimal
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import SMALLEST, ZERO

if TYPE_CHECKING:
    Ball: TypeAlias = Any  # flint.arb, which ships no types

DIGITS: Final = 25
_FIRST_BITS: Final = 160
_LAST_BITS: Final = 16_384
_LARGEST_BITS: Final = 100_000
_PATIENCE: Final = 1_000  # how often a precision that somebody else changed is set again
_LOCK = threading.RLock()  # the working precision belongs to the whole process


def _fresh_lock() -> None:
    """A forked child has one thread: a lock that another thread of its parent held would never be opened there."""
    global _LOCK  # noqa: PLW0603
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fresh_lock)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with `bits` bits inside the block; one thread at a time, since the setting is shared."""
    import flint

    with _LOCK:
        before = flint.ctx.prec
        flint.ctx.prec = bits
        try:
            yield
        finally:
            flint.ctx.prec = before


def ball(value: Decimal | int | Fraction) -> Ball:
    """The enclosure of an exact number at the current precision."""
    import flint

    if isinstance(value, int):
        return flint.arb(value)
    ratio = Fraction(value)
    return flint.arb(flint.fmpq(ratio.numerator, ratio.denominator))


def enclose(function: Callable[[], Ball], digits: int = DIGITS + 3) -> Ball:
    """Evaluate `function`, raising the precision until its ball is known to `digits` digits.

    Raises:
        NoGuaranteeError: the value cannot be pinned down (for example, it is exactly zero in disguise).
    """
    import flint

    wanted = int(digits * 3.33) + 2
    bits, disturbed = _FIRST_BITS, 0
    while bits <= _LAST_BITS:
        with precision(bits):
            result = function()
            if result.is_finite() and (result.is_exact() or result.rel_accuracy_bits() >= wanted):
                return result
            meddled = flint.ctx.prec != bits  # by other code in another thread; a ball stays right, only wider
        if meddled and disturbed < _PATIENCE:
            disturbed += 1
        else:
            bits *= 2
    raise NoGuaranteeError(f"a value could not be enclosed to {digits} digits with {_LAST_BITS} bits")


def up(value: Ball, digits: int = DIGITS) -> Decimal:
    """The smallest decimal of `digits` digits that is certainly not below the value.

    A positive value under the smallest amount (1e-300) becomes that amount.
    """
    result = _outward(value, digits, upward=True)
    return SMALLEST if 0 < result < SMALLEST else result


def down(value: Ball, digits: int = DIGITS) -> Decimal:
    """The largest decimal of `digits` digits that is certainly not above the value; 0 if that is under 1e-300."""
    result = _outward(value, digits, upward=False)
    return ZERO if 0 < result < SMALLEST else result


def _outward(value: Ball, digits: int, *, upward: bool) -> Decimal:
    if not value.is_finite():
        raise NoGuaranteeError("a value is not finite; no bound can be stated")
    with precision(_LAST_BITS):  # the end of the ball is a dyadic number: take it whole
        end = value.upper() if upward else value.lower()
    mantissa, exponent = (int(part) for part in end.man_exp())
    size = mantissa.bit_length() + exponent
    if mantissa and size < -1100:  # exp(-1e30) is a ball; written out as a decimal it would not fit into memory
        return (SMALLEST if mantissa > 0 else ZERO) if upward else (ZERO if mantissa > 0 else -SMALLEST)
    if size > _LARGEST_BITS:
        raise NoGuaranteeError("a value is beyond every accepted range; no bound can be stated")
    rounding = decimal.ROUND_CEILING if upward else decimal.ROUND_FLOOR
    context = decimal.Context(prec=digits, rounding=rounding, Emin=-999_999, Emax=999_999)
    if exponent >= 0:
        return context.create_decimal(mantissa << exponent)
    return context.divide(Decimal(mantissa), Decimal(1 << -exponent))


def certainly_le(a: Ball, b: Ball) -> bool:
    """Whether every point of a is at most every point of b."""
    return bool(a <= b)

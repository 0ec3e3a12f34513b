"""Exact amounts: text in, decimals that round against the spender, bounds, and "certainly at most".

A budget of 1.0 has room for ten charges of 0.1 because amounts are decimals, never binary fractions. A float
is read as its shortest decimal form (``0.1`` is one tenth). Sums keep 50 digits and round up; what is left
rounds down.
"""

from __future__ import annotations

import decimal
import operator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from dosimeter.errors import InputError

Number: TypeAlias = "str | int | float | Decimal | Fraction"

DIGITS: Final = 50
SMALLEST: Final = Decimal("1e-300")
LARGEST: Final = Decimal("1e12")
_TRAPS = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow, decimal.Underflow]
_UP = decimal.Context(prec=DIGITS, rounding=decimal.ROUND_CEILING, traps=_TRAPS)
_DOWN = decimal.Context(prec=DIGITS, rounding=decimal.ROUND_FLOOR, traps=_TRAPS)
_READ = decimal.Context(
    prec=10_000, rounding=decimal.ROUND_HALF_EVEN, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=_TRAPS
)  # exact for everything that is read: a text that it would have to round, it refuses
ZERO: Final = Decimal(0)
ONE: Final = Decimal(1)
MAX_TEXT: Final = 200
MAX_DIGITS: Final = 150  # so that every number that is accepted has a text that is accepted
_MAX_EXPONENT: Final = 10_000  # far outside every range, and still quick to write out as a ratio
_MAX_BITS: Final = 1 << 16


def show(value: object) -> str:
    """A short, printable form of a caller's value for a message (never of a row's value)."""
    try:
        text = str.__str__(value) if isinstance(value, str) else repr(value)
    except Exception:  # an integer of more digits than Python prints, or an object that fails to describe itself
        return f"<{type(value).__name__}>"
    text = "".join(c if c.isprintable() else "?" for c in text[:60])
    return repr(text) if isinstance(value, str) else text


def _to_fraction_or_decimal(value: object, name: str) -> Decimal | Fraction:
    """The exact value, in a type whose methods are its own: a subclass may say anything about itself."""
    if not isinstance(value, bool | str | float | Decimal | Fraction):
        value = _index(value)  # whole numbers of other libraries
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal | Fraction):
        raise InputError(f"{name}={show(value)} is not a number; give text such as '0.1' or an int, Decimal or float")
    if isinstance(value, int | Fraction):
        ratio = Fraction(value)
        size = max(ratio.numerator.bit_length(), ratio.denominator.bit_length())
        if size > _MAX_BITS:
            raise InputError(f"{name} is a number of {size} bits; give a decimal of at most {MAX_DIGITS} digits")
        return ratio if isinstance(value, Fraction) else _modest(Decimal(ratio.numerator), value, name)
    if isinstance(value, Decimal):
        return _modest(Decimal(value), value, name)
    text = float.__repr__(value) if isinstance(value, float) else str.strip(value)
    if len(text) > MAX_TEXT:
        raise InputError(f"{name} is a text of {len(text)} characters; a number has at most {MAX_TEXT}")
    if not text.isascii() or "_" in text:
        raise InputError(f"{name}={show(value)} is not a number; write it with ASCII digits, as in '0.1'")
    numerator, slash, denominator = text.partition("/")
    if slash and numerator.strip().isdigit() and denominator.strip().isdigit() and int(denominator):
        return Fraction(int(numerator), int(denominator))
    try:
        return _modest(_READ.create_decimal(text), value, name)
    except decimal.InvalidOperation:
        hint = "; write the decimal point as '.'" if "," in text else ""
        raise InputError(f"{name}={show(value)} is not a number{hint}") from None
    except (decimal.Overflow, decimal.Underflow):
        raise InputError(f"{name}={show(value)} is far outside every range") from None


def _modest(parsed: Decimal, value: object, name: str) -> Decimal:
    """Refuse what is not finite, and numbers too long to be exact with: they would have to be rounded somewhere."""
    if not parsed.is_finite():
        raise InputError(f"{name}={show(value)} is not finite; give a finite number")
    if parsed.is_zero():
        return ZERO
    if abs(parsed.adjusted()) > _MAX_EXPONENT:
        raise InputError(f"{name}={show(value)} is far outside every range")
    if (digits := len(parsed.as_tuple().digits)) > MAX_DIGITS:
        raise InputError(f"{name} is a number of {digits} digits; round it to at most {MAX_DIGITS}")
    return parsed


def to_decimal(value: Number, name: str, *, round_up: bool = True) -> Decimal:
    """Read a number exactly. Only a ratio such as ``1/3`` is rounded: up by default, else down."""
    parsed = _to_fraction_or_decimal(value, name)
    if isinstance(parsed, Fraction):
        return fraction_up(parsed) if round_up else fraction_down(parsed)
    return parsed


def to_fraction(value: Number, name: str) -> Fraction:
    """Read a number exactly, a ratio such as ``1/3`` included."""
    return Fraction(_to_fraction_or_decimal(value, name))


def amount(
    value: Number,
    name: str,
    *,
    round_up: bool = True,
    zero: bool = False,
    below_one: bool = False,
    largest: Decimal = LARGEST,
) -> Decimal:
    """Read an amount: a number in [1e-300, `largest`], or zero where `zero` allows it.

    Args:
        value: text, int, Decimal, Fraction or float (read as its shortest decimal form).
        name: what the value is called in an error message.
        round_up: which way a ratio such as ``1/3`` is rounded: up for what is spent, down for what may be spent.
        zero: whether 0 is allowed.
        below_one: whether the value must stay below 1 (a delta, a probability of failure).
        largest: upper end of the accepted range.

    Raises:
        InputError: names the value and the range it is outside of.
    """
    parsed = to_decimal(value, name, round_up=round_up)
    if parsed.is_zero() and zero:
        return ZERO
    top = "1)" if below_one else f"{largest:g}]"
    if not (SMALLEST <= parsed <= largest) or (below_one and parsed >= ONE):
        low = "is not 0 and " if zero else ""
        raise InputError(f"{name}={show(value)} {low}is outside [{SMALLEST:g}, {top}")
    return parsed


def _index(value: object) -> object:
    """A whole number of any type as a plain int; anything else unchanged."""
    try:
        return int.__index__(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        return value


def count(value: object, name: str, *, largest: int = 10**9, smallest: int = 1) -> int:
    """Read a whole number in [smallest, largest]."""
    value = value if isinstance(value, bool) else _index(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name}={show(value)} is not a whole number")
    if not smallest <= value <= largest:
        raise InputError(f"{name}={show(value)} is outside [{smallest}, {largest}]")
    return value


def fraction_up(value: Fraction) -> Decimal:
    """The ratio as a decimal of 50 digits, not below it."""
    return _ratio(value, _UP)


def fraction_down(value: Fraction) -> Decimal:
    """The ratio as a decimal of 50 digits, not above it."""
    return _ratio(value, _DOWN)


def _ratio(value: Fraction, context: decimal.Context) -> Decimal:
    """Numerator and denominator may be far longer than the context: scale them to integers first, then round once."""
    n, d = value.numerator, value.denominator
    if n == 0:
        return ZERO
    shift = DIGITS + 5 - (abs(n).bit_length() - d.bit_length()) * 30103 // 100_000  # 55 digits, give or take one
    scaled, rest = divmod(n * 10**shift, d) if shift >= 0 else divmod(n, d * 10**-shift)
    if rest and context is _UP:
        scaled += 1
    return context.plus(_READ.scaleb(Decimal(scaled), -shift))


def add_up(*terms: Decimal) -> Decimal:
    """The sum, not below the true one."""
    total = ZERO
    for term in terms:
        total = _UP.add(total, term)
    return total


def subtract_up(a: Decimal, b: Decimal) -> Decimal:
    """a - b, not below the true difference."""
    return _UP.subtract(a, b)


def subtract_down(a: Decimal, b: Decimal) -> Decimal:
    """a - b, not above the true difference."""
    return _DOWN.subtract(a, b)


def multiply_up(a: Decimal, b: Decimal | int) -> Decimal:
    """a b, not below the true product."""
    return _UP.multiply(a, Decimal(b))


def multiply_down(a: Decimal, b: Decimal | int) -> Decimal:
    """a b, not above the true product."""
    return _DOWN.multiply(a, Decimal(b))


def divide_up(a: Decimal, b: Decimal | int) -> Decimal:
    """a / b, not below the true quotient."""
    return _UP.divide(a, Decimal(b))


def divide_down(a: Decimal, b: Decimal | int) -> Decimal:
    """a / b, not above the true quotient."""
    return _DOWN.divide(a, Decimal(b))


def visible(loss: Decimal) -> Decimal:
    """The loss itself, or the smallest amount for a positive loss below it: nothing that costs becomes free."""
    return max(SMALLEST, loss) if loss else ZERO


def certainly_le(a: Decimal, b: Decimal) -> bool:
    """Whether a <= b beyond doubt: false for anything that is not a finite number."""
    return a.is_finite() and b.is_finite() and a <= b


def sqrt_up(value: Decimal) -> Decimal:
    """The square root, not below the true one (a perfect square is exact)."""
    root = _UP.sqrt(value)  # correctly rounded to nearest, whatever the context says
    return root if Fraction(root) ** 2 >= Fraction(value) else _UP.next_plus(root)


def sqrt_down(value: Decimal) -> Decimal:
    """The square root, not above the true one (a perfect square is exact)."""
    root = _DOWN.sqrt(value)
    return root if Fraction(root) ** 2 <= Fraction(value) else _DOWN.next_minus(root)


def text(value: Decimal) -> str:
    """The exact, shortest text of a finite decimal: what entries, digests and JSON carry."""
    if value.is_zero():
        return "0"
    digits = _READ.normalize(value)
    plain = -5 < digits.adjusted() < 21  # 0.0001 and 100 as people write them, 1e-6 with its exponent
    return format(digits, "f" if plain else "e")


def brief_up(value: Decimal | str, digits: int = 6) -> str:
    """A number cut to a few digits for people, not below it. Exact texts stay in entries and JSON."""
    return text(decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING).create_decimal(value))


def brief_down(value: Decimal | str, digits: int = 6) -> str:
    """A number cut to a few digits for people, not above it: what is left is never shown larger than it is."""
    return text(decimal.Context(prec=digits, rounding=decimal.ROUND_FLOOR).create_decimal(value))


@dataclass(frozen=True, slots=True)
class Bound:
    """A number that is not known exactly but certainly lies in [lower, upper]."""

    lower: Decimal
    upper: Decimal

    def __post_init__(self) -> None:
        if not certainly_le(self.lower, self.upper):
            raise InputError(f"Bound({self.lower}, {self.upper}): lower is not certainly at most upper")

    def __contains__(self, value: Number) -> bool:
        return Fraction(self.lower) <= to_fraction(value, "value") <= Fraction(self.upper)

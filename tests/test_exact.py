"""Amounts are read exactly, sums round against the spender, and nothing doubtful counts as within."""

import decimal
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dosimeter import exact
from dosimeter.errors import InputError
from dosimeter.exact import Bound, amount, certainly_le, count, text, to_decimal

decimals = st.decimals(min_value=Decimal("1e-300"), max_value=Decimal("1e12"), allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("0.1", "0.1"),
        (0.1, "0.1"),
        (1, "1"),
        (" 2.50 ", "2.50"),
        ("1e-300", "1e-300"),
        (1e-300, "1e-300"),
        (Decimal("3"), "3"),
        (Fraction(1, 4), "0.25"),
        ("1/4", "0.25"),
        ("1e12", "1e12"),
    ],
)
def test_an_amount_is_read_exactly(value: exact.Number, read: str) -> None:
    """A float is its shortest decimal form; text is what it says."""
    assert amount(value, "epsilon") == Decimal(read)


@pytest.mark.parametrize(
    "value",
    ["NaN", "sNaN", "inf", "-inf", "-1", "0", "1e-400", "1e400", "1e400000000"]
    + ["0,1", "", "one", "1_0", "٣", "0x1", "1/0", "9" * 1000]
    + [float("nan"), float("inf"), -1.0, 0.0, -0.0, 10**400, Decimal("NaN"), Decimal("-Infinity")]
    + [10**5000, Fraction(10**5000, 3), Fraction(1, 10**5000), Decimal("0." + "1" * 151), Decimal("1e-2000000")],
    ids=exact.show,
)
def test_what_is_not_an_amount_is_refused_by_name(value: exact.Number) -> None:
    """NaN, infinities, negatives, zero, the absurdly small and large, and malformed text: an error that names it."""
    with pytest.raises(InputError, match="epsilon"):
        amount(value, "epsilon")


@pytest.mark.parametrize("value", ["1e-2000000", "1e-9999999999999999999999", "-1e-2000000"])
def test_a_tiny_number_is_not_zero(value: str) -> None:
    """A number too small to be read is refused; read as zero it would be a free charge."""
    for zero in (True, False):
        with pytest.raises(InputError, match="far outside"):
            amount(value, "epsilon", zero=zero)
    assert amount("0e99999999999999999999", "epsilon", zero=True) == 0


class LyingDecimal(Decimal):
    """Says yes to every comparison."""

    def __ge__(self, other: object) -> bool:
        return True

    __le__ = __ge__

    def is_finite(self) -> bool:
        return True

    def adjusted(self) -> int:
        return 0


class LyingInt(int):
    """As above."""

    def __ge__(self, other: object) -> bool:
        return True

    __le__ = __ge__


def test_a_number_cannot_speak_for_itself() -> None:
    """A subclass with comparisons of its own is judged, and kept, by the number it holds: no negative charge passes."""
    for bad in (LyingDecimal(-5), LyingDecimal("NaN"), LyingDecimal("1e13"), LyingInt(-5)):
        with pytest.raises(InputError, match="epsilon"):
            amount(bad, "epsilon")
    with pytest.raises(InputError, match="count"):
        count(LyingInt(-5), "count")
    assert type(amount(LyingDecimal(5), "epsilon")) is Decimal
    assert type(count(LyingInt(5), "count")) is int


def test_a_message_survives_a_value_that_cannot_be_shown() -> None:
    """An integer of more digits than Python prints, or an object that fails to describe itself, is named by type."""

    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(InputError, match="count=<int>"):
        count(10**5000, "count")
    with pytest.raises(InputError, match="x=<Mute>"):
        amount(Mute(), "x")  # type: ignore[arg-type]


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9), st.integers(0, 6000))
def test_a_long_ratio_rounds_once(value: Fraction, length: int) -> None:
    """Numerators and denominators of thousands of digits are rounded as exactly as short ones."""
    long = value * Fraction(10**length + 1, 10**length + 3)
    up, down = to_decimal(long, "x"), to_decimal(long, "x", round_up=False)
    assert Fraction(down) <= long <= Fraction(up)
    assert Fraction(up) - Fraction(down) <= long * Fraction(1, 10**49)


@pytest.mark.parametrize("value", [True, False, None, [], {}, b"1", 1j, object()])
def test_other_types_are_refused(value: object) -> None:
    """Truth values and containers are not numbers."""
    with pytest.raises(InputError, match="epsilon"):
        amount(value, "epsilon")  # type: ignore[arg-type]


def test_zero_is_allowed_only_where_said() -> None:
    """A loss may be zero, a budget may not."""
    assert amount("0", "epsilon", zero=True) == 0
    assert str(amount("-0", "epsilon", zero=True)) == "0"
    with pytest.raises(InputError):
        amount("0", "epsilon")


def test_a_delta_stays_below_one() -> None:
    """delta = 1 promises nothing and is not a budget."""
    assert amount("0.999", "delta", below_one=True) == Decimal("0.999")
    for bad in ("1", "1.5"):
        with pytest.raises(InputError, match="delta"):
            amount(bad, "delta", below_one=True)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_a_ratio_rounds_against_the_spender(value: Fraction) -> None:
    """What is spent rounds up, what may be spent rounds down, both to 50 digits."""
    up, down = to_decimal(value, "x"), to_decimal(value, "x", round_up=False)
    assert Fraction(down) <= value <= Fraction(up)
    assert Fraction(up) - Fraction(down) <= value * Fraction(1, 10**49)


@given(decimals, decimals)
def test_arithmetic_is_on_the_stated_side(a: Decimal, b: Decimal) -> None:
    """Every *_up is not below the rational result, every *_down not above."""
    fa, fb = Fraction(a), Fraction(b)
    assert Fraction(exact.add_up(a, b)) >= fa + fb
    assert Fraction(exact.subtract_down(a, b)) <= fa - fb <= Fraction(exact.subtract_up(a, b))
    assert Fraction(exact.multiply_down(a, b)) <= fa * fb <= Fraction(exact.multiply_up(a, b))
    assert Fraction(exact.divide_down(a, b)) <= fa / fb <= Fraction(exact.divide_up(a, b))
    assert Fraction(exact.sqrt_down(a)) ** 2 <= fa <= Fraction(exact.sqrt_up(a)) ** 2


def test_ten_tenths_make_one() -> None:
    """Sums of decimals are decimal: ten charges of 0.1 are exactly 1, three of 0.1 exactly 0.3."""
    assert exact.add_up(*[Decimal("0.1")] * 10) == 1
    assert exact.add_up(*[Decimal("0.1")] * 3) == Decimal("0.3")


def test_a_thousand_tiny_charges_are_all_counted() -> None:
    """Small terms are not lost beside a large one, even below the 50 digits kept."""
    total = Decimal("0.5")
    for _ in range(1000):
        total = exact.add_up(total, Decimal("1e-17"))
    assert total == Decimal("0.50000000000001")
    assert exact.add_up(Decimal(1), Decimal("1e-300")) > 1


@pytest.mark.parametrize("doubtful", [Decimal("NaN"), Decimal("Infinity"), Decimal("-Infinity")])
def test_nothing_doubtful_is_certainly_within(doubtful: Decimal) -> None:
    """NaN and infinities never pass an admission, on either side."""
    assert not certainly_le(doubtful, Decimal(1))
    assert not certainly_le(Decimal(1), doubtful)
    assert certainly_le(Decimal(1), Decimal(1))


def test_the_longest_number_keeps_every_digit() -> None:
    """150 digits are read, written and read again without loss, wherever the point stands."""
    digits = "123456789" * 16 + "123456"
    for exponent in (-10_000, -300, -151, -150, -149, -10, 0):
        longest = Decimal(digits).scaleb(exponent, decimal.Context(prec=150))
        assert to_decimal(longest, "x") == to_decimal(text(longest), "x") == longest
    with pytest.raises(InputError, match="151 digits"):
        to_decimal(digits + "1", "x")


@given(decimals)
def test_text_is_lossless(value: Decimal) -> None:
    """What is written to an entry reads back as the same number, and has one spelling."""
    assert Decimal(text(value)) == value
    assert text(Decimal(text(value))) == text(value)


def test_text_reads_like_people_write() -> None:
    """Plain where plain is readable, an exponent where not."""
    written = [text(Decimal(x)) for x in ("0.30", "100", "1E-300", "0", "0.000001", "0.0001")]
    assert written == ["0.3", "100", "1e-300", "0", "1e-6", "0.0001"]


@given(decimals)
def test_brief_numbers_stay_on_their_side(value: Decimal) -> None:
    """A price shown to a person is never below the true one, what is left never above it."""
    assert Decimal(exact.brief_down(value)) <= value <= Decimal(exact.brief_up(value))
    assert len(Decimal(exact.brief_up(value)).normalize().as_tuple().digits) <= 6


def test_a_count_is_whole_and_in_range() -> None:
    """Counts below one, fractions and truth values are refused; whole numbers of other libraries are read."""

    class Whole:
        def __index__(self) -> int:
            return 7

    assert count(Whole(), "count") == 7
    for bad in (0, -1, 1.0, True, "3", 10**10):
        with pytest.raises(InputError, match="count"):
            count(bad, "count")


def test_a_bound_is_ordered() -> None:
    """Bounds that cross or hold NaN do not exist."""
    assert Decimal("1.5") in Bound(Decimal(1), Decimal(2))
    assert 3 not in Bound(Decimal(1), Decimal(2))
    for lower, upper in (("2", "1"), ("NaN", "1"), ("0", "Infinity")):
        with pytest.raises(InputError):
            Bound(Decimal(lower), Decimal(upper))


def test_messages_show_a_short_printable_form() -> None:
    """Control characters and megabytes of input do not reach a terminal or a log."""
    with pytest.raises(InputError) as caught:
        amount("\x1b[31m" + "9" * 40 + "x", "epsilon")
    assert "\x1b" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        amount("9" * 10_000_000, "epsilon")
    assert len(str(caught.value)) < 200

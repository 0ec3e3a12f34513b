"""Notion values compose by their own law, round against the spender and refuse what they cannot hold."""

from decimal import Decimal
from fractions import Fraction

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dosimeter.errors import InputError, NotionError
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit, require_same
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, Loss, ProbabilisticDP, PureDP
from dosimeter.notions.convert import (
    approx_to_approx,
    bounded_range_to_zcdp,
    gdp_to_rdp,
    gdp_to_zcdp,
    pure_to_rdp,
    pure_to_zcdp,
)
from dosimeter.notions.profiles import hockey_stick, laplace_epsilon, laplace_renyi, laplace_zcdp

amounts = st.decimals(
    min_value=Decimal("1e-9"), max_value=Decimal("1e3"), allow_nan=False, allow_infinity=False, places=12
)
deltas = st.decimals(min_value=0, max_value=Decimal("0.01"), places=12)
values = st.one_of(
    st.builds(PureDP, amounts),
    st.builds(ApproxDP, amounts, deltas),
    st.builds(ZCDP, amounts, deltas),
    st.builds(GDP, amounts, deltas),
    st.builds(lambda a, b, d: RDP((2, 8), (a, b), d), amounts, amounts, deltas),
)


@given(values, st.integers(1, 12))
def test_repeating_equals_the_loop(value: Loss, n: int) -> None:
    """count runs cost what count single runs cost, never less."""
    total = value
    for _ in range(n - 1):
        total = total.compose(value)  # type: ignore[arg-type]
    repeated = value.repeat(n)  # type: ignore[union-attr]
    if isinstance(value, GDP):
        assert abs(Fraction(repeated.mu) / Fraction(total.mu) - 1) < Fraction(1, 10**40)
        assert Fraction(repeated.mu) ** 2 >= n * Fraction(value.mu) ** 2
    else:
        assert repeated == total


@given(st.lists(amounts, min_size=2, max_size=6), st.randoms())
def test_composition_does_not_depend_on_the_order(parts: list[Decimal], random: object) -> None:
    """Composition is commutative and associative where the sums are exact."""
    shuffled = list(parts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    forward, backward = ZCDP(0), ZCDP(0)
    for part in parts:
        forward = forward.compose(ZCDP(part))
    for part in shuffled:
        backward = ZCDP(part).compose(backward)
    assert forward == backward


def test_gaussian_squares_add() -> None:
    """Two mechanisms of mu = 0.6 and 0.8 are 1-GDP together; four of 0.5 too."""
    assert GDP("0.6").compose(GDP("0.8")) == GDP(1)
    assert GDP("0.5").repeat(4) == GDP(1)


def test_a_delta_never_passes_one() -> None:
    """Failures cannot be more than certain."""
    assert ApproxDP(1, "0.6").compose(ApproxDP(1, "0.6")).delta == 1
    assert ProbabilisticDP(1, "0.6").compose(ProbabilisticDP(1, "0.6")).delta == 1


@pytest.mark.parametrize("bad", ["NaN", "-1", "inf", "1e-400", "0,1", None])
@pytest.mark.parametrize("make", [PureDP, ApproxDP, ZCDP, GDP, lambda x: RDP((2,), (x,)), lambda x: ZCDP(1, x)])
def test_bad_parameters_are_refused(make: object, bad: object) -> None:
    """No notion holds a value that is not an amount."""
    with pytest.raises(InputError):
        make(bad)  # type: ignore[operator]


def test_renyi_orders_must_match_and_rise() -> None:
    """Guarantees at different orders do not add; orders lie above one and rise."""
    with pytest.raises(NotionError):
        RDP((2,), (1,)).compose(RDP((3,), (1,)))
    for orders in ((), (1,), ("0.5",), (3, 2), (2, 2), ("1e7",)):
        with pytest.raises(InputError):
            RDP(orders, tuple(1 for _ in orders))
    with pytest.raises(InputError):
        RDP((2, 3), (1,))


ONE_OF_EACH = (PureDP(1), ApproxDP(1, "0.5"), ProbabilisticDP(1), ZCDP(1, "0.5"), GDP(1), RDP((2,), (1,)))


@pytest.mark.parametrize("other", ONE_OF_EACH)
@pytest.mark.parametrize("mine", ONE_OF_EACH)
def test_notions_do_not_mix(mine: Loss, other: Loss) -> None:
    """Only guarantees of one notion add up: PureDP and ApproxDP both have an epsilon, and a sum would drop a delta."""
    if type(mine) is type(other):
        mine.compose(other)  # type: ignore[arg-type]
    else:
        with pytest.raises(NotionError, match="convert"):
            mine.compose(other)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, -1, True, "2", 0.5, Decimal("0.5"), 10**12 + 1, None])
@pytest.mark.parametrize("value", [v for v in ONE_OF_EACH if not isinstance(v, ProbabilisticDP)])
def test_runs_come_in_whole_numbers(value: Loss, count: object) -> None:
    """No repetition is free, negative or half: a fraction of a run would be a discount."""
    with pytest.raises(InputError, match="count"):
        value.repeat(count)  # type: ignore[arg-type, union-attr]


@pytest.mark.parametrize("orders", ["23", None, 2, b"23"])
def test_a_text_is_not_a_list_of_orders(orders: object) -> None:
    """The text "23" is not the orders 2 and 3."""
    with pytest.raises(InputError, match="sequence"):
        RDP(orders, (1, 1))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="sequence"):
        RDP((2, 3), orders)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "epsilon", ["1e12", "999999999999.99999999999999999999", "1e9", "80.123456789012345678901234567"]
)
def test_a_divergence_is_never_above_the_largest_loss(epsilon: str) -> None:
    """Rounding up ends at epsilon itself, so the largest epsilon there is has a place in every notion."""
    exact = Decimal(epsilon)
    assert pure_to_zcdp(PureDP(exact)).rho <= exact
    assert max(pure_to_rdp(PureDP(exact), orders=("1.5", 2, "1e6")).epsilons) <= exact
    assert laplace_zcdp(exact) <= exact
    assert laplace_renyi(exact, "1e6") <= exact


def test_a_tiny_guarantee_converts_to_the_smallest_amount() -> None:
    """Squares of tiny numbers fall below the smallest amount; they become it, not an error and not nothing."""
    for tiny in ("1e-300", "1e-160"):
        assert gdp_to_zcdp(GDP(tiny)).rho == Decimal("1e-300")
        assert gdp_to_rdp(GDP(tiny), orders=(2, 3)).epsilons == (Decimal("1e-300"),) * 2
        assert bounded_range_to_zcdp(tiny).rho == Decimal("1e-300")
    assert gdp_to_zcdp(GDP(0)).rho == 0


def test_ratios_have_one_reader() -> None:
    """A ratio as text is exact wherever it is accepted, and digits of other scripts are refused everywhere."""
    assert hockey_stick(["1/3", "2/3"], ["2/3", "1/3"], 0) >= Fraction(1, 3)
    for bad in ("１/３", "²/3", "1/0"):
        with pytest.raises(InputError):
            hockey_stick([bad, "2/3"], ["2/3", "1/3"], 0)


def test_a_restated_guarantee_is_never_larger_than_itself() -> None:
    """At a delta far too small to buy anything the answer is the guarantee's own epsilon, to its last digit."""
    exact = Decimal("0.086262201398600170398155987730335611923779971907263")
    assert approx_to_approx(ApproxDP(exact), target_delta="1e-200").epsilon == exact
    assert laplace_epsilon(exact, "1e-200") == exact


def test_relations_do_not_mix() -> None:
    """A guarantee under one relation is never charged under another."""
    require_same(NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.read("add_remove"))
    with pytest.raises(NotionError, match="replace_one"):
        require_same(NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.REPLACE_ONE)
    with pytest.raises(InputError, match="add_remove"):
        NeighbouringRelation.read("swap")


def test_a_row_contributes_once() -> None:
    """A contribution bound above one needs a user column."""
    assert PrivacyUnit("user", 5).max_contributions == 5
    assert type(PrivacyUnit("user", numpy.int64(5)).max_contributions) is int  # type: ignore[arg-type]
    for column, bound in (
        (None, 2),
        ("", 1),
        (5, 1),
        (True, 1),
        (["user"], 1),
        ("user", 0),
        ("user", 1.5),
        ("user", True),
    ):
        with pytest.raises(InputError):
            PrivacyUnit(column, bound)  # type: ignore[arg-type]

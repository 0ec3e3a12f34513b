"""Losses add; disjoint parts do not; failures multiply."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.composition import basic, optimal_homogeneous_delta, parallel, slack_for
from dosimeter.composition.parts import failure_up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import ApproxDP, PureDP

epsilons = st.decimals(min_value=0, max_value=5, places=6)
deltas = st.decimals(min_value=0, max_value=Decimal("0.2"), places=9)
guarantees = st.builds(ApproxDP, epsilons, deltas)


def test_ten_tenths_are_one() -> None:
    """Ten charges of 0.1 cost exactly 1, given singly or as a count."""
    assert basic(["0.1"] * 10).epsilon == 1
    assert basic([("0.1", 10)]).epsilon == 1
    assert basic([0.1] * 10) == basic([(PureDP("0.1"), 10)])  # type: ignore[arg-type]


@given(st.lists(st.tuples(guarantees, st.integers(1, 40)), min_size=1, max_size=6))
@settings(max_examples=50, deadline=None)
def test_counts_equal_the_written_out_list(parts: list[tuple[ApproxDP, int]]) -> None:
    """A count is the same as the repeated entry, and the order does not matter."""
    written = [guarantee for guarantee, times in parts for _ in range(times)]
    assert basic(parts) == basic(reversed(written))
    assert basic(parts).epsilon == sum((g.epsilon for g in written), Decimal(0))


@given(st.lists(st.tuples(st.decimals("1e-12", "0.3", places=12), st.integers(1, 10_000)), min_size=1, max_size=5))
@settings(max_examples=50, deadline=None)
def test_failures_multiply_and_round_up(deltas: list[tuple[Decimal, int]]) -> None:
    """1 - prod (1 - delta) is met from above within 1e-20, and never exceeds the sum."""
    import mpmath

    counts = {delta: times for delta, times in deltas if delta}
    if not counts:
        return
    ours = failure_up(counts)
    with mpmath.workdps(60):
        survive = mpmath.fprod((1 - mpmath.mpf(str(d))) ** n for d, n in counts.items())
        truth = 1 - survive
        assert mpmath.mpf(str(ours)) >= truth * (1 - mpmath.mpf("1e-40"))
        assert mpmath.mpf(str(ours)) <= truth * (1 + mpmath.mpf("1e-20"))
    assert ours <= min(Decimal(1), sum(d * n for d, n in counts.items()))


@pytest.mark.parametrize(("count", "expected"), [(1, "0.1"), (2, "0.19"), (3, "0.271")])
def test_pure_failures_compose_exactly(count: int, expected: str) -> None:
    """(0, 0.1)-DP mechanisms: one fails with 0.1, two with 0.19, not 0.2."""
    assert optimal_homogeneous_delta(ApproxDP("0", "0.1"), count, 0) == Decimal(expected)  # type: ignore[arg-type]
    assert basic([(ApproxDP("0", "0.1"), count)]).delta == Decimal(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(("relation", "expected"), [("add_remove", "0.5"), ("zero_out", "0.5"), ("replace_one", "0.8")])
def test_the_relation_decides_what_disjoint_parts_cost(relation: str, expected: str) -> None:
    """A replaced row may leave one part and enter another: then two parts notice."""
    assert parallel(["0.3", "0.5", "0.2"], relation).epsilon == Decimal(expected)


def test_parallel_takes_the_two_largest_even_from_one_count() -> None:
    """Two parts of the same epsilon are two parts."""
    assert parallel([("0.5", 2), "0.1"], NeighbouringRelation.REPLACE_ONE).epsilon == 1
    assert parallel(["0.5"], NeighbouringRelation.REPLACE_ONE).epsilon == Decimal("0.5")
    both = parallel([ApproxDP("1", "0.1"), ApproxDP("2", "0.01")], "replace_one")  # type: ignore[arg-type]
    assert both == ApproxDP("3", Fraction(109, 1000))  # type: ignore[arg-type]


@given(st.lists(st.tuples(guarantees, st.integers(1, 3)), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_parallel_never_costs_more_than_everything(parts: list[tuple[ApproxDP, int]]) -> None:
    """add_remove <= replace_one <= plain composition."""
    one, two, all_ = parallel(parts, "add_remove"), parallel(parts, "replace_one"), basic(parts)
    assert one.epsilon <= two.epsilon <= all_.epsilon
    assert one.delta <= two.delta <= all_.delta


def test_slack_is_what_the_failures_leave() -> None:
    """The slack brings the total back to the target, never above it."""
    parts = [(ApproxDP("0.1", "1e-7"), 30)]  # type: ignore[arg-type]
    slack = slack_for(parts, "1e-5")
    total = 1 - (1 - Fraction(slack)) * (1 - Fraction(1, 10**7)) ** 30
    assert Fraction(1, 10**5) * (1 - Fraction(1, 10**30)) < total <= Fraction(1, 10**5)
    assert slack_for(["0.1"], "1e-5") == Decimal("1e-5")
    for target in ("2.9e-6", 0):
        with pytest.raises(NoGuaranteeError, match="no slack"):
            slack_for(parts, target)


@pytest.mark.parametrize("parts", [[], [None], ["x"], [("0.1", 0)], [("0.1", 1.5)], ["-1"], ["nan"], [True], [["0.1"]]])
def test_nonsense_is_refused(parts: list[object]) -> None:
    """What is not a list of guarantees is named and refused."""
    with pytest.raises(InputError):
        basic(parts)  # type: ignore[arg-type]


def test_an_unknown_relation_is_refused() -> None:
    """The error lists the relations."""
    with pytest.raises(InputError, match="replace_one"):
        parallel(["0.1"], "swap")

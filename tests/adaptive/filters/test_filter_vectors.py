"""Filters against reference values that were computed without any of this code."""

from __future__ import annotations

import decimal
import itertools
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.vectors import agrees, not_above, not_below, vectors

from dosimeter.adaptive.filters import (
    Admitted,
    ApproxFilter,
    GDPFilter,
    PublishedApproxFilter,
    RogersFilter,
    WeightedRDPFilter,
    ZCDPFilter,
    fits,
)
from dosimeter.adaptive.filters.intrinsic import pure_rho
from dosimeter.adaptive.filters.one_gaussian import OneGaussian, noise_factor
from dosimeter.enclosure import down, precision, up
from dosimeter.errors import InputError
from dosimeter.exact import fraction_up
from dosimeter.notions import GDP, ZCDP, ApproxDP
from dosimeter.notions.profiles.renyi import log_constant_ball


def cases(fn: str) -> Any:
    """One parametrised case per reference value of a formula."""
    return pytest.mark.parametrize("case", vectors(fn), ids=lambda case: case.id)


def run(filter_: Any, losses: list[Any]) -> Any:
    """The state after losses that all fit."""
    state = filter_.start()
    for loss in losses:
        answer = filter_.admit(state, loss)
        assert isinstance(answer, Admitted)
        state = answer.state
    return state


@cases("thm8_capacity")
def test_published_capacity(case: Any) -> None:
    """The published filter's capacity for the sum of squares, rounded down."""
    capacity = PublishedApproxFilter(case.args["eps"], case.args["delta1"]).capacity
    assert agrees(capacity, case.value)
    assert not_above(capacity, case.value)


@cases("thm8_rounds")
def test_published_rounds(case: Any) -> None:
    """How many pure queries the published filter admits: exactly the number its theorem allows."""
    filter_ = PublishedApproxFilter(case.args["eps"], case.args["delta1"])
    assert fits(filter_, filter_.start(), ApproxDP(case.args["eps_step"])) == case.value


@cases("zcdp_filter_rounds_opt")
def test_default_rounds(case: Any) -> None:
    """How many pure queries the default filter admits."""
    filter_ = ApproxFilter(case.args["eps"], case.args["delta1"])
    assert fits(filter_, filter_.start(), ZCDP(pure_rho(case.args["eps_step"]))) == case.value


@cases("rogers_filter_bound")
def test_rogers_bound(case: Any) -> None:
    """The bound of 2016 over a run, rounded up."""
    filter_ = RogersFilter(case.args["eps_g"], case.args["delta_g"])
    bound = filter_.bound(run(filter_, [ApproxDP(e) for e in case.args["eps_list"]]))
    assert agrees(bound, case.value)
    assert not_below(bound, case.value)


@cases("agdp_filter_residual")
def test_gaussian_residual(case: Any) -> None:
    """The largest mu that still fits, rounded down."""
    filter_ = GDPFilter(case.args["mu_total"])
    left = Decimal(filter_.remaining(run(filter_, [GDP(mu) for mu in case.args["mus"]]))["largest_mu"])
    assert agrees(left, case.value)
    assert not_above(left, case.value)


@cases("delta_product")
def test_added_deltas_cover_the_product_rule(case: Any) -> None:
    """Deltas are added, which is never less than the product rule and for such deltas hardly more."""
    deltas = case.args["deltas"]
    for filter_, make in ((GDPFilter(1, "0.1"), GDP), (ZCDPFilter(1, "0.1"), ZCDP)):
        state = run(filter_, [make("0.1", delta) for delta in deltas])
        assert state.delta == sum(deltas)
        assert not_below(state.delta, case.value)
        assert agrees(state.delta, case.value, "1e-5")


@cases("rdp_order_constant")
def test_order_constants(case: Any) -> None:
    """c_a of the weighted Renyi filter, enclosed."""
    order = fraction_up(Fraction(case.args["alpha"]))
    with precision(200):
        constant = log_constant_ball(order).exp()
    assert agrees(up(constant), case.value)
    assert down(constant) <= up(constant)
    assert not_below(up(constant), case.value)


@cases("rdp_order_budget")
def test_weighted_order_budgets(case: Any) -> None:
    """The budget at one order; where the formula is negative the order's budget is 0, and alone it is no filter."""
    args = (case.args["eps"], case.args["delta"], (case.args["alpha"],), (case.args["weight"],))
    if case.value < 0:
        with pytest.raises(InputError, match="every budget is 0"):
            WeightedRDPFilter(*args)
        return
    budget = WeightedRDPFilter(*args).budgets[0]
    assert agrees(budget, case.value)
    assert not_above(budget, case.value)


@cases("fstar_output")
def test_one_gaussian_answers_the_run(case: Any) -> None:
    """The simulator's answers from one observation, also after the budget is used up."""
    state, answers = OneGaussian(case.args["w0"]), []
    for share, noise in zip(case.args["ms"], case.args["v"], strict=True):
        value, state = state.answer(share, noise)
        answers.append(value)
    assert abs(answers[case.args["index"] - 1] - case.value) <= Decimal("1e-18")


@cases("fstar_chol")
def test_noise_factor_entries(case: Any) -> None:
    """The entries of the factor of I - m m^T."""
    entry = noise_factor(case.args["ms"])[case.args["i"] - 1][case.args["j"] - 1]
    assert abs(entry - case.value) <= Decimal("1e-18")


def product(rows: Any) -> list[list[Decimal]]:
    """L L^T to 60 digits."""
    with decimal.localcontext(prec=60):
        return [[sum((a * b for a, b in zip(r, s, strict=True)), Decimal(0)) for s in rows] for r in rows]


def test_the_printed_factor_does_not_factor() -> None:
    """Control: the last entry without its square root misses I - m m^T by 0.32; with it the product is exact."""
    shares = [Decimal(x) for x in ("0.3", "-0.4", "0.5", "0.6")]
    target = [[Decimal(i == j) - a * b for j, b in enumerate(shares)] for i, a in enumerate(shares)]

    def miss(rows: Any) -> Decimal:
        ours = product(rows)
        return max(sum(abs(ours[i][j] - target[i][j]) for j in range(4)) for i in range(4))

    right = noise_factor(shares)
    assert miss(right) < Decimal("1e-45")
    printed = [(*row[:i], row[i] ** 2, *row[i + 1 :]) for i, row in enumerate(right)]
    assert round(miss(printed), 4) == Decimal("0.3228")


shares_lists = st.lists(st.decimals("-0.6", "0.6", places=2), min_size=1, max_size=6).filter(
    lambda ms: sum(m * m for m in ms) <= 1
)


@settings(max_examples=60, deadline=None)
@given(shares_lists)
def test_answers_are_independent_gaussians_with_the_right_means(shares: list[Decimal]) -> None:
    """For every list of shares the answers have means b m_i and the covariance of independent unit Gaussians."""

    def answers(observation: int, noises: list[int]) -> list[Decimal]:
        state, values = OneGaussian(Decimal(observation)), []
        for share, noise in zip(shares, noises, strict=True):
            value, state = state.answer(share, noise)
            values.append(value)
        return values

    n = len(shares)
    # the answers are linear in (W_0, V_1, ..., V_n): read the coefficients off unit inputs
    columns = [answers(1, [0] * n)] + [answers(0, [int(i == j) for i in range(n)]) for j in range(n)]
    for i, share in enumerate(shares):
        assert abs(columns[0][i] - share) < Decimal("1e-40")  # mean b m_i
    for i, j in itertools.product(range(n), repeat=2):
        covariance = sum(Fraction(column[i]) * Fraction(column[j]) for column in columns)
        assert abs(covariance - (i == j)) < Fraction(1, 10**40)


def test_the_simulator_refuses_more_than_the_budget() -> None:
    """Squares of shares beyond 1 cannot be answered from one observation; a share of 0 always can."""
    _, state = OneGaussian(Decimal(1)).answer("0.6", 1)
    _, state = state.answer("0.8", -2)
    assert state.asked == 1
    with pytest.raises(InputError, match="more than is left"):
        state.answer("1e-9", 0)
    assert state.answer(0, "0.5") == (Decimal("0.5"), state)
    with pytest.raises(InputError, match="use up"):
        noise_factor(["0.6", "0.8", "0.1"])

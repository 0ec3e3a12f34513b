"""Filters in use: amounts fit to the last digit, a refusal changes nothing, and the account goes on afterwards."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from dosimeter.adaptive.filters import (
    Admitted,
    ApproxFilter,
    BasicFilter,
    GDPFilter,
    PublishedApproxFilter,
    PureFilter,
    RDPCurveFilter,
    RDPFilter,
    Refused,
    RogersFilter,
    WeightedRDPFilter,
    ZCDPFilter,
    fits,
)
from dosimeter.adaptive.filters.intrinsic import largest_pure, pure_rho
from dosimeter.exact import LARGEST
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, Loss, PureDP


def play(filter_: Any, losses: list[Loss]) -> tuple[list[bool], Any]:
    """Ask for the losses in turn; which were admitted, and the state afterwards."""
    state, admitted = filter_.start(), []
    for loss in losses:
        answer = filter_.admit(state, loss)
        admitted.append(isinstance(answer, Admitted))
        state = answer.state if isinstance(answer, Admitted) else state
    return admitted, state


def count_until_refused(filter_: Any, loss: Loss) -> int:
    """How many queries of this loss are admitted one by one."""
    state, admitted = filter_.start(), 0
    while isinstance(answer := filter_.admit(state, loss), Admitted):
        state, admitted = answer.state, admitted + 1
    return admitted


@pytest.mark.parametrize(
    ("filter_", "losses", "admitted", "spent"),
    [
        (
            ZCDPFilter("0.5"),
            [ZCDP(r) for r in ("0.2", "0.25", "0.1", "0.05", "1e-9")],
            [True, True, False, True, False],
            {"rho": "0.5", "delta": "0"},
        ),
        (
            BasicFilter("1", "1e-5"),
            [ApproxDP("0.1", d) for d in ("3e-6", "3e-6", "3e-6", "3e-6", "0")],
            [True, True, True, False, True],
            {"epsilon": "0.4", "delta": "9e-6"},
        ),
        (PureFilter("1.0"), [PureDP(e) for e in ("0.3", "5", "0.7")], [True, False, True], {"epsilon": "1"}),
        (
            PureFilter("0.3"),
            [PureDP(e) for e in ("0.1", 0.1, Decimal("0.1"), "1e-9", "1e-300")],
            [True, True, True, False, False],
            {"epsilon": "0.3"},
        ),
        (PureFilter("2.0"), [PureDP("1.5"), PureDP("1.0"), PureDP("0.5")], [True, False, True], {"epsilon": "2"}),
        (
            GDPFilter("0.5"),
            [GDP(m) for m in ("0.3", "0.41", "0.4", "1e-9")],
            [True, False, True, False],
            {"mu_squared": "0.25", "delta": "0"},
        ),
        (
            RDPCurveFilter(("2", "8"), ("1", "3")),
            [RDP(("2", "8"), e) for e in (("0.4", "2"), ("0.4", "1.1"), ("0.6", "1"), ("1e-12", "0"))],
            [True, False, True, False],
            {"epsilon at order 2": "1", "epsilon at order 8": "3", "delta": "0"},
        ),
    ],
)
def test_admits_exactly_what_fits_and_goes_on(
    filter_: Any, losses: list[Loss], admitted: list[bool], spent: dict[str, str]
) -> None:
    """What fits is admitted, what does not is refused, and a cheaper query after a refusal is admitted."""
    answers, state = play(filter_, losses)
    assert answers == admitted
    assert {name: Decimal(value) for name, value in filter_.spent(state).items()} == {
        name: Decimal(value) for name, value in spent.items()
    }


@pytest.mark.parametrize(
    ("filter_", "loss"),
    [
        (PureFilter("1.0"), PureDP("0.1")),
        (PureFilter(1.0), PureDP(0.1)),
        (BasicFilter(1, "1e-5"), ApproxDP(0.1, "1e-6")),
        (ZCDPFilter(1), ZCDP(0.1)),
        (ZCDPFilter(1, "1e-5"), ZCDP("0.1", "1e-6")),
        (RDPFilter(2, 1), RDP((2,), (0.1,))),
        (RDPCurveFilter((2, 32), (1, 2)), RDP((2, 32), ("0.1", "0.2"))),
        (GDPFilter(1, "1e-5"), GDP(0, "1e-6")),
    ],
)
def test_ten_tenths_fit_and_then_nothing(filter_: Any, loss: Loss) -> None:
    """Ten charges of a tenth fit a budget of one; the eleventh does not, nor does the smallest amount there is."""
    assert count_until_refused(filter_, loss) == 10
    _, state = play(filter_, [loss] * 10)
    tiny = "1e-300"
    smallest: dict[str, Loss] = {
        "pure": PureDP(tiny),
        "approx": ApproxDP(tiny),
        "zcdp": ZCDP(tiny),
        "rdp": RDP(getattr(filter_, "orders", (2,)), (tiny,) * len(getattr(filter_, "orders", (2,)))),
        "gdp": GDP(0, tiny),
    }
    assert isinstance(filter_.admit(state, smallest[filter_.notion]), Refused)


def test_a_thousand_tiny_charges_are_all_counted() -> None:
    """Charges of 1e-17 on top of 0.5 are not lost in rounding: a thousand of them are 1e-14."""
    filter_ = PureFilter("1.0")
    _, state = play(filter_, [PureDP("0.5")] + [PureDP("1e-17")] * 1000)
    assert filter_.spent(state) == {"epsilon": "0.50000000000001"}


def test_remaining_is_what_may_still_be_asked() -> None:
    """Remaining reads 0.7, 0.7, 0 around a refused query, and exactly what remains is admitted."""
    filter_ = PureFilter("1.0")
    state, readings = filter_.start(), []
    for epsilon in ("0.3", "5", "0.7"):
        answer = filter_.admit(state, PureDP(epsilon))
        state = answer.state if isinstance(answer, Admitted) else state
        readings.append(filter_.remaining(state)["epsilon"])
    assert readings == ["0.7", "0.7", "0"]


def test_a_refusal_says_asked_spent_remaining_budget_and_what_failed() -> None:
    """The refusal is a value that a person can act on."""
    filter_ = PureFilter("2.0")
    _, state = play(filter_, [PureDP("1.5")])
    refused = filter_.admit(state, PureDP("1.0"))
    assert refused == Refused(
        "over_budget",
        requested={"epsilon": "1"},
        spent={"epsilon": "1.5"},
        remaining={"epsilon": "0.5"},
        budget={"epsilon": "2"},
        exceeded=("epsilon",),
    )
    message = refused.message()
    for part in ("epsilon", "asked 1", "remaining 0.5", "of 2"):
        assert part in message


@pytest.mark.parametrize(
    ("loss", "code", "exceeded"),
    [
        (ApproxDP("0.1", "2e-6"), "over_delta", ("delta",)),
        (ApproxDP("2", "1e-7"), "over_budget", ("epsilon",)),
        (ApproxDP("2", "1"), "over_budget", ("epsilon", "delta")),
    ],
)
def test_one_component_over_is_enough_and_is_named(loss: Loss, code: str, exceeded: tuple[str, ...]) -> None:
    """A query that fits in epsilon alone, or in delta alone, does not fit; the refusal names what is over."""
    refused = BasicFilter(1, "1e-6").admit(BasicFilter(1, "1e-6").start(), loss)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.exceeded) == (code, exceeded)
    assert all(name in refused.message() for name in exceeded)


@pytest.mark.parametrize(
    ("epsilon", "delta", "step", "published", "recommended"),
    [("1", "1e-6", "0.01", 349, 487), ("2", "1e-5", "0.02", 400, 541), ("3", "1e-5", "0.1", 34, 44)],
)
def test_how_many_pure_queries_fit(epsilon: str, delta: str, step: str, published: int, recommended: int) -> None:
    """The published filter and the default one admit the number of queries that their theorems allow, no more."""
    assert count_until_refused(PublishedApproxFilter(epsilon, delta), ApproxDP(step)) == published
    assert count_until_refused(ApproxFilter(epsilon, delta), ZCDP(pure_rho(Decimal(step)))) == recommended
    assert recommended <= 632  # the optimum for parameters fixed in advance at (2, 1e-5), out of reach for a filter


def test_rogers_admits_less_than_either() -> None:
    """The first published filter is there for comparison: it admits less than the later ones."""
    counted = count_until_refused(RogersFilter(1, "1e-6"), ApproxDP("0.01"))
    assert 0 < counted < 349


def test_declared_failures_have_their_own_cap() -> None:
    """Without a declared share of delta a mechanism that may fail is refused; with one, failures add up to it."""
    refused = ApproxFilter(1, "1e-6").admit(ApproxFilter(1, "1e-6").start(), ZCDP("1e-4", "1e-9"))
    assert isinstance(refused, Refused)
    assert "nothing is set aside" in refused.message()
    for filter_, loss in (
        (ApproxFilter(1, "1e-6", "3e-7"), ZCDP("1e-4", "1e-7")),
        (PublishedApproxFilter(1, "1e-6", "3e-7"), ApproxDP("1e-4", "1e-7")),
        (RogersFilter(1, "6e-7"), ApproxDP("1e-4", "1e-7")),
        (WeightedRDPFilter(1, "1e-6", (16, 64), declared_delta="3e-7"), RDP((16, 64), ("1e-4", "1e-3"), "1e-7")),
    ):
        assert count_until_refused(filter_, loss) == 3
        _, state = play(filter_, [loss] * 3)
        refused = filter_.admit(state, loss)
        assert isinstance(refused, Refused)
        assert refused.code == "over_delta"
        assert "smaller delta" in refused.message()


def test_one_order_within_its_budget_is_enough_for_the_weighted_filter() -> None:
    """Queries may exhaust one order and go on at another; the refusal comes when no order is left."""
    filter_ = WeightedRDPFilter(3, "1e-6", (8, 64))
    low, high = filter_.budgets
    losses = [RDP((8, 64), (low, 0)), RDP((8, 64), ("0.001", 0)), RDP((8, 64), ("0.001", high)), RDP((8, 64), (0, 1))]
    admitted, state = play(filter_, losses)
    assert admitted == [True, True, True, False]
    refused = filter_.admit(state, RDP((8, 64), (0, 1)))
    assert isinstance(refused, Refused)
    assert refused.exceeded == ("epsilon at order 8", "epsilon at order 64")


@pytest.mark.parametrize(
    ("filter_", "loss", "n"),
    [
        (ZCDPFilter(1), ZCDP("1e-5"), 100_000),
        (PureFilter(1), PureDP("1e-7"), 10_000_000),
        (GDPFilter("0.1"), GDP("0.001"), 10_000),
        (PublishedApproxFilter(1, "1e-6"), ApproxDP("0.01"), 349),
        (ApproxFilter(1, "1e-6"), ZCDP(pure_rho(Decimal("0.01"))), 487),
    ],
)
def test_a_batch_is_charged_like_its_single_queries(filter_: Any, loss: Loss, n: int) -> None:
    """n equal queries decided at once cost n times one, fit exactly n times, and n + 1 are refused as a whole."""
    batch = filter_.admit(filter_.start(), loss, n)
    assert isinstance(batch, Admitted)
    assert fits(filter_, filter_.start(), loss) == n
    assert isinstance(filter_.admit(filter_.start(), loss, n + 1), Refused)
    few = min(n, 2_000)
    _, single = play(filter_, [loss] * few)
    assert filter_.admit(filter_.start(), loss, few) == Admitted(single)


def test_a_hundred_thousand_single_charges_fill_the_budget_exactly() -> None:
    """1e5 charges of rho 1e-5, one by one, spend exactly 1: the batch and the singles agree to the last digit."""
    filter_, loss = ZCDPFilter(1), ZCDP("1e-5")
    state = filter_.start()
    for _ in range(100_000):
        answer = filter_.admit(state, loss)
        assert isinstance(answer, Admitted)
        state = answer.state
    assert filter_.spent(state) == {"rho": "1", "delta": "0"}
    assert filter_.admit(filter_.start(), loss, 100_000) == Admitted(state)


@pytest.mark.parametrize("rho", ["1e-300", "1e-40", "1e-6", "0.024355970359538373", "1", "37.5", "1e4", "1e12"])
def test_the_largest_pure_query_is_just_within(rho: str) -> None:
    """What is called the largest epsilon that fits does fit, and a little more does not."""
    epsilon = largest_pure(Decimal(rho))
    assert pure_rho(epsilon) <= Decimal(rho)
    more = epsilon * (1 + Decimal("1e-11"))
    assert more > LARGEST or pure_rho(more) > Decimal(rho)


def test_what_is_left_is_also_said_in_epsilon() -> None:
    """Filters that count squares or rhos also say the largest epsilon of one more query, and that query fits."""
    published, default = PublishedApproxFilter(1, "1e-6"), ApproxFilter(1, "1e-6")
    _, spent = play(published, [ApproxDP("0.1")])
    largest = published.remaining(spent)["largest_epsilon"]
    assert isinstance(published.admit(spent, ApproxDP(largest)), Admitted)
    _, state = play(default, [ZCDP("0.005")])
    largest = default.remaining(state)["largest_epsilon"]
    assert isinstance(default.admit(state, ZCDP(pure_rho(Decimal(largest)))), Admitted)
    gaussian = GDPFilter("0.5")
    assert gaussian.remaining(play(gaussian, [GDP("0.3")])[1])["largest_mu"] == "0.4"

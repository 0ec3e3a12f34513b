"""Odometers against reference values that were computed without any of this code."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from tests.vectors import agrees, not_above, not_below, vectors

from dosimeter.adaptive import boundaries as b
from dosimeter.adaptive.odometers import FilterOdometer, ProbabilisticOdometer, UnionOdometer
from dosimeter.adaptive.odometers.probabilistic import ProbabilisticRecord
from dosimeter.adaptive.odometers.rdp import rdp_mixture, rdp_order_line
from dosimeter.adaptive.odometers.tuning import gamma_one_sided, gamma_two_sided
from dosimeter.exact import add_up, fraction_down, to_decimal
from dosimeter.notions import ProbabilisticDP
from dosimeter.notions.convert import pure_to_zcdp

D = Decimal


def rogers(eps_list: list[Decimal], n_data: Decimal, delta1: Decimal) -> Decimal:
    """The sums that a Rogers account keeps, with the drift summed in rationals of a decimal exponential."""
    drift = sum((e * (e.exp() - 1) / 2 for e in eps_list), D(0))
    return b.rogers(sum(e * e for e in eps_list), drift, delta1, int(n_data))


def mixed(alphas: list[Any], weights: list[Any], rho_sums: list[Any], delta1: Decimal) -> Decimal:
    """The mixture over orders with weights as decimals."""
    shares = tuple(fraction_down(Fraction(w)) for w in weights)
    return rdp_mixture(tuple(rho_sums), delta1, tuple(alphas), shares)


BOUNDS: dict[str, Callable[..., Decimal]] = {
    "odo_filter": lambda V, y, delta1: b.line(V, delta1, y),
    "odo_mixture_published": lambda V, gamma, delta1: b.mixture_two_sided(V, delta1, gamma),
    "odo_mixture_onesided_closed": lambda V, gamma, delta1: b.mixture_closed(V, delta1, gamma),
    "odo_mixture_onesided_howard": lambda V, gamma, delta1: b.mixture_howard(V, delta1, gamma),
    "odo_mixture_onesided_exact": lambda V, gamma, delta1: b.mixture(V, delta1, gamma),
    "odo_mixture_onesided_best": lambda V, delta1: b.mixture(V, delta1, gamma_one_sided(V, delta1)),
    "odo_stitched": lambda V, v0, delta1: b.stitched_rounded(V, delta1, v0),
    "odo_stitched_general": lambda V, v0, delta1, eta, s: b.stitched_general(V, delta1, v0, eta, s),
    "odo_stitched_envelope": lambda V, v0, delta1, eta, s, K: b.stitched_envelope(V, delta1, v0),
    "odo_rdp_order": lambda alpha, rho_sum, delta1: rdp_order_line(rho_sum, delta1, alpha),
    "odo_rdp_mixture": mixed,
}


def cases(*names: str) -> Any:
    """One parametrised case per reference value of some formulas."""
    return pytest.mark.parametrize("case", [c for name in names for c in vectors(name)], ids=lambda case: case.id)


@cases(*BOUNDS)
def test_a_boundary_is_the_reference_value_rounded_up(case: Any) -> None:
    """Every boundary, to 18 digits and on the safe side."""
    ours = BOUNDS[case.fn](**case.args)
    assert agrees(ours, case.value)
    assert not_below(ours, case.value)


@cases("odo_rogers")
def test_the_rogers_boundary(case: Any) -> None:
    """Both of its branches."""
    assert agrees(rogers(**case.args), case.value)


@cases("gamma_onesided", "gamma_twosided")
def test_tuned_widths_of_the_mixture(case: Any) -> None:
    """The widths that are lowest at a target, for the exact and for the two-sided form."""
    tune = gamma_one_sided if case.fn == "gamma_onesided" else gamma_two_sided
    ours = tune(case.args["V"], case.args["delta1"])
    assert agrees(ours, case.value)
    assert not_above(ours, case.value)


@cases("odo_union_filter")
def test_a_union_of_lines(case: Any) -> None:
    """The lowest line at its share."""
    parts = [FilterOdometer(d, y) for d, y in zip(case.args["deltas"], case.args["ys"], strict=True)]
    state = ProbabilisticRecord(case.args["V"])  # any state that keeps an intrinsic time
    ours = UnionOdometer(tuple(parts)).bound(state)
    assert agrees(ours, case.value)
    assert not_below(ours, case.value)


@cases("odo_pdp_correction")
def test_the_correction_of_pdp_rounds(case: Any) -> None:
    """sum log(1/(1 - delta_m)), rounded up."""
    odometer = ProbabilisticOdometer(FilterOdometer(D("0.1"), D(1)), D("0.5"))
    record = odometer.start()
    for delta in case.args["deltas"]:
        record = odometer.record(record, ProbabilisticDP(D(0), delta))
    assert agrees(record.correction, case.value)
    assert not_below(record.correction, case.value)


@cases("pdp_odometer_counterexample")
def test_the_counterexample_to_the_uncorrected_odometer(case: Any) -> None:
    """The loss, the uncorrected reading, the total delta and the corrected reading."""
    n, epsilon, delta1 = int(case.args["n"]), case.args["eps"], case.args["delta1"]
    delta = 1 - (-epsilon).exp()
    inner = FilterOdometer(delta1, n * epsilon * epsilon)
    odometer = ProbabilisticOdometer(inner, add_up(*[delta] * n))
    record = odometer.start()
    for _ in range(n):
        record = odometer.record(record, ProbabilisticDP(epsilon, delta))
    ours = {
        "L": n * epsilon,
        "u": inner.bound(ProbabilisticRecord(record.intrinsic_time)),
        "total_delta": odometer.crossing_probability,
        "corrected_u": odometer.bound(record),
    }
    assert agrees(ours[case.args["what"]], case.value)


CROSSINGS: dict[str, Any] = {
    "odo_cross_filter_mixture": lambda V, a: (b.line(V, a["delta1"], a["y"]), b.mixture(V, a["delta1"], a["gamma"])),
    "odo_cross_mixture_stitched": lambda V, a: (
        b.mixture(V, a["delta1"], a["gamma"]),
        b.stitched_rounded(V, a["delta1"], a["v0"]),
    ),
    "odo_cross_filter_stitched": lambda V, a: (
        b.line(V, a["delta1"], a["y"]),
        b.stitched_rounded(V, a["delta1"], a["v0"]),
    ),
}


@cases("odo_cross_filter_mixture", "odo_cross_mixture_stitched", "odo_cross_filter_stitched")
def test_where_two_odometers_cross(case: Any) -> None:
    """Just below the crossing one is lower, just above the other."""
    (one, two), (three, four) = (
        CROSSINGS[case.fn](to_decimal(case.value * (1 + D(side)), "V"), case.args) for side in ("-1e-15", "1e-15")
    )
    assert (one < two) != (three < four)


def test_intrinsic_time_of_pure_rounds() -> None:
    """V = 2 sum epsilon tanh(epsilon/2) is never above sum epsilon^2, which older forms use."""
    for epsilon in ("0.01", "0.1", "1", "4"):
        assert 2 * pure_to_zcdp_rho(epsilon) < D(epsilon) ** 2


def pure_to_zcdp_rho(epsilon: str) -> Decimal:
    """The rho of a pure round."""
    from dosimeter.notions import PureDP

    return pure_to_zcdp(PureDP(D(epsilon))).rho

"""Boundaries are right to the last digit, on the safe side, and ordered as their proofs say."""

from collections.abc import Callable
from decimal import Decimal

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.adaptive import boundaries as b
from dosimeter.adaptive.odometers.rdp import rdp_mixture, rdp_order_line
from dosimeter.adaptive.odometers.tuning import gamma_one_sided, gamma_two_sided, line_target
from dosimeter.errors import InputError

times = st.decimals("1e-12", "1e6", places=None, allow_nan=False, allow_infinity=False) | st.just(Decimal(0))
positive = st.floats(-9, 4).map(lambda x: Decimal(10) ** Decimal(repr(round(x, 3))))
deltas = st.floats(-40, -0.01).map(lambda x: Decimal(10) ** Decimal(repr(round(x, 3))))
CURVES: list[Callable[[Decimal, Decimal, Decimal], Decimal]] = [
    b.line,
    b.mixture,
    b.mixture_closed,
    b.mixture_howard,
    b.mixture_two_sided,
    b.stitched_rounded,
    b.stitched_general,
    b.stitched_envelope,
]


def mp(value: Decimal) -> mpmath.mpf:
    return mpmath.mpf(str(value))


def advanced(time: Decimal, delta: Decimal) -> mpmath.mpf:
    """sqrt(2 log(1/delta) V) + V/2: valid at one fixed time only."""
    return mpmath.sqrt(2 * mp(time) * -mpmath.log(mp(delta))) + mp(time) / 2


def mixture_by_mpmath(time: Decimal, delta: Decimal, gamma: Decimal) -> mpmath.mpf:
    """The exact one-sided mixture by a root finder that shares nothing with ours."""
    grown, level = mp(time) + mp(gamma), -mpmath.log(mp(delta))

    def gap(x: mpmath.mpf) -> mpmath.mpf:
        below = -mpmath.erfc(x / mpmath.sqrt(2)) / 2
        return mpmath.log(2) + mpmath.log(mp(gamma) / grown) / 2 + x * x / 2 + mpmath.log1p(below) - level

    high = mpmath.sqrt(2 * (level + mpmath.log(grown / mp(gamma)) / 2))
    x = mpmath.findroot(gap, (mpmath.mpf(0), high), solver="anderson", tol=1e-60, maxsteps=500)
    return x * mpmath.sqrt(grown) + mp(time) / 2


@settings(max_examples=25, deadline=None)
@given(times, deltas, positive)
def test_the_mixture_is_never_below_the_truth_and_right_to_20_digits(
    time: Decimal, delta: Decimal, gamma: Decimal
) -> None:
    """The returned root is certified from above."""
    with mpmath.workdps(60):
        truth = mixture_by_mpmath(time, delta, gamma)
        reading = mp(b.mixture(time, delta, gamma))
        assert truth * (1 - mpmath.mpf("1e-40")) <= reading <= truth * (1 + mpmath.mpf("1e-20"))


@settings(max_examples=40, deadline=None)
@given(times, deltas, positive)
def test_closed_forms_are_never_below_the_truth_and_right_to_20_digits(
    time: Decimal, delta: Decimal, par: Decimal
) -> None:
    """Line, closed mixtures and stitched forms against mpmath."""
    with mpmath.workdps(60):
        V, L, y = mp(time), -mpmath.log(mp(delta)), mp(par)
        r = mpmath.sqrt((V + y) / y) / mp(delta)
        U = max(V, y)
        law = mpmath.log(mpmath.log(2 * U / y))
        k1 = (mpmath.sqrt(2) + 2 + 1 / mpmath.sqrt(2)) / 2
        s = mpmath.mpf("1.4")
        general = s * law + mpmath.log(mpmath.zeta(s) / mpmath.log(2) ** s) + L
        root = mpmath.mpf("1.7") * mpmath.sqrt(U * (law + mpmath.mpf("0.72") * (mpmath.log(mpmath.mpf("5.2")) + L)))
        truths = {
            b.line: mpmath.sqrt(2 * L) / 2 * (mpmath.sqrt(y) + V / mpmath.sqrt(y)),
            b.mixture_closed: mpmath.sqrt(2 * (V + y) * mpmath.log((1 + r) / 2)),
            b.mixture_howard: mpmath.sqrt(2 * (V + y) * mpmath.log(1 + r / 2)),
            b.mixture_two_sided: mpmath.sqrt(2 * (V + y) * mpmath.log(r)),
            b.stitched_rounded: root,
            b.stitched_general: mpmath.sqrt(k1 * U * general),
        }
        for curve, part in truths.items():
            truth = part + V / 2
            reading = mp(curve(time, delta, par))  # type: ignore[operator]
            assert truth * (1 - mpmath.mpf("1e-40")) <= reading <= truth * (1 + mpmath.mpf("1e-20")), curve.__name__


@settings(max_examples=25, deadline=None)
@given(times, deltas, positive)
def test_the_envelope_is_the_lowest_of_its_lines(time: Decimal, delta: Decimal, start: Decimal) -> None:
    """Two hundred lines, tried one by one, have no lower one."""
    with mpmath.workdps(50):
        V, s = mp(time), mpmath.mpf("1.4")
        lowest, common = mpmath.inf, -mpmath.log(mp(delta)) + mpmath.log(mpmath.zeta(s))
        for k in range(200):
            level = common + s * mpmath.log(k + 1)
            root = mpmath.sqrt(mp(start) * mpmath.mpf(2) ** (k + mpmath.mpf(1) / 2))
            lowest = min(lowest, mpmath.sqrt(2 * level) / 2 * (root + V / root) + V / 2)
        reading = mp(b.stitched_envelope(time, delta, start))
        assert lowest * (1 - mpmath.mpf("1e-40")) <= reading <= lowest * (1 + mpmath.mpf("1e-20"))


def test_the_constant_of_the_stitching_lines_is_rounded_up() -> None:
    """The shares of all epochs together never exceed delta."""
    with mpmath.workdps(60):
        assert 0 <= mp(b.STITCH_ZETA) - mpmath.zeta(mp(b.STITCH_POWER)) < mpmath.mpf("1e-38")
        assert 0 <= mpmath.exp(-1) - mp(b.INVERSE_E) < mpmath.mpf("1e-30")


@settings(max_examples=40, deadline=None)
@given(times, deltas, positive)
def test_forms_are_ordered_by_tightness(time: Decimal, delta: Decimal, par: Decimal) -> None:
    """Exact mixture <= closed <= Howard and two-sided; envelope <= general <= rounded."""
    almost = Decimal(1) + Decimal("1e-23")
    exact, closed = b.mixture(time, delta, par), b.mixture_closed(time, delta, par)
    assert exact <= closed * almost
    assert closed <= b.mixture_howard(time, delta, par) * almost
    assert closed <= b.mixture_two_sided(time, delta, par) * almost
    envelope, general = b.stitched_envelope(time, delta, par), b.stitched_general(time, delta, par)
    assert envelope <= general * almost
    assert general <= b.stitched_rounded(time, delta, par) * almost


@settings(max_examples=40, deadline=None)
@given(times, times, deltas, positive)
def test_boundaries_never_fall_and_stay_above_advanced_composition(
    one: Decimal, two: Decimal, delta: Decimal, par: Decimal
) -> None:
    """u is increasing in V, and u(V) >= sqrt(2 log(1/delta) V) + V/2, which is no odometer."""
    early, late = sorted((one, two))
    with mpmath.workdps(40):
        for curve in CURVES:
            low, high = curve(early, delta, par), curve(late, delta, par)
            assert low <= high * (1 + Decimal("1e-24"))
            assert mp(low) >= advanced(early, delta) * (1 - mpmath.mpf("1e-30"))


@settings(max_examples=40, deadline=None)
@given(times, deltas, deltas, positive)
def test_a_smaller_delta_reads_higher(time: Decimal, one: Decimal, two: Decimal, par: Decimal) -> None:
    """Certainty costs."""
    small, large = sorted((one, two))
    for curve in CURVES:
        assert curve(time, small, par) >= curve(time, large, par) * (1 - Decimal("1e-24"))


def test_the_line_touches_advanced_composition_at_its_target() -> None:
    """With 2 epsilon under the root the reading at y* is epsilon; with the printed epsilon it would be epsilon/2."""
    y = line_target("1", "1e-6")
    assert abs(b.line(y, "1e-6", y) - 1) < Decimal("1e-20")
    with mpmath.workdps(40):
        L2 = -2 * mpmath.log(mpmath.mpf("1e-6"))
        printed = (mpmath.sqrt(L2 + 1) - mpmath.sqrt(L2)) ** 2
        misplaced = Decimal(mpmath.nstr(printed, 30))
        assert abs(b.line(misplaced, "1e-6", misplaced) - Decimal("0.5")) < Decimal("1e-20")


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(["1e-9", "1e-6", "0.001", "0.05", "0.5", "0.9"]), positive)
def test_a_tuned_mixture_is_lowest_at_its_target(delta: str, target: Decimal) -> None:
    """Moving gamma either way raises the reading at the target, for both forms."""
    one, two = gamma_one_sided(target, delta), gamma_two_sided(target, delta)
    for factor in ("0.9", "1.1"):
        other = Decimal(factor)
        assert b.mixture(target, delta, one) <= b.mixture(target, delta, one * other)
        assert b.mixture_two_sided(target, delta, two) <= b.mixture_two_sided(target, delta, two * other)


def test_the_penalty_of_a_tuned_mixture_is_about_five_percent() -> None:
    """0.55879 against 0.53065 for advanced composition at V = 0.01, delta = 1e-6."""
    reading = b.mixture("0.01", "1e-6", gamma_one_sided("0.01", "1e-6"))
    with mpmath.workdps(30):
        single = advanced(Decimal("0.01"), Decimal("1e-6"))
        assert mpmath.mpf("1.052") < mp(reading) / single < mpmath.mpf("1.054")
    shortcut = b.mixture("0.01", "1e-6", gamma_two_sided("0.01", "2e-6"))
    assert reading <= shortcut <= reading * Decimal("1.0001")


def test_where_the_odometers_cross() -> None:
    """delta = 1e-6, y = 0.02, gamma = 0.001, v0 = 0.01: who reads lowest where."""

    def line(time: str) -> Decimal:
        return b.line(time, "1e-6", "0.02")

    def mixture(time: str) -> Decimal:
        return b.mixture(time, "1e-6", "0.001")

    def stitched(time: str) -> Decimal:
        return b.stitched_rounded(time, "1e-6", "0.01")

    assert line("0.009534") > mixture("0.009534")
    assert line("0.009535") < mixture("0.009535")
    assert line("0.038487") < mixture("0.038487")
    assert line("0.038488") > mixture("0.038488")
    assert line("0.052753") < stitched("0.052753")
    assert line("0.052754") > stitched("0.052754")
    assert mixture("421.43") < stitched("421.43")
    assert mixture("421.44") > stitched("421.44")


def test_every_odometer_is_linear_in_the_end() -> None:
    """The excess over V/2 grows like V, sqrt(V log V), sqrt(V log log V); with the drift all readings are linear."""
    far = Decimal("1e12")
    assert b.mixture(far, "1e-6", "0.001") / far < Decimal("0.5001")
    assert b.stitched_rounded(far, "1e-6", "0.01") < b.mixture(far, "1e-6", "0.001")
    assert b.line(far, "1e-6", "0.02") / far > 18


def test_rogers_reads_higher_than_the_mixture_it_is_proved_by() -> None:
    """On both of its branches, with V = sum epsilon^2 and ten rounds."""
    for epsilon in ("0.0001", "0.01", "0.1", "1"):
        e = Decimal(epsilon)
        time, drift = 10 * e * e, 10 * e * (e.exp() - 1) / 2
        assert b.rogers(time, drift, "1e-6", 1000) > b.mixture(time, "1e-6", "1e-6")


def test_one_renyi_order_and_the_mixture_of_orders() -> None:
    """The mixture is never above the lowest order at its share, and one order alone is the mixture of one."""
    orders = (Decimal(2), Decimal(8), Decimal(32))
    sums = tuple(a * Decimal("0.05") for a in orders)
    weights = (Decimal("0.25"),) * 3
    delta = Decimal("1e-5")
    mixed = rdp_mixture(sums, delta, orders, weights)
    assert mixed <= min(rdp_order_line(s, delta / 4, a) for a, s in zip(orders, sums, strict=True))
    alone = rdp_mixture((sums[1],), delta, (orders[1],), (Decimal(1),))
    assert abs(alone - rdp_order_line(sums[1], delta, orders[1])) < Decimal("1e-20")


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(
    ("time", "delta", "par"),
    [("-1", "0.1", "1"), ("NaN", "0.1", "1"), ("1", "0", "1"), ("1", "1", "1"), ("1", "0.1", "0"), ("1", "0.1", "inf")],
)
def test_values_outside_the_ranges_are_refused(curve: Callable[..., Decimal], time: str, delta: str, par: str) -> None:
    """The message names the value."""
    with pytest.raises(InputError, match="="):
        curve(time, delta, par)


def test_extremes_stay_certified() -> None:
    """The smallest and largest accepted numbers give finite readings on the safe side."""
    for time in ("0", "1e-300", "1e13"):
        for delta in ("1e-300", "0.9999999999999999999999999999"):
            for par in ("1e-300", "1e12"):
                for curve in CURVES:
                    assert curve(Decimal(time), Decimal(delta), Decimal(par)) > 0


def test_the_general_stitching_needs_growing_epochs() -> None:
    """Ratio and power must exceed 1; the rogers form needs delta <= 1/e and a public size."""
    for ratio, power in (("1", "1.4"), ("2", "1")):
        with pytest.raises(InputError, match="above 1"):
            b.stitched_general("1", "0.1", "1", ratio, power)
    with pytest.raises(InputError, match="1/e"):
        b.rogers("1", "1", "0.4", 100)
    with pytest.raises(InputError, match="data_size"):
        b.rogers("1", "1", "0.1", 1)

"""Conversions: the known values, the edges, and what must be refused."""

import inspect
import subprocess
import sys
from decimal import Decimal

import pytest

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, ProbabilisticDP, PureDP
from dosimeter.notions import convert as c
from dosimeter.notions import profiles as p


def close(ours: Decimal, value: float | str, relative: float = 1e-10) -> bool:
    return abs(float(ours) - float(value)) <= relative * abs(float(value))


# ---------------------------------------------------------------- values from public reports and papers


@pytest.mark.parametrize(("rho", "delta"), [("0.1", "0.9"), ("0.1", "0.8"), ("1e-300", "0.5"), ("0.5", "0.999")])
def test_a_generous_delta_needs_no_epsilon(rho: str, delta: str) -> None:
    """Where delta alone covers the guarantee, epsilon is exactly 0, never negative."""
    assert c.zcdp_to_approx(ZCDP(rho), target_delta=delta).epsilon == 0


def test_a_single_renyi_order_uses_the_sharp_conversion() -> None:
    """Order 8, 0.25 at delta 1e-5 is 1.464, not the 1.895 of the simple form."""
    one = RDP((8,), ("0.25",))
    assert close(c.rdp_to_approx(one, target_delta="1e-5").epsilon, "1.46410916784553")
    assert close(c.rdp_to_approx_simple(one, target_delta="1e-5").epsilon, "1.89470363785")


def test_zcdp_delta_far_in_the_tail() -> None:
    """rho 1 at epsilon 10 has delta 1.1714e-10, not below it."""
    delta = c.zcdp_to_approx(ZCDP(1), target_epsilon=10).delta
    assert close(delta, "1.1714172313952302e-10", 1e-15)
    assert delta >= Decimal("1.1714172313952301e-10")


@pytest.mark.parametrize("epsilon", ["1e-6", "0.1", "1", "3", "50"])
def test_pure_is_better_in_zcdp_than_half_its_square(epsilon: str) -> None:
    """epsilon-DP is at least as good as epsilon^2/2 and no better than epsilon tanh(epsilon/2)."""
    rho = c.pure_to_zcdp(PureDP(epsilon)).rho
    assert rho <= Decimal(epsilon) ** 2 / 2
    assert close(c.pure_to_zcdp(PureDP(1)).rho, "0.46211715726000975")


def test_gdp_is_converted_exactly_both_ways() -> None:
    """1-GDP at epsilon 1 and at delta 1e-5, and back from each of them to mu 1."""
    delta = c.gdp_to_approx(GDP(1), target_epsilon=1).delta
    epsilon = c.gdp_to_approx(GDP(1), target_delta="1e-5").epsilon
    assert close(delta, "0.126936737506644", 1e-14)
    assert close(epsilon, "4.37717809568122", 1e-14)
    assert close(c.largest_gdp_for_approx(1, delta), 1, 1e-20)
    assert close(c.largest_gdp_for_approx(epsilon, "1e-5"), 1, 1e-20)


def test_groups_of_three() -> None:
    """Three units at once: epsilon times three, delta by the geometric sum, rho by nine, mu by three."""
    approx = c.group_approx(ApproxDP("0.5", "1e-6"), size=3)
    assert approx.epsilon == Decimal("1.5")
    assert close(approx.delta, "5.36700309915917e-06")
    assert c.group_zcdp(ZCDP("0.02"), size=3) == ZCDP("0.18")
    assert c.group_gdp(GDP("0.2"), size=3) == GDP("0.6")
    assert c.group_pure(PureDP("0.1"), size=10) == PureDP(1)


# ---------------------------------------------------------------- delta zero and other edges


@pytest.mark.parametrize(
    "convert",
    [
        lambda: c.gdp_to_approx(GDP(1), target_delta=0),
        lambda: c.zcdp_to_approx(ZCDP("0.5"), target_delta=0),
        lambda: c.zcdp_to_approx_simple(ZCDP("0.5"), target_delta=0),
        lambda: c.rdp_to_approx(RDP((8,), ("0.4",)), target_delta=0),
        lambda: c.rdp_to_approx_simple(RDP((8,), ("0.4",)), target_delta=0),
        lambda: c.rdp_to_approx_exact(RDP((8,), ("0.4",)), target_delta=0),
        lambda: c.largest_zcdp_for_approx(1, 0),
        lambda: c.largest_zcdp_for_approx_simple(1, 0),
        lambda: c.largest_square_sum_for_approx(1, 0),
        lambda: c.largest_gdp_for_approx(1, 0),
        lambda: c.largest_rdp_for_approx(8, 1, 0),
        lambda: p.discrete_gaussian_epsilon(1, 1, 0),
        lambda: p.renyi_order_bound(8, 1, 0),
    ],
)
def test_unbounded_losses_have_no_epsilon_at_delta_zero(convert) -> None:
    """A Gaussian, zCDP or Renyi guarantee at delta 0 is refused: epsilon is infinite, and the message says so."""
    with pytest.raises(NoGuaranteeError, match=r"delta=0.*infinite"):
        convert()


def test_bounded_losses_have_an_epsilon_at_delta_zero() -> None:
    """Laplace at delta 0 is its pure epsilon, and pure DP stays what it is."""
    assert p.laplace_epsilon(1, 0) == 1
    assert p.laplace_delta(1, 1) == 0
    assert c.pure_to_approx(PureDP("0.7")) == ApproxDP("0.7")
    assert c.approx_to_approx(ApproxDP("0.7"), target_delta=0) == ApproxDP("0.7")


@pytest.mark.parametrize("zero", [GDP(0), ZCDP(0), RDP((2, 8), (0, 0))])
def test_nothing_costs_nothing(zero) -> None:
    """A guarantee of zero loss is (0, 0)-DP by every conversion."""
    convert = {"gdp": c.gdp_to_approx, "zcdp": c.zcdp_to_approx, "rdp": c.rdp_to_approx}[zero.notion]
    assert convert(zero, target_delta=0) == ApproxDP(0)
    assert convert(zero, target_epsilon=0) == ApproxDP(0)
    assert convert(zero, target_epsilon="0.3") == ApproxDP("0.3")


def test_epsilon_below_rho_is_not_hopeless() -> None:
    """The optimised conversion says something at every epsilon; the simple one only from rho on."""
    optimised = c.zcdp_to_approx(ZCDP(2), target_epsilon=1).delta
    assert 0 < optimised < 1
    assert c.zcdp_to_approx_simple(ZCDP(2), target_epsilon=1).delta == 1
    assert c.zcdp_to_approx(ZCDP(2), target_epsilon=0).delta < 1


@pytest.mark.parametrize("convert", [c.gdp_to_approx, c.zcdp_to_approx, c.rdp_to_approx, c.approx_to_approx])
def test_exactly_one_target(convert) -> None:
    """Neither no target nor two: the other one is the answer."""
    value = {
        c.gdp_to_approx: GDP(1),
        c.zcdp_to_approx: ZCDP(1),
        c.rdp_to_approx: RDP((2,), (1,)),
        c.approx_to_approx: ApproxDP(1, "0.1"),
    }[convert]
    with pytest.raises(InputError, match="exactly one"):
        convert(value)
    with pytest.raises(InputError, match="exactly one"):
        convert(value, target_epsilon=1, target_delta="0.5")


@pytest.mark.parametrize("delta", ["1", "1.5", "-0.1", "nan", "inf", "1e-400"])
def test_impossible_deltas_are_refused(delta: str) -> None:
    """A target delta outside [0, 1) is an input error that names it."""
    with pytest.raises(InputError, match="target_delta"):
        c.zcdp_to_approx(ZCDP(1), target_delta=delta)


# ---------------------------------------------------------------- failures


def test_failures_are_part_of_delta() -> None:
    """What fails with probability d has delta d + (1-d) delta(epsilon), in every notion, exactly."""
    d = Decimal("0.01")
    pairs = [
        (c.gdp_to_approx(GDP(1, d), target_epsilon=1), c.gdp_to_approx(GDP(1), target_epsilon=1)),
        (c.zcdp_to_approx(ZCDP(1, d), target_epsilon=3), c.zcdp_to_approx(ZCDP(1), target_epsilon=3)),
        (c.zcdp_to_approx_simple(ZCDP(1, d), target_epsilon=3), c.zcdp_to_approx_simple(ZCDP(1), target_epsilon=3)),
        (
            c.rdp_to_approx(RDP((4,), (1,), d), target_epsilon=3),
            c.rdp_to_approx(RDP((4,), (1,)), target_epsilon=3),
        ),
        (
            c.rdp_to_approx_exact(RDP((4,), (1,), d), target_epsilon=3),
            c.rdp_to_approx_exact(RDP((4,), (1,)), target_epsilon=3),
        ),
    ]
    for failing, good in pairs:
        assert abs(failing.delta - (d + (1 - d) * good.delta)) < Decimal("1e-24")


@pytest.mark.parametrize("delta", ["0.01", "0.005", "1e-300"])
def test_a_delta_that_failures_use_up_is_refused(delta: str) -> None:
    """No epsilon helps against a failure that is as likely as the target."""
    for convert, value in ((c.gdp_to_approx, GDP(1, "0.01")), (c.zcdp_to_approx, ZCDP(1, "0.01"))):
        with pytest.raises(NoGuaranteeError, match="fails with probability"):
            convert(value, target_delta=delta)  # type: ignore[operator]
    with pytest.raises(NoGuaranteeError, match="fails with probability"):
        c.largest_zcdp_for_approx(1, delta, "0.01")


def test_declared_failures_leave_less_budget() -> None:
    """A budget with a declared delta is smaller, and its conversion gives back at most the whole delta."""
    whole, part = c.largest_zcdp_for_approx(1, "1e-6"), c.largest_zcdp_for_approx(1, "1e-6", "5e-7")
    assert part < whole
    assert c.zcdp_to_approx(ZCDP(part, "5e-7"), target_epsilon=1).delta <= Decimal("1e-6") * (1 + Decimal("1e-23"))
    mu = c.largest_gdp_for_approx(1, "1e-6", "5e-7")
    assert c.gdp_to_approx(GDP(mu, "5e-7"), target_epsilon=1).delta <= Decimal("1e-6") * (1 + Decimal("1e-23"))


# ---------------------------------------------------------------- between the other notions


def test_each_way_into_zcdp_gdp_and_rdp() -> None:
    """The stated constants, with failure probabilities carried along."""
    assert c.gdp_to_zcdp(GDP("0.2", "1e-6")) == ZCDP("0.02", "1e-6")
    assert c.zcdp_to_rdp(ZCDP("0.1", "1e-6"), orders=[2, 8]) == RDP((2, 8), ("0.2", "0.8"), "1e-6")
    assert c.gdp_to_rdp(GDP(1), orders=["1.5", 4]) == RDP(("1.5", 4), ("0.75", 2))
    assert c.bounded_range_to_zcdp(2) == ZCDP("0.5")
    assert c.bounded_range_to_pure("0.3") == PureDP("0.3")
    assert c.pure_to_probabilistic(PureDP(1)) == ProbabilisticDP(1)
    assert c.probabilistic_to_approx(ProbabilisticDP(1, "1e-6")) == ApproxDP(1, "1e-6")
    zcdp, gdp = c.approx_to_zcdp(ApproxDP(1, "1e-6")), c.approx_to_gdp(ApproxDP(1, "1e-6"))
    assert (close(zcdp.rho, "0.46211715726"), zcdp.delta) == (True, Decimal("1e-6"))
    assert (close(gdp.mu, "1.2320353853449"), gdp.delta) == (True, Decimal("1e-6"))


def test_bounded_range_is_better_than_pure_for_the_exponential_mechanism() -> None:
    """The exponential mechanism at epsilon costs epsilon^2/8 by its range, nearly four times less than as pure DP."""
    assert c.bounded_range_to_zcdp("0.1").rho * 3 < c.pure_to_zcdp(PureDP("0.1")).rho


def test_there_is_no_conversion_from_zcdp_or_rdp_to_gdp() -> None:
    """No function claims that zCDP or RDP gives Gaussian DP, and the pair that refutes it is on record."""
    names = {name for name, _ in inspect.getmembers(c, inspect.isfunction)}
    assert not {name for name in names if name.endswith("_to_gdp")} - {"pure_to_gdp", "approx_to_gdp"}
    claimed = (2 * c.pure_to_zcdp(PureDP(1)).rho).sqrt()  # what such a conversion would say of randomized response
    assert claimed < Decimal("0.9614")
    rr = p.randomized_response_delta(1, 0, 0)
    assert p.gaussian_delta(claimed, 0) < rr <= p.gaussian_delta(c.pure_to_gdp(PureDP(1)).mu, 0) + Decimal("1e-20")


def test_there_is_no_converse_of_probabilistic_dp_at_the_same_epsilon() -> None:
    """From (epsilon, delta)-DP nothing follows about the loss at epsilon itself; at delta 0 everything does."""
    with pytest.raises(NoGuaranteeError, match="same epsilon"):
        c.approx_to_probabilistic(ApproxDP(1, "1e-5"), target_epsilon=1)
    with pytest.raises(NoGuaranteeError, match="above the guarantee"):
        c.approx_to_probabilistic(ApproxDP(1, "1e-5"), target_delta="1e-5")
    assert c.approx_to_probabilistic(ApproxDP(1), target_epsilon=1) == ProbabilisticDP(1)
    assert c.approx_to_probabilistic(ApproxDP(1), target_delta="0.5").epsilon == 1
    with pytest.raises(NoGuaranteeError, match="above the guarantee"):
        c.approx_to_tail_probability(ApproxDP(1, "1e-5"), loss=1)
    both = c.approx_to_probabilistic(ApproxDP(1, "1e-5"), target_epsilon=2).delta
    assert c.approx_to_tail_probability(ApproxDP(1, "1e-5"), loss=2) < both


def test_restating_a_guarantee_at_another_epsilon() -> None:
    """(epsilon, delta)-DP is (0, delta + (1 - delta) tanh(epsilon/2))-DP; a smaller delta than its own is refused."""
    at_zero = c.approx_to_approx(ApproxDP(1, "0.01"), target_epsilon=0).delta
    assert close(at_zero, 0.01 + 0.99 * 0.46211715726000975, 1e-15)
    assert c.approx_to_approx(ApproxDP(1, "0.01"), target_epsilon=2) == ApproxDP(2, "0.01")
    assert c.approx_to_approx(ApproxDP(1, "0.01"), target_delta="0.01") == ApproxDP(1, "0.01")
    assert c.approx_to_approx(ApproxDP(1, "0.01"), target_delta="0.9").epsilon == 0
    with pytest.raises(NoGuaranteeError, match="below"):
        c.approx_to_approx(ApproxDP(1, "0.01"), target_delta="0.001")


# ---------------------------------------------------------------- the house


def test_importing_conversions_is_cheap() -> None:
    """Neither the conversions nor the calibration load ball arithmetic or NumPy before they are used."""
    code = (
        "import sys, dosimeter.notions.convert, dosimeter.notions.profiles, dosimeter.accounting.calibration;"
        "sys.exit(','.join(m for m in ('flint', 'numpy', 'scipy', 'opendp', 'duckdb') if m in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

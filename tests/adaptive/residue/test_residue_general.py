"""Laws without a closed form in the Gaussian family: the rule holds by direct sums and integrals, both directions."""

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest
from tests.adaptive.residue import reference as ref

from dosimeter.accounting import loss_for
from dosimeter.adaptive.filters import Admitted, ResidueFilter, fits
from dosimeter.adaptive.residue.dots import dots
from dosimeter.adaptive.residue.general import Proof, general_rows
from dosimeter.adaptive.residue.prices import gaussian_price, gaussian_proves
from dosimeter.errors import NoGuaranteeError
from dosimeter.events import (
    DiscreteGaussian,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
)
from dosimeter.notions import ResiduePrice
from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
from dosimeter.pld.laws.finite import FinitePairLaw
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Direction
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import PoissonSampledLaw

D = Decimal
SHARE = D("1e-10")
DOWN = Context(prec=4, rounding=ROUND_FLOOR)
Profile = Callable[[Any], Any]


def sampled_gaussian(q: Any, mu: Any, rest: Any, *, remove: bool) -> Profile:
    """Poisson-sampled Gaussian noise together with N(sqrt rest, 1), by integrating over the noisy value."""
    q, mu = mp.mpf(q), mp.mpf(mu)

    def loss(x: Any) -> Any:
        return mp.log1p(q * mp.expm1(mu * x - mu * mu / 2))

    def profile(s: Any) -> Any:
        def weight(x: Any) -> Any:
            p = (1 - q) * mp.npdf(x) + q * mp.npdf(x - mu) if remove else mp.npdf(x)
            return p * ref.gaussian(rest, s - loss(x) if remove else s + loss(x))

        return mp.quad(weight, mp.linspace(-9, 9 + mu, 10), maxdegree=5)

    return profile


def discrete_gaussian(sigma: Any) -> list[tuple[Any, Any]]:
    """Discrete Gaussian noise moved by one: every output with any mass."""
    square = ref.number(sigma) ** 2
    reach = int(12 * sigma) + 12
    masses = {y: mp.exp(-(mp.mpf(y - 1) ** 2) / (2 * square)) for y in range(-reach, reach)}
    total = mp.fsum(masses.values())
    return [(m / total, (2 * mp.mpf(y) - 1) / (2 * square)) for y, m in masses.items()]


def hockey_stick(outputs: Any, s: Any) -> Any:
    """The divergence of a pair with these P-masses and losses."""
    return mp.fsum(p * max(mp.mpf(0), 1 - mp.exp(s - loss)) for p, loss in outputs)


def rows_of(law: Any, share: Decimal = SHARE) -> list[tuple[Decimal, Decimal]]:
    """Levels and charges."""
    return general_rows(law, share)[0]


@pytest.mark.parametrize("remove", [True, False])
def test_the_rule_holds_for_sampled_randomized_response(remove: bool) -> None:
    """A pair that differs in its two directions: every row holds in each, at both signs of s, within the slack."""
    law = PoissonSampledLaw(Fraction(1, 20), ResponseLaw(Fraction(1)))
    outputs = list(ref.poisson("0.05", ref.response(1), remove=remove))
    with mp.workdps(30):
        for level, taken in rows_of(law):
            b = ref.number(level)
            profile = ref.together(outputs, b - ref.number(taken))
            assert ref.excess(profile, b, ref.around(b)) <= ref.number(SHARE)


@pytest.mark.parametrize("remove", [True, False])
def test_the_rule_holds_for_sampled_gaussian_noise(remove: bool) -> None:
    """The mechanism of private training: rare large losses, by integrals over the noisy value."""
    law = PoissonSampledLaw(Fraction(1, 50), GaussianLaw(Fraction(1)))
    rows = rows_of(law)
    with mp.workdps(15):
        for level, taken in (rows[0], rows[len(rows) // 2]):
            b = ref.number(level)
            profile = sampled_gaussian("0.02", 1, b - ref.number(taken), remove=remove)
            assert ref.excess(profile, b, ref.around(b, many=13)) <= ref.number(SHARE) * (1 + mp.mpf("1e-3"))


@pytest.mark.parametrize("sigma", ["0.6", "2", "9"])
def test_the_rule_holds_for_discrete_gaussian_noise(sigma: str) -> None:
    """Noise on the integers is dearer than continuous noise of the same sigma, by little unless sigma is small."""
    law = DiscreteGaussianLaw(Fraction(sigma) ** 2)
    rows = rows_of(law)
    with mp.workdps(30):
        outputs = discrete_gaussian(D(sigma))
        for level, taken in rows:
            b = ref.number(level)
            profile = ref.together(outputs, b - ref.number(taken))
            assert ref.excess(profile, b, ref.around(b, many=17)) <= ref.number(SHARE)
    assert rows[-1][1] <= 1 / D(sigma) ** 2 * (D("1.003") if D(sigma) >= 2 else D("1.03"))


def test_charges_do_not_depend_on_the_callers_decimal_context() -> None:
    """A caller who computes in three digits, rounding down, gets the same list."""
    law = DiscreteGaussianLaw(Fraction(9))
    expected = general_rows(law, SHARE)
    with localcontext(prec=3, rounding=ROUND_FLOOR):
        assert general_rows(law, SHARE) == expected


def test_any_finite_pair_can_be_charged() -> None:
    """Two vectors of probabilities, one outcome of which only one world shows; that mass is paid from the slack."""
    law = FinitePairLaw(("0.3", "0.3", "0.399", "0.001"), ("0.35", "0.3", "0.35", "0"))  # type: ignore[arg-type]
    price = gaussian_price(law, SHARE)
    assert price.delta == D("0.001") + SHARE
    one, other = ("0.3", "0.3", "0.399"), ("0.35", "0.3", "0.35")
    with mp.workdps(30):
        for level, taken in zip(price.levels, price.charges, strict=True):
            b = ref.number(level)
            for p, q, seen in ((one, other, mp.mpf("0.001")), (other, one, mp.mpf(0))):
                outputs = [(ref.number(x), mp.log(ref.number(x) / ref.number(y))) for x, y in zip(p, q, strict=True)]
                profile = ref.together(outputs, b - ref.number(taken))
                assert ref.excess(profile, b, ref.around(b)) + seen <= ref.number(price.delta)


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_the_grid_agrees_with_the_closed_form(epsilon: str) -> None:
    """Where a closed form is known too, the grid's charge is at most half a per cent above it, and not below by more
    than the slack explains."""
    law = ResponseLaw(Fraction(epsilon))
    closed = gaussian_price(law, D(0))
    for level, taken in rows_of(law):
        exact = [c for at, c in zip(closed.levels, closed.charges, strict=True) if at <= level]
        nearest = [c for at, c in zip(closed.levels, closed.charges, strict=True) if at >= level]
        if exact and nearest:
            assert min(nearest) * D("0.999999") <= taken <= max(exact[-1], D(epsilon) ** 2) * D("1.006")


def test_points_never_lie_below_their_law() -> None:
    """On the grid the divergence of a law only grows, in both directions, at every level that was tried."""
    law = PoissonSampledLaw(Fraction(1, 20), ResponseLaw(Fraction(2)))
    for direction in Direction:
        points = dots(law, direction, 1e-13)
        exact = list(ref.poisson("0.05", ref.response(2), remove=direction is Direction.REMOVE))
        with mp.workdps(30):
            for k in range(-40, 41):
                s = mp.mpf(k) / 100 + mp.mpf("0.0013")
                true = hockey_stick(exact, s)
                losses = [points.step * i + points.shift for i in points.index]
                above = hockey_stick(zip(points.masses, losses, strict=True), s)
                assert true <= above + points.infinite
                assert above <= true + 1e-3


SAMPLED: list[tuple[Event, str]] = [
    (PoissonSampled("0.01", Gaussian(1)), "add_remove"),
    (FixedSizeSampled(10, 1000, Gaussian(1)), "replace_one"),
    (PoissonSampled("0.05", Laplace(2)), "add_remove"),
    (DiscreteGaussian(20), "add_remove"),
]


@pytest.mark.parametrize(("event", "relation"), SAMPLED, ids=lambda value: getattr(value, "kind", value))
def test_a_filter_admits_them_while_slack_and_budget_last(event: Event, relation: str) -> None:
    """Each run takes the share that the planned number of queries leaves for the others; then the slack is used up."""
    rule = ResidueFilter("4", "1e-5", "1e-6", 1000)
    price = loss_for(event, rule, relation=relation)
    assert isinstance(price, ResiduePrice)
    assert price.delta == rule.share == D("1e-9")
    many = fits(rule, rule.start(), price)
    assert 150 < many <= 1000
    if many == 1000:
        last = rule.admit(rule.start(), price, 1001)
        assert last.exceeded == ("delta",)  # type: ignore[union-attr]
    assert isinstance(rule.admit(rule.start(), price, many), Admitted)


def test_more_slack_is_never_dearer() -> None:
    """A law costs no more of the Gaussian budget where a run may take more of the slack."""
    law = PoissonSampledLaw(Fraction(1, 50), GaussianLaw(Fraction(1)))
    tight, wide = gaussian_price(law, D("1e-12")), gaussian_price(law, D("1e-8"))
    assert wide.levels[0] < tight.levels[0]
    for level, taken in zip(tight.levels, tight.charges, strict=True):
        assert [c for at, c in zip(wide.levels, wide.charges, strict=True) if at <= level][-1] <= taken


def test_without_slack_only_closed_forms_are_charged() -> None:
    """An unbounded profile without a closed form needs slack; a sampled pure mechanism is charged as a pure one."""
    none = ResidueFilter("1", "1e-6", 0)
    with pytest.raises(NoGuaranteeError, match="slack"):
        loss_for(DiscreteGaussian(20), none)
    pure = loss_for(PoissonSampled("0.05", Laplace(2)), none, relation="add_remove")
    assert isinstance(pure, ResiduePrice)
    assert pure.delta == 0
    some = loss_for(PoissonSampled("0.05", Laplace(2)), none, relation="add_remove", delta="1e-10")
    assert isinstance(some, ResiduePrice)
    assert some.charges[-1] < pure.charges[-1]
    assert loss_for(RandomizedResponse("0.1"), none).delta == 0  # type: ignore[union-attr]


PAIRS = [
    PoissonSampledLaw(Fraction(1, 50), GaussianLaw(Fraction(1))),
    PoissonSampledLaw(Fraction(1, 10), ResponseLaw(Fraction(3, 2))),
    FinitePairLaw(("0.53", "0.27", "0.2"), ("0.5", "0.3", "0.2")),
    FinitePairLaw(("0.999", "0.001"), ("0.99999", "0.00001")),
]


@pytest.mark.parametrize("law", PAIRS, ids=lambda law: law.kind)
def test_every_row_is_proven_by_itself_and_none_is_dearer_than_needed(law: Any) -> None:
    """Rows found together, from few points and one proof for many, each pass the whole rule on every side.

    One place less (a unit of the fourth digit) does not: the search gives nothing away. An audit asks the same.
    """
    rows, delta = general_rows(law, SHARE, D(1))
    assert gaussian_proves(law, rows, delta)
    proof = Proof.of(law, SHARE)
    for level, charge in rows:
        assert proof.holds(level, charge)
        less = charge.next_minus(DOWN)
        at = level if level != charge else less  # the first row is about a budget of just its charge
        assert max(proof.missed(number, at, less) for number in range(len(proof.sides))) > 0
    cheaper = [(level, charge * D("0.99")) for level, charge in rows]
    assert not gaussian_proves(law, cheaper[-1:], delta)

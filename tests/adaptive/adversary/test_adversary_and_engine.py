"""One kind of release leaves nothing to choose: the adversary then has to agree with the accountant's engine.

The two share laws and lattice cells, and nothing of how they compose: backward induction here, a saddle line there.
"""

from decimal import Decimal
from fractions import Fraction

import pytest

from dosimeter.adaptive.adversary import Menu, Offer, worst_delta, worst_epsilon
from dosimeter.adaptive.adversary.points import Side
from dosimeter.adaptive.adversary.values import delta_values, directions
from dosimeter.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
)
from dosimeter.notions.profiles import gaussian_delta
from dosimeter.pld.accountant import Accountant

D = Decimal
RELEASES: list[tuple[Event, int, str]] = [
    (Laplace("6"), 9, "1"),
    (DiscreteLaplace("4"), 6, "0.9"),
    (DiscreteGaussian("3"), 4, "1"),
    (RandomizedResponse("0.3", "0.0009765625"), 12, "1.5"),
    (RandomizedResponse("0.25"), 30, "2"),
    (PoissonSampled("0.2", Gaussian("1.5")), 10, "0.7"),
    (PoissonSampled("0.1", Laplace("1")), 8, "0.5"),
    (PoissonSampled("0.05", RandomizedResponse("2")), 12, "0.4"),
]


@pytest.mark.parametrize(("event", "runs", "epsilon"), RELEASES, ids=lambda value: getattr(value, "kind", str(value)))
def test_the_engines_intervals_overlap(event: Event, runs: int, epsilon: str) -> None:
    """Both directions, continuous, discrete, sampled and failing releases; and the adversary's interval is narrow."""
    accountant = Accountant()
    accountant.append(event, runs)
    other = accountant.delta(epsilon)
    menu = Menu((Offer(event, 1),))
    if isinstance(event, PoissonSampled):  # atoms between lattice points: the step by default is coarse for them
        menu = Menu(menu.offers, menu.step / 12)
    found = worst_delta(menu, runs, epsilon)
    assert found.lower <= other.upper
    assert other.lower <= found.upper
    assert found.upper - found.lower <= D("0.05") * found.upper


@pytest.mark.parametrize("name", ["remove", "add"])
def test_a_sampled_release_differs_by_direction(name: str) -> None:
    """Each direction agrees with a direct sum over the points of one run; forgetting one would show."""
    event = PoissonSampled("0.1", RandomizedResponse("3"))
    menu = Menu((Offer(event, 1),), Fraction(1, 200))
    way = next(direction for direction in directions(menu) if str(direction) == name)
    low, high = (delta_values(menu, 1, 0.3, side, way).value(1) for side in (Side.DOMINATED, Side.DOMINATING))
    q, big = 0.1, 2.718281828459045**3
    sampled = [
        (q * p + (1 - q) * o, o) for p, o in ((big / (1 + big), 1 / (1 + big)), (1 / (1 + big), big / (1 + big)))
    ]
    pairs = sampled if name == "remove" else [(o, p) for p, o in sampled]
    truth = sum(max(0.0, p - 2.718281828459045**0.3 * o) for p, o in pairs)
    assert float(low) - 1e-12 <= truth <= float(high) + 1e-12
    assert float(high - low) <= 0.01


@pytest.mark.parametrize(
    ("mu_squared", "epsilon", "below"), [("1", "8", "1e-14"), ("1", "10", "1e-21"), ("2", "18", "1e-33")]
)
def test_tiny_deltas_are_bracketed_too(mu_squared: str, epsilon: str, below: str) -> None:
    """Hundreds of points an entry, and values far below what transforms alone resolve."""
    runs = 40
    menu = Menu((Offer(Gaussian(1 / (D(mu_squared) / runs).sqrt()), 1),), Fraction(1, 60))
    found = worst_delta(menu, runs, epsilon)
    truth = gaussian_delta(D(mu_squared).sqrt(), epsilon)
    assert truth < D(below)
    assert found.lower <= truth <= found.upper
    assert found.upper <= D("1.5") * found.lower


def test_epsilons_at_tiny_deltas() -> None:
    """The inverse as well: at a delta of 1e-20 the bracket is tight, and right."""
    menu = Menu((Offer(Gaussian("6"), 1),))
    found = worst_epsilon(menu, 36, "1e-20")
    assert gaussian_delta(1, found.upper) <= D("1e-20") * D("1.0000001")
    assert gaussian_delta(1, found.lower) >= D("1e-20") * D("0.9999999")
    assert found.upper - found.lower <= D("0.05")


@pytest.mark.parametrize("failure", ["0.999", "0.9", "1e-9"])
@pytest.mark.parametrize("epsilon", ["-3", "0", "1", "300"])
def test_releases_that_nearly_always_fail_and_hardly_ever(failure: str, epsilon: str) -> None:
    """Far above every finite loss the worst case is the chance of any failure; elsewhere it is at least that."""
    menu = Menu((Offer(RandomizedResponse("0.5", failure), 1), Offer(RandomizedResponse("2"), 3)))
    found = worst_delta(menu, 40, epsilon)
    chance = 1 - (1 - Fraction(failure)) ** 40
    assert Fraction(found.upper) >= chance * (1 - Fraction(1, 10**15))
    if epsilon == "300":
        assert abs(Fraction(found.lower) - chance) <= chance / 10**9
        assert abs(Fraction(found.upper) - chance) <= chance / 10**9


def test_a_delta_below_all_doubles_has_two_ends() -> None:
    """Two thousand favourable answers out of two thousand: about 1e-605, and not zero."""
    menu = Menu((Offer(RandomizedResponse("0.001"), 1),))
    found = worst_delta(menu, 2000, "1.9995")
    chance = D(1) / (1 + D("-0.001").exp())
    truth = chance**2000 * (1 - D("-0.0005").exp())
    assert D("0.999999") * truth <= found.lower <= truth * (1 + D("1e-20"))
    assert truth * (1 - D("1e-20")) <= found.upper <= D("1.000001") * truth
    assert worst_delta(menu, 2000, "2.1").upper == 0


def test_very_unequal_noise_on_one_menu() -> None:
    """A hundred times as much noise in one entry as in the other: at least either alone, and narrow."""
    loud, faint = Offer(Gaussian("0.5"), 1), Offer(Gaussian("50"), 3)
    step = Fraction(1, 200)
    both = worst_delta(Menu((loud, faint), step), 4, "20")
    alone = gaussian_delta(4, "20")
    assert alone <= both.upper
    assert both.upper <= D("1.01") * both.lower

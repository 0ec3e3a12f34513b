"""Computed boundaries for pure rounds: exact against every mechanism, not only against randomized response."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.adaptive.game import budget_rule, randomized_response, worst_crossing_exact
from dosimeter.adaptive.odometers import MixtureOdometer, PureOdometer, PureRecord, odometer_from_json
from dosimeter.adaptive.odometers.reached import reach_probability
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.notions import ZCDP, ApproxDP, PureDP

D = Decimal
F = Fraction
GAMES = [
    ((1,), (2,) * 7),
    ((1,), (1, 2, 2, 3, 3, 3, 3)),
    ((1, 2), (2, 2, 3, 3, 3, 4, 4)),
    ((2,), (3,) * 17),
    ((2,), (3, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5)),
    ((1, 2, 3), (3,) * 10 + (5,) * 11),
]


def exact(base: Fraction, sizes: Any, costs: Any, nodes: Any, *, only_ends: bool = False) -> Fraction:
    """The game in rationals: base is e^step, `only_ends` leaves randomized response alone."""
    units = len(nodes) - 1

    @cache
    def value(used: int, loss: int) -> Fraction:
        if loss >= nodes[used]:
            return F(1)
        best = F(0)
        for size, cost in zip(sizes, costs, strict=True):
            if used + cost > units:
                continue
            steps = [(size, size)] if only_ends else itertools.product(range(1, size + 1), repeat=2)
            best = max(best, value(used + cost, loss))
            for up, down in steps:
                chance = (1 - base**-down) / (1 - base ** -(up + down))
                best = max(
                    best, chance * value(used + cost, loss + up) + (1 - chance) * value(used + cost, loss - down)
                )
        return best

    return value(0, 0)


def squares(sizes: Any) -> list[int]:
    """The cost of each size in units."""
    return [size * size for size in sizes]


# --- the game


@pytest.mark.parametrize(("sizes", "nodes"), GAMES)
def test_rationals_agree(sizes: Any, nodes: Any) -> None:
    """The recursion in floating point is not below the exact one, and equal to thirteen digits."""
    truth = exact(F(6, 5), sizes, squares(sizes), nodes)
    found = reach_probability(math.log(1.2), sizes, squares(sizes), nodes)
    assert truth <= F(found) <= truth * (1 + F(1, 10**12))


@pytest.mark.parametrize(("sizes", "nodes"), GAMES[:5])
def test_a_finer_lattice_gives_the_analyst_nothing(sizes: Any, nodes: Any) -> None:
    """Mechanisms that move by thirds of a step reach the boundary as often, to the last digit: whole steps suffice."""
    base = F(6, 5)
    fine = exact(base, [3 * size for size in sizes], squares(sizes), [3 * node for node in nodes])
    assert fine == exact(base**3, sizes, squares(sizes), nodes)


def test_randomized_response_is_not_always_the_worst() -> None:
    """Whoever is half a round away from the boundary does better with half a round, by five percent here."""
    sizes, nodes = GAMES[3]
    every, ends = (exact(F(6, 5), sizes, squares(sizes), nodes, only_ends=only) for only in (False, True))
    assert every > ends * F(105, 100)


def test_randomized_response_alone_is_the_other_game() -> None:
    """With nothing but full steps the value is that of the adaptive game of the same boxes."""
    base, units = F(3, 2), 6
    nodes = (2, 2, 3, 3, 3, 4, 4)
    rule = budget_rule([(randomized_response(base**j), (j * j,)) for j in (1, 2)], (units,))

    def just_below(left: tuple[int, ...]) -> Decimal:
        return (D("1.5").ln() * nodes[units - left[0]]).quantize(D("1e-15")) - D("1e-12")

    assert worst_crossing_exact(rule, just_below) == exact(base, (1, 2), (1, 4), nodes, only_ends=True)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), size=st.integers(1, 3), rounds=st.integers(1, 4))
def test_no_mechanism_off_the_lattice_does_better(data: Any, size: int, rounds: int) -> None:
    """Strategies of random mechanisms with three outcomes anywhere in the allowed range stay below the value."""
    step = 0.2
    epsilon = step * size
    node = data.draw(st.integers(1, size * rounds))
    nodes = [node] * (rounds + 1)
    worst = reach_probability(step, [size], [1], nodes)

    def play(left: int, loss: float) -> float:
        if loss >= node * step:
            return 1.0
        if not left:
            return 0.0
        up, more, down = (data.draw(st.floats(0.01, 1)) * epsilon for _ in range(3))
        weight = data.draw(st.floats(0, 1))  # of the second law: outcomes up or more, against down
        total = 0.0
        for gain, share in ((up, 1 - weight), (more, weight)):
            chance = math.expm1(-down) / math.expm1(-down - gain)  # e^-loss is a martingale
            total += share * (chance * play(left - 1, loss + gain) + (1 - chance) * play(left - 1, loss - down))
        return total

    assert play(min(rounds, 3), 0.0) <= worst


# --- the odometer


@cache
def computed() -> PureOdometer:
    """Rounds of 0.1 and 0.2 up to V = 1 at 0.05."""
    return PureOdometer.computed(delta="0.05", horizon="1", step="0.05", sizes=(2, 4))


def test_the_scale_is_certified_and_a_lower_one_is_beaten() -> None:
    """The worst case is exact, so one percent less is beaten by somebody, and refused."""
    odometer = computed()
    assert 0.04 < odometer.crossing_upper() <= 0.05
    lower = PureOdometer(
        odometer.delta,
        odometer.shape,
        odometer.parameter,
        odometer.horizon,
        odometer.step,
        odometer.sizes,
        odometer.scale * D("0.99"),
        trusted=True,
    )
    assert lower.crossing_upper() > 0.05
    with pytest.raises(InputError, match="only certified for"):
        lower.verify()


def test_it_is_lower_than_the_mixture_tuned_for_its_horizon() -> None:
    """At 1e-6 and rounds of 0.1 it reads eight to ten percent less from a tenth of the horizon on."""
    delta = D("1e-6")
    found = PureOdometer(delta, "mixture", D("0.0168532"), D(1), D("0.02"), (5,), D("0.90416"))
    mixture = MixtureOdometer.tuned(delta=delta, intrinsic_time="0.5")
    for rounds in (10, 30, 100):

        class At:  # the same rounds on the same clock
            delta, intrinsic_time = D(0), D("0.01") * rounds

        assert D("0.9") < found.bound(PureRecord(25 * rounds)) / mixture.bound(At()) < D("0.93")


def test_laplace_answers_stay_below() -> None:
    """20,000 runs of Laplace mechanisms (0.1 and 0.2, the larger ones while behind) cross less often than stated."""
    odometer, rng = computed(), np.random.default_rng(11)
    runs, loss = 20_000, np.zeros(20_000)
    used, crossed = np.zeros(20_000, dtype=int), np.zeros(20_000, dtype=bool)
    readings = np.array([float(odometer.bound(PureRecord(units))) for units in range(odometer.units + 1)])
    for _ in range(100):
        size = np.where(loss < 0.3 * readings[used], 4, 2)
        run = used + size**2 <= odometer.units
        epsilon = size * 0.05
        noise = rng.laplace(size=runs) / epsilon
        loss = np.where(run, loss + epsilon * (np.abs(noise + 1) - np.abs(noise)), loss)
        used = np.where(run, used + size**2, used)
        crossed |= loss > readings[used]
    assert 0 < crossed.mean() < 0.05


def test_rounds_are_counted_at_the_smallest_size_that_covers_them() -> None:
    """Sizes are rounded up; the reading is a whole number of steps, and stops at the horizon."""
    odometer = computed()
    record = odometer.start()
    for epsilon, units in (("0.1", 4), ("0.03", 8), ("0.11", 24)):
        record = odometer.record(record, PureDP(epsilon))
        assert record.units == units
        assert odometer.bound(record) % odometer.step == 0
    assert odometer.bound(PureRecord(400)) >= odometer.bound(record) >= odometer.bound(odometer.start())
    with pytest.raises(NoGuaranteeError, match="beyond"):
        odometer.bound(PureRecord(401))


@pytest.mark.parametrize("loss", [ZCDP("0.01"), ApproxDP("0.1", "1e-6")])
def test_only_pure_losses_are_recorded(loss: Any) -> None:
    """Others do not bound the loss of each answer."""
    with pytest.raises(NotionError, match="PureDP"):
        computed().record(computed().start(), loss)


def test_rounds_above_the_largest_size_and_other_states_are_refused() -> None:
    """The sizes are declared beforehand."""
    with pytest.raises(NoGuaranteeError, match="largest declared size"):
        computed().record(computed().start(), PureDP("0.21"))
    with pytest.raises(InputError, match="not a record of pure rounds"):
        computed().bound("a state")


def test_crossing_falls_with_the_scale_and_grows_with_what_may_be_chosen() -> None:
    """A higher boundary, fewer sizes and a shorter horizon help nobody who wants to cross."""

    def crossing(scale: str, sizes: tuple[int, ...] = (2, 4), horizon: str = "1") -> float:
        found = PureOdometer(D("0.05"), "square_root", D("0.1"), D(horizon), D("0.05"), sizes, D(scale), trusted=True)
        return found.crossing_upper()

    assert crossing("2") > crossing("2.5") > crossing("3")
    assert crossing("2.5", (2,)) <= crossing("2.5") <= crossing("2.5", (1, 2, 4))
    assert crossing("2.5", horizon="0.5") < crossing("2.5") < crossing("2.5", horizon="2")


def test_what_is_stored_reads_back_and_is_verified_again() -> None:
    """JSON is taken at its word; `verify` finds an edited scale."""
    data = computed().to_json()
    assert odometer_from_json(data) == computed()
    assert data["sizes"] == [2, 4]
    with pytest.raises(InputError, match="only certified for"):
        odometer_from_json({**data, "scale": "2"}).verify()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": ()}, "increasing"),
        ({"sizes": (2, 1)}, "increasing"),
        ({"sizes": (100,)}, "size"),
        ({"horizon": "0.001"}, "no room"),
        ({"step": "0"}, "step"),
        ({"step": "0.0001"}, "too"),
        ({"delta": "1e-250"}, "is below"),
    ],
)
def test_what_cannot_be_computed_is_refused(change: dict[str, Any], message: str) -> None:
    """Each field has a range; a game that is too large says so."""
    fields: dict[str, Any] = {"delta": "0.05", "shape": "line", "parameter": "0.1", "horizon": "1"}
    fields |= {"step": "0.1", "sizes": (1, 3), "scale": "3"}
    with pytest.raises(InputError, match=message):
        PureOdometer(**{**fields, **change})

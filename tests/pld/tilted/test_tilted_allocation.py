"""Random allocation in the second engine: no moments, only sums of points; and the two engines agree."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from tests.pld.allocation.oracles import delta as integrated

from dosimeter.errors import EnginesDisagree, InputError, NoGuaranteeError
from dosimeter.events import Event, Gaussian, Laplace, PoissonSampled, RandomAllocation, Repeated
from dosimeter.pld import cross_check as module
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.allocation.law import AllocatedGaussianLaw
from dosimeter.pld.lattice import sums
from dosimeter.pld.lattice.allocated import HeldLaw, held, lowest
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.tilted.bounds import tilted_delta, tilted_epsilon


def composed(*events: Event) -> Accountant:
    accountant = Accountant()
    accountant.extend(events)
    return accountant


@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("epsilon", ["0", "0.3", "1"])
def test_a_few_steps_hold_the_integral(steps: int, direction: str, epsilon: str) -> None:
    """One of two or three steps, by quadrature over all but the last."""
    exact = integrated(steps, 1.0, float(epsilon), direction, points=2001)
    bound = tilted_delta([AllocatedGaussianLaw(steps, Fraction(1))], epsilon, direction=direction, accuracy="1e-3")
    assert bound.lower <= Decimal(exact * (1 + 1e-9))
    assert bound.upper >= Decimal(exact * (1 - 1e-9))
    assert bound.upper - bound.lower < Decimal(exact) / 20


PLANS: list[tuple[Event, str]] = [
    (RandomAllocation(10, 1, Gaussian(1)), "1e-6"),
    (RandomAllocation(1000, 1, Gaussian(1)), "1e-6"),
    (RandomAllocation(1000, 1, Gaussian(8)), "1e-9"),
    (RandomAllocation(100, 3, Gaussian(2)), "1e-5"),
    (RandomAllocation(50, 1, Gaussian("0.3")), "1e-8"),
    (RandomAllocation(7, 3, Gaussian(1)), "1e-30"),
    (Repeated(RandomAllocation(200, 1, Gaussian(1)), 5), "1e-6"),
    (RandomAllocation(100, 1, Gaussian("0.1")), "1e-6"),
]


@pytest.mark.parametrize(("event", "delta"), PLANS)
def test_one_interval_lies_in_the_other(event: Event, delta: str) -> None:
    """Each direction, epsilon at a delta: the moments' interval lies inside the points', which is one per cent wide.

    To add with little noise hardly anything is lost; there the points may be the closer ones.
    """
    accountant = composed(event)
    for direction in (None, "remove", "add"):
        try:
            checked = accountant.cross_check(delta, direction=direction, accuracy="1e-3")
        except NoGuaranteeError:  # so little is lost to add that nobody can certify how little
            assert direction == "add"
            continue
        if direction != "add":
            assert checked.tilted.lower <= checked.saddle.lower <= checked.saddle.upper <= checked.tilted.upper
            assert checked.tilted.upper <= checked.tilted.lower * Decimal("1.015")


def test_other_losses_beside_it() -> None:
    """Allocated records compose with Gaussian, Laplace and sampled losses, delta and epsilon asked."""
    accountant = composed(
        RandomAllocation(50, 1, Gaussian(1)), Gaussian(3), Laplace(8), Repeated(PoissonSampled("0.02", Gaussian(1)), 20)
    )
    for question in ({"delta": "1e-6"}, {"epsilon": "1.5"}, {"epsilon": 0}):
        checked = accountant.cross_check(**question, accuracy="1e-2")  # type: ignore[arg-type]
        assert checked.tilted.lower <= checked.saddle.lower <= checked.saddle.upper <= checked.tilted.upper
    zeroed = Accountant("zero_out")
    zeroed.append(RandomAllocation(50, 1, Gaussian(1)))
    assert zeroed.cross_check("1e-6", accuracy="1e-3").shared.lower > 0


def test_tiny_deltas_are_asked_for_again() -> None:
    """delta at a large epsilon: what the points leave out does not hide it."""
    accountant = composed(RandomAllocation(20, 1, Gaussian(1)))
    checked = accountant.cross_check(epsilon=12, direction="remove", accuracy="1e-2")
    assert checked.tilted.upper < Decimal("1e-25")
    assert checked.tilted.lower > checked.tilted.upper / 4


def test_one_step_is_the_step_itself() -> None:
    """With one step there is nothing to hide, and nothing is held as points."""
    laws: dict[Law, int] = {AllocatedGaussianLaw(1, Fraction(1, 4)): 3, GaussianLaw(Fraction(1)): 1}
    assert held(laws, -14.0, 1e-4) == laws
    one = tilted_epsilon([AllocatedGaussianLaw(1, Fraction(1, 4))], "1e-5")
    plain = tilted_epsilon([Gaussian(2)], "1e-5")
    assert one.lower <= plain.upper
    assert plain.lower <= one.upper


def test_a_held_law_is_a_law() -> None:
    """Both lists carry mass one and mean one, up to their margins, in both directions."""
    law = next(iter(held({AllocatedGaussianLaw(100, Fraction(1)): 1}, -14.0, 1e-3)))
    assert isinstance(law, HeldLaw)
    assert not law.symmetric
    for direction in Direction:
        assert law.infinite(direction) == 0
        for one in (law, lowest(law, direction)):
            masses = one.masses(direction, sums.np.array([-sums.np.inf, sums.np.inf]))
            assert abs(float(masses.log_p[0])) < 1e-6
            assert abs(float(masses.log_q[0])) < 1e-6
    assert lowest(GaussianLaw(Fraction(1)), Direction.ADD) == GaussianLaw(Fraction(1))


@pytest.mark.parametrize("flaw", ["one step more", "one step less", "no factor t", "left edges", "right edges"])
def test_a_broken_engine_is_caught(flaw: str, monkeypatch: Any) -> None:
    """The control: a wrong number of steps on either side, or points that only move one way, divide the engines."""
    event = RandomAllocation(50, 1, Gaussian(1))
    if flaw in ("one step more", "one step less", "no factor t"):
        steps = {"one step more": 52, "one step less": 48, "no factor t": 2}[flaw]
        monkeypatch.setattr(module, "_counts", lambda _: [(AllocatedGaussianLaw(steps, Fraction(1)), 1)])
    else:

        def moved(a: sums.Points, b: sums.Points, edges: sums.Reals) -> sums.Points:
            true = honest(a, b, edges)
            at = sums.np.searchsorted(edges, true.at, side="right") - (flaw == "left edges")
            return sums.Points(edges[sums.np.minimum(at, len(edges) - 1)], true.mass, true.away)

        honest = sums.averaged
        monkeypatch.setattr(sums, "spread" if flaw == "left edges" else "averaged", moved)
        sums.sum_of.cache_clear()
    try:
        with pytest.raises((EnginesDisagree, InputError), match=r"saddle line says|not certainly at most"):
            composed(event).cross_check("1e-6", accuracy="2e-4")
    finally:
        sums.sum_of.cache_clear()


def test_other_steps_have_no_law() -> None:
    """Steps without Gaussian noise are refused by both engines alike."""
    for event in (Laplace(1), PoissonSampled("0.1", Gaussian(1))):
        with pytest.raises(NoGuaranteeError, match="as if the steps were known"):
            tilted_epsilon([RandomAllocation(10, 1, event)], "1e-5")

"""A growing account is priced with little work: shortened lines, and a direction that is proved not to matter."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dosimeter.exact import Bound
from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.gaussian import gaussian_law
from dosimeter.pld.laws.laplace import laplace_law
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.sampled import PoissonSampledLaw
from dosimeter.pld.saddle.bystander import Bystander
from dosimeter.pld.saddle.line import Line, evaluate, on_line, shortened
from dosimeter.pld.saddle.side import Side


def step(i: int) -> Law:
    return PoissonSampledLaw("0.01", gaussian_law(Fraction(800 + 10 * i, 1000)))


def test_an_account_read_after_every_step_agrees_with_a_fresh_one() -> None:
    """Lines cut short while an account grew say the same as lines chosen for all of it at once."""
    grown = Accountant()
    for i in range(24):
        grown.append(step(i))
        found = grown.epsilon("1e-5")
        assert found.upper - found.lower <= Decimal("1e-6") * found.upper
    fresh = Accountant()
    fresh.extend(step(i) for i in range(24))
    again = fresh.epsilon("1e-5")
    assert found.lower <= again.upper
    assert again.lower <= found.upper
    loaded = Accountant.loads(grown.dumps())
    assert loaded.epsilon("1e-5") == again
    assert loaded.to_json() == grown.to_json()


@pytest.mark.parametrize("direction", list(Direction))
def test_a_shortened_line_is_the_start_of_the_longer_one(direction: Direction) -> None:
    """Values, errors and real moments are those of a line made anew; only the end is looked at again."""
    law = step(3)
    long, short = Line(3.0, 6.0, 0.4, 900, 1e-18), Line(3.0, 6.0, 0.4, 160, 1e-18)
    cut, made = shortened(law, direction, short, on_line(law, direction, long)), evaluate(law, direction, short)
    assert len(cut.values.log_phi) == 160
    difference = np.abs(np.expm1(cut.values.log_phi - made.values.log_phi))
    assert (difference <= cut.values.eta + made.values.eta + 1e-15).all()
    assert cut.log_end == pytest.approx(made.log_end, rel=1e-9)
    assert cut.log_beyond == pytest.approx(made.log_beyond, rel=1e-12)
    heights = short.end * np.array([1.0, 1.3, 2.0])
    beyond = evaluate(law, direction, Line(3.0, 6.0, short.end / 10, 25, 1e-18)).values
    for height in heights:
        node = round(float(height) / (short.end / 10))
        assert float(beyond.log_phi[node].real) <= cut.log_end + float(beyond.eta[node])


MIXES = [
    [(step(0), 1000)],
    [(PoissonSampledLaw("256/60000", gaussian_law("1.1")), 14_062)],
    [(PoissonSampledLaw("0.001", gaussian_law(1)), 10**6)],
    [(step(0), 30), (laplace_law(10), 4), (gaussian_law(30), 20)],
    [(PoissonSampledLaw("0.5", gaussian_law(4)), 20), (PoissonSampledLaw("0.1", laplace_law(1)), 5)],
]


@pytest.mark.parametrize("mix", MIXES)
def test_the_answer_is_the_larger_of_both_directions(mix: list[tuple[Law, int]]) -> None:
    """Leaving out a direction never changes the answer, in whichever order the two are asked."""
    account = Accountant()
    for law, count in mix:
        account.append(law, count)
    each = [account.epsilon("1e-6", direction=direction) for direction in Direction]
    both = account.epsilon("1e-6")
    high = max(bound.upper for bound in each)
    assert both.lower <= high
    assert max(bound.lower for bound in each) <= both.upper
    assert abs(both.upper - high) <= Decimal("2e-6") * high
    account._decided = Direction.ADD
    again = account.epsilon("1e-6")
    assert again.lower <= both.upper
    assert both.lower <= again.upper


def test_a_moment_never_dismisses_the_direction_that_decides() -> None:
    """Where a direction needs more than a given epsilon, no order claims that it does not."""
    law, delta = step(0), Decimal("1e-5")
    side = Side(Direction.REMOVE)
    side.append(law, 1000)
    low, _ = side.epsilon(Bound(delta, delta))
    log_delta = float(delta.ln())
    for order in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
        aside = Bystander(Direction.REMOVE)
        aside.choose(order, 1000, log_delta)
        assert not aside.is_below([(law, 1000)], 0.0, log_delta, low * 0.9999)
    aside = Bystander(Direction.REMOVE)
    aside.choose(4.0, 1000, log_delta)
    assert aside.is_below([(law, 1000)], 0.0, log_delta, 2 * low)
    assert not Bystander(Direction.REMOVE).is_below([(law, 1000)], 0.0, log_delta, 100.0)


def test_a_difficult_delta_does_not_spoil_the_next_one() -> None:
    """An answer that could only be wide at one delta leaves the answers at other deltas narrow."""
    account = Accountant()
    account.append(PoissonSampledLaw("0.001", gaussian_law(4)), 1000)
    account.epsilon("1e-100")
    found = account.epsilon("1e-6")
    assert found.upper - found.lower <= Decimal("1e-6") * found.upper

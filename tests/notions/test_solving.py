"""Roots are certified: a bad search costs digits or time, never the promise."""

from decimal import Decimal

import pytest

from dosimeter.enclosure import ball, precision
from dosimeter.errors import NoGuaranteeError
from dosimeter.notions.profiles import solving


def two(x: Decimal) -> bool:
    return x * x >= 2


def at_most_two(x: Decimal) -> bool:
    return x * x <= 2


@pytest.mark.parametrize("off", ["0", "1e-24", "-1e-22", "1e-15", "-1e-12"])
def test_a_wrong_guess_still_ends_on_the_safe_side(off: str) -> None:
    """From a guess on either side of the root, the answer satisfies the inequality it was asked to satisfy."""
    with precision(200):
        guess = ball(2).sqrt() + ball(Decimal(off))
    above, below = solving.least(two, guess), solving.largest(at_most_two, guess)
    assert above * above >= 2 >= below * below
    assert above - below < 3 * abs(Decimal(off)) + Decimal("1e-23")


def test_what_cannot_be_certified_is_refused() -> None:
    """A guess far on the wrong side is not answered with a number."""
    with pytest.raises(NoGuaranteeError, match="certified"):
        solving.least(lambda x: False, ball(1))
    assert solving.largest(lambda x: False, ball(0)) == 0


def test_newton_and_the_derivative_free_search_find_the_same_root() -> None:
    """Both searches agree with the logarithm they look for, also from a poor start."""
    with precision(224):
        goal = ball(7).log()
        newton = solving.root(lambda x: (x.exp() - 7, x.exp()), ball(30), ball(0), ball(40), rising=True)
        falling = solving.root(lambda x: (7 - x.exp(), -x.exp()), ball(-3), ball(-40), ball(40), rising=False)
        secant = solving.bracketed_root(lambda x: x.exp() - 7, ball(0), ball(40))
        for found in (newton, falling):
            assert abs(found - goal) < ball(Decimal("1e-50"))
        assert abs(secant - goal) < ball(Decimal("1e-24"))


def test_a_sign_that_cannot_be_told_is_not_certain() -> None:
    """An exact zero in disguise is not "certainly at most zero"; a clear sign is."""
    assert solving.certainly_at_most_zero(lambda: ball(2).sqrt() - ball(Decimal("1.5")))
    assert not solving.certainly_at_most_zero(lambda: ball(Decimal("1.5")) - ball(2).sqrt())
    assert not solving.certainly_at_most_zero(lambda: ball(2).sqrt() ** 2 - 2)


def test_probabilities_stay_probabilities() -> None:
    """Zero stays zero, what is tiny becomes the smallest amount, what exceeds one becomes one."""
    assert solving.probability_up(lambda: ball(0)) == 0
    assert solving.probability_up(lambda: (-(ball(10) ** 30)).exp()) == Decimal("1e-300")
    assert solving.probability_up(lambda: ball(3) / 2) == 1
    assert solving.nonnegative_up(lambda: ball(2) - 3) == 0
    assert solving.nonnegative_down(lambda: ball(2) - 3) == 0
    assert solving.nonnegative_down(lambda: ball(1) / 3) < Decimal(1) / 3

"""The right answers that the accounting benchmark compares with are computed, not copied."""

from fractions import Fraction

import pytest
from benchmarks.accounting.truth import truth
from benchmarks.accounting.workloads import WORKLOADS, Laplace, Sampled, Workload, gaussian
from flint import ctx


@pytest.mark.parametrize("name", ["a1", "b1", "b2", "b3", "b4", "f1", "f2", "f3", "g2"])
def test_gaussian_truths_are_the_closed_form(name: str) -> None:
    """Compositions of Gaussians agree with the closed form to the last digit written."""
    plan = WORKLOADS[name]
    bits = ctx.prec
    try:
        value, moved = truth(plan)
    finally:
        ctx.prec = bits
    assert moved == 0
    assert value == pytest.approx(float(plan.truth), rel=3e-16)


def test_the_inversion_agrees_with_a_closed_form() -> None:
    """A sample of everybody is no sample: the contour integral finds the closed form of a Gaussian plan."""
    whole = Workload("x", "everybody sampled", ((Sampled(Fraction(1), Fraction(2)), 12),), "1e-5", "1")
    same = Workload("y", "the same", ((gaussian("2"), 12),), "1e-5", "1")
    mixed = Workload("z", "a little more", ((gaussian("2"), 12), (Laplace(Fraction(100)), 1)), "1e-5", "1")
    bits = ctx.prec
    try:
        (value, moved), (closed, _), (more, _) = truth(whole), truth(same), truth(mixed)
    finally:
        ctx.prec = bits
    assert moved < 1e-12
    assert value == pytest.approx(closed, rel=1e-12)
    assert closed < more < closed + 0.01

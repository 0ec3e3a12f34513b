"""The pair of one record that takes part in one of `steps` Gaussian releases, chosen secretly and uniformly.

With Y_1 .. Y_t independent and log-normal of mean one, log Y_i ~ N(-s/2, s), s = (sensitivity / sigma)^2, the pair is

    Q: no release holds the record,        dP/dQ = (Y_1 + ... + Y_t) / t = S / t,

so the loss is L = log(S / t) (remove) and -L (add), and H_g = E(S/t - g)+ or E(1 - g S/t)+.

**It dominates, for both directions, adaptive mechanisms too.** Given the past, let release i move by a vector of length
a_i <= sensitivity when the record takes part; a_i may depend on earlier releases. Under Q the likelihood ratio of
release i is then a log-normal Y_i' of mean one and log-variance (a_i / sigma)^2, and dP/dQ = (Y_1' + ... + Y_t') / t.
Given the past, Y_i' is a conditional mean of a Y_i: multiply it by an independent log-normal of mean one that brings
the variance up to s. So E f(x + Y_i') <= E f(x + Y_i) for every convex f (Jensen). Replace the releases from the last
to the first: f_t = f and f_(i-1)(x) = E f_i(x + Y_i) stay convex, hence E f(S') <= E f(S), and H_g is of this form with
a convex f for every g >= 0, in both directions. Other records choose their steps independently; what is known given
their choices only becomes smaller by averaging (joint convexity). Noise of one dimension that always moves by the
sensitivity attains the pair, so its profile is the exact price of the scheme.

**It holds a Gaussian loss.** log S = sqrt(s) u + (a function of the differences of the log Y_i), where u is the mean of
t standard normals and independent of their differences. So |E S^(a+ib)| <= e^(-s b^2 / 2t) E S^a for all real a and b:
the bound that ends every line and every rule here.

**Several steps.** A record that takes part in k of t steps is dominated by k of these pairs. Split the steps at random
into k groups of given sizes T_b that add up to t, and draw one step of each: by symmetry that is a uniform set of k
steps. Given the groups (knowing them only helps), dP/dQ is the product over the groups of (sum of their Y_i') / T_b,
which is affine in each Y_i'. A convex function of it is convex in each of them, so the replacement above goes through,
and ends at a product of independent pairs. Sizes t // k and t // k + 1 serve; the pair is an upper bound for k > 1.

Reference: Chua, Ghazi, Harrison, Kamath, Kumar, Leeman, Manurangsi, Sinha and Zhang (2024, balls and bins); Feldman and
Shenfeld (2025), who have k groups of t // k. The proofs above are self-contained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dosimeter import exact
from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Direction, Law, Part
from dosimeter.pld.laws.primitive import read

MOST_STEPS = 10**12


@dataclass(frozen=True, slots=True)
class AllocatedGaussianLaw(Law):
    """One of `steps` Gaussian releases holds the record.

    Args:
        steps: t, 1 to 1e12.
        mu_squared: (sensitivity / sigma)^2 of one release, exactly.
    """

    steps: int
    mu_squared: Fraction
    kind: ClassVar[str] = "allocated_gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", exact.count(self.steps, "steps", largest=MOST_STEPS))
        object.__setattr__(self, "mu_squared", read(self.mu_squared, "mu_squared"))

    @property
    def symmetric(self) -> bool:
        return self.steps == 1

    def infinite(self, direction: Direction) -> Fraction:  # noqa: ARG002
        return Fraction(0)

    @property
    def gaussian(self) -> Fraction | None:
        return self.mu_squared if self.steps == 1 else None

    def support(self, direction: Direction) -> tuple[float, float]:  # noqa: ARG002
        return -math.inf, math.inf

    def parts(self, direction: Direction, cut: float) -> tuple[Part, ...]:  # noqa: ARG002
        raise NoGuaranteeError(
            "a loss under random allocation is no sum of simple pieces; read it with the accountant, which knows its "
            "moments, not on a lattice"
        )


def allocated(steps: int, selected: int, mu_squared: Fraction) -> tuple[tuple[Law, int], ...]:
    """The laws whose composition dominates `selected` of `steps` Gaussian releases; exact for one selected step.

    Groups of a single step are Gaussian releases, and add up to one of them.
    """
    size, larger = divmod(steps, selected)
    found: list[tuple[Law, int]] = []
    for group, count in ((size + 1, larger), (size, selected - larger)):
        if count and group > 1:
            found.append((AllocatedGaussianLaw(group, mu_squared), count))
        elif count:
            found.append((GaussianLaw(count * mu_squared), 1))
    return tuple(found)

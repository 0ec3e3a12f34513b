"""The plans that every accountant is asked about, as data, with the right answers.

Numbers are texts or ratios, so that each system reads exactly the same plan. `benchmarks.accounting.truth` says where
the right answers come from and computes them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Gaussian noise on a query of sensitivity one."""

    sigma: Fraction


@dataclass(frozen=True, slots=True)
class Laplace:
    """Laplace noise on a query of sensitivity one."""

    scale: Fraction


@dataclass(frozen=True, slots=True)
class Sampled:
    """A Gaussian query on a Poisson sample, each record with probability `rate`."""

    rate: Fraction
    sigma: Fraction


@dataclass(frozen=True, slots=True)
class Response:
    """Binary randomized response that is epsilon-DP."""

    epsilon: Fraction


Mechanism: TypeAlias = Gaussian | Laplace | Sampled | Response
Parts: TypeAlias = tuple[tuple[Mechanism, int], ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """A plan, the delta it is asked at, and the least epsilon with that delta.

    Args:
        truth: right in every digit but the last.
    """

    name: str
    title: str
    parts: Parts
    delta: str
    truth: str

    @property
    def doubt(self) -> Decimal:
        """How far the truth as written may be from the truth, relative."""
        value = Decimal(self.truth)
        return Decimal((0, (1,), int(value.as_tuple().exponent))) / value


def gaussian(sigma: str) -> Gaussian:
    """A Gaussian mechanism by its sigma."""
    return Gaussian(Fraction(sigma))


def sampled(rate: str, sigma: str) -> Sampled:
    """A Poisson-sampled Gaussian mechanism."""
    return Sampled(Fraction(rate), Fraction(sigma))


def _mixed() -> Parts:
    """Two hundred different mechanisms."""
    gaussians = [Gaussian(20 + Fraction(2 * i, 5)) for i in range(100)]
    laplaces = [Laplace(20 + Fraction(4 * i, 5)) for i in range(50)]
    samples = [Sampled(Fraction(100 + 2 * i, 10_000), Fraction(800 + 24 * i, 1000)) for i in range(50)]
    every: tuple[Mechanism, ...] = (*gaussians, *laplaces, *samples)
    return tuple((mechanism, 1) for mechanism in every)


_MANY = ((gaussian("20"), 1000),)
_TRAINING = ((sampled("0.01", "0.8"), 1000),)

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("a1", "one Gaussian, s=1", ((gaussian("1"), 1),), "1e-5", "4.3771780956812245"),
        Workload("b1", "10 Gaussians, s=20", ((gaussian("20"), 10),), "1e-5", "0.56128493288078536"),
        Workload("b2", "1000 Gaussians, s=20", _MANY, "1e-5", "7.5112759007447816"),
        Workload("b3", "1000 Gaussians, s=100", ((gaussian("100"), 1000),), "1e-5", "1.1993695737531684"),
        Workload("b4", "1000 Gaussians, s=5", ((gaussian("5"), 1000),), "1e-5", "46.211210191218104"),
        Workload("c1", "sampled q=.01 s=.8, 1000 steps", _TRAINING, "1e-5", "3.1410141394547746"),
        Workload("c2", "the same, 10,000 steps", ((sampled("0.01", "0.8"), 10_000),), "1e-5", "10.05363477065"),
        Workload(
            "c3", "q=256/60000 s=1.1, 60 epochs", ((sampled("256/60000", "1.1"), 14_062),), "1e-5", "2.3815969214243973"
        ),
        Workload(
            "d1", "1000 randomized responses, .1", ((Response(Fraction("0.1")), 1000),), "1e-6", "19.344671447993044"
        ),
        Workload("e1", "200 different mechanisms", _mixed(), "1e-6", "1.671637180275"),
        Workload("f1", "b2 at delta 1e-15", _MANY, "1e-15", "13.449328831550744"),
        Workload("f2", "b2 at delta 1e-30", _MANY, "1e-30", "19.085246947340412"),
        Workload("f3", "b2 at delta 1e-100", _MANY, "1e-100", "34.687727746371465"),
        Workload("f4", "c1 at delta 1e-12", _TRAINING, "1e-12", "6.992031146182276"),
        Workload("f5", "c1 at delta 1e-20", _TRAINING, "1e-20", "11.176232935975968"),
        Workload("g1", "q=.001 s=1, 1e6 steps", ((sampled("0.001", "1"), 1_000_000),), "1e-6", "6.694272659721021"),
        Workload("g2", "1e6 Gaussians, s=1000", ((gaussian("1000"), 1_000_000),), "1e-6", "4.886554117462212"),
        Workload("h1", "q=1e-6 s=1, 1e6 steps", ((sampled("1e-6", "1"), 1_000_000),), "1e-9", "0.0059029068457"),
        Workload("h2", "q=1e-6 s=1, 1000 steps", ((sampled("1e-6", "1"), 1000),), "1e-10", "0.00024174065"),
    )
}
QUICK = ("a1", "b2", "c1", "d1", "f3", "g1")


def growing(count: int) -> tuple[Sampled, ...]:
    """So many different training steps, q=0.01: the history of a run whose noise was scheduled."""
    return tuple(Sampled(Fraction(1, 100), Fraction(800 + 10 * i, 1000)) for i in range(count))

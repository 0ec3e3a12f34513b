"""From an event to the laws that dominate it: the one place where repetitions are opened and schemes are matched.

A mechanism gets a law only if a theorem says that the law's pair dominates it for *every* real epsilon, since only
then do products of laws dominate compositions. What is known of a mechanism in zCDP or Renyi terms alone is not such
a pair, and neither is a bound for one direction or for non-negative epsilon.
"""

from __future__ import annotations

import functools
from fractions import Fraction

from dosimeter.errors import NoGuaranteeError
from dosimeter.events import (
    Composed,
    Declared,
    DeclaredPair,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomAllocation,
    RandomizedResponse,
    Repeated,
    WithReplacementSampled,
)
from dosimeter.notions import GDP, ApproxDP, PureDP
from dosimeter.pld.allocation.law import allocated
from dosimeter.pld.laws.discrete_gaussian import DiscreteGaussianLaw
from dosimeter.pld.laws.discrete_laplace import DiscreteLaplaceLaw
from dosimeter.pld.laws.drawn import drawn
from dosimeter.pld.laws.finite import FinitePairLaw
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.laplace import LaplaceLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.primitive import Primitive
from dosimeter.pld.laws.response import ResponseLaw
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw, poisson_sampled


@functools.lru_cache(maxsize=4096)
def laws_of(event: Event) -> tuple[tuple[Law, int], ...]:
    """The laws whose composition dominates the event, each with how often it is run.

    Raises:
        NoGuaranteeError: no dominating pair is known for a part of the event.
    """
    counts: dict[Law, int] = {}
    for law, count in _walk(event, 1):
        counts[law] = counts.get(law, 0) + count
    return tuple(counts.items())


def _walk(event: Event, count: int) -> list[tuple[Law, int]]:
    if isinstance(event, Repeated):
        return _walk(event.event, count * event.count)
    if isinstance(event, Composed):
        return [pair for part in event.events for pair in _walk(part, count)]
    if isinstance(event, RandomAllocation):
        return [(law, count * times) for law, times in _allocated(event)]
    law = _law(event)
    return [] if law is None else [(law, count)]


def _law(event: Event) -> Law | None:
    if isinstance(event, Gaussian):
        return GaussianLaw((Fraction(event.l2_sensitivity) / Fraction(event.sigma)) ** 2)
    if isinstance(event, Laplace):
        return LaplaceLaw(Fraction(event.l1_sensitivity) / Fraction(event.scale))
    if isinstance(event, DiscreteLaplace):
        return DiscreteLaplaceLaw(Fraction(event.scale), _steps(Fraction(event.l1_sensitivity), event.kind))
    if isinstance(event, DiscreteGaussian):
        if event.l2_sensitivity**2 >= 2:
            raise NoGuaranteeError(
                f"an integer vector may move by l2_sensitivity={event.l2_sensitivity} in several ways, each with its "
                "own law; compose a DiscreteGaussianLaw per coordinate, or account in zCDP"
            )
        return DiscreteGaussianLaw(Fraction(event.sigma) ** 2, _steps(Fraction(event.l2_sensitivity), event.kind))
    if isinstance(event, RandomizedResponse):
        return ResponseLaw(Fraction(event.epsilon), Fraction(event.delta))
    if isinstance(event, PoissonSampled | FixedSizeSampled | WithReplacementSampled):
        law = _sampled(event)
        if law is not None:
            return law
    if isinstance(event, Declared):
        return _declared(event)
    if isinstance(event, DeclaredPair):
        return FinitePairLaw(event.with_record, event.without_record)
    raise NoGuaranteeError(
        f"no pair that dominates a {event.kind} event for composition is offered here; account for it in a notion"
    )


def _allocated(event: RandomAllocation) -> tuple[tuple[Law, int], ...]:
    base = _base(event.event)
    if not isinstance(base, GaussianLaw) or base.delta:
        raise NoGuaranteeError(
            f"random allocation has a dominating pair here for Gaussian steps, not for {base.kind} ones; account for "
            "it in a notion, as if the steps were known"
        )
    return allocated(event.steps, event.selected, base.mu_squared)


def _sampled(event: PoissonSampled | FixedSizeSampled | WithReplacementSampled) -> Law | None:
    if isinstance(event, PoissonSampled):
        return poisson_sampled(Fraction(event.probability), _base(event.event))
    if isinstance(event, FixedSizeSampled) and isinstance(event.event, FixedSizeSampled):  # a batch of a batch
        return _sampled(FixedSizeSampled(event.event.batch_size, event.population, event.event.event))
    base = _base(event.event)
    if not isinstance(base, Primitive):
        return None
    if isinstance(event, FixedSizeSampled):
        return FixedSizeSampledLaw(Fraction(event.batch_size, event.population), base)
    if isinstance(base, DiscreteGaussianLaw) and event.draws > 1:
        raise NoGuaranteeError(
            "several exchanged draws may move an integer vector in several coordinates; append `drawn` of a "
            "DiscreteGaussianLaw for one number, or use continuous noise"
        )
    return drawn(event.draws, event.population, base)


def _steps(sensitivity: Fraction, kind: str) -> int:
    """Integers that move by at most `sensitivity` move by at most its whole part."""
    if sensitivity < 1:
        raise NoGuaranteeError(f"a {kind} event of sensitivity below one lattice step moves nothing; give it in steps")
    return sensitivity.numerator // sensitivity.denominator


def _declared(event: Declared) -> Law | None:
    loss = event.loss
    if isinstance(loss, PureDP | ApproxDP):
        epsilon, delta = Fraction(loss.epsilon), Fraction(loss.delta) if isinstance(loss, ApproxDP) else Fraction(0)
        return ResponseLaw(epsilon, delta) if epsilon or delta else None
    if isinstance(loss, GDP):
        if not loss.mu:
            return ResponseLaw(Fraction(0), Fraction(loss.delta)) if loss.delta else None
        return GaussianLaw(Fraction(loss.mu) ** 2, Fraction(loss.delta))
    raise NoGuaranteeError(f"a declared {loss.notion} guarantee names no pair of distributions; declare epsilon or mu")


def _base(event: Event) -> Primitive | PoissonSampledLaw:
    """What is run on one sample: one law, or Gaussian laws that fold into one."""
    inner = laws_of(event)
    squares = [(law.gaussian, count) for law, count in inner]
    if all(square is not None for square, _ in squares):
        keep = Fraction(1)
        for law, count in inner:
            if isinstance(law, GaussianLaw):
                keep *= (1 - law.delta) ** count
        total = sum((square * count for square, count in squares if square is not None), Fraction(0))
        return GaussianLaw(total, 1 - keep)
    if len(inner) == 1 and inner[0][1] == 1 and isinstance(inner[0][0], Primitive | PoissonSampledLaw):
        return inner[0][0]
    bounded = _worst_case(inner)
    if bounded is not None:
        return bounded
    raise NoGuaranteeError(
        "several mechanisms on the same sample have no single law here; sample afresh for each, or run one mechanism"
    )


def _worst_case(inner: tuple[tuple[Law, int], ...]) -> ResponseLaw | None:
    """Several mechanisms with bounded finite losses, as the worst mechanism of their total (epsilon, delta)."""
    epsilon, keep = Fraction(0), Fraction(1)
    for law, count in inner:
        ends = [law.highest(direction) for direction in Direction]
        known = [end[1] for end in ends if end is not None]
        if len(known) < len(ends):
            return None
        epsilon += count * max(known)
        keep *= (1 - max(law.infinite(direction) for direction in Direction)) ** count
    return ResponseLaw(epsilon, 1 - keep) if inner else None

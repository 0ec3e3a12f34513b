"""What sampling has to know about the event it runs on: a pair of output laws that stands for it, if one is known.

A pair (P1, P0), with and without the record, *dominates* an event if its hockey-stick divergence is at least the
event's at every level. All pairs here are symmetric: (P0, P1) looks like (P1, P0). Symmetric dominating pairs multiply
under composition and stay valid when an inner mechanism depends on earlier answers; for them, removing a record is at
least as visible as adding one, at every Renyi order, also after Poisson sampling.

Reference:
    Domination and products: Zhu, Dong, Wang (2022), Theorems 10 and 11. Gaussian noise on vectors: Balle, Wang (2018).
    Laplace noise, continuous or on integers, of an L1 sensitivity: one coordinate that moves by all of it (moves along
    coordinates are a group of changes, and for log-concave noise the trade-off functions of a group compose to that of
    the whole shift). (epsilon, delta)-DP: Kairouz, Oh, Viswanath (2015).
    Removing dominates, own proof: let l = dP1/dP0, u = 1-q+ql, w = (1-q)l+q, b = a - 1/2. By symmetry the two moments
    differ by the mean over l >= 1 of sqrt(u) sinh(b log u) - sqrt(wl) sinh(b log(l/w)), up to a positive factor. At
    b = 1/2 this is (u - 1) - (l - w) = 0, as u + w = 1 + l. Since uw >= l, log u >= log(l/w) >= 0, and
    sinh(bx)/sinh(by) grows with b for x >= y: the difference is at least 0 at every order a >= 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from dosimeter.accounting.amplification import amplified_epsilon, amplify_with_replacement, thinned
from dosimeter.errors import NoGuaranteeError
from dosimeter.events import (
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
)
from dosimeter.events.opening import open_event
from dosimeter.events.sampled import SAMPLED_TYPES
from dosimeter.exact import LARGEST, ONE, SMALLEST, ZERO, add_up, divide_up, fraction_up, multiply_up, sqrt_up
from dosimeter.notions import GDP, ApproxDP, PureDP
from dosimeter.notions.profiles import (
    discrete_laplace_delta,
    gaussian_delta,
    gaussian_epsilon,
    laplace_delta,
    laplace_epsilon,
    randomized_response_delta,
)
from dosimeter.notions.profiles.pairs import largest_loss
from dosimeter.notions.profiles.reading import LARGEST_COUNT

_MOST_DRAWS: Final = 10**6
Profile: TypeAlias = Callable[[Decimal], Decimal]  # level, of either sign -> delta, rounded up


@dataclass(frozen=True, slots=True)
class Base:
    """An event as sampling sees it. What is not known is None.

    Args:
        gaussian: mu^2, if the pair N(mu, 1) against N(0, 1) dominates the event outside its failures.
        pure: epsilon, if the event is epsilon-DP outside its failures.
        laplace: sensitivity / scale, if the event is one continuous Laplace release.
        failure: the probability of failure that goes with the three above.
        dominated: whether a symmetric pair, or a product of such pairs, is known to dominate the event.
        symmetric: whether at least every pair of the event's own laws is symmetric, so that removing dominates.
        leaf: the event, if it is a single release.
    """

    gaussian: Fraction | None
    pure: Decimal | None
    laplace: Decimal | None
    failure: Decimal
    dominated: bool
    symmetric: bool
    leaf: Event | None

    @property
    def stated(self) -> ApproxDP | None:
        """The base as (epsilon, delta)-DP, if it is so without any conversion."""
        return None if self.pure is None else ApproxDP(self.pure, self.failure)


@lru_cache(maxsize=1024)
def base_of(event: Event) -> Base:
    """Everything that is known about the event a sample is used for."""
    parts = tuple(open_event(event).items())
    squares = [(_square(leaf), n) for leaf, n in parts]
    bounds = [(_pure(leaf), n) for leaf, n in parts]
    single = parts[0][0] if len(parts) == 1 and parts[0][1] == 1 else None
    known = [square is not None or pure is not None for (square, _), (pure, _) in zip(squares, bounds, strict=True)]
    own_pair = any(isinstance(leaf, DeclaredPair) for leaf, _ in parts)  # priced by its own laws, which may differ
    failure = min(ONE, add_up(*(multiply_up(_failure(leaf), n) for leaf, n in parts)))
    return Base(
        gaussian=sum((s * n for s, n in squares if s is not None), Fraction(0)) if _all(squares) else None,
        pure=min(LARGEST, add_up(*(multiply_up(e, n) for e, n in bounds if e is not None))) if _all(bounds) else None,
        laplace=divide_up(single.l1_sensitivity, single.scale) if isinstance(single, Laplace) else None,
        failure=failure,
        dominated=all(known) and not own_pair,
        symmetric=(all(known) and not own_pair) or isinstance(single, DiscreteGaussian),
        leaf=single,
    )


def profile_of(event: Event) -> Profile:
    """The delta of a dominating pair at every real level; the same in both directions.

    Raises:
        NoGuaranteeError: no pair is known whose profile has a closed form.
    """
    base = base_of(event)
    if base.gaussian is not None:
        mu = sqrt_up(fraction_up(base.gaussian))
        return lambda level: gaussian_delta(mu, level, base.failure)
    if base.laplace is not None:
        ratio = base.laplace
        return lambda level: laplace_delta(ratio, level)
    if isinstance(base.leaf, DiscreteLaplace) and base.leaf.l1_sensitivity <= LARGEST_COUNT:
        scale, steps = base.leaf.scale, math.ceil(base.leaf.l1_sensitivity)
        return lambda level: discrete_laplace_delta(scale, steps, level)
    if base.pure is not None and base.leaf is not None:
        epsilon = base.pure
        return lambda level: randomized_response_delta(epsilon, base.failure, level)
    raise NoGuaranteeError(
        "the profile of this event has no closed form here; use the privacy loss distributions (pld), or state it in "
        "Renyi DP"
    )


def group_profile_of(event: Event) -> Callable[[int, Decimal], Decimal]:
    """(k, level) -> the delta at this level when k records of the sample are replaced at once, rounded up.

    Guarantee: mu, epsilon and Laplace's ratio grow k-fold; a base that may fail has no such form here.
    """
    base = base_of(event)
    if base.failure or (base.gaussian is None and base.pure is None):
        raise NoGuaranteeError(
            "what this event guarantees to groups is not known at every level; sample without replacement, or use "
            "Gaussian noise or an event that is pure"
        )
    if base.gaussian is not None:
        mu = sqrt_up(fraction_up(base.gaussian))
        return lambda k, level: gaussian_delta(min(LARGEST, multiply_up(mu, k)), level)
    if base.laplace is not None:
        ratio = base.laplace
        return lambda k, level: laplace_delta(min(LARGEST, multiply_up(ratio, k)), level)
    epsilon = base.pure or ZERO
    return lambda k, level: randomized_response_delta(min(LARGEST, multiply_up(epsilon, k)), ZERO, level)


def epsilon_of(event: Event, delta: Decimal) -> Decimal | None:
    """The least epsilon of the dominating pair at this delta, rounded up, where it has a closed form."""
    base = base_of(event)
    if base.gaussian is not None and base.failure < delta:
        return gaussian_epsilon(sqrt_up(fraction_up(base.gaussian)), delta, base.failure)
    return laplace_epsilon(base.laplace, delta) if base.laplace is not None else None


def _square(leaf: Event) -> Fraction | None:
    if isinstance(leaf, Gaussian):
        return (Fraction(leaf.l2_sensitivity) / Fraction(leaf.sigma)) ** 2
    if isinstance(leaf, Declared) and isinstance(leaf.loss, GDP):
        return Fraction(leaf.loss.mu) ** 2
    return None


def _pure(leaf: Event) -> Decimal | None:
    if isinstance(leaf, Laplace | DiscreteLaplace):
        return max(SMALLEST, divide_up(leaf.l1_sensitivity, leaf.scale))
    if isinstance(leaf, RandomizedResponse):
        return leaf.epsilon
    if isinstance(leaf, Declared):
        return leaf.loss.epsilon if isinstance(leaf.loss, PureDP | ApproxDP) else None
    if isinstance(leaf, DeclaredPair):
        return max(SMALLEST, min(LARGEST, largest_loss(leaf.with_record, leaf.without_record)))
    if not isinstance(leaf, SAMPLED_TYPES) or (inner := base_of(leaf.event)).pure is None:
        return None
    if isinstance(leaf, RandomAllocation):
        return min(LARGEST, multiply_up(inner.pure, leaf.selected))
    if isinstance(leaf, PoissonSampled | FixedSizeSampled):
        return amplified_epsilon(sampling_probability=chance_of(leaf), epsilon=inner.pure)
    if inner.failure or leaf.draws > _MOST_DRAWS:
        return None
    amplified = amplify_with_replacement(PureDP(inner.pure), draws=leaf.draws, population=leaf.population)
    return amplified.epsilon


def _failure(leaf: Event) -> Decimal:
    if isinstance(leaf, SAMPLED_TYPES):
        inner = base_of(leaf.event).failure
        if isinstance(leaf, RandomAllocation):
            return min(ONE, multiply_up(inner, leaf.selected))
        return thinned(inner, chance_of(leaf)) if isinstance(leaf, PoissonSampled | FixedSizeSampled) else inner
    if isinstance(leaf, DeclaredPair):
        return min(ONE, fraction_up(max(leaf.infinite)))
    loss = leaf.loss if isinstance(leaf, Declared) else leaf
    return loss.delta if isinstance(loss, RandomizedResponse | ApproxDP | GDP) else ZERO


def chance_of(event: PoissonSampled | FixedSizeSampled) -> Fraction:
    """The chance that one given record takes part, exactly."""
    if isinstance(event, PoissonSampled):
        return Fraction(event.probability)
    return Fraction(event.batch_size, event.population)


def flat(event: PoissonSampled | FixedSizeSampled) -> PoissonSampled | FixedSizeSampled:
    """A sample of a sample of the same kind is one sample: probabilities multiply, the inner batch is what is left."""
    inner = event.event
    if isinstance(event, PoissonSampled) and isinstance(inner, PoissonSampled):
        chance = max(SMALLEST, multiply_up(event.probability, inner.probability))
        return flat(PoissonSampled(chance, inner.event))
    if isinstance(event, FixedSizeSampled) and isinstance(inner, FixedSizeSampled):
        return flat(FixedSizeSampled(inner.batch_size, event.population, inner.event))
    return event


def _all(values: list[tuple[Fraction | None, int]] | list[tuple[Decimal | None, int]]) -> bool:
    return all(value is not None for value, _ in values)

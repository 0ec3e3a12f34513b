"""The exact delta of one sampled release, in both directions and at every real epsilon.

With P1 and P0 the base's output laws with and without the record, Poisson sampling compares (1-q) P0 + q P1 with P0
("remove", and "add" the other way round). Both divergences are those of the base at another level; nothing is
approximated. Several releases together are the business of Renyi sums and of privacy loss distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.accounting.amplification import (
    amplified_epsilon,
    base_epsilon,
    read_probability,
    short_up,
    with_replacement_delta,
)
from dosimeter.accounting.bases import Profile, chance_of, epsilon_of, flat, group_profile_of, profile_of
from dosimeter.composition.estimates import Estimate
from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Event, FixedSizeSampled, Gaussian, Laplace, PoissonSampled, WithReplacementSampled
from dosimeter.exact import (
    LARGEST,
    ONE,
    ZERO,
    Number,
    add_up,
    amount,
    count,
    divide_up,
    fraction_down,
    fraction_up,
    multiply_down,
    multiply_up,
    show,
    subtract_up,
)
from dosimeter.notions.profiles import gaussian_delta
from dosimeter.notions.profiles.reading import read_level, read_target_delta
from dosimeter.notions.profiles.solving import probability_up

if TYPE_CHECKING:
    Ball: TypeAlias = Any

_CLOSE: Final = Decimal("1e-18")


class Direction(StrEnum):
    """Which data set the outputs come from: the one with the record (remove), or the one without it (add)."""

    REMOVE = "remove"
    ADD = "add"
    BOTH = "both"


def sampled_delta(event: Event, *, epsilon: Number, direction: Direction | str = Direction.BOTH) -> Decimal:
    """The delta at epsilon of one sampled release.

    Guarantee: rounded up; for Poisson sampling under add or remove, for samples with a fixed number of draws under
    replace-one. Exact for the class of bases with the base's profile, which the noises of this library attain.

    Args:
        event: PoissonSampled, FixedSizeSampled or WithReplacementSampled, of a base whose profile has a closed form.
        epsilon: of either sign, in [-1e12, 1e12].
        direction: remove, add, or both, which is the larger one; the relation of batches of fixed size knows no
            directions.

    Raises:
        NoGuaranteeError: the base's profile has no closed form.
        InputError: not one sampled release.

    Reference: Zhu, Dong, Wang (2022), Theorem 11 and Proposition 30; Balle, Barthe, Gaboardi (2018), Theorems 8 to 10.
    """
    level, way = read_level(epsilon), _direction(direction)
    if isinstance(event, PoissonSampled):
        event = flat(event)
        q, base = chance_of(event), profile_of(event.event)
        remove = poisson_delta_remove(base, sampling_probability=q, epsilon=level) if way != Direction.ADD else ZERO
        add = poisson_delta_add(base, sampling_probability=q, epsilon=level) if way != Direction.REMOVE else ZERO
        return short_up(max(remove, add))
    if isinstance(event, FixedSizeSampled):
        event = flat(event)
        q, base = chance_of(event), profile_of(event.event)
        return _both_signs(level, lambda e: poisson_delta_remove(base, sampling_probability=q, epsilon=e))
    if isinstance(event, WithReplacementSampled):
        drawn, groups = event, group_profile_of(event.event)
        return _both_signs(
            level,
            lambda e: with_replacement_delta(groups, draws=drawn.draws, population=drawn.population, epsilon=e),
        )
    kind = getattr(event, "kind", type(event).__name__)
    raise InputError(f"{kind} is not one sampled release with an exact profile; price it in Renyi DP or by its losses")


def sampled_epsilon(event: Event, *, delta: Number) -> Decimal:
    """The least epsilon >= 0 at which one sampled release has at most this delta, both directions.

    Guarantee: rounded up, and certified.

    Args:
        event: as in `sampled_delta`.
        delta: in [1e-300, 1), or 0 for a base that is pure.

    Raises:
        NoGuaranteeError: delta cannot be reached, or the base's profile has no closed form.

    Reference: as in `sampled_delta`, solved for epsilon.
    """
    target = read_target_delta(delta)
    if isinstance(event, PoissonSampled | FixedSizeSampled):
        event = flat(event)
        q = chance_of(event)
        share = fraction_down(Fraction(target) / q)  # the base may use delta / q: the delta part of the theorem
        if share >= ONE:
            return ZERO
        closed = epsilon_of(event.event, share)
        if closed is None:
            closed = _least_epsilon(profile_of(event.event), share)
        return amplified_epsilon(sampling_probability=q, epsilon=closed)
    return _least_epsilon(lambda e: sampled_delta(event, epsilon=e), target)


def poisson_delta_remove(base: Profile, *, sampling_probability: Number, epsilon: Number) -> Decimal:
    """H(P || P0) for P = (1-q) P0 + q P1: q base(log(1 + (e^epsilon - 1)/q)), and 1 - e^epsilon where that has no log.

    Guarantee: rounded up, if `base` is.

    Args:
        base: level -> H(P1 || P0), at every real level.
        sampling_probability: q, in (0, 1].
        epsilon: in [-1e12, 1e12].

    Reference: Zhu, Dong, Wang (2022), Theorem 11; the integral of (dP - e^epsilon dP0)+.
    """
    q, level = read_probability(sampling_probability), read_level(epsilon)
    if q == 1 or not level:
        return _scaled(base, fraction_up(q), level)
    lifted = enclose(lambda: 1 + ball(level).expm1() / ball(q))
    if lifted <= 0:
        return probability_up(lambda: -ball(level).expm1())
    inner = down(enclose(lambda: (ball(level).expm1() / ball(q)).log1p()))
    return _scaled(base, fraction_up(q), inner)


def poisson_delta_add(base: Profile, *, sampling_probability: Number, epsilon: Number) -> Decimal:
    """H(P0 || P) for P = (1-q) P0 + q P1: a base(log(q e^epsilon / a)), a = 1 - (1-q) e^epsilon; 0 where a <= 0.

    Guarantee: rounded up, if `base` is.

    Args:
        base: level -> H(P0 || P1), at every real level.
        sampling_probability: q, in (0, 1].
        epsilon: in [-1e12, 1e12].

    Reference: Zhu, Dong, Wang (2022), Theorem 11; the integral of (dP0 - e^epsilon dP)+.
    """
    q, level = read_probability(sampling_probability), read_level(epsilon)
    if q == 1 or not level:
        return _scaled(base, fraction_up(q), level)

    def weight() -> Ball:
        return ball(q) - (1 - ball(q)) * ball(level).expm1()

    weighed = enclose(weight)
    if weighed <= 0:
        return ZERO
    inner = down(enclose(lambda: ball(level) + (ball(q) / weight()).log()))
    return _scaled(base, up(weighed), inner)


def poisson_gaussian_delta(
    *,
    sampling_probability: Number,
    noise_multiplier: Number,
    epsilon: Number,
    direction: Direction | str = Direction.BOTH,
) -> Decimal:
    """The delta at epsilon of one Poisson-sampled Gaussian release (one step of DP-SGD), under add or remove.

    Guarantee: rounded up, exact.

    Args:
        sampling_probability: q, in (0, 1].
        noise_multiplier: sigma / clip norm, in [1e-300, 1e12].
        epsilon: in [-1e12, 1e12].
        direction: remove, add or both.

    Reference: as in `sampled_delta`.
    """
    event = PoissonSampled(
        _probability(sampling_probability), Gaussian(amount(noise_multiplier, "noise_multiplier", round_up=False))
    )
    return sampled_delta(event, epsilon=epsilon, direction=direction)


def poisson_laplace_delta(
    *,
    sampling_probability: Number,
    scale: Number,
    l1_sensitivity: Number = 1,
    epsilon: Number,
    direction: Direction | str = Direction.BOTH,
) -> Decimal:
    """The delta at epsilon of one Poisson-sampled Laplace release, under add or remove.

    Guarantee: rounded up, exact.

    Args:
        sampling_probability: q, in (0, 1].
        scale: in [1e-300, 1e12].
        l1_sensitivity: under add or remove, in [1e-300, 1e12].
        epsilon: in [-1e12, 1e12].
        direction: remove, add or both.

    Reference: as in `sampled_delta`.
    """
    return sampled_delta(
        PoissonSampled(_probability(sampling_probability), Laplace(scale, l1_sensitivity)),  # type: ignore[arg-type]
        epsilon=epsilon,
        direction=direction,
    )


def poisson_delta_when_replaced(*, sampling_probability: Number, noise_multiplier: Number, epsilon: Number) -> Decimal:
    """A bound for Poisson sampling with Gaussian noise when a record is REPLACED, which the event does not speak of.

    Guarantee: rounded up; q [(1-b) H_mu(level) + b H_2mu(level)], mu = 1 / noise_multiplier, level = log(1 +
    (e^epsilon - 1)/q), b = e^(epsilon - level). Not known to be attained.

    Args:
        sampling_probability: q, in (0, 1].
        noise_multiplier: sigma / clip norm; a replacement moves the sum by twice the clip norm.
        epsilon: 0 or in [1e-300, 1e12].

    Reference: Balle, Barthe, Gaboardi (2018), advanced joint convexity (Theorem 2), and convexity in the second law.
    """
    q = read_probability(sampling_probability)
    e = amount(epsilon, "epsilon", zero=True, round_up=False)
    level = base_epsilon(sampling_probability=q, epsilon=e)
    mu = divide_up(ONE, amount(noise_multiplier, "noise_multiplier", round_up=False))
    near = gaussian_delta(min(LARGEST, mu), level)
    far = gaussian_delta(min(LARGEST, multiply_up(mu, 2)), level)
    weight = min(ONE, up(enclose(lambda: (ball(e) - ball(level)).exp())))  # level rounded down: a larger weight on far
    mixed = add_up(near, multiply_up(weight, max(ZERO, subtract_up(far, near))))
    return short_up(min(ONE, multiply_up(mixed, fraction_up(q))))


def estimate_gdp_mu(*, sampling_probability: Number, noise_multiplier: Number, steps: int) -> Estimate:
    """The central-limit mu of many Poisson-sampled Gaussian steps: q sqrt(steps (e^(1/noise_multiplier^2) - 1)).

    Guarantee: none. It is often below the truth (q=0.01, noise 0.8, 500 steps, delta 1e-5: 1.70 for 2.40), and no
    account takes an `Estimate`.

    Args:
        sampling_probability: q, in (0, 1].
        noise_multiplier: sigma / clip norm, in [0.02, 1e12].
        steps: 1 to 1e12.

    Reference: Bu, Dong, Long, Su (2020), section 3.
    """
    q, noise = read_probability(sampling_probability), amount(noise_multiplier, "noise_multiplier", round_up=False)
    if noise < Decimal("0.02"):
        raise InputError(f"noise_multiplier={show(noise_multiplier)} is below 0.02, where this estimate says nothing")
    total = count(steps, "steps", largest=10**12)
    value = enclose(lambda: ball(q) * (total * (1 / ball(noise) ** 2).expm1()).sqrt())
    return Estimate(up(value), "central_limit")


def _both_signs(level: Decimal, delta: Callable[[Decimal], Decimal]) -> Decimal:
    """A symmetric relation below zero: H at -e is 1 - e^-e + e^-e H at e."""
    if level >= 0:
        return delta(level)
    above = delta(-level)
    return probability_up(lambda: -ball(level).expm1() + ball(level).exp() * ball(above))


def _scaled(base: Profile, factor: Decimal, level: Decimal) -> Decimal:
    """factor x base(level), rounded up; outside the range of levels, by monotonicity."""
    value = ONE if level < -LARGEST else base(min(level, LARGEST))
    return short_up(min(ONE, multiply_up(factor, value)))


def _least_epsilon(delta: Callable[[Decimal], Decimal], target: Decimal) -> Decimal:
    """The least epsilon >= 0 with delta(epsilon) <= target, by bisection; the end that is handed out was checked."""
    if delta(ZERO) <= target:
        return ZERO
    low, high = ZERO, Decimal("1e-6")
    while delta(high) > target:
        low, high = high, multiply_up(high, 4)
        if high > LARGEST:
            raise NoGuaranteeError(f"delta={target:g} is not reached at any epsilon; ask for a larger delta")
    while high - low > multiply_down(high, _CLOSE):
        middle = divide_up(add_up(low, high), 2) if low else divide_up(high, 16)
        if delta(middle) <= target:
            high = middle
        else:
            low = middle
        if high < Decimal("1e-290"):
            break
    return short_up(high)


def _probability(value: Number) -> Decimal:
    return fraction_up(read_probability(value))


def _direction(value: Direction | str) -> Direction:
    try:
        return Direction(str(value))
    except ValueError:
        raise InputError(f"direction={show(value)} is unknown; use one of: {', '.join(Direction)}") from None

"""What an event costs when several records stand or fall together: the rows of one user, household or device.

A *group* here is up to `size` records that are all there or all absent (add or remove), all zeroed (zero-out), or all
exchanged (replace-one). `for_group` turns an event about one record into an event about a group; every price, engine
and notion then speaks of groups. Events without sampling need no more than the triangle inequality. With sampling it
matters whose coin is tossed:

* ``sampling="groups"``: a group is sampled as a whole (users are sampled, not rows). Then only the inner event grows.
* ``sampling="records"``: every record has a coin of its own, so a group takes part with probability 1 - (1-q)^k, not q.
  Amplifying the group's loss at rate q would be too cheap.

Two theorems serve the second case; the one with the smaller second moment is taken.

One sample. With J of the group's k records in the sample, the pair is (1-q_k) P0 + q_k E[P_J | J > 0] against P0. Both
hockey-stick divergences are those of (E[P_J | J > 0], P0) at another level, and by convexity at most the largest of
(P_j, P0), j <= k: at most those of PoissonSampled(q_k, the event for a group of k). For batches of fixed size the
coupling that exchanges the group's records in the batch for others says the same with q_k hypergeometric.

Split noise. Gaussian noise is a sum of g independent Gaussians of sigma / sqrt(g). Give each to a g-th of the group,
and publish the parts: the release is their sum, so it is at most g sampled releases of the smaller groups. (Where the
value is no sum of contributions, a later part moves by what its records add to the earlier ones: still at most their
sensitivity, given the earlier parts and averaged over the earlier coins.)

Reference: Balle, Barthe, Gaboardi (2018), Theorems 2, 8 and 9, with groups in place of records; Zhu, Dong, Wang (2022),
    Theorem 10, for the product; Vadhan, Zhang (2023), for products of allocations that run at the same time. The exact
    pair of Poisson sampling is a mixture of Gaussians (Ganesh 2024).
"""

from __future__ import annotations

import math
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final, TypeAlias

from dosimeter.accounting.bases import flat
from dosimeter.accounting.tables import pairs
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
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
from dosimeter.events.event import require_event
from dosimeter.events.nesting import everything_in
from dosimeter.events.opening import open_event
from dosimeter.events.sampled import MAX_POPULATION, SAMPLED_TYPES
from dosimeter.exact import LARGEST, ONE, amount, count, fraction_up, multiply_up, show, sqrt_up
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, PureDP
from dosimeter.notions.convert import group_approx, group_gdp, group_pure, group_rdp, group_zcdp

LARGEST_GROUP: Final = 10**6
_MOST_FACTORS: Final = 64
Sampled: TypeAlias = PoissonSampled | FixedSizeSampled | WithReplacementSampled | RandomAllocation


class GroupSampling(StrEnum):
    """Whose coin decides who takes part in a sample."""

    RECORDS = "records"  # every record has its own
    GROUPS = "groups"  # all records of a group share one: users are sampled


def for_group(event: Event, *, size: int, sampling: GroupSampling | str = GroupSampling.RECORDS) -> Event:
    """The event that says about groups of `size` records what `event` says about one.

    Guarantee: whatever is proven of the result for one record holds of `event` for groups of up to `size` records:
    all of them added or removed, zeroed, or exchanged. Exact for unsampled Gaussian and Laplace noise and for groups
    that are sampled as a whole; an upper bound elsewhere (`pld.groups` may know a smaller one from a plan's profile).

    Args:
        event: what is released, stated for one record.
        size: how many records stand or fall together, 1 to 1e6.
        sampling: whether records or whole groups have coins of their own; without effect where nothing is sampled.
            When groups are sampled, a population or a batch counts groups.

    Raises:
        NoGuaranteeError: no theorem says what a part of the event guarantees to groups; says which and why.

    Reference: the module; Dwork, Roth (2014), Theorem 2.2; Bun, Steinke (2016), Proposition 1.9; Dong, Roth, Su (2022),
        Theorem 2.14; Mironov (2017), Proposition 2; Vadhan (2017), Lemma 2.2.
    """
    require_event(event)
    k, whose = count(size, "size", largest=LARGEST_GROUP), _sampling(sampling)
    return event if k == 1 else _grouped(event, k, whose)


def for_user(event: Event, *, rows_per_release: int, releases: int | None = None) -> Event:
    """The event of a user who has up to so many rows in each release, and takes part in up to so many releases.

    Which releases a user takes part in may depend on earlier answers: each run of the event either concerns the user,
    and counts, or has the same law with and without them.

    Guarantee: as `for_group` with records sampled one by one, for all rows of one user. Rows beyond the bounds must be
    dropped before anything is computed.

    Args:
        event: one release of which every run is the same, or Repeated; stated for one row.
        rows_per_release: how many rows of a user one release looks at, 1 to 1e6.
        releases: in how many of the runs a user takes part; all of them by default.

    Raises:
        InputError: `releases` is given and the runs differ: which of them concern the user would matter.
        NoGuaranteeError: as `for_group`.

    Reference: induction over the runs; a run without the user changes neither law (Zhu, Dong, Wang 2022, Theorem 10,
        with an equal pair at those runs).
    """
    if releases is None:
        return for_group(event, size=rows_per_release)
    limit = count(releases, "releases")
    runs = open_event(event)
    if len(runs) != 1:
        raise InputError(
            "the runs of this event differ, so it matters which of them concern the user; price those of one kind "
            "at a time"
        )
    one, times = next(iter(runs.items()))
    return Repeated(for_group(one, size=rows_per_release), min(limit, times))


def group_chance(*, sampling_probability: Decimal, size: int) -> Decimal:
    """1 - (1-q)^k: the chance that at least one of k records with coins of their own is in a Poisson sample.

    Guarantee: rounded up.

    Args:
        sampling_probability: q, in (0, 1].
        size: k, 1 to 1e6.

    Reference: the complement of k independent absences.
    """
    q, k = amount(sampling_probability, "sampling_probability", largest=ONE), count(size, "size", largest=LARGEST_GROUP)
    if q == 1 or k == 1:
        return q
    return min(ONE, up(enclose(lambda: -(k * (-ball(q)).log1p()).expm1())))


def _grouped(event: Event, k: int, whose: GroupSampling) -> Event:
    if isinstance(event, Repeated):
        return Repeated(_grouped(event.event, k, whose), event.count)
    if isinstance(event, Composed):
        return Composed(tuple(_grouped(part, k, whose) for part in event.events))
    if isinstance(event, SAMPLED_TYPES):
        return _sampled(event, k, whose)
    return _released(event, k)


def _released(event: Event, k: int) -> Event:
    """One release: sensitivities and losses of a group, by the triangle inequality."""
    if isinstance(event, Gaussian):
        return Gaussian(event.sigma, _times(event.l2_sensitivity, k))
    if isinstance(event, DiscreteGaussian):
        return DiscreteGaussian(event.sigma, _times(event.l2_sensitivity, k))
    if isinstance(event, Laplace):
        return Laplace(event.scale, _times(event.l1_sensitivity, k))
    if isinstance(event, DiscreteLaplace):
        return DiscreteLaplace(event.scale, _times(event.l1_sensitivity, k))
    if isinstance(event, RandomizedResponse):
        loss = group_approx(ApproxDP(event.epsilon, event.delta), size=k)
        return RandomizedResponse(loss.epsilon, _possible(loss.delta, event, k))
    if isinstance(event, Declared):
        return Declared(_declared(event, k), _of_group(event.reason, k))
    if isinstance(event, DeclaredPair):  # a pair says nothing about two records but by its (epsilon, delta)
        loss = group_approx(pairs.stated(event), size=k)
        return Declared(ApproxDP(loss.epsilon, _possible(loss.delta, event, k)), _of_group(event.reason, k))
    raise InputError(f"{type(event).__name__} is not an event")


def _of_group(reason: str, k: int) -> str:
    return f"{reason} (a group of {k})"[:2_000]


def _declared(event: Declared, k: int) -> PureDP | ApproxDP | ZCDP | RDP | GDP:
    loss = event.loss
    if isinstance(loss, PureDP):
        return group_pure(loss, size=k)
    if isinstance(loss, ApproxDP):
        grown = group_approx(loss, size=k)
        return ApproxDP(grown.epsilon, _possible(grown.delta, event, k))
    if isinstance(loss, ZCDP):
        return group_zcdp(loss, size=k)
    return group_gdp(loss, size=k) if isinstance(loss, GDP) else group_rdp(loss, size=k)


def _sampled(event: Sampled, k: int, whose: GroupSampling) -> Event:
    if isinstance(event, PoissonSampled | FixedSizeSampled):
        event = flat(event)
    if whose is GroupSampling.GROUPS:  # one coin decides for the whole group: the sample holds all of it or nothing
        return _like(event, _grouped(event.event, k, whose))
    if any(isinstance(part, FixedSizeSampled | WithReplacementSampled) for part in everything_in(event.event)):
        raise NoGuaranteeError(f"{event.kind} of a smaller sample has no group form here; use one sample")
    if isinstance(event, PoissonSampled):
        return _poisson(event, k)
    if isinstance(event, FixedSizeSampled):
        if k > event.population:
            raise InputError(f"size={k} is larger than population={event.population}")
        chance = _batch_chance(event.batch_size, event.population, k)
        inner = _grouped(event.event, min(k, event.batch_size), whose)
        scale = MAX_POPULATION // event.population
        batch = min(event.population * scale, math.ceil(chance * event.population * scale))
        return FixedSizeSampled(batch, event.population * scale, inner)
    if isinstance(event, WithReplacementSampled):
        if k > event.population:
            raise InputError(f"size={k} is larger than population={event.population}")
        return WithReplacementSampled(event.draws, event.population // k, event.event)  # a draw hits the group: k/n
    square = _gaussian_square(event.event)
    if square is None:
        raise NoGuaranteeError(
            "random_allocation of a mechanism without Gaussian noise has no group form here: records of a group may "
            'meet in one step; use sampling="groups" if all of a user\'s records take part in the same steps'
        )
    return Repeated(RandomAllocation(event.steps, event.selected, _split_noise(square, k)), k)


def _poisson(event: PoissonSampled, k: int) -> Event:
    """The better of: one sample at the rate of a group, and Gaussian noise split among smaller groups."""
    records = GroupSampling.RECORDS
    chance = group_chance(sampling_probability=event.probability, size=k)
    whole = PoissonSampled(chance, _grouped(event.event, k, records))
    square = _gaussian_square(event.event)
    if square is None:
        return whole
    halves = [-(-k // 2**i) for i in range(k.bit_length() + 1)]  # k, k/2, ..., 1 parts
    rough = {n: _second_moment(float(event.probability), float(square), k, n) for n in reversed(halves)}
    best = min(rough, key=lambda n: rough[n])
    if best == 1:
        return whole
    share = -(-k // best)
    chance = group_chance(sampling_probability=event.probability, size=share)
    return Repeated(PoissonSampled(chance, _split_noise(square * share**2, best)), best)


def _second_moment(q: float, square: float, k: int, parts: int) -> float:
    """log E[(dP/dQ)^2] of `parts` samples of groups of k / parts, roughly: it decides how tight, never how true."""
    share = -(-k // parts)
    chance = -math.expm1(share * math.log1p(-q)) if q < 1 else 1.0
    exponent = share * share * square * parts
    return math.inf if exponent > 600 else parts * math.log1p(chance**2 * math.expm1(exponent))


def _split_noise(square: Fraction, parts: int) -> Gaussian:
    """A Gaussian release of squared ratio `square` whose noise was divided among so many parts."""
    mu = sqrt_up(fraction_up(square * parts))
    return Gaussian(ONE, mu)


def _gaussian_square(event: Event) -> Fraction | None:
    """(sensitivity / sigma)^2 of everything on one sample, if all of it has Gaussian noise."""
    total = Fraction(0)
    for leaf, times in open_event(event).items():
        if isinstance(leaf, Gaussian):
            total += times * (Fraction(leaf.l2_sensitivity) / Fraction(leaf.sigma)) ** 2
        else:
            return None
    return total


def _batch_chance(batch: int, population: int, k: int) -> Fraction:
    """The chance that a uniform batch holds at least one of k given records, not below it."""
    if k > population - batch:
        return Fraction(1)
    if k <= _MOST_FACTORS:
        absent = Fraction(1)
        for i in range(k):
            absent *= Fraction(population - batch - i, population - i)
        return 1 - absent
    each = Fraction(batch, population - k + 1)  # the largest of the k conditional chances
    return min(Fraction(1), Fraction(up(enclose(lambda: -(k * (-ball(each)).log1p()).expm1()))))


def _like(event: Sampled, inner: Event) -> Event:
    if isinstance(event, PoissonSampled):
        return PoissonSampled(event.probability, inner)
    if isinstance(event, FixedSizeSampled):
        return FixedSizeSampled(event.batch_size, event.population, inner)
    if isinstance(event, WithReplacementSampled):
        return WithReplacementSampled(event.draws, event.population, inner)
    return RandomAllocation(event.steps, event.selected, inner)


def _times(sensitivity: Decimal, k: int) -> Decimal:
    grown = multiply_up(sensitivity, k)
    if grown > LARGEST:
        raise NoGuaranteeError(f"a group of {k} moves the value by {grown:.3g}, beyond {LARGEST:g}; use a smaller size")
    return grown


def _possible(delta: Decimal, event: Event, k: int) -> Decimal:
    if delta >= ONE:
        raise NoGuaranteeError(
            f"a {event.kind} event that may fail guarantees nothing to a group of {k}: its delta would reach 1; use a "
            "smaller size, or a mechanism that cannot fail"
        )
    return delta


def _sampling(value: GroupSampling | str) -> GroupSampling:
    try:
        return GroupSampling(str(value))
    except ValueError:
        raise InputError(f"sampling={show(value)} is unknown; use one of: {', '.join(GroupSampling)}") from None

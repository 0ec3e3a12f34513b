"""From how batches are made to the event that may be priced, or a refusal: the step where most training runs go wrong.

A loop that shuffles once and cuts batches is not Poisson sampling, a weighted sampler does not draw at the rate its
length suggests, and a clipped mean over a microbatch is not a clipped example. Each of these has been accounted for as
if it were Poisson sampling of examples, silently.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.accounting.amplification import MAX_POPULATION, read_probability
from dosimeter.enclosure import ball, down, precision
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import (
    Event,
    FixedSizeSampled,
    PoissonSampled,
    RandomAllocation,
    WithReplacementSampled,
    require_relation,
)
from dosimeter.exact import ONE, ZERO, Number, amount, count, fraction_up, multiply_up, show
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions.profiles.solving import probability_up

if TYPE_CHECKING:
    Ball: TypeAlias = Any


class Batching(StrEnum):
    """How the records of one step are chosen."""

    POISSON = "poisson"  # every record by its own coin, fresh in every step
    FIXED_SIZE = "fixed_size"  # a uniform batch without repetition, fresh in every step
    WITH_REPLACEMENT = "with_replacement"  # uniform draws
    ALLOCATION = "allocation"  # every record in a fixed number of the steps, chosen by its own coin
    SHUFFLED = "shuffled"  # one permutation, cut into consecutive batches
    WEIGHTED = "weighted"  # draws or coins whose chances differ between records


_FIELDS: Final = {
    Batching.POISSON: ("probability",),
    Batching.FIXED_SIZE: ("batch_size", "population"),
    Batching.WITH_REPLACEMENT: ("draws", "population"),
    Batching.ALLOCATION: ("steps", "selected"),
}
_EXPECTED: Final = {"expected_batch_size", "population"}
_CLASSES: Final[dict[Batching, type[Any]]] = {
    Batching.POISSON: PoissonSampled,
    Batching.FIXED_SIZE: FixedSizeSampled,
    Batching.WITH_REPLACEMENT: WithReplacementSampled,
    Batching.ALLOCATION: RandomAllocation,
}
_REFUSED: Final = {
    Batching.SHUFFLED: (
        "batches cut from a shuffled pass are not a Poisson sample, and priced as one they can be wrong by a factor of "
        "40,000 in delta (noise multiplier 0.5, 1,000 steps, one pass, epsilon 4); sample with batching=poisson or "
        "fixed_size, or leave sampling out: under zero_out and replace_one a pass costs one event, and "
        "batching=allocation prices records that choose their own step"
    ),
    Batching.WEIGHTED: (
        "records that are drawn at different rates have no common sampling probability; use independent coins and "
        "batching=poisson at the largest of their probabilities (largest_probability), never batch size over length"
    ),
}


def sampled_event(
    event: Event, *, batching: Batching | str, relation: NeighbouringRelation | str, **sizes: Number
) -> Event:
    """The event of running `event` on batches made in this way, for an account under this relation.

    Guarantee: the scheme is part of the result, so every price and statement names it. Nothing is priced as a Poisson
    sample that is not one.

    Args:
        event: what is released of a batch, its sensitivity under `relation`.
        batching: how batches are made.
        relation: the account's neighbouring relation.
        sizes: probability, or expected_batch_size and population, their ratio being the probability (poisson);
            batch_size and population (fixed_size), draws and population (with_replacement), steps and selected
            (allocation).

    Raises:
        NotionError: the scheme says nothing about this relation.
        NoGuaranteeError: no theorem here prices batches made in this way.
        InputError: a size is missing, unknown or out of range.

    Reference: shuffled batches priced as Poisson samples: Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang (2024).
    """
    way, wanted = _batching(batching), NeighbouringRelation.read(relation)
    if way in _REFUSED:
        raise NoGuaranteeError(f"batching={way}: {_REFUSED[way]}")
    if way is Batching.POISSON and set(sizes) == _EXPECTED:
        sizes = {"probability": _expected(sizes)}
    if set(sizes) != set(_FIELDS[way]):
        raise InputError(
            f"batching={way} needs exactly: {', '.join(_FIELDS[way])}; got: {', '.join(sizes) or 'nothing'}"
        )
    values: dict[str, Any] = dict(sizes)
    if way is Batching.POISSON:
        values["probability"] = fraction_up(read_probability(sizes["probability"], "probability"))
    built: Event = _CLASSES[way](**values, event=event)
    require_relation(built, wanted)
    return built


def _expected(sizes: dict[str, Number]) -> Fraction:
    """The probability with which independent coins make batches of this size on average."""
    batch, population = (
        count(sizes[name], name, largest=MAX_POPULATION) for name in ("expected_batch_size", "population")
    )
    if batch > population:
        raise InputError(f"expected_batch_size={batch} is larger than population={population}")
    return Fraction(batch, population)


def largest_probability(probabilities: Iterable[Number]) -> Decimal:
    """The sampling probability to account for when every record has a coin of its own and the coins differ.

    Guarantee: rounded up. The loss of a Poisson-sampled release grows with q, and only the one record's coin matters.
    The coins must be independent; a sampler that draws until a batch is full is another scheme.

    Args:
        probabilities: one per record, each in [0, 1], fixed in advance and not computed from the records.

    Reference: given the other records' coins, the pair of one record is that of its own q (Zhu, Dong, Wang 2022,
        Theorem 11), and a smaller q is a mixture of it with equal laws.
    """
    values = [amount(p, "probability", zero=True, largest=Decimal(1)) for p in probabilities]
    if not values or not max(values):
        raise InputError("no record can ever be in a sample; give at least one probability above 0")
    return max(values)


def empty_batch_probability(*, sampling_probability: Number, population: int) -> Decimal:
    """How often a Poisson sample is empty: (1-q)^n. Such a step counts like any other, and its noise is released.

    Guarantee: rounded up. Drawing again until the sample is not empty is not Poisson sampling; skipping the release
    tells that the sample was empty.

    Args:
        sampling_probability: q, in (0, 1].
        population: n, 1 to 1e12.
    """
    q, n = read_probability(sampling_probability), count(population, "population", largest=MAX_POPULATION)
    return ZERO if q == 1 else probability_up(lambda: (n * (-ball(q)).log1p()).exp())


def microbatch_sensitivity(
    *, clip_norm: Number, microbatch_size: int, neighbouring_relation: NeighbouringRelation | str
) -> Decimal:
    """By how much one record moves a sum of CLIPPED microbatch means, in the norm they were clipped in.

    Guarantee: the clip norm for one record per microbatch that is added, removed or zeroed, else twice that: one record
    can turn the mean of its microbatch around. Exact. Which records share a microbatch must not depend on whether
    another record is there.

    Args:
        clip_norm: C, in [1e-300, 1e12].
        microbatch_size: records per clipped mean, 1 to 1e9.
        neighbouring_relation: add_remove, zero_out or replace_one.

    Reference: triangle inequality.
    """
    norm, size = amount(clip_norm, "clip_norm"), count(microbatch_size, "microbatch_size")
    alone = size == 1 and NeighbouringRelation.read(neighbouring_relation) is not NeighbouringRelation.REPLACE_ONE
    return norm if alone else multiply_up(norm, 2)


def shuffled_delta_at_least(*, noise_multiplier: Number, batches: int, epsilon: Number) -> Decimal:
    """A LOWER bound on the delta of one shuffled pass with Gaussian noise: what no accounting may report less than.

    Guarantee: rounded down; some data set and neighbour (one record zeroed) have at least this delta. No upper bound of
    this kind is offered beyond the price of one unsampled event.

    Args:
        noise_multiplier: sigma / clip norm, in [1e-300, 1e12].
        batches: in which the pass is cut, 1 to 1e12.
        epsilon: 0 or in [1e-300, 1e3].

    Reference: Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang (2024), section 4: all other records at -1, the one
        at +1 or zeroed; the event that some batch exceeds a threshold.
    """
    noise = amount(noise_multiplier, "noise_multiplier")
    steps = count(batches, "batches", largest=MAX_POPULATION)
    level = amount(epsilon, "epsilon", zero=True, largest=Decimal(1000))

    def delta(threshold: Decimal) -> Ball:
        def exceeds(shift: int) -> Ball:
            one, rest = (((ball(c) - ball(threshold)) / ball(noise) / _root_two()).erfc() / 2 for c in (shift, 0))
            sharp = -(one.log() + (steps - 1) * rest.log()).expm1()
            return sharp if sharp.is_finite() else 1 - one * rest ** (steps - 1)

        bound = exceeds(2) - ball(level).exp() * exceeds(1)
        return bound if bound.is_finite() else ball(0)

    with precision(128):
        grid = [Decimal("1.5"), *(2 + noise * Decimal(i) / 8 for i in range(-80, 241))]
        best, width = max(grid, key=lambda threshold: float(delta(threshold).mid())), noise / 8
        for _ in range(12):  # any threshold gives a bound; a better one gives a better bound
            best = max((best - width / 2, best, best + width / 2), key=lambda t: float(delta(t).mid()))
            width = width / 2
        return min(ONE, max(ZERO, down(delta(best))))


def _root_two() -> Ball:
    return ball(2).sqrt()


def _batching(value: Batching | str) -> Batching:
    try:
        return Batching(str(value))
    except ValueError:
        raise InputError(f"batching={show(value)} is unknown; use one of: {', '.join(Batching)}") from None

"""How batches are made decides the event, or that there is none."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from dosimeter.accounting.batches import (
    Batching,
    empty_batch_probability,
    largest_probability,
    microbatch_sensitivity,
    sampled_event,
    shuffled_delta_at_least,
)
from dosimeter.accounting.calibration import gaussian_delta, gaussian_epsilon
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import FixedSizeSampled, Gaussian, PoissonSampled, RandomAllocation, WithReplacementSampled


def test_every_scheme_becomes_its_own_event() -> None:
    """The scheme that was configured is the one the event, and so every statement, names."""
    step = Gaussian(1)
    poisson = sampled_event(step, batching="poisson", relation="add_remove", probability="0.01")
    assert poisson == PoissonSampled(Decimal("0.01"), step)
    assert sampled_event(step, batching=Batching.FIXED_SIZE, relation="replace_one", batch_size=2, population=9) == (
        FixedSizeSampled(2, 9, step)
    )
    assert sampled_event(step, batching="with_replacement", relation="replace_one", draws=2, population=9) == (
        WithReplacementSampled(2, 9, step)
    )
    assert sampled_event(step, batching="allocation", relation="zero_out", steps=9, selected=1) == (
        RandomAllocation(9, 1, step)
    )
    expected = sampled_event(step, batching="poisson", relation="add_remove", expected_batch_size=25, population=1000)
    assert expected == PoissonSampled(Decimal("0.025"), step)
    with pytest.raises(InputError, match="larger than population"):
        sampled_event(step, batching="poisson", relation="add_remove", expected_batch_size=25, population=24)
    third = sampled_event(step, batching="poisson", relation="add_remove", probability="1/3")
    assert Fraction(third.probability) > Fraction(1, 3)


@pytest.mark.parametrize(
    ("batching", "relation", "sizes"),
    [
        ("fixed_size", "add_remove", {"batch_size": 16, "population": 1000}),
        ("fixed_size", "zero_out", {"batch_size": 16, "population": 1000}),
        ("poisson", "replace_one", {"probability": "0.016"}),
        ("with_replacement", "add_remove", {"draws": 16, "population": 1000}),
        ("allocation", "replace_one", {"steps": 60, "selected": 1}),
    ],
)
def test_a_scheme_under_the_wrong_relation_is_refused(batching: str, relation: str, sizes: dict[str, object]) -> None:
    """Fixed-size batches never come out as a Poisson number for an add-or-remove account, and so on for every pair."""
    with pytest.raises(NotionError, match=f"none under {relation}"):
        sampled_event(Gaussian(1), batching=batching, relation=relation, **sizes)


def test_shuffling_and_weights_are_refused_with_a_way_out() -> None:
    """Shuffled fixed batches are not Poisson samples; samplers with weights have no common rate."""
    for relation in ("add_remove", "replace_one", "zero_out"):
        with pytest.raises(NoGuaranteeError, match=r"not a Poisson sample.*batching=poisson"):
            sampled_event(Gaussian(1), batching="shuffled", relation=relation)
        with pytest.raises(NoGuaranteeError, match=r"largest_probability.*never batch size over length"):
            sampled_event(Gaussian(1), batching="weighted", relation=relation)


@pytest.mark.parametrize(
    ("batching", "sizes"),
    [
        ("poisson", {}),
        ("poisson", {"probability": "0.1", "population": 9}),
        ("poisson", {"sample_rate": "0.1"}),
        ("poisson", {"probability": "2"}),
        ("fixed_size", {"batch_size": 3}),
        ("systematic", {}),
    ],
)
def test_sizes_are_exactly_those_of_the_scheme(batching: str, sizes: dict[str, object]) -> None:
    """Missing, extra and misspelled sizes are errors of input."""
    with pytest.raises(InputError):
        sampled_event(Gaussian(1), batching=batching, relation="add_remove", **sizes)


def test_different_coins_are_priced_at_the_largest() -> None:
    """One record with a heavy coin decides; the average rate of the sampler is of no use to it."""
    weights = [Decimal("0.0001")] * 999 + [Decimal("0.7")]
    assert largest_probability(weights) == Decimal("0.7")
    assert largest_probability(["0", "1/3"]) >= Fraction(1, 3)
    for bad in ([], ["0"], ["1.5"], ["-0.1"]):
        with pytest.raises(InputError):
            largest_probability(bad)


def test_an_empty_sample_is_part_of_the_scheme() -> None:
    """Ten records at a tenth are all absent in a third of the steps, and the step is priced all the same."""
    assert abs(empty_batch_probability(sampling_probability="0.1", population=10) - Decimal("0.3486784401")) < Decimal(
        "1e-20"
    )
    assert empty_batch_probability(sampling_probability=1, population=10) == 0
    assert empty_batch_probability(sampling_probability="0.5", population=10**12) > 0


def test_clipped_means_of_microbatches_move_twice_as_far() -> None:
    """Noise multiplier 1.1 at delta 1e-5: epsilon 3.92 per example, 8.90 when four examples share a clipped mean."""
    wanted = {1: "3.92125025286", 4: "8.89523213718"}
    for size, truth in wanted.items():
        sensitivity = microbatch_sensitivity(clip_norm=1, microbatch_size=size, neighbouring_relation="add_remove")
        epsilon = gaussian_epsilon(sigma="1.1", delta="1e-5", l2_sensitivity=sensitivity)
        assert abs(epsilon - Decimal(truth)) < Decimal("1e-9")
    assert microbatch_sensitivity(clip_norm=3, microbatch_size=1, neighbouring_relation="replace_one") == 6
    assert microbatch_sensitivity(clip_norm=3, microbatch_size=9, neighbouring_relation="replace_one") == 6
    assert microbatch_sensitivity(clip_norm=3, microbatch_size=1, neighbouring_relation="zero_out") == 3


def test_a_shuffled_pass_is_worse_than_the_poisson_number() -> None:
    """Noise 0.5, a thousand batches, epsilon 4: delta is at least 0.0738, and at most that of one unsampled release."""
    least = shuffled_delta_at_least(noise_multiplier="0.5", batches=1000, epsilon=4)
    assert Decimal("0.073797") < least <= Decimal("0.0738")
    assert least > 40_000 * Decimal("1.74489e-6")  # what Poisson accounting reports
    assert least < gaussian_delta(sigma="0.5", epsilon=4, l2_sensitivity=1)
    for noise, batches, epsilon in (("1e-9", 1, 4), ("1e12", 10**12, 0), ("1", 10, 1000)):
        bound = shuffled_delta_at_least(noise_multiplier=noise, batches=batches, epsilon=epsilon)
        assert 0 <= bound <= gaussian_delta(sigma=noise, epsilon=epsilon, l2_sensitivity=1)
    assert shuffled_delta_at_least(noise_multiplier="1e-200", batches=9, epsilon=4) > Decimal("0.999")

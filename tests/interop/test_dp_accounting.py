"""Events of dp-accounting are read under a stated relation, with its bound C as the bound on one contribution."""

from __future__ import annotations

import sys
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest

from dosimeter.accounting import loss_for
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import (
    Composed,
    Declared,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Repeated,
    WithReplacementSampled,
)
from dosimeter.interop import from_dp_accounting, to_dp_accounting
from dosimeter.notions import ZCDP

# Doubles with the names and fields of the library's classes.
FIELDS = {
    "NoOpDpEvent": "",
    "NonPrivateDpEvent": "",
    "UnsupportedDpEvent": "",
    "GaussianDpEvent": "noise_multiplier",
    "LaplaceDpEvent": "noise_multiplier",
    "DiscreteLaplaceDpEvent": "noise_parameter sensitivity",
    "RandomizedResponseDpEvent": "noise_parameter num_buckets",
    "SelfComposedDpEvent": "event count",
    "ComposedDpEvent": "events",
    "PoissonSampledDpEvent": "sampling_probability event",
    "SampledWithoutReplacementDpEvent": "source_dataset_size sample_size event",
    "SampledWithReplacementDpEvent": "source_dataset_size sample_size event",
    "SingleEpochTreeAggregationDpEvent": "noise_multiplier step_counts",
    "ZCDpEvent": "rho xi",
}
dp: Any = ModuleType("dp_accounting.dp_event")
for _name, _fields in FIELDS.items():
    setattr(dp, _name, namedtuple(_name, _fields))


@pytest.mark.parametrize(
    ("theirs", "relation", "ours"),
    [
        (dp.GaussianDpEvent(1.1), "add_remove", Gaussian("1.1")),
        (dp.GaussianDpEvent(1.1), "zero_out", Gaussian("1.1")),
        (dp.GaussianDpEvent(1.1), "replace_one", Gaussian("1.1", 2)),
        (dp.LaplaceDpEvent(2.0), "replace_one", Laplace(2, 2)),
        (dp.DiscreteLaplaceDpEvent(0.5, 3), "add_remove", DiscreteLaplace(2, 3)),
        (dp.DiscreteLaplaceDpEvent(0.5, 3), "replace_one", DiscreteLaplace(2, 6)),
        (dp.ZCDpEvent(0.1, 0.0), "add_remove", Declared(ZCDP("0.1"), "read from a ZCDpEvent of dp-accounting")),
        (dp.SelfComposedDpEvent(dp.LaplaceDpEvent(1.0), 7), "add_remove", Repeated(Laplace(1), 7)),
        (
            dp.ComposedDpEvent([dp.NoOpDpEvent(), dp.LaplaceDpEvent(1.0), dp.GaussianDpEvent(2.0)]),
            "add_remove",
            Composed((Laplace(1), Gaussian(2))),
        ),
        (
            dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000),
            "add_remove",
            Repeated(PoissonSampled("0.01", Gaussian(1)), 1000),
        ),
        (
            dp.SampledWithoutReplacementDpEvent(1000, 10, dp.GaussianDpEvent(1.0)),
            "replace_one",
            FixedSizeSampled(10, 1000, Gaussian(1, 2)),
        ),
        (
            dp.SampledWithReplacementDpEvent(1000, 10, dp.LaplaceDpEvent(1.0)),
            "replace_one",
            WithReplacementSampled(10, 1000, Laplace(1, 2)),
        ),
    ],
)
def test_each_event_reads_as_what_it_releases(theirs: Any, relation: str, ours: Event) -> None:
    """Words and conventions are translated; a replaced record moves a sum by twice its bound."""
    assert from_dp_accounting(theirs, relation=relation) == ours


def test_the_factor_of_two_under_replacement() -> None:
    """Noise multiplier 1 at delta 1e-5: epsilon 4.377 for add or remove, 9.997 for replace-one (not 4.7)."""

    @dataclass(frozen=True)
    class Approx:
        notion: str = "approx"

    event = dp.GaussianDpEvent(1.0)
    added: Any = loss_for(from_dp_accounting(event, relation="add_remove"), Approx(), delta="1e-5")
    replaced: Any = loss_for(from_dp_accounting(event, relation="replace_one"), Approx(), delta="1e-5")
    assert abs(added.epsilon - Decimal("4.37717809568")) < Decimal("1e-10")
    assert abs(replaced.epsilon - Decimal("9.99725615")) < Decimal("1e-7")


def test_sampling_is_never_read_under_a_relation_it_is_silent_about() -> None:
    """Coins under replace-one and batches under add or remove are refused."""
    coins = dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0))
    batch = dp.SampledWithoutReplacementDpEvent(1000, 10, dp.GaussianDpEvent(1.0))
    with pytest.raises(NotionError, match="poisson_sampled"):
        from_dp_accounting(coins, relation="replace_one")
    with pytest.raises(NotionError, match="fixed_size_sampled"):
        from_dp_accounting(dp.ComposedDpEvent([batch]), relation="add_remove")
    with pytest.raises(NotionError):
        from_dp_accounting(dp.ComposedDpEvent([coins, batch]), relation="add_remove")


def test_randomized_response_counts_for_replacement_only() -> None:
    """A coin half the time between two answers is log 3; adding a record would be visible as such."""
    event = dp.RandomizedResponseDpEvent(0.5, 2)
    read = from_dp_accounting(event, relation="replace_one")
    assert isinstance(read, RandomizedResponse)
    assert abs(read.epsilon - Decimal("1.0986122886681096914")) < Decimal("1e-18")
    with pytest.raises(NoGuaranteeError, match="always seen"):
        from_dp_accounting(event, relation="add_remove")
    for noise in (0.0, 1.0):
        with pytest.raises(NoGuaranteeError):
            from_dp_accounting(dp.RandomizedResponseDpEvent(noise, 2), relation="replace_one")


def test_what_cannot_be_read_is_refused_in_words() -> None:
    """Non-private, unsupported, noiseless, unknown, empty and endless events give errors, not prices."""
    for event in (dp.NonPrivateDpEvent(), dp.UnsupportedDpEvent(), dp.GaussianDpEvent(0.0), dp.LaplaceDpEvent(0)):
        with pytest.raises(NoGuaranteeError):
            from_dp_accounting(dp.SelfComposedDpEvent(event, 3), relation="add_remove")
    nothing = (
        dp.NoOpDpEvent(),
        dp.ComposedDpEvent([]),
        dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.0), 0),
        dp.PoissonSampledDpEvent(0.0, dp.GaussianDpEvent(1.0)),
    )
    for event in nothing:
        with pytest.raises(InputError, match="nothing to charge"):
            from_dp_accounting(event, relation="add_remove")
    for event in (dp.SingleEpochTreeAggregationDpEvent(1.0, 3), 5, None, "GaussianDpEvent", Gaussian(1)):
        with pytest.raises(InputError, match="not read here"):
            from_dp_accounting(event, relation="add_remove")
    for bad in (dp.GaussianDpEvent(float("nan")), dp.GaussianDpEvent(-1.0), dp.ZCDpEvent(0.1, 0.1)):
        with pytest.raises(InputError):
            from_dp_accounting(bad, relation="add_remove")
    deep = dp.GaussianDpEvent(1.0)
    for _ in range(40):
        deep = dp.ComposedDpEvent([deep])
    with pytest.raises(InputError, match="nested"):
        from_dp_accounting(deep, relation="add_remove")


def test_the_named_tuple_form_reads_without_the_library() -> None:
    """The library writes events as named tuples that carry their class name; those are read too."""
    gaussian = namedtuple("_Wrapper", "module_name class_name noise_multiplier")(
        "dp_accounting.dp_event", "GaussianDpEvent", 1.5
    )
    assert from_dp_accounting(gaussian, relation="add_remove") == Gaussian("1.5")


def test_very_many_parts_are_read() -> None:
    """A list longer than one composed event may be is nested, and nothing is lost."""
    from dosimeter.events.opening import open_event

    many = from_dp_accounting(dp.ComposedDpEvent([dp.GaussianDpEvent(1.0)] * 25_000), relation="add_remove")
    assert open_event(many) == {Gaussian(1): 25_000}


ROUND_TRIPS: tuple[tuple[Event, str], ...] = (
    (Gaussian("1.1"), "add_remove"),
    (Gaussian("1.1", 2), "replace_one"),
    (Composed((Laplace(2), Repeated(PoissonSampled("0.01", Gaussian(1)), 10))), "zero_out"),
    (FixedSizeSampled(10, 100, DiscreteLaplace(2, 4)), "replace_one"),
    (WithReplacementSampled(10, 100, Laplace(4, 2)), "replace_one"),
)


@pytest.mark.parametrize(("event", "relation"), ROUND_TRIPS)
def test_events_written_read_back(event: Event, relation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing and reading under the same relation gives the event again."""
    monkeypatch.setitem(sys.modules, "dp_accounting", ModuleType("dp_accounting"))
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", dp)
    assert from_dp_accounting(to_dp_accounting(event, relation=relation), relation=relation) == event


def test_writing_rounds_against_the_event_and_needs_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is written down, rates are written up; unknown events and a missing library are errors."""
    with pytest.raises(InputError, match="not installed"):
        to_dp_accounting(Gaussian(1), relation="add_remove")
    monkeypatch.setitem(sys.modules, "dp_accounting", ModuleType("dp_accounting"))
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", dp)
    exact = PoissonSampled("0.10000000000000000000001", Gaussian("1.09999999999999999999999"))
    written = to_dp_accounting(exact, relation="add_remove")
    assert Decimal(repr(written.sampling_probability)) >= exact.probability
    assert Decimal(repr(written.event.noise_multiplier)) <= Decimal("1.09999999999999999999999")
    for event in (DiscreteGaussian(1), DiscreteLaplace(1, "1.5"), RandomizedResponse(1)):
        with pytest.raises(InputError, match="no event for"):
            to_dp_accounting(event, relation="add_remove")
    with pytest.raises(NotionError):
        to_dp_accounting(exact, relation="replace_one")

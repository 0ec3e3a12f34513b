"""Accountant histories: every row with its own noise and rate, and the way batches were made has to be said."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import (
    Composed,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    Repeated,
)
from dosimeter.events.opening import open_event
from dosimeter.interop import from_opacus, to_opacus

ROWS = [(1.1, 0.01, 500), (0.9, 0.01, 1), (1.1, 0.01, 100)]


@pytest.mark.parametrize(
    "accountant",
    [
        ROWS,
        [list(row) for row in ROWS],
        tuple(ROWS),
        {"history": ROWS, "mechanism": "rdp"},
        SimpleNamespace(history=ROWS),
    ],
)
def test_a_history_becomes_one_event(accountant: Any) -> None:
    """Lists, states and accountants read the same; equal rows are counted together."""
    event = from_opacus(accountant, batching="poisson")
    step = PoissonSampled("0.01", Gaussian("1.1"))
    assert open_event(event) == {step: 600, PoissonSampled("0.01", Gaussian("0.9")): 1}
    assert from_opacus([(1.1, 0.01, 3)], batching="poisson", relation="zero_out") == Repeated(step, 3)


def test_rates_of_other_loaders_are_not_poisson_rates() -> None:
    """Shuffled, weighted and fixed-size loaders are refused; so is an account for replacements."""
    with pytest.raises(TypeError):
        from_opacus(ROWS)
    for batching in ("shuffled", "weighted", "fixed_size", "with_replacement", "allocation"):
        with pytest.raises(NoGuaranteeError):
            from_opacus(ROWS, batching=batching)
    with pytest.raises(NotionError):
        from_opacus(ROWS, batching="poisson", relation="replace_one")
    with pytest.raises(InputError, match="unknown"):
        from_opacus(ROWS, batching="sometimes")


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ([], "no steps"),
        (None, "no history"),
        ("rows", "no history"),
        ({"steps": 3}, "no history"),
        ([(1.1, 0.01)], "row 1"),
        ([(1.1, 0.01, 5), "abc"], "row 2"),
        ([(1.1, 1.5, 5)], "row 1.*sample_rate"),
        ([(1.1, 0.5, 5), (0.0, 0.5, 5)], "row 2.*noise_multiplier"),
        ([(float("nan"), 0.5, 5)], "row 1.*noise_multiplier"),
        ([(1.1, 0.5, 0)], "row 1.*steps"),
    ],
)
def test_bad_rows_are_named(history: Any, words: str) -> None:
    """The message says which row and which number."""
    with pytest.raises(InputError, match=words):
        from_opacus(history, batching="poisson")


def test_events_are_written_as_rows_on_the_safe_side() -> None:
    """Noise relative to the sensitivity, rounded down; rates rounded up; anything else is refused."""
    step = PoissonSampled("0.01", Gaussian("2.2", 2))
    assert to_opacus(Composed((Repeated(step, 5), Gaussian(3)))) == [(1.1, 0.01, 5), (3.0, 1.0, 1)]
    assert from_opacus(to_opacus(Repeated(step, 5)), batching="poisson") == Repeated(
        PoissonSampled("0.01", Gaussian("1.1")), 5
    )
    ((noise, rate, _),) = to_opacus(PoissonSampled("0.1000000000000000000001", Gaussian("1.0999999999999999999999")))
    assert Decimal(repr(noise)) <= Decimal("1.0999999999999999999999")
    assert Decimal(repr(rate)) >= Decimal("0.1000000000000000000001")
    with pytest.raises(InputError, match="laplace"):
        to_opacus(PoissonSampled("0.1", Laplace(1)))
    with pytest.raises(NotionError):
        to_opacus(FixedSizeSampled(1, 9, Gaussian(1)))

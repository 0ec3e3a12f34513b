"""Events are frozen data with one JSON form that reads back to the same event, and to nothing else."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dosimeter.errors import InputError
from dosimeter.events import (
    Composed,
    Declared,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    Laplace,
    RandomizedResponse,
    Repeated,
    event_from_json,
    event_to_json,
    loss_from_json,
    loss_to_json,
)
from dosimeter.events.opening import open_event
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, ProbabilisticDP, PureDP

amounts = st.decimals(min_value=Decimal("1e-9"), max_value=Decimal("1e6"), allow_nan=False, allow_infinity=False)
losses = st.sampled_from([PureDP("0.1"), ApproxDP(1, "1e-6"), ZCDP("0.5"), GDP("0.2", "1e-9"), RDP((2, "2.5"), (1, 2))])
leaves = st.one_of(
    st.builds(Gaussian, amounts, amounts),
    st.builds(DiscreteGaussian, amounts, amounts),
    st.builds(Laplace, amounts, amounts),
    st.builds(DiscreteLaplace, amounts, amounts),
    st.builds(RandomizedResponse, amounts, st.just(Decimal("1e-6"))),
    st.builds(Declared, losses, st.just("as its maker says")),
)
events = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Repeated, inner, st.integers(1, 10**9)),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Composed(tuple(parts))),
    ),
    max_leaves=6,
)


@given(events)
def test_the_json_form_is_lossless(event: Event) -> None:
    """Through text and back: the same event, and the same text again."""
    written = json.dumps(event_to_json(event))
    read = event_from_json(json.loads(written))
    assert read == event
    assert json.dumps(event_to_json(read)) == written


@pytest.mark.parametrize(
    "loss", [PureDP(1), ApproxDP(1, "1e-300"), ProbabilisticDP(1, "0.1"), ZCDP("0.1"), GDP(2), RDP((2,), (0,), "1e-9")]
)
def test_losses_read_back(loss: object) -> None:
    """Every notion has a JSON form."""
    assert loss_from_json(json.loads(json.dumps(loss_to_json(loss)))) == loss  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "gaussian",
        {},
        {"kind": "cauchy"},
        {"kind": "gaussian"},
        {"kind": []},
        {"kind": {}},
        {"kind": None},
        {"kind": "gaussian", "sigma": "1"},
        {"kind": "gaussian", "sigma": 1.0, "l2_sensitivity": "1"},
        {"kind": "gaussian", "sigma": "1.0", "l2_sensitivity": "1"},
        {"kind": "gaussian", "sigma": "1/3", "l2_sensitivity": "1"},
        {"kind": "gaussian", "sigma": ["1"], "l2_sensitivity": "1"},
        {"kind": "gaussian", "sigma": "1", "l2_sensitivity": "1", "event": {}},
        {"kind": "gaussian", "sigma": "1", "l2_sensitivity": "1", 5: 1},
        {"kind": "composed", "events": 5},
        {"kind": "repeated", "event": {"kind": "laplace", "scale": "1", "l1_sensitivity": "1"}, "count": True},
        {"kind": "repeated", "event": {"kind": "laplace", "scale": "1", "l1_sensitivity": "1"}, "count": 3.0},
        {"kind": "declared", "loss": {"notion": []}, "reason": "x"},
        {"kind": "declared", "loss": {"notion": "zcdp", "rho": "1"}, "reason": "x"},
        {"kind": "declared", "loss": {"notion": "zcdp", "rho": "1", "delta": "0"}, "reason": 5},
        {"kind": "declared", "loss": {"notion": "probabilistic", "epsilon": "1", "delta": "0"}, "reason": "x"},
        {"kind": "declared", "loss": {"notion": "rdp", "orders": "23", "epsilons": "45", "delta": "0"}, "reason": "x"},
        {"kind": "gaussian", "sigma": "NaN"},
        {"kind": "gaussian", "sigma": "1", "colour": "red"},
        {"kind": "repeated", "event": {"kind": "laplace", "scale": "1"}, "count": 0},
        {"kind": "repeated", "event": {"kind": "laplace", "scale": "1"}, "count": "3"},
        {"kind": "composed", "events": []},
        {"kind": "composed", "events": "ab"},
        {"kind": "declared", "loss": {"notion": "pure", "epsilon": "1"}, "reason": " "},
        {"kind": "declared", "loss": {"notion": "magic", "epsilon": "1"}, "reason": "x"},
    ],
)
def test_what_is_not_an_event_is_refused(data: object) -> None:
    """An entry this version does not understand is never priced by guesswork."""
    with pytest.raises(InputError):
        event_from_json(data)


def test_deep_nesting_is_refused_before_the_stack_ends() -> None:
    """A maliciously deep event is an input error, not a crash."""
    data: dict[str, object] = {"kind": "laplace", "scale": "1", "l1_sensitivity": "1"}
    for _ in range(500):
        data = {"kind": "repeated", "event": data, "count": 2}
    with pytest.raises(InputError, match="nested"):
        event_from_json(data)


def test_what_is_built_can_be_written_and_read() -> None:
    """The deepest event that can be built reads back; one level more cannot be built, nor can a million parts."""
    deep: Event = Gaussian(1)
    for level in range(16):
        deep = Repeated(deep, 1) if level % 2 else Composed((deep,))
    assert event_from_json(json.loads(json.dumps(event_to_json(deep)))) == deep
    with pytest.raises(InputError, match="nested deeper"):
        Repeated(deep, 1)
    wide = Composed((Gaussian(1),) * 1000)
    with pytest.raises(InputError, match="Repeated"):
        Composed((wide,) * 1000)


def test_an_absurd_count_is_refused_in_words() -> None:
    """Counts multiply exactly; a product beyond every float is still an input error."""
    event: Event = Gaussian(1)
    for _ in range(16):
        event = Repeated(event, 10**9)
    with pytest.raises(InputError, match="repeated more than"):
        open_event(event)


class OtherGaussian(Gaussian):  # type: ignore[misc]
    """Not an event: what a subclass says about itself is not what the ledger would write."""


class CheapLoss(ApproxDP):  # type: ignore[misc]
    """A loss that costs nothing when it is repeated."""

    def repeat(self, count: int) -> ApproxDP:
        return ApproxDP(0)


def test_a_subclass_is_not_an_event_or_a_loss() -> None:
    """Prices are looked up by exact type: a class of the caller's own cannot lower them."""
    for make in (lambda e: Repeated(e, 2), lambda e: Composed((e,)), event_to_json, open_event):
        with pytest.raises(InputError, match="OtherGaussian is not an event"):
            make(OtherGaussian(1))  # type: ignore[arg-type, no-untyped-call]
    with pytest.raises(InputError, match="CheapLoss"):
        Declared(CheapLoss(5, "0.5"), "as its maker says")  # type: ignore[arg-type]


def test_a_reason_is_a_text_that_can_be_kept() -> None:
    """Half a character cannot be written to any file, so it is refused before anything is charged."""
    assert Declared(PureDP(1), "naïve 🎲").reason == "naïve 🎲"
    for bad in ("", " ", "x" * 2001, "half \ud83c", b"bytes", None):
        with pytest.raises(InputError, match="reason"):
            Declared(PureDP(1), bad)  # type: ignore[arg-type]


def test_an_event_that_reveals_nothing_is_refused() -> None:
    """Randomized response at (0, 0) has nothing to charge."""
    with pytest.raises(InputError):
        RandomizedResponse(0, 0)  # type: ignore[arg-type]

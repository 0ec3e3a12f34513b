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


def test_an_event_that_reveals_nothing_is_refused() -> None:
    """Randomized response at (0, 0) has nothing to charge."""
    with pytest.raises(InputError):
        RandomizedResponse(0, 0)  # type: ignore[arg-type]

"""`best` names the theorem that proves the smallest epsilon, and the table says what every theorem needs."""

import inspect
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.composition import (
    Certainty,
    best,
    describe,
    optimal_homogeneous_epsilon,
    theorems,
)
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import (
    Composed,
    Declared,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Repeated,
)
from dosimeter.events.opening import open_event
from dosimeter.notions import RDP, ZCDP, PureDP

singles = st.one_of(
    st.builds(Gaussian, st.decimals(1, 50, places=1)),
    st.builds(Laplace, st.decimals(1, 50, places=1)),
    st.builds(DiscreteLaplace, st.decimals(1, 50, places=1)),
    st.builds(DiscreteGaussian, st.decimals(1, 50, places=1)),
    st.builds(RandomizedResponse, st.decimals("0.01", 2, places=2), st.sampled_from([Decimal(0), Decimal("1e-8")])),
)


@pytest.mark.parametrize(
    ("events", "theorem"),
    [
        ([RandomizedResponse("1")], "optimal_homogeneous"),
        ([(Laplace("10"), 100)], "privacy_loss_distribution"),
        ([(Gaussian("20"), 1000)], "gaussians"),
        ([(RandomizedResponse("0.1"), 100), (Gaussian("20"), 100)], "mixed"),
        ([(Declared(ZCDP("0.005"), "audited"), 30)], "zcdp_sum"),  # type: ignore[arg-type]
        ([(Laplace("10"), 50), (Declared(ZCDP("0.005"), "audited"), 30)], "rdp_sum"),  # type: ignore[arg-type]
        ([(PoissonSampled("0.01", Gaussian("1")), 1000)], "privacy_loss_distribution"),  # type: ignore[arg-type]
        ([Declared(RDP(("2", "16"), ("0.1", "0.4")), "audited"), (Laplace("10"), 50)], "rdp_sum"),  # type: ignore[arg-type]
        ([(RandomizedResponse("0.1"), 40), (RandomizedResponse("0.2"), 40)], "optimal_heterogeneous"),
    ],
)
def test_the_theorem_is_named(events: list[Event], theorem: str) -> None:
    """Each mixture of mechanisms has its best theorem, the smallest of all that were asked."""
    answer = best(events, "1e-5")
    assert answer.theorem == theorem
    epsilons = {entry.theorem: entry.epsilon for entry in answer.considered if entry.epsilon is not None}
    assert answer.guarantee.epsilon == min(epsilons.values()) == epsilons[theorem]
    assert set(epsilons) <= {row.name for row in theorems()}


@given(st.lists(st.tuples(singles, st.integers(1, 4)), min_size=1, max_size=3))
@settings(max_examples=10, deadline=None)
def test_nesting_does_not_matter(parts: list[tuple[Event, int]]) -> None:
    """Counts, repeated events and composed events are the same composition."""
    written = [event for event, times in parts for _ in range(times)]
    nested = Composed(tuple(Repeated(event, times) for event, times in parts))
    assert best(written, "1e-5").guarantee == best(parts, "1e-5").guarantee == best([nested], "1e-5").guarantee


def test_repetitions_are_opened() -> None:
    """Ten repetitions of ten are a hundred, however they are wrapped."""
    nested = Repeated(Composed((Repeated(Laplace("10"), 10), Gaussian("5"))), 10)
    assert open_event(nested) == {Laplace("10"): 100, Gaussian("5"): 10}
    once, ten = (best([Repeated(RandomizedResponse("0.1"), n)], "1e-5") for n in (1, 100))
    assert once.guarantee.epsilon < Decimal("0.1")
    assert ten.guarantee.epsilon == optimal_homogeneous_epsilon("0.1", 100, "1e-5")


def test_more_of_the_same_costs_more() -> None:
    """Adding an event never lowers the answer."""
    values = [best([(Laplace("10"), n), (Gaussian("30"), n)], "1e-6").guarantee.epsilon for n in (1, 2, 5, 20)]
    assert values == sorted(values)


def test_delta_zero_needs_pure_mechanisms() -> None:
    """Laplace at delta 0 is its epsilon; Gaussian noise has none, and the reasons say so."""
    assert best([Laplace("1")], 0).guarantee.epsilon == 1
    with pytest.raises(NoGuaranteeError, match="unbounded"):
        best([Gaussian("1")], 0)
    with pytest.raises(NoGuaranteeError):
        best([Laplace("1"), Gaussian("1")], 0)


def test_a_sampled_event_needs_its_relation() -> None:
    """Poisson sampling has theorems for adding and removing; under replacement nothing applies, and that is said."""
    event = PoissonSampled("0.01", Gaussian("1"))  # type: ignore[arg-type]
    assert best([event], "1e-6").guarantee.epsilon < 1
    with pytest.raises(NoGuaranteeError, match="replace_one"):
        best([event], "1e-6", "replace_one")


def test_every_description_is_kept() -> None:
    """A Laplace release stays pure, has its own Renyi curve and the smaller of two zCDP constants."""
    laplace = describe(Laplace("2"))
    assert laplace.approx is not None
    assert laplace.zcdp is not None
    assert laplace.approx.epsilon == Decimal("0.5")
    assert laplace.zcdp.rho < describe(DiscreteLaplace("2")).zcdp.rho  # type: ignore[union-attr]
    assert describe(Gaussian("2")).gdp is not None
    assert describe(DiscreteGaussian("2")).gdp is None  # its pair is not Gaussian
    assert describe(DiscreteGaussian("2")).zcdp == ZCDP("0.125")  # type: ignore[arg-type]
    assert describe(Declared(PureDP("1"), "said so")).approx is not None  # type: ignore[arg-type]


@pytest.mark.parametrize("events", [[], ["laplace"], [(Laplace("1"), 0)], [None]])
def test_what_is_no_event_is_refused(events: list[object]) -> None:
    """A composition is made of events."""
    with pytest.raises(InputError):
        best(events, "1e-5")  # type: ignore[arg-type]


def test_the_table_is_complete() -> None:
    """Every theorem has a function with a guarantee and a reference; estimates are called so by name and by type."""
    import dosimeter.composition as room

    table = theorems()
    names = [row.name for row in table]
    assert len(set(names)) == len(names) >= 19
    for row in table:
        text = inspect.getdoc(row.function) or ""
        assert "Guarantee:" in text, row.name
        assert "Reference:" in text, row.name
        assert getattr(room, row.function.__name__) is row.function
        estimate = "estimate" in row.function.__name__
        assert (row.certainty is Certainty.ESTIMATE) == estimate == row.name.startswith("estimate")
        assert row.filter_kind is None or not estimate


def test_every_public_function_states_guarantee_and_reference() -> None:
    """No theorem without what it guarantees and where it comes from."""
    import dosimeter.composition as room

    helpers = {"theorems", "describe_loss", "hockey_stick_divergence", "slack_for"}
    for name in room.__all__:
        value = getattr(room, name)
        if inspect.isfunction(value) and name not in helpers:
            text = inspect.getdoc(value) or ""
            assert "Guarantee:" in text, name
            assert "Reference:" in text, name

"""Odometers: fixed before the interaction, read from any filter's state, and honest about what they say."""

from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.adaptive.adversary import Menu
from dosimeter.adaptive.filter import Admitted
from dosimeter.adaptive.filters import (
    FILTERS,
    ApproxFilter,
    BasicFilter,
    GDPFilter,
    PublishedApproxFilter,
    PureFilter,
    RDPCurveFilter,
    RogersFilter,
    ZCDPFilter,
)
from dosimeter.adaptive.odometers import (
    ODOMETER_KINDS,
    BettingOdometer,
    FilterOdometer,
    GaussianOdometer,
    LossBound,
    LossOdometer,
    MenuOdometer,
    MixtureOdometer,
    ProbabilisticOdometer,
    ProbabilisticRecord,
    PureOdometer,
    RDPMixtureOdometer,
    RDPOdometer,
    RogersOdometer,
    StitchedOdometer,
    StoppedGaussianOdometer,
    StoppedRunBound,
    StoppedRunOdometer,
    UnionOdometer,
    odometer_from_json,
)
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, ProbabilisticDP, PureDP
from dosimeter.notions.convert import gdp_to_zcdp, pure_to_rdp

D = Decimal
ORDERS = (D(2), D(8), D(32))
TIMED: list[BettingOdometer] = [
    FilterOdometer(D("1e-6"), D("0.02")),
    MixtureOdometer(D("1e-6"), D("0.001")),
    StitchedOdometer(D("1e-6"), D("0.01")),
    StitchedOdometer(D("1e-6"), D("0.01"), "rounded"),
]
PARTS = (TIMED[0], TIMED[1], TIMED[2])
GAUSSIAN = GaussianOdometer(D("1e-6"), "square_root", D("0.1"), D(1), D("5.5"))
ALL: list[Any] = [
    *TIMED,
    UnionOdometer(PARTS),
    UnionOdometer(PARTS, "average"),
    RDPOdometer(D("1e-6"), D(8), ORDERS),
    RDPMixtureOdometer(D("1e-6"), ORDERS),
    RDPMixtureOdometer(D("1e-6"), ORDERS, (D("0.5"), D("0.25"), D("0.125"))),
    RogersOdometer(D("1e-6"), 1000),
    StoppedRunOdometer(TIMED[1], D("1e-7")),
    ProbabilisticOdometer(UnionOdometer(PARTS), D("1e-7")),
    GAUSSIAN,
    PureOdometer(D("1e-6"), "mixture", D("0.02"), D(1), D("0.1"), (1, 2), D(1)),
    MenuOdometer(D("0.05"), "line", D("0.5"), D(1), Menu.responses("0.1", (1, 2)), 20, D(3)),
    StoppedGaussianOdometer(D("1e-6"), "square_root", D("0.1"), D(1), D(5), D("1e-7"), 200),
]


def spend(filter_: Any, *losses: Any) -> Any:
    """The state after charges that all fit."""
    state = filter_.start()
    for loss in losses:
        decision = filter_.admit(state, loss)
        assert isinstance(decision, Admitted)
        state = decision.state
    return state


def test_reading_twice_gives_the_same_and_changes_nothing() -> None:
    """Two Gaussian queries, sigma 2 and 3, read twice in each kind of account."""
    losses = [GDP(D(1) / 2), GDP(D("0.3333333333333333"))]
    for filter_, charged in (
        (GDPFilter(mu="5"), losses),
        (ZCDPFilter(rho="5"), [gdp_to_zcdp(loss) for loss in losses]),
        (ApproxFilter(epsilon="10", delta="1e-5"), [gdp_to_zcdp(loss) for loss in losses]),
    ):
        state = spend(filter_, *charged)
        before = filter_.state_to_json(state)
        for odometer in (*TIMED, UnionOdometer(PARTS), StoppedRunOdometer(TIMED[1], D("1e-7"))):
            assert odometer.bound(state) == odometer.bound(state)
            assert odometer.read(state) == odometer.read(state)
        assert filter_.state_to_json(state) == before


def test_accounts_in_different_notions_read_the_same_clock() -> None:
    """Three pure queries cost the same intrinsic time wherever they are charged, so every odometer reads the same."""
    epsilons = [D("0.1"), D("0.2"), D("0.1")]
    approx = [ApproxDP(e) for e in epsilons]
    states = [
        spend(PureFilter(epsilon="1"), *(PureDP(e) for e in epsilons)),
        spend(BasicFilter(epsilon="1", delta="0"), *approx),
        spend(PublishedApproxFilter(epsilon="3", delta="1e-6"), *approx),
        spend(RogersFilter(epsilon="10", delta="1e-6"), *approx),
    ]
    for odometer in TIMED:
        assert len({odometer.bound(state) for state in states}) == 1


def test_every_state_of_every_filter_can_be_read_by_some_odometer() -> None:
    """No account is without an odometer."""
    readers = {"rdp": RDPMixtureOdometer(D("1e-6"), ORDERS)}
    built = {
        "approx": ApproxFilter(epsilon="1", delta="1e-5"),
        "zcdp": ZCDPFilter(rho="1"),
        "gdp": GDPFilter(mu="1"),
        "pure": PureFilter(epsilon="1"),
        "basic": BasicFilter(epsilon="1", delta="0"),
        "rdp_curve": RDPCurveFilter(orders=ORDERS, epsilons=("1", "1", "1")),
        "approx_published": PublishedApproxFilter(epsilon="1", delta="1e-5"),
        "rogers": RogersFilter(epsilon="1", delta="1e-5"),
    }
    for kind, filter_ in built.items():
        assert kind in FILTERS
        odometer = readers.get(filter_.notion, TIMED[1])
        assert odometer.bound(filter_.start()) > 0


# --- what a reading says


def test_rounds_with_a_declared_delta_get_no_bound_on_the_loss() -> None:
    """A state whose rounds may fail is refused by every loss odometer; the message names the two ways out."""
    zcdp = spend(ZCDPFilter(rho="1", delta="1e-6"), ZCDP(D("0.01"), D("1e-9")))
    rdp_filter = RDPCurveFilter(orders=ORDERS, epsilons=("1", "1", "1"), delta="1e-6")
    rdp = spend(rdp_filter, RDP(ORDERS, (D("0.1"),) * 3, D("1e-9")))
    rogers = spend(RogersFilter(epsilon="10", delta="1e-6"), ApproxDP(D("0.01"), D("1e-9")))
    for odometer in ALL[:10]:
        assert isinstance(odometer, LossOdometer)
        state = rdp if odometer.kind.startswith("rdp") else rogers if odometer.kind == "rogers" else zcdp
        with pytest.raises(NoGuaranteeError, match=r"StoppedRunOdometer.*ProbabilisticOdometer"):
            odometer.bound(state)
        with pytest.raises(NoGuaranteeError):
            odometer.read(state)
        allowed = StoppedRunOdometer(odometer, D("1e-8"))
        reading = allowed.read(state)
        assert isinstance(reading, StoppedRunBound)
        assert reading.epsilon == allowed.bound(state) > 0


def test_the_two_statements_are_different_types() -> None:
    """A loss bound and a stopped-run bound are never equal and name their probabilities differently."""
    state = spend(ZCDPFilter(rho="1"), ZCDP(D("0.01")))
    loss, run = TIMED[1].read(state), StoppedRunOdometer(TIMED[1]).read(state)
    assert isinstance(loss, LossBound)
    assert isinstance(run, StoppedRunBound)
    assert loss != run  # type: ignore[comparison-overlap]
    assert loss.epsilon == run.epsilon
    assert (loss.crossing_probability, run.delta) == (D("1e-6"), D("1e-6"))
    assert (loss.semantics, run.semantics) == ("loss", "dp")
    assert {TIMED[1].semantics, StoppedRunOdometer(TIMED[1]).semantics} == {"loss", "dp"}


def test_the_delta_of_a_stopped_run_counts_failures_and_crossings() -> None:
    """declared + (1 - declared) crossing, rounded up, never above 1."""
    odometer = StoppedRunOdometer(MixtureOdometer(D("0.01"), D(1)), D("0.1"))
    assert odometer.delta == D("0.109")
    assert StoppedRunOdometer(MixtureOdometer(D("0.9"), D(1)), D("0.9")).delta == D("0.99")


def test_a_stopped_run_reading_ends_where_its_share_of_delta_ends() -> None:
    """Beyond the declared share there is no statement; at the share there still is one."""
    filter_ = ZCDPFilter(rho="1", delta="0.5")
    odometer = StoppedRunOdometer(TIMED[1], D("2e-9"))
    state = spend(filter_, ZCDP(D("0.01"), D("1e-9")), ZCDP(D("0.01"), D("1e-9")))
    assert odometer.bound(state) > 0
    beyond = filter_.admit(state, ZCDP(D("0.01"), D("1e-9")))
    assert isinstance(beyond, Admitted)
    with pytest.raises(NoGuaranteeError, match="beyond the odometer's share"):
        odometer.bound(beyond.state)


def test_renyi_states_and_timed_states_are_not_mixed_up() -> None:
    """Each odometer refuses states that do not keep what it reads, and orders that are not its own."""
    timed = ZCDPFilter(rho="1").start()
    renyi = RDPCurveFilter(orders=ORDERS, epsilons=("1", "1", "1")).start()
    for odometer in TIMED:
        with pytest.raises(NoGuaranteeError, match="RDP odometer"):
            odometer.bound(renyi)
    for odometer in (RDPOdometer(D("1e-6"), D(8), ORDERS), RDPMixtureOdometer(D("1e-6"), ORDERS)):
        with pytest.raises(NoGuaranteeError, match="no Renyi bounds"):
            odometer.bound(timed)
    with pytest.raises(InputError, match="orders"):
        RDPMixtureOdometer(D("1e-6"), (D(2), D(8), D(33))).bound(renyi)
    with pytest.raises(InputError, match="orders"):
        RDPOdometer(D("1e-6"), D(8)).bound(renyi)
    with pytest.raises(NoGuaranteeError, match="Rogers"):
        RogersOdometer(D("1e-6"), 100).bound(timed)
    for odometer in ALL:
        if hasattr(odometer, "record"):  # reads records of its own
            continue
        with pytest.raises(InputError, match="not a filter's state"):
            odometer.bound("a state")


# --- rounds that keep their loss within an interval with high probability


def test_the_correction_covers_what_the_printed_theorem_misses() -> None:
    """Twenty (0.02, 1 - e^-0.02)-pDP rounds lose 0.4 for sure; uncorrected 0.2754, corrected 0.6754."""
    inner = FilterOdometer(D("0.01"), D("0.008"))
    odometer = ProbabilisticOdometer(inner, D("0.4"))
    delta = D("0.01980132669324469777918589")  # 1 - e^-0.02
    record = odometer.start()
    for _ in range(20):
        record = odometer.record(record, ProbabilisticDP(D("0.02"), delta))
    assert record.intrinsic_time == D("0.008")
    uncorrected = inner.bound(ProbabilisticRecord(record.intrinsic_time))
    assert uncorrected < D("0.4")  # the loss, with probability one
    assert abs(uncorrected - D("0.27544561697660447192")) < D("1e-18")
    reading = odometer.read(record)
    assert abs(reading.epsilon - D("0.67544561697660447192")) < D("1e-18")
    assert reading.crossing_probability == D("0.41")


def test_pdp_rounds_only() -> None:
    """DP rounds are refused whatever their delta; pure rounds are pDP rounds with delta 0; states are its own."""
    odometer = ProbabilisticOdometer(TIMED[1], D("1e-6"))
    record = odometer.record(odometer.start(), PureDP(D("0.1")))
    assert record == ProbabilisticRecord(D("0.01"))
    assert odometer.bound(record) == TIMED[1].bound(record)
    for loss in (ApproxDP(D("0.1")), ApproxDP(D("0.1"), D("1e-9")), ZCDP(D("0.1")), GDP(D("0.1"))):
        with pytest.raises(NotionError, match="pDP"):
            odometer.record(record, loss)
    with pytest.raises(NoGuaranteeError, match="beyond the odometer's share"):
        odometer.bound(odometer.record(record, ProbabilisticDP(D("0.1"), D("0.5"))))
    with pytest.raises(InputError, match="pDP rounds"):
        odometer.bound(ZCDPFilter(rho="1").start())  # type: ignore[arg-type]
    with pytest.raises(NoGuaranteeError, match="promises nothing"):
        odometer.record(record, ProbabilisticDP(D("0.1"), D(1)))
    with pytest.raises(InputError, match="correction is proven"):
        ProbabilisticOdometer(RDPOdometer(D("0.1"), D(2)))


# --- several at once


@settings(max_examples=25, deadline=None)
@given(st.decimals("0", "100", places=6).map(lambda r: r if r == 0 or r > D("1e-6") else D("1e-6")))
def test_a_union_is_never_above_its_parts_and_the_average_never_above_the_minimum(rho: Decimal) -> None:
    """The union at the parts' own shares, both ways of combining; its probability is their sum."""
    state = spend(ZCDPFilter(rho="101"), ZCDP(rho))
    lowest, averaged = UnionOdometer(PARTS), UnionOdometer(PARTS, "average")
    assert lowest.bound(state) == min(part.bound(state) for part in PARTS)
    assert averaged.bound(state) <= lowest.bound(state)
    assert lowest.crossing_probability == averaged.crossing_probability == D("3e-6")
    alone = UnionOdometer((TIMED[1],), "average")
    assert abs(alone.bound(state) - TIMED[1].bound(state)) <= D("1e-20") * TIMED[1].bound(state)


def test_an_average_reads_lower_where_no_part_is_tuned() -> None:
    """Between the targets of two lines the average of their supermartingales beats both by more than rounding."""
    lines = (FilterOdometer(D("1e-6"), D("0.01")), FilterOdometer(D("1e-6"), D("0.04")))
    state = spend(ZCDPFilter(rho="1"), ZCDP(D("0.01")))
    assert UnionOdometer(lines, "average").bound(state) < UnionOdometer(lines).bound(state) * D("0.99")


def test_unions_check_their_parts() -> None:
    """Shares stay below 1, an average needs supermartingales, a stopped-run odometer is not a part."""
    with pytest.raises(InputError, match="add up"):
        UnionOdometer((FilterOdometer(D("0.5"), D(1)), FilterOdometer(D("0.5"), D(2))))
    with pytest.raises(InputError, match="average"):
        UnionOdometer((RogersOdometer(D("0.1"), 10),), "average")
    with pytest.raises(InputError, match="minimum"):
        UnionOdometer((StoppedRunOdometer(TIMED[0]),))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="1 to 64"):
        UnionOdometer(())
    with pytest.raises(InputError, match="combine="):
        UnionOdometer(PARTS, "maximum")
    with pytest.raises(InputError, match="reads a loss odometer"):
        StoppedRunOdometer(StoppedRunOdometer(TIMED[0]))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="reads a loss odometer"):
        StoppedRunOdometer(ProbabilisticOdometer(TIMED[0]))  # type: ignore[arg-type]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["0", "0.001", "0.05", "2"]), max_size=8))
def test_readings_never_fall_as_queries_are_admitted(rhos: list[str]) -> None:
    """Along any run, each odometer's reading is monotone."""
    filter_ = ZCDPFilter(rho="20")
    rdp_filter = RDPCurveFilter(orders=ORDERS, epsilons=("1000", "1000", "1000"))
    timed, renyi = filter_.start(), rdp_filter.start()
    rdp = RDPMixtureOdometer(D("1e-6"), ORDERS)
    readings = [[o.bound(timed) for o in TIMED] + [rdp.bound(renyi)]]
    for rho in rhos:
        timed = spend_one(filter_, timed, ZCDP(D(rho)))
        renyi = spend_one(rdp_filter, renyi, RDP(ORDERS, tuple(a * D(rho) for a in ORDERS)))
        readings.append([o.bound(timed) for o in TIMED] + [rdp.bound(renyi)])
        assert all(a <= b for a, b in zip(readings[-2], readings[-1], strict=True))


def spend_one(filter_: Any, state: Any, loss: Any) -> Any:
    """The state after one more charge."""
    decision = filter_.admit(state, loss)
    assert isinstance(decision, Admitted)
    return decision.state


def test_the_renyi_mixture_is_never_above_its_orders_at_their_shares() -> None:
    """For randomised response at 0.3, after any number of rounds."""
    mixed = RDPMixtureOdometer(D("1e-3"), ORDERS)
    loss = pure_to_rdp(PureDP(D("0.3")), orders=ORDERS)
    filter_ = RDPCurveFilter(orders=ORDERS, epsilons=("1000",) * 3)
    state = filter_.start()
    for _ in range(30):
        state = spend_one(filter_, state, loss)
        singles = [RDPOdometer(mixed.delta * w, a, ORDERS) for a, w in zip(ORDERS, mixed.weights, strict=True)]
        assert mixed.bound(state) <= min(single.bound(state) for single in singles)


# --- configuration


@pytest.mark.parametrize("odometer", ALL, ids=lambda o: o.kind)
def test_a_configuration_survives_json(odometer: Any) -> None:
    """Numbers are texts; what comes back is equal and says its kind."""
    data = odometer.to_json()
    assert data["kind"] == odometer.kind
    assert odometer_from_json(data) == odometer
    assert odometer_from_json(data).to_json() == data
    assert "Decimal" not in repr(data)
    assert not any(isinstance(value, float) for value in data.values())


def test_every_kind_is_listed_and_explained() -> None:
    """ODOMETER_KINDS names each kind once, in one plain line."""
    assert set(ODOMETER_KINDS) == {odometer.kind for odometer in ALL}
    assert all(text and "\n" not in text for text in ODOMETER_KINDS.values())


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"kind": "exact"},
        {"kind": ["filter"]},
        {"kind": "filter", "delta": "0.1"},
        {"kind": "filter", "delta": "0.1", "target": "1", "horizon": "3"},
        {"kind": "filter", "delta": 0.1, "target": "1"},
        {"kind": "filter", "delta": True, "target": "1"},
        {"kind": "filter", "delta": "NaN", "target": "1"},
        {"kind": "mixture", "delta": "1", "gamma": "1"},
        {"kind": "mixture", "delta": "0.1", "gamma": "-1"},
        {"kind": "stitched", "delta": "0.1", "start": "1", "form": "other"},
        {"kind": "union", "parts": "filter", "combine": "minimum"},
        {"kind": "union", "parts": [{"kind": "other"}], "combine": "minimum"},
        {"kind": "rdp_mixture", "delta": "0.1", "orders": ["2", "2"], "weights": []},
        {"kind": "rdp_mixture", "delta": "0.1", "orders": ["2"], "weights": ["1", "1"]},
        {"kind": "rdp_mixture", "delta": "0.1", "orders": ["2", "3"], "weights": ["0.6", "0.6"]},
        {"kind": "rdp", "delta": "0.1", "order": "2", "orders": ["3"]},
        {"kind": "rdp", "delta": "0.1", "order": "1", "orders": []},
        {"kind": "rogers", "delta": "0.4", "data_size": 10},
        {"kind": "rogers", "delta": "0.1", "data_size": 1},
        {"kind": "stopped_run", "odometer": "filter", "declared_delta": "0"},
        {
            "kind": "probabilistic",
            "odometer": {"kind": "rogers", "delta": "0.1", "data_size": 9},
            "declared_delta": "0",
        },
    ],
)
def test_anything_else_is_refused(data: object) -> None:
    """Unknown kinds, missing or extra fields, numbers that are not texts and values out of range."""
    with pytest.raises(InputError):
        odometer_from_json(data)


def test_nesting_is_limited() -> None:
    """A configuration cannot be arbitrarily deep."""
    data: dict[str, Any] = TIMED[0].to_json()
    for _ in range(10):
        data = {"kind": "union", "parts": [data], "combine": "minimum"}
    with pytest.raises(InputError, match="nested"):
        odometer_from_json(data)


def test_configurations_and_readings_are_frozen() -> None:
    """Parameters are fixed before the interaction: nothing can be tuned after an answer was seen."""
    state = ZCDPFilter(rho="1").start()
    for value, name in (
        (TIMED[1], "gamma"),
        (TIMED[1].read(state), "epsilon"),
        (StoppedRunOdometer(TIMED[0]), "declared_delta"),
    ):
        with pytest.raises((FrozenInstanceError, AttributeError)):
            setattr(value, name, D(1))


def test_tuned_constructors_give_the_tuned_parameters() -> None:
    """A filter odometer tuned at epsilon reads epsilon at its target; a tuned mixture is lowest at its time."""
    line = FilterOdometer.tuned(delta="1e-6", epsilon="1")
    assert abs(line.bound(spend(ZCDPFilter(rho="1"), ZCDP(line.target / 2))) - 1) < D("1e-20")
    mixture = MixtureOdometer.tuned(delta="1e-6", intrinsic_time="0.01")
    assert abs(mixture.gamma - D("3.3706412101630743070e-4")) < D("1e-22")
    ratio = FilterOdometer("1/3", "1/7")  # type: ignore[arg-type]
    assert Fraction(ratio.delta) * 3 < 1

"""Nothing that is not a finite amount gets in: not in a budget, a loss, a state or JSON, and not under `python -O`."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest

from dosimeter.accounting import loss_for
from dosimeter.adaptive.adversary import Menu, Offer
from dosimeter.adaptive.filters import (
    ADAPTIVITY,
    DEFAULT_KIND,
    FILTER_KINDS,
    FILTERS,
    Admitted,
    ApproxFilter,
    BasicFilter,
    GDPFilter,
    MenuFilter,
    PlanResidueFilter,
    PublishedApproxFilter,
    PureFilter,
    RDPCurveFilter,
    RDPFilter,
    Refused,
    ResidueFilter,
    RogersFilter,
    WeightedRDPFilter,
    ZCDPFilter,
    filter_from_json,
    filter_to_json,
    fits,
)
from dosimeter.errors import DosimeterError, InputError, NotionError
from dosimeter.events import RandomizedResponse
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, MenuPrice, ProbabilisticDP, PureDP

ONE_OF_EACH: dict[str, Any] = {
    "pure": PureFilter(1),
    "basic": BasicFilter(1, "1e-5"),
    "approx": ApproxFilter(1, "1e-5", "1e-6"),
    "approx_published": PublishedApproxFilter(1, "1e-5", "1e-6"),
    "zcdp": ZCDPFilter(1, "1e-6"),
    "rdp": RDPFilter(8, 1, "1e-6"),
    "rdp_curve": RDPCurveFilter((2, 8), (1, 3), "1e-6"),
    "rdp_weighted": WeightedRDPFilter(3, "1e-5", (8, 64), declared_delta="1e-6"),
    "gdp": GDPFilter(1, "1e-6"),
    "rogers": RogersFilter(2, "1e-5"),
    "residue": ResidueFilter(1, "1e-5", "1e-6", 10),
    "menu": MenuFilter(
        1, "1e-5", Menu((Offer(RandomizedResponse("0.1"), 1), Offer(RandomizedResponse("0.2", "1e-7"), 5)))
    ),
    "residue_plan": PlanResidueFilter(((RandomizedResponse("0.1"), 8),), 1, "1e-2", "1e-3", reserve="0.05"),
}
LOSSES: dict[str, Any] = {
    "pure": PureDP("0.1"),
    "approx": ApproxDP("0.1", "1e-7"),
    "probabilistic": ProbabilisticDP("0.1", "1e-7"),
    "zcdp": ZCDP("0.01", "1e-7"),
    "rdp": RDP((8,), ("0.1",)),
    "gdp": GDP("0.1", "1e-7"),
    "menu": MenuPrice.of(1, "0.005"),
    "residue": loss_for(RandomizedResponse("0.1", "1e-7"), ResidueFilter(1, "1e-5")),
}
HOSTILE = [
    "NaN",
    "sNaN",
    "Infinity",
    "-Infinity",
    -1,
    "-1e-9",
    "1e-301",
    "1e13",
    "0,1",
    "",
    "ten",
    None,
    True,
    [],
    float("nan"),
]


def test_the_registry_is_complete() -> None:
    """Every kind has a class, one line of explanation and a statement about adaptivity; the default exists."""
    assert set(FILTER_KINDS) == set(FILTERS) == set(ONE_OF_EACH) == set(ADAPTIVITY)
    assert DEFAULT_KIND == "approx"
    assert all(10 < len(line) < 120 and "\n" not in line for line in FILTER_KINDS.values())
    assert all("every earlier answer" in line for line in ADAPTIVITY.values())
    assert all(FILTERS[kind].kind == kind for kind in FILTERS)


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_budgets_are_refused_at_creation(value: Any) -> None:
    """A budget that is not a finite positive amount opens no filter of any kind."""
    builders = [
        lambda: PureFilter(value),
        lambda: BasicFilter(value, "1e-5"),
        lambda: BasicFilter(1, value),
        lambda: ApproxFilter(value, "1e-5"),
        lambda: ApproxFilter(1, value),
        lambda: ApproxFilter(1, "1e-5", value),
        lambda: PublishedApproxFilter(value, "1e-5"),
        lambda: PublishedApproxFilter(1, value),
        lambda: PublishedApproxFilter(1, "1e-5", value),
        lambda: ZCDPFilter(value),
        lambda: ZCDPFilter(1, value),
        lambda: RDPFilter(value, 1),
        lambda: RDPFilter(2, value),
        lambda: RDPFilter(2, 1, value),
        lambda: RDPCurveFilter((2, value), (1, 1)),
        lambda: RDPCurveFilter((2, 3), (1, value)),
        lambda: RDPCurveFilter((2, 3), (1, 1), value),
        lambda: WeightedRDPFilter(value, "1e-5", (8, 64)),
        lambda: WeightedRDPFilter(3, value, (8, 64)),
        lambda: WeightedRDPFilter(3, "1e-5", (8, value)),
        lambda: WeightedRDPFilter(3, "1e-5", (8, 64), ("0.5", value)),
        lambda: WeightedRDPFilter(3, "1e-5", (8, 64), declared_delta=value),
        lambda: GDPFilter(value),
        lambda: GDPFilter(1, value),
        lambda: RogersFilter(value, "1e-5"),
        lambda: RogersFilter(1, value),
    ]
    for build in builders:
        with pytest.raises(InputError):
            build()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: PureFilter(0), "epsilon=0"),
        (lambda: ZCDPFilter("0.0"), "rho"),
        (lambda: GDPFilter(0), "mu=0"),
        (lambda: ApproxFilter(1, 0), "delta=0"),
        (lambda: ApproxFilter(1, 1), "delta=1"),
        (lambda: ApproxFilter(1, "1e-6", "1e-6"), "declared_delta"),
        (lambda: PublishedApproxFilter(1, "1e-6", "2e-6"), "declared_delta"),
        (lambda: ResidueFilter(1, "1e-6", "1e-6"), "slack"),
        (lambda: ResidueFilter(1, "1e-6", queries=0), "queries"),
        (lambda: ResidueFilter(1, "1e-6", rule=2), "rule"),
        (lambda: RogersFilter(1, "0.37"), "1/e"),
        (lambda: RogersFilter(101, "1e-6"), "epsilon"),
        (lambda: RDPFilter(1, 1), "order"),
        (lambda: RDPFilter("4/3", 1), "exact decimal"),
        (lambda: RDPCurveFilter((3, 2), (1, 1)), "increasing"),
        (lambda: RDPCurveFilter((2, 3), (1,)), "one epsilon per order"),
        (lambda: RDPCurveFilter((), ()), "one epsilon per order"),
        (lambda: WeightedRDPFilter("0.1", "1e-9", (2, 3)), "larger orders"),
        (lambda: WeightedRDPFilter(3, "1e-5", (8, 64), (1, 1)), "more than 1"),
        (lambda: WeightedRDPFilter(3, "1e-5", (8, 64), (1,)), "one share per order"),
        (lambda: WeightedRDPFilter(3, "1e-5", (8, 64), (1, 0)), "weight"),
    ],
)
def test_a_useless_budget_is_refused_in_words(build: Any, words: str) -> None:
    """Zero budgets, deltas of 0 or 1, shares beyond the whole: refused with the value and the reason."""
    with pytest.raises(InputError, match=words):
        build()


def test_ratios_in_budgets_round_down_and_in_losses_up() -> None:
    """Three thirds do not fit a budget of one, since each third is charged a little more; two do."""
    filter_ = PureFilter(1)
    assert fits(filter_, filter_.start(), PureDP("1/3")) == 2
    assert PureFilter("1/3").epsilon < PureDP("1/3").epsilon


@pytest.mark.parametrize("kind", sorted(ONE_OF_EACH))
@pytest.mark.parametrize("notion", sorted(LOSSES))
def test_only_losses_of_the_filters_notion_are_added(kind: str, notion: str) -> None:
    """A loss of another notion, or at other Renyi orders, raises NotionError and names what is needed."""
    filter_ = ONE_OF_EACH[kind]
    if filter_.notion == notion and (notion != "rdp" or kind == "rdp"):
        assert isinstance(filter_.admit(filter_.start(), LOSSES[notion]), Admitted)
        return
    with pytest.raises(NotionError, match=r"conversion|restate"):
        filter_.admit(filter_.start(), LOSSES[notion])


@pytest.mark.parametrize("kind", sorted(ONE_OF_EACH))
def test_other_things_than_losses_and_states_are_refused(kind: str) -> None:
    """Numbers, names, None and the states of other filters are not accepted in place of a loss or a state."""
    filter_ = ONE_OF_EACH[kind]
    for thing in (0.1, "0.1", None, Decimal("0.1"), filter_):
        with pytest.raises(InputError):
            filter_.admit(filter_.start(), thing)
    loss = LOSSES[filter_.notion]
    for state in (None, 0, {}, loss):
        with pytest.raises(InputError):
            filter_.admit(state, loss)
        with pytest.raises(InputError):
            filter_.remaining(state)
    with pytest.raises(InputError):
        filter_.admit(filter_.start(), LOSSES[filter_.notion], 0)
    with pytest.raises(InputError):
        filter_.admit(filter_.start(), LOSSES[filter_.notion], True)


@pytest.mark.parametrize("kind", sorted(ONE_OF_EACH))
@pytest.mark.parametrize("forged", ["NaN", "-NaN", "Infinity", "-Infinity", "-0.1", "-1e-300"])
def test_a_forged_loss_does_not_pass(kind: str, forged: str) -> None:
    """A loss whose numbers were changed behind its back to NaN, infinities or negatives is never admitted."""
    filter_ = ONE_OF_EACH[kind]
    orders = getattr(filter_, "orders", ())
    honest: Any = RDP(orders, ("0.1",) * len(orders)) if filter_.notion == "rdp" else LOSSES[filter_.notion]
    for name in type(honest).__dataclass_fields__:
        if name in ("orders", "notion"):
            continue
        loss = copy.copy(honest)
        value: Any = Decimal(forged)
        object.__setattr__(loss, name, (value,) * len(orders) if name == "epsilons" else value)
        try:
            answer = filter_.admit(filter_.start(), loss)
        except (DosimeterError, ArithmeticError):
            continue
        assert isinstance(answer, Refused)


@pytest.mark.parametrize("kind", sorted(ONE_OF_EACH))
def test_json_is_plain_and_strict(kind: str) -> None:
    """Configuration and state are JSON of texts; every other shape is refused with InputError."""
    filter_ = ONE_OF_EACH[kind]
    orders = getattr(filter_, "orders", ())
    loss: Any = RDP(orders, ("0.1",) * len(orders)) if filter_.notion == "rdp" else LOSSES[filter_.notion]
    answer = filter_.admit(filter_.start(), loss)
    assert isinstance(answer, Admitted)
    config = json.loads(json.dumps(filter_to_json(filter_)))
    state = json.loads(json.dumps(filter_.state_to_json(answer.state)))
    assert filter_from_json(config) == filter_
    assert filter_.state_from_json(state) == answer.state
    for data, read in ((config, filter_from_json), (state, filter_.state_from_json)):
        name = next(key for key in data if key != "kind")
        spoiled: list[Any] = [
            None,
            [],
            "x",
            1,
            {},
            {**data, "kind": "best"},
            {**data, "kind": None},
            {**data, "more": "1"},
        ]
        spoiled += [{key: value for key, value in data.items() if key != name}]
        spoiled += [{**data, name: bad} for bad in ("NaN", "-1", "inf", 0.5, 1, None, {}, "x", ["NaN"], [0.1], [["1"]])]
        spoiled += [
            {**data, key: value[0] if isinstance(value, list) else [value]}
            for key, value in data.items()
            if key != "kind"
        ]
        spoiled += [{**data, key: "1/3"} for key, value in data.items() if key != "kind" and isinstance(value, str)]
        spoiled += [{**data, key: value + ".0"} for key, value in data.items() if value == "1"]
        for bad in spoiled:
            with pytest.raises(InputError):
                read(bad)


class Yes(Decimal):
    """A number that agrees to everything."""

    def __ge__(self, other: object) -> bool:
        return True

    __le__ = __ge__

    def is_finite(self) -> bool:
        return True


@pytest.mark.parametrize("kind", sorted(ONE_OF_EACH))
def test_a_negative_charge_gives_nothing_back(kind: str) -> None:
    """A loss forged after its checks, with a number that answers them itself, cannot lower what was spent."""
    filter_ = ONE_OF_EACH[kind]
    orders = getattr(filter_, "orders", ())
    honest: Any = RDP(orders, ("0.1",) * len(orders)) if filter_.notion == "rdp" else LOSSES[filter_.notion]
    spent = filter_.admit(filter_.start(), honest)
    assert isinstance(spent, Admitted)
    for name in type(honest).__dataclass_fields__:
        if name in ("orders", "notion"):
            continue
        forged, value = copy.copy(honest), Yes("-0.05")
        object.__setattr__(forged, name, (value,) * len(orders) if name == "epsilons" else value)
        with pytest.raises(InputError, match="nothing was charged"):
            filter_.admit(spent.state, forged)


def test_an_unknown_kind_lists_the_known_ones() -> None:
    """Reading a filter of an unknown kind names every kind there is."""
    with pytest.raises(InputError) as caught:
        filter_from_json({"kind": "natural", "epsilon": "1"})
    assert all(kind in str(caught.value) for kind in FILTER_KINDS)


def test_a_state_of_another_filter_is_not_read() -> None:
    """A stored state carries its kind; a Renyi state also its orders."""
    with pytest.raises(InputError):
        ZCDPFilter(1).state_from_json(GDPFilter(1).state_to_json(GDPFilter(1).start()))
    with pytest.raises(InputError):
        RDPFilter(2, 1).state_from_json(RDPFilter(3, 1).state_to_json(RDPFilter(3, 1).start()))


@pytest.mark.parametrize("kind", sorted(ONE_OF_EACH))
def test_filters_and_states_are_values(kind: str) -> None:
    """Frozen, comparable, hashable, picklable: a copy on another machine decides the same."""
    filter_ = ONE_OF_EACH[kind]
    for value in (filter_, filter_.start()):
        assert pickle.loads(pickle.dumps(value)) == value
        assert hash(value) == hash(copy.deepcopy(value))
        with pytest.raises(AttributeError):
            setattr(value, next(iter(type(value).__dataclass_fields__)), Decimal(100))


SCRIPT = """
from decimal import Decimal
from dosimeter.adaptive.filters import *
from dosimeter.errors import InputError
from dosimeter.notions import *
import copy
f = PureFilter("0.3"); s = f.start()
for _ in range(3): s = f.admit(s, PureDP("0.1")).state
out = [isinstance(f.admit(s, PureDP("1e-300")), Refused)]
for bad in ("NaN", "-1", "inf"):
    for build in (PureDP, PureFilter, ZCDPFilter, GDPFilter, lambda x: ApproxFilter(1, x)):
        try: build(bad); out.append(False)
        except InputError: out.append(True)
loss = copy.copy(PureDP("0.1")); object.__setattr__(loss, "epsilon", Decimal("NaN"))
try: out.append(isinstance(f.admit(f.start(), loss), Refused))
except InputError: out.append(True)
p, a = PublishedApproxFilter(1, "1e-6"), ApproxFilter(1, "1e-6")
print(all(out), len(out), fits(p, p.start(), ApproxDP("0.01")), fits(a, a.start(), ZCDP("5e-5")), a.rho)
"""


def _run(*flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *flags, "-c", SCRIPT], capture_output=True, text=True, check=False)


def test_filters_are_light_to_import() -> None:
    """Deciding about queries loads no engine, no sampler and no numerical library until a transcendental is needed."""
    heavy = ("numpy", "scipy", "flint", "opendp", "duckdb", "sqlalchemy", "sqlglot")
    code = (
        f"import sys, dosimeter.adaptive.filters, dosimeter.accounting; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_stripping_assertions_changes_nothing() -> None:
    """`python -O` removes assert statements; every check stands without them."""
    runs = [_run(*flags) for flags in ((), ("-O",))]
    assert [run.stderr for run in runs] == ["", ""]
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stdout.startswith("True 17 349 487 ")

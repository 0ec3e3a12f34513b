"""Sub-budgets: together children never spend more than the parent has, in any interleaving, open or closed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.adaptive.filters import (
    Admitted,
    ApproxFilter,
    BasicFilter,
    Family,
    GDPFilter,
    PublishedApproxFilter,
    PureFilter,
    RDPFilter,
    Refused,
    RogersFilter,
    WeightedRDPFilter,
    ZCDPFilter,
)
from dosimeter.errors import InputError, NotionError
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, ProbabilisticDP, PureDP


def after(answer: Any) -> Any:
    """The next family; the step must have been admitted."""
    assert isinstance(answer, Admitted)
    return answer.state


def test_two_children_work_at_the_same_time_within_their_caps() -> None:
    """Under a cap of 1: A takes 0.6, B is refused 0.5 and takes 0.4; both spend in turn, all of it and no more."""
    family = Family.start(ZCDPFilter("1.0"))
    family = after(family.open("A", ZCDP("0.6")))
    refused = family.open("B", ZCDP("0.5"))
    assert isinstance(refused, Refused)
    assert refused.remaining["rho"] == "0.4"
    family = after(family.open("B", ZCDP("0.4")))
    for name, rho in (("A", "0.3"), ("B", "0.4"), ("A", "0.3")):
        family = after(family.spend(name, ZCDP(rho)))
    assert family.realised().rho == Decimal(1)
    for step in (family.spend("A", ZCDP("1e-9")), family.spend("B", ZCDP("1e-300")), family.admit(ZCDP("1e-9"))):
        assert isinstance(step, Refused)


def test_a_promise_cannot_be_taken_out_of_a_family() -> None:
    """Families are values: neither the mapping of children nor the one it was made from leads to less being owed."""
    children: dict[str, Any] = dict(after(Family.start(PureFilter(1)).open("A", PureDP("0.6"))).children)
    family: Family[Any] = Family(PureFilter(1), PureFilter(1).start(), children)
    children.clear()
    with pytest.raises((TypeError, AttributeError)):
        family.children.pop("A")  # type: ignore[attr-defined]
    assert family.remaining() == {"epsilon": "0.4"}


def test_a_closed_child_returns_what_it_did_not_use() -> None:
    """After closing, the parent owes what was spent, not the cap; a child that spent all returns nothing."""
    family = after(Family.start(PureFilter(1)).open("A", PureDP("0.6")))
    family = after(family.spend("A", PureDP("0.25")))
    assert family.remaining() == {"epsilon": "0.4"}
    assert family.remaining("A") == {"epsilon": "0.35"}
    family = family.close("A")
    assert family.remaining() == {"epsilon": "0.75"}
    with pytest.raises(InputError, match="no child"):
        family.spend("A", PureDP("0.1"))
    family = after(family.open("A", PureDP("0.75")))  # the name is free again
    assert isinstance(family.admit(PureDP("1e-9")), Refused)


@pytest.mark.parametrize(
    ("parent", "cap", "small"),
    [
        (PureFilter(1), PureDP("0.5"), PureDP("0.1")),
        (BasicFilter(1, "1e-5"), ApproxDP("0.5", "5e-6"), ApproxDP("0.1", "1e-6")),
        (PublishedApproxFilter(1, "1e-5"), ApproxDP("0.1"), ApproxDP("0.02")),
        (RogersFilter(2, "1e-5"), ApproxDP("0.1"), ApproxDP("0.02")),
        (ApproxFilter(1, "1e-5", "1e-6"), ZCDP("0.01", "5e-7"), ZCDP("0.002", "1e-7")),
        (ZCDPFilter(1), ZCDP("0.5"), ZCDP("0.1")),
        (RDPFilter(8, 1), RDP((8,), ("0.5",)), RDP((8,), ("0.1",))),
        (WeightedRDPFilter(3, "1e-6", (8, 64)), RDP((8, 64), ("0.5", "1")), RDP((8, 64), ("0.1", "0.2"))),
        (GDPFilter(1), GDP("0.5"), GDP("0.2")),
    ],
)
def test_every_filter_can_be_a_parent(parent: Any, cap: Any, small: Any) -> None:
    """A child of any filter is capped by plain sums of the parent's notion; what it uses never exceeds its cap."""
    family = after(Family.start(parent).open("team", cap))
    spent = 0
    while isinstance(step := family.spend("team", small), Admitted) and spent < 10:
        family, spent = step.state, spent + 1
    assert spent in (5, 6)  # five fifths; squares of mu: 0.25 / 0.04
    committed, realised = family.committed(), family.realised()
    for used, promised in zip(parent.spent(realised).values(), parent.spent(committed).values(), strict=True):
        assert Decimal(used) <= Decimal(promised)
    assert parent.spent(family.close("team").committed()) == parent.spent(realised)


def test_children_are_named_and_capped_in_the_parents_notion() -> None:
    """Wrong names, caps of zero and caps of another notion are refused in words, and nothing is opened."""
    family = after(Family.start(ZCDPFilter(1)).open("A", ZCDP("0.1")))
    for bad in ("A", "", None):
        with pytest.raises(InputError):
            family.open(bad, ZCDP("0.1"))  # type: ignore[arg-type]
    with pytest.raises(NotionError):
        family.open("B", PureDP("0.1"))
    with pytest.raises(InputError):
        family.open("B", ZCDP(0))
    with pytest.raises(NotionError):
        Family.start(BasicFilter(1, "1e-5")).open("B", ProbabilisticDP("0.1"))
    for verb in (lambda: family.close("C"), lambda: family.spend("C", ZCDP("0.1")), lambda: family.remaining("C")):
        with pytest.raises(InputError, match="no child"):
            verb()


steps = st.lists(
    st.tuples(
        st.sampled_from(["open", "spend", "spend", "spend", "close", "parent"]),
        st.sampled_from(["A", "B", "C"]),
        st.decimals("0.01", "0.7", places=2),
    ),
    max_size=30,
)


@settings(max_examples=150, deadline=None)
@given(steps, st.booleans())
def test_no_interleaving_overspends(plan: list[tuple[str, str, Decimal]], gaussian: bool) -> None:
    """Whatever is opened, spent and closed in whatever order, all queries together stay within the parent's budget."""
    make: Any = GDP if gaussian else ZCDP
    family: Any = Family.start(GDPFilter(1) if gaussian else ZCDPFilter(1))
    total = Fraction(0)
    for verb, name, amount in plan:
        size = Fraction(amount) ** 2 if gaussian else Fraction(amount)
        if verb == "open" and name not in family.children:
            step = family.open(name, make(amount))
            family = step.state if isinstance(step, Admitted) else family
        elif verb == "close" and name in family.children:
            family = family.close(name)
        elif verb == "parent" or (verb == "spend" and name in family.children):
            step = family.admit(make(amount)) if verb == "parent" else family.spend(name, make(amount))
            if isinstance(step, Admitted):
                family, total = step.state, total + size
        assert total <= 1
        realised = family.realised()
        assert total <= Fraction(realised.mu_squared if gaussian else realised.rho)
        promised = sum(
            (Fraction(getattr(c.cap, "mu" if gaussian else "rho")) ** (2 if gaussian else 1))
            for c in family.children.values()
        )
        assert promised <= 1

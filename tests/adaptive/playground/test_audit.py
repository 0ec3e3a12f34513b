"""The audit: every registered filter and loss odometer is played against, by every built-in strategy.

A new kind enters by being registered: it is opened for a target as `advise` opens it, and played. What looks right and
is not must be beaten by the same call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any, ClassVar

import pytest

from dosimeter.accounting.advice import Sketch, Target
from dosimeter.accounting.advice.openings import OPENINGS
from dosimeter.accounting.menus import response_options
from dosimeter.adaptive.filter import Admitted, Refused
from dosimeter.adaptive.filters import FILTERS, ApproxFilter, ZCDPFilter
from dosimeter.adaptive.game import randomized_response
from dosimeter.adaptive.odometers import FilterOdometer, MixtureOdometer, StitchedOdometer, UnionOdometer
from dosimeter.adaptive.playground import BUILT_IN, Option, Played, Table, Verdict, play
from dosimeter.enclosure import ball, enclose, up
from dosimeter.events import RandomizedResponse
from dosimeter.notions import ZCDP

D, F = Decimal, Fraction
BASE = F(6, 5)
MULTIPLES = (1, 2, 3)
TARGET = Target("1", "0.05")
LARGEST = 60_000  # states: larger games are played by Monte Carlo


def opened(kind: str) -> Any:
    """A filter of this kind, for the target and a sketch of the boxes that will be played."""
    return OPENINGS[kind](TARGET, Sketch.of([(RandomizedResponse(epsilon_of(m)), 4) for m in MULTIPLES]))


def epsilon_of(multiple: int) -> Decimal:
    """m log(base), as the boxes are charged."""
    return up(enclose(lambda: ball(BASE).log() * multiple))


def audit(rule: Any, options: Iterable[Option], *, rounds: int = 40, **more: Any) -> dict[str, Played]:
    """Every built-in strategy against a rule."""
    base, epsilon, odometer = more.pop("base", BASE), more.pop("epsilon", "1"), more.pop("odometer", None)
    game = Table(rule, tuple(options), base, epsilon, rounds, odometer)
    return {name: play(game, name, largest=LARGEST, seed=20220601, **more) for name in BUILT_IN}


@pytest.mark.parametrize("kind", FILTERS)
def test_no_strategy_beats_a_registered_filter(kind: str) -> None:
    """Whatever is registered keeps its claim against every built-in strategy; nothing is left undecided exactly."""
    rule = opened(kind)
    found = audit(rule, response_options(rule, BASE, MULTIPLES))
    assert not any(one.beaten for one in found.values())
    for one in found.values():
        assert one.delta.verdict is (Verdict.KEPT if one.exact else one.delta.verdict)
    assert max(one.rounds for one in found.values()) >= 1  # something was played


@pytest.mark.parametrize("kind", [kind for kind in FILTERS if kind not in {"pure", "rogers", "approx_published"}])
def test_the_audit_plays_seriously(kind: str) -> None:
    """At a target that the boxes can miss, some strategy reaches a visible part of the claim."""
    rule = opened(kind)
    found = audit(rule, response_options(rule, BASE, MULTIPLES))
    claim = max(one.delta.claimed for one in found.values())
    reached = max(one.delta.ends[1] for one in found.values())
    assert reached > claim / 200 or kind == "basic"


# --- controls: schemes that look right


@dataclass(frozen=True)
class Late:
    """Compares what has run, not what comes next: the last box may be as large as the player likes."""

    rho: Decimal
    kind: ClassVar[str] = "late"
    notion: ClassVar[str] = "zcdp"

    def start(self) -> Decimal:
        return D(0)

    def admit(self, state: Decimal, loss: Any, count: int = 1) -> Any:
        if state <= self.rho:
            return Admitted(state + loss.rho * count)
        return Refused("over_budget", {}, {}, {}, {})

    def budget(self) -> dict[str, str]:
        return {"rho": str(self.rho)}

    def spent(self, state: Decimal) -> dict[str, str]:
        return {"rho": str(state)}


def test_a_filter_that_looks_too_late_is_beaten() -> None:
    """The control of the audit: the same call that no registered filter fails."""
    claim = ApproxFilter("1", "0.05")
    rule = Late(claim.rho)
    options = response_options(claim, BASE, (1, 2, 20))
    found = audit(rule, options, claim=claim.delta)
    assert found["steady-large"].beaten
    assert found["optimal"].beaten
    assert not any(one.beaten for one in audit(claim, options).values())


def test_a_filter_that_forgets_failures_is_beaten() -> None:
    """Each box fails with 0.01; charged without it, forty of them reveal everything with probability 0.33."""
    claim = ApproxFilter("1", "0.05", "0.02")
    options = response_options(claim, F(101, 100), (1,), (F(1, 100),))
    forgetful = [Option(option.box, ZCDP(option.charge.rho)) for option in options]  # type: ignore[union-attr]
    assert audit(claim, forgetful, base=F(101, 100))["steady-small"].beaten
    assert not audit(claim, options, base=F(101, 100))["steady-small"].beaten


@dataclass(frozen=True)
class Natural:
    """Composes the realised parameters as if they had been fixed: admits while (log 3, 1/5) holds for them."""

    kind: ClassVar[str] = "natural"
    notion: ClassVar[str] = "odds"

    def start(self) -> tuple[Fraction, ...]:
        return ()

    def admit(self, state: tuple[Fraction, ...], loss: Fraction, count: int = 1) -> Any:
        path = (*state, loss)
        laws = [(F(1), F(1))]
        for odds in path:
            high, low = odds / (1 + odds), 1 / (1 + odds)
            laws = [(p * a, q * b) for p, q in laws for a, b in ((high, low), (low, high))]
        if len(path) <= 4 and sum(max(F(0), p - 3 * q) for p, q in laws) <= F(1, 5):
            return Admitted(tuple(sorted(path)))
        return Refused("over_budget", {}, {}, {}, {})

    def budget(self) -> dict[str, str]:
        return {"parameters": "1"}

    def spent(self, state: tuple[Fraction, ...]) -> dict[str, str]:
        weight = {F(3, 2): D("0.01"), F(9, 4): D("0.0505"), F(27, 8): D("0.2035")}
        return {"parameters": str(sum(weight[odds] for odds in state))}  # another number for every set of parameters


def test_a_natural_filter_is_beaten() -> None:
    """Every path's optimal composition is within (log 3, 1/5), and what backward induction finds is not."""
    odds = (F(3, 2), F(9, 4), F(27, 8))
    options = [Option(randomized_response(each), each) for each in odds]  # type: ignore[arg-type]
    game = Table(Natural(), options, F(3, 2), repr(log(3)), 4)  # type: ignore[arg-type]
    assert play(game, "optimal", claim=D("0.2")).beaten
    assert not any(play(game, name, claim=D("0.2")).beaten for name in ("steady-small", "steady-large"))


# --- odometers


ODOMETERS = [
    FilterOdometer(D("0.1"), D("0.3")),
    MixtureOdometer(D("0.1"), D("0.05")),
    StitchedOdometer(D("0.1"), D("0.03")),
    UnionOdometer((FilterOdometer(D("0.05"), D("0.3")), MixtureOdometer(D("0.05"), D("0.05")))),
]


@pytest.mark.parametrize("odometer", ODOMETERS, ids=lambda o: o.kind)
def test_no_strategy_crosses_an_odometer_more_often_than_stated(odometer: Any) -> None:
    """Against every built-in strategy; some of them cross it visibly often."""
    rule = ZCDPFilter("0.4")
    found = audit(rule, response_options(rule, BASE, MULTIPLES), odometer=odometer)
    crossings = [one.crossing for one in found.values() if one.crossing is not None]
    assert len(crossings) == len(BUILT_IN)
    assert all(one.verdict is Verdict.KEPT for one in crossings)
    assert max(one.ends[0] for one in crossings) > 0


@dataclass(frozen=True)
class Pointwise:
    """Advanced composition read at every time: the envelope of all lines, which no single line proves."""

    crossing_probability: Decimal
    kind: ClassVar[str] = "pointwise"
    semantics: ClassVar[str] = "loss"

    def bound(self, state: Any) -> Decimal:
        time = float(state.intrinsic_time)
        return D(sqrt(2 * time * log(1 / float(self.crossing_probability))) + time / 2)


def test_advanced_composition_read_at_every_time_is_beaten() -> None:
    """The control: 200 boxes of 0.1 and a share of 0.2, crossed with probability above 0.26."""
    base = F(exp(0.1))
    rule = ZCDPFilter("100")
    options = response_options(rule, base, (1,))
    for odometer, beaten in ((Pointwise(D("0.2")), True), (MixtureOdometer(D("0.2"), D("0.5")), False)):
        game = Table(rule, options, base, "1", 200, odometer)
        found = play(game, "steady-small", largest=10_000_000)
        assert found.crossing is not None
        assert (found.crossing.verdict is Verdict.BEATEN) == beaten
        assert (found.crossing.ends[0] > D("0.26")) == beaten

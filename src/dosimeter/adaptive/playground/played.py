"""Playing: a strategy against a filter and an odometer, exactly where that is possible, and what it says.

The same call is the audit of every filter: no strategy may reach more than what is claimed, and schemes that look right
but are not must be beaten by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, final

from dosimeter.adaptive.playground.claims import claimed_delta
from dosimeter.adaptive.playground.law import LARGEST, GameTooLargeError, run_law
from dosimeter.adaptive.playground.sampled import Estimate, run_sampled
from dosimeter.adaptive.playground.strategies import Strategy, built_in
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import Bound, brief_down, brief_up, text

if TYPE_CHECKING:
    from dosimeter.adaptive.playground.table import Seen, Table

RUNS = 20_000


class Verdict(StrEnum):
    """How a claim fared. An adversary that finds nothing proves nothing."""

    KEPT = "kept"
    BEATEN = "beaten"
    UNDECIDED = "undecided"


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """One claim against what the strategy reached.

    Args:
        about: "delta" or "crossing".
        claimed: what is promised at most.
        reached: an interval that contains the truth, or an estimate.
    """

    about: str
    claimed: Decimal
    reached: Bound | Estimate

    @property
    def ends(self) -> tuple[Decimal, Decimal]:
        """The lower and the upper end of what was reached."""
        if isinstance(self.reached, Bound):
            return self.reached.lower, self.reached.upper
        return Decimal(self.reached.low), Decimal(self.reached.high)

    @property
    def verdict(self) -> Verdict:
        """Kept if certainly at most the claim, beaten if certainly above; of an estimate, with its confidence."""
        low, high = self.ends
        return Verdict.KEPT if high <= self.claimed else Verdict.BEATEN if low > self.claimed else Verdict.UNDECIDED

    def in_words(self) -> str:
        """One sentence."""
        name = "delta" if self.about == "delta" else "crossing probability"
        if isinstance(self.reached, Bound):
            found = f"{name} {brief_down(self.reached.lower)} to {brief_up(self.reached.upper)}, exactly"
        else:
            one = self.reached
            found = f"{name} about {one.estimate:.4g} (an estimate: {one.low:.4g} to {one.high:.4g} with "
            found += f"confidence {one.confidence:g}, {one.runs} runs)"
        return f"{found}; claimed at most {brief_up(self.claimed)}: {self.verdict}"

    def to_json(self) -> dict[str, Any]:
        """Numbers as texts; an estimate says that it is one."""
        low, high = self.ends
        data: dict[str, Any] = {"about": self.about, "claimed": text(self.claimed), "verdict": str(self.verdict)}
        if isinstance(self.reached, Bound):
            return data | {"lower": text(low), "upper": text(high)}
        one = self.reached
        ends = {"low": repr(one.low), "high": repr(one.high), "confidence": repr(one.confidence), "runs": one.runs}
        return data | {"estimate": repr(one.estimate)} | ends


@final
@dataclass(frozen=True, slots=True)
class Played:
    """How a game went.

    Args:
        strategy: its name.
        kind: of the filter.
        exact: whether the numbers are intervals that contain the truth (else they are estimates).
        direction: "remove" or "add": the direction of the neighbouring pair that was worse.
        delta: the filter's claim.
        crossing: the odometer's claim, if there is one.
        rounds: boxes opened on average.
        refused: requests refused on average.
        seed: of the draws; None where nothing was drawn.
    """

    strategy: str
    kind: str
    exact: bool
    direction: str
    delta: Claim
    crossing: Claim | None
    rounds: float
    refused: float
    seed: int | None

    @property
    def beaten(self) -> bool:
        """Whether some claim is certainly broken (an estimate: with its confidence)."""
        return any(claim is not None and claim.verdict is Verdict.BEATEN for claim in (self.delta, self.crossing))

    def in_words(self) -> str:
        """A few lines for a person."""
        lines = [f"{self.strategy} against {self.kind}, {self.rounds:.4g} boxes on average: {self.delta.in_words()}"]
        if self.crossing is not None:
            lines.append(f"its odometer: {self.crossing.in_words()}")
        if self.refused:
            lines.append(f"{self.refused:.4g} requests were refused on average")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Everything."""
        return {
            "strategy": self.strategy,
            "filter": self.kind,
            "exact": self.exact,
            "direction": self.direction,
            "delta": self.delta.to_json(),
            "crossing": None if self.crossing is None else self.crossing.to_json(),
            "rounds": repr(self.rounds),
            "refused": repr(self.refused),
            "seed": self.seed,
        }


def play(
    table: Table,
    strategy: Strategy | Callable[[Seen], int | None] | str,
    *,
    runs: int | None = None,
    seed: int = 0,
    claim: Decimal | None = None,
    largest: int = LARGEST,
    watch: Callable[[int], None] | None = None,
) -> Played:
    """Play a strategy against a table's filter (and odometer), in both directions of a neighbouring pair.

    Guarantee: where the result says exact, the true delta and crossing probability of this strategy are in the
    intervals; both are lower bounds of what the best analyst reaches, never upper ones.

    Args:
        table: filter, boxes, level, rounds, odometer.
        strategy: a built-in's name, a `Strategy`, or a function from what is `Seen` to the number of an option (or
            None), which then has the whole history in ``seen.memory``.
        runs: play so often by Monte Carlo; without it the law is followed exactly, and Monte Carlo (20,000 runs) is the
            way out where it is too large.
        seed: of the Monte Carlo draws.
        claim: the delta that is claimed, if it is not the filter's own.
        largest: how many states the exact law may have.
        watch: told how many Monte Carlo runs are done.

    Raises:
        InputError: the strategy chooses what is no option, or has no such name.
        NoGuaranteeError: the filter claims nothing at the table's level.
    """
    claimed = claimed_delta(table.filter, table.level) if claim is None else claim
    sides = [("remove", table)] if table.symmetric else [("remove", table), ("add", table.reversed())]
    found = []
    for direction, side in sides:
        how = _checked(_strategy(strategy, side), len(table.options))
        found.append(_side(side, how, direction, claimed, runs, seed, largest, watch))
    return max(found, key=lambda one: (one.beaten, one.delta.ends))


def _side(
    table: Table,
    how: Strategy,
    direction: str,
    claimed: Decimal,
    runs: int | None,
    seed: int,
    largest: int,
    watch: Callable[[int], None] | None,
) -> Played:
    share = None if table.odometer is None else _share(table.odometer)
    if runs is None:
        try:
            law = run_law(table, how, largest=largest)
        except GameTooLargeError:
            runs = RUNS
        else:
            passed = law.crossing()
            crossing = None if passed is None or share is None else Claim("crossing", share, passed)
            reached = Claim("delta", claimed, law.delta(table.level, table.step))
            kind = table.filter.kind
            return Played(how.name, kind, True, direction, reached, crossing, law.rounds, law.refused, None)
    drawn = run_sampled(table, how, runs=runs, seed=seed, watch=watch)
    crossed = None if drawn.crossing is None or share is None else Claim("crossing", share, drawn.crossing)
    told = Claim("delta", claimed, drawn.delta)
    return Played(how.name, table.filter.kind, False, direction, told, crossed, drawn.rounds, drawn.refused, seed)


def _share(odometer: Any) -> Decimal:
    share = getattr(odometer, "crossing_probability", None)
    if not isinstance(share, Decimal) or getattr(odometer, "semantics", "") != "loss":
        raise NoGuaranteeError("only odometers of the loss itself are played; one for stopped runs is a filter's claim")
    return share


def _strategy(given: Any, table: Table) -> Strategy:
    if isinstance(given, Strategy):
        return given
    if isinstance(given, str):
        return built_in(given, table)
    if callable(given):
        return Strategy.of(given)
    raise InputError(f"a strategy is a name, a Strategy or a function, not a {type(given).__name__}")


def _checked(strategy: Strategy, options: int) -> Strategy:
    """The same strategy, whose choices are looked at."""

    def choose(seen: Seen) -> int | None:
        choice = strategy.choose(seen)
        if choice is not None and not (type(choice) is int and 0 <= choice < options):
            raise InputError(
                f"strategy {strategy.name} chose {choice!r}, which is no option: 0 to {options - 1}, or None"
            )
        return choice

    return Strategy(strategy.name, choose, strategy.memory, strategy.remember)

"""The evolving accountant: append mechanisms one by one, read certified prices at any time.

Each direction of the neighbouring relation is composed by itself, and the larger of the two answers is taken at the
end. An append is cheap; a read costs about a millisecond once its mechanisms were seen, however long the history is.
What is saved is the exact multiset of laws, so accounts load and merge exactly.

These are prices of plans **fixed in advance**. Parameters chosen from earlier answers need a filter.
"""

from __future__ import annotations

import decimal
import json
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Event, require_relation
from dosimeter.exact import ONE, ZERO, Bound, Number, fraction_down, fraction_up, show, to_decimal
from dosimeter.exact import count as whole_number
from dosimeter.neighbours import NeighbouringRelation, require_same
from dosimeter.pld.closer import closer_delta, closer_epsilon, shared
from dosimeter.pld.laws.events import laws_of
from dosimeter.pld.laws.jsonform import law_from_json, law_to_json
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.saddle.side import Side
from dosimeter.pld.saddle.target import read_delta

if TYPE_CHECKING:
    from dosimeter.pld.cross_check import CrossCheck

LARGEST_COUNT = 10**9
LARGEST_EPSILON = Decimal(10**6)
_FORMAT = "dosimeter.pld.accountant/1"


class Accountant:
    """Certified privacy of a composition whose parameters are fixed in advance.

    Guarantee: every answer is an interval that contains the exact value for the composed dominating pairs; its upper
    end holds for the mechanisms. Products of dominating pairs dominate compositions, adaptive in the choice of
    mechanism but not of parameters (Zhu, Dong and Wang 2022, Theorem 10).

    Args:
        relation: the neighbouring relation; events priced under another one are refused.
    """

    def __init__(self, relation: NeighbouringRelation | str = NeighbouringRelation.ADD_REMOVE) -> None:
        self.relation = NeighbouringRelation.read(relation)
        self._counts: dict[Law, int] = {}
        self._pending: dict[Law, int] = {}
        self._sides = {direction: Side(direction) for direction in Direction}
        self._symmetric = True
        self._decided = Direction.REMOVE  # the direction with the larger epsilon, when last asked

    def append(self, what: Event | Law, count: int = 1) -> None:
        """Compose `count` more runs of an event or of a law."""
        times = _read_count(count)
        if isinstance(what, Law):
            self._add(what, times)
            return
        require_relation(what, self.relation)
        for law, inner in laws_of(what):
            self._add(law, inner * times)

    def extend(self, what: Iterable[Event | Law]) -> None:
        """Compose several events or laws, one run each."""
        for one in what:
            self.append(one)

    def _add(self, law: Law, times: int) -> None:
        self._counts[law] = self._counts.get(law, 0) + times
        self._pending[law] = self._pending.get(law, 0) + times

    def _flush(self) -> None:
        """Hand what was appended since the last read to both directions."""
        for law, times in self._pending.items():
            self._symmetric = self._symmetric and law.symmetric
            for side in self._sides.values():
                side.append(law, times)
        self._pending.clear()

    @property
    def counts(self) -> Mapping[Law, int]:
        """What was composed."""
        return dict(self._counts)

    def __len__(self) -> int:
        """How many runs were composed, repetitions included."""
        return sum(self._counts.values())

    def sides(self, direction: Direction | str | None = None) -> list[Side]:
        """The directions that decide an answer: one if the laws are symmetric or a direction is named, else both."""
        self._flush()
        if direction is not None:
            return [self._sides[Direction(direction)]]
        return [self._sides[Direction.REMOVE]] if self._symmetric else list(self._sides.values())

    def epsilon(
        self,
        delta: Number | None = None,
        *,
        log10_delta: Number | None = None,
        direction: Direction | str | None = None,
        alone: bool = False,
    ) -> Bound:
        """The least epsilon >= 0 for which the composition is (epsilon, delta)-DP.

        Args:
            delta: in [1e-300, 1), or 0 where all losses are bounded.
            log10_delta: instead of delta, its decimal logarithm in [-300, 0).
            direction: one direction only (`remove` or `add`); both by default.
            alone: ask the saddle line only, also where it leaves an allocated record a wide interval.

        Raises:
            NoGuaranteeError: no finite epsilon is enough: losses are infinite with at least probability delta, or
                unbounded while delta is 0.
        """
        wanted = read_delta(delta, log10_delta)
        if not wanted.upper:
            return self._largest_loss(direction)
        low, high = 0.0, 0.0
        for side in sorted(self.sides(direction), key=lambda side: side.direction is not self._decided):
            ends = side.epsilon(wanted, low)
            if ends[1] > high:
                self._decided = side.direction
            low, high = max(low, ends[0]), max(high, ends[1])
        question = {"delta": delta, "log10_delta": log10_delta, "direction": direction}
        other = None if alone else closer_epsilon(self._counts, (low, high), question)
        if not math.isfinite(high):
            if other is None:
                raise NoGuaranteeError(f"no finite epsilon could be certified at delta={wanted.upper:.3g}")
            return other
        found = Bound(_round(low, upward=False), _round(high, upward=True))
        return found if other is None else shared(found, other)

    def delta(self, epsilon: Number, *, direction: Direction | str | None = None, alone: bool = False) -> Bound:
        """The least delta for which the composition is (epsilon, delta)-DP; any real epsilon.

        For a negative epsilon the identity H(eps; P, Q) = 1 - e^eps + e^eps H(-eps; Q, P) is used.

        Args:
            epsilon: in [-1e6, 1e6], in nats.
            direction: one direction only (`remove` or `add`); both by default.
            alone: ask the saddle line only, also where it leaves an allocated record a wide interval.
        """
        level = to_decimal(epsilon, "epsilon")
        if abs(level) > LARGEST_EPSILON:
            raise InputError(f"epsilon={show(epsilon)} is outside [-{LARGEST_EPSILON}, {LARGEST_EPSILON}]")
        bounds = [self._one_delta(side, level) for side in self.sides(direction)]
        found = Bound(max(b.lower for b in bounds), max(b.upper for b in bounds))
        if alone or level < 0:
            return found
        return closer_delta(self._counts, found, {"epsilon": level, "direction": direction})

    def profile(self, epsilons: Iterable[Number]) -> tuple[Bound, ...]:
        """`delta` at each epsilon: the privacy profile."""
        return tuple(self.delta(epsilon) for epsilon in epsilons)

    def cross_check(
        self,
        delta: Number | None = None,
        *,
        log10_delta: Number | None = None,
        epsilon: Number | None = None,
        direction: Direction | str | None = None,
        accuracy: Number | None = None,
    ) -> CrossCheck:
        """Ask the second engine the same question: epsilon at a delta, or delta at an `epsilon`.

        Guarantee: returns both certified intervals only if they have a point in common; their intersection contains
        the exact value if either engine is right.

        Args:
            delta: in [1e-300, 1), or 0 where all losses are bounded.
            log10_delta: instead of delta, its decimal logarithm in [-300, 0).
            epsilon: instead of a delta: ask for the delta at this epsilon, 0 or in [1e-300, 1e6].
            direction: one direction only (`remove` or `add`); both by default.
            accuracy: the relative width asked of the second engine (1e-4 for epsilon, 1e-3 for delta).

        Raises:
            EnginesDisagree: they contradict each other; the message names both intervals.
            NoGuaranteeError: the second engine certifies nothing, so there is no check.
        """
        from dosimeter.pld.cross_check import cross_check_delta, cross_check_epsilon

        if epsilon is None:
            fine = "1e-4" if accuracy is None else accuracy
            return cross_check_epsilon(self, delta, log10_delta=log10_delta, direction=direction, accuracy=fine)
        if delta is not None or log10_delta is not None:
            raise InputError("give exactly one of delta, log10_delta and epsilon")
        fine = "1e-3" if accuracy is None else accuracy
        return cross_check_delta(self, epsilon, direction=direction, accuracy=fine)

    def _one_delta(self, side: Side, level: Decimal) -> Bound:
        if level < 0:
            other = self._one_delta(self._sides[side.direction.reverse], -level)
            return reversed_delta(level, other)
        low = float(level)
        while Decimal(low) > level:
            low = math.nextafter(low, 0.0)
        first = side.delta(low)
        if Decimal(low) == level:
            return first
        return Bound(side.delta(math.nextafter(low, math.inf)).lower, first.upper)

    def _largest_loss(self, direction: Direction | str | None) -> Bound:
        tops = []
        for side in self.sides(direction):
            if side.atom.upper or side.variance or side.top is None:
                raise NoGuaranteeError("delta=0 needs bounded losses; some mechanism here has none, so give a delta")
            tops.append(side.top)  # a Fraction that is exact for most laws: ten Laplace epsilons of 0.1 are 1
        low, high = max(t[0] for t in tops), max(t[1] for t in tops)
        return Bound(_decimal(max(low, Fraction(0)), upward=False), _decimal(max(high, Fraction(0)), upward=True))

    def merge(self, other: Accountant) -> None:
        """Compose everything the other accountant holds."""
        require_same(self.relation, other.relation)
        for law, times in other.counts.items():
            self._add(law, times)

    def to_json(self) -> dict[str, Any]:
        """The relation and the exact multiset of laws."""
        laws = [{"law": law_to_json(law), "count": times} for law, times in self._counts.items()]
        return {"format": _FORMAT, "relation": str(self.relation), "laws": laws}

    @classmethod
    def from_json(cls, data: object) -> Accountant:
        """Read an accountant back; raises InputError for anything that `to_json` does not write."""
        if not isinstance(data, dict) or data.get("format") != _FORMAT or not isinstance(data.get("laws"), list):
            raise InputError(f"this is not an accountant in the format {_FORMAT}")
        result = cls(data.get("relation", ""))
        for item in data["laws"]:
            if not isinstance(item, dict) or set(item) != {"law", "count"}:
                raise InputError("each entry of an accountant has a law and a count")
            result._add(law_from_json(item["law"]), _read_count(item["count"]))
        return result

    def dumps(self) -> str:
        """`to_json` as text."""
        return json.dumps(self.to_json(), sort_keys=True)

    @classmethod
    def loads(cls, text: str) -> Accountant:
        """Read what `dumps` wrote."""
        try:
            data = json.loads(text)
        except ValueError:
            raise InputError("this text is not JSON") from None
        return cls.from_json(data)


def reversed_delta(level: Decimal, other: Bound) -> Bound:
    """1 - e^eps + e^eps H for a negative eps, H being the reverse direction's delta at -eps."""
    share = enclose(lambda: ball(level).exp())
    lower = down(1 - share * (1 - ball(other.lower)))
    upper = up(1 - share * (1 - ball(other.upper)))
    return Bound(max(ZERO, lower), min(ONE, max(upper, lower, ZERO)))


def _read_count(value: object) -> int:
    return whole_number(value, "count", largest=LARGEST_COUNT)


def _round(value: float, *, upward: bool) -> Decimal:
    return _decimal(Fraction(value), upward=upward)


def _decimal(value: Fraction, *, upward: bool) -> Decimal:
    """A ratio as a decimal of 17 digits on the stated side."""
    context = decimal.Context(prec=17, rounding=decimal.ROUND_CEILING if upward else decimal.ROUND_FLOOR)
    return context.plus(fraction_up(value) if upward else fraction_down(value))

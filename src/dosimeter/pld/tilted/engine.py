"""Certified bounds of any composition: epsilon at a delta however small, delta at an epsilon, both ends proved.

The answer starts on a coarse lattice and is refined until it is as narrow as asked: halving the step divides the width
by four, until the margins of floating point or the longest transform end it. Whatever ends it, both ends are bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dosimeter.pld.lattice.allocated import lowest
from dosimeter.pld.lattice.cells import Place, cut
from dosimeter.pld.lattice.lower import lower
from dosimeter.pld.lattice.points import PointLaw
from dosimeter.pld.lattice.upper import upper
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.primitive import log_of
from dosimeter.pld.tilted.saddle import Tilt, for_delta, for_epsilon, reach
from dosimeter.pld.tilted.side import Side, compose

LONGEST = 1 << 22
_MOST_CELLS = 1 << 22
_START = 1 << 12
_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Direct:
    """A composition in one direction: Gaussians folded into one, infinite atoms and their complement set aside."""

    counts: dict[Law, int]
    direction: Direction
    log_infinite: float
    log_scale: float

    def sides(self, tilt: Tilt, step: float) -> tuple[Side, Side] | None:
        """The lower and the upper law of the total; None when the lattice would be too fine."""
        points = [(*pair, times) for law, times in self.counts.items() if (pair := self._pair(law, tilt, step))]
        if len(points) < len(self.counts):
            return None
        log_tail = -28.0 - max(tilt.log_excess, 0.0)
        sides = [
            compose(
                [(pair[above], times) for *pair, times in points],
                above=bool(above),
                log_infinite=self.log_infinite + (1e-12 if above else -1e-12),
                log_scale=self.log_scale,
                log_tail=log_tail,
                longest=max(LONGEST // max(len(self.counts) // 4, 1), 1 << 18),
            )
            for above in (0, 1)
        ]
        return None if sides[0] is None or sides[1] is None else (sides[0], sides[1])

    def _pair(self, law: Law, tilt: Tilt, step: float) -> tuple[PointLaw, PointLaw] | None:
        low, high = reach(law, self.direction, tilt)
        if (high - low) / step > _MOST_CELLS / math.sqrt(len(self.counts)):
            return None
        where, below = place(law, self.direction, step, low, high), lowest(law, self.direction)
        cells = cut(law, self.direction, where)
        under = cells if below is law else cut(below, self.direction, where)
        return lower(under, tilt.order), upper(cells, tilt.order)

    def finest(self, tilt: Tilt, accuracy: float) -> float:
        """A step that certainly need not be finer: the spread costs at most about step^2 runs (order + 1) / 4."""
        wanted = accuracy * (tilt.epsilon if math.isfinite(tilt.epsilon) and tilt.epsilon > 0 else tilt.deviation)
        return math.sqrt(wanted / sum(self.counts.values()) / (1 + tilt.order))

    def aligned(self, step: float) -> float:
        """The step, or a slightly finer one of which the losses' range is a multiple: then both ends are points."""
        if len(self.counts) > 1:
            return step
        bottom, top = next(iter(self.counts)).support(self.direction)
        return (top - bottom) / math.ceil((top - bottom) / step) if math.isfinite(top - bottom) else step

    def exact_step(self) -> float | None:
        """The step of the lattice that all losses lie on, where there is one: then nothing is spread at all."""
        steps = set()
        for law in self.counts:
            own = law.lattice(self.direction)
            steps.add(own.step if own else None)
        only = steps.pop() if len(steps) == 1 else None
        return None if only is None else float(only)


def fold(counts: Mapping[Law, int], direction: Direction) -> Direct:
    """Fold Gaussian losses into one, and set infinite losses aside."""
    folded: dict[Law, int] = {}
    square, survive = Fraction(0), 0.0
    log_scale = 0.0
    for law, times in counts.items():
        infinite = law.infinite(direction)
        if infinite:
            survive += times * log_of(1 - infinite) if infinite < 1 else -math.inf
        if law.gaussian is None:
            folded[law] = folded.get(law, 0) + times
        else:
            square += times * law.gaussian
            log_scale += times * log_of(1 - infinite) if infinite else 0.0
    if square:
        whole = GaussianLaw(square)
        folded[whole] = folded.get(whole, 0) + 1
    log_infinite = math.log(-math.expm1(survive)) if survive else -math.inf
    return Direct(folded, direction, log_infinite, log_scale)


def place(law: Law, direction: Direction, step: float, low: float, high: float) -> Place:
    """Put a law on the lattice so that the end of its losses, where there is one, is a lattice point."""
    bottom, top = law.support(direction)
    own = law.lattice(direction)
    if own is not None:
        offset = float(own.offset)
    elif (ends := law.highest(direction)) is not None:
        offset = float(ends[1])
    elif math.isfinite(top) or math.isfinite(bottom):
        offset = top if math.isfinite(top) else bottom
    else:
        offset = 0.0
    return Place(step, offset, math.floor((low - offset) / step) - 1, math.ceil((high - offset) / step) + 1)


@dataclass(slots=True)
class Search:
    """What is known so far about one direction, and the next lattice to look on."""

    direct: Direct
    question: Question
    low: float = -math.inf
    high: float = math.inf
    step: float | None = None
    exact: bool = True  # whether the laws' own lattice, where they have one, may still do
    held: float = math.inf  # the finest step that could be held so far
    coarsened: int = 0
    done: bool = False

    def advance(self) -> None:
        """Look on one more lattice, finer by as much as the width calls for."""
        question = self.question
        tilt = question.tilt(self.direct, self.high)
        own = self.direct.exact_step() if self.exact else None
        wanted = self.step or max(24 * tilt.deviation / _START, self.direct.finest(tilt, question.accuracy))
        step = own or self.direct.aligned(wanted)
        sides = self.direct.sides(tilt, step)
        if sides is None and own is not None:
            self.exact = False
        elif sides is None:
            self.coarsened += 1
            self.step = 4 * step
            self.done = self.coarsened > _ROUNDS or self.step > self.held / 2
        else:
            high = question.read(sides[1], tilt.epsilon)
            low = question.read(sides[0], high if math.isfinite(high) else tilt.epsilon)
            narrower = high - low < 0.8 * (self.high - self.low)
            self.low, self.high = max(self.low, low), min(self.high, high)
            finer = question.finer(self.low, self.high)
            self.done = own is not None or finer >= 1 or not narrower
            self.held = min(self.held, step)
            self.step = step * min(max(0.8 * finer, 1 / 64), 1 / 2)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of both sides, and how narrow the answer should be.

    `finer` says by which factor the step should shrink for that; 1 and more when the answer is narrow enough.
    """

    tilt: Callable[[Direct, float], Tilt]
    read: Callable[[Side, float], float]
    finer: Callable[[float, float], float]
    accuracy: float


def epsilon_question(log_delta: tuple[float, float], accuracy: float) -> Question:
    """The least epsilon for a delta whose logarithm is enclosed; `accuracy` is relative."""
    return Question(
        lambda direct, high: for_delta(
            direct.counts, direct.direction, log_delta[0] - direct.log_scale, accuracy, high
        ),
        lambda side, start: side.epsilon(log_delta[0] if side.above else log_delta[1], start),
        lambda low, high: math.sqrt(accuracy * high / (high - low)) if high > low else 1.0,
        accuracy,
    )


def delta_question(epsilon: tuple[float, float], accuracy: float) -> Question:
    """log delta at an epsilon that is enclosed; `accuracy` is relative to delta."""
    return Question(
        lambda direct, _: for_epsilon(direct.counts, direct.direction, epsilon[0], accuracy),
        lambda side, _: side.log_delta(epsilon[0] if side.above else epsilon[1]),
        lambda low, high: math.sqrt(accuracy / (high - low)) if high > low else 1.0,
        accuracy,
    )


def answer(counts: Mapping[Law, int], directions: Sequence[Direction], question: Question) -> tuple[float, float]:
    """Refine whichever direction has the larger upper end, until that one is narrow enough."""
    searches = [Search(fold(counts, direction), question) for direction in directions]
    for _ in range(2 * _ROUNDS * len(searches)):
        widest = max(searches, key=lambda search: search.high)
        if widest.done:
            break
        widest.advance()
    return max(search.low for search in searches), max(search.high for search in searches)

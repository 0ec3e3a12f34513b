"""One direction of a composition that grows: totals on a few lines, and the two questions asked of them.

A side remembers what was appended. Each line it uses keeps a total and how many appends it has seen; a read brings the
total up to date (a vector addition for each new append) and bounds the answer. Only when the bounds are too far apart
is a line abandoned for a better one. Answers depend on the multiset of laws only, up to the width of their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import ONE, ZERO, Bound, add_up, fraction_up, subtract_down, subtract_up
from dosimeter.pld.allocation.frame import frames
from dosimeter.pld.allocation.line import is_allocated
from dosimeter.pld.laws.law import Direction, Lattice, Law
from dosimeter.pld.saddle import plan
from dosimeter.pld.saddle.bystander import Bystander
from dosimeter.pld.saddle.closed import Closed, closed
from dosimeter.pld.saddle.gaussian import gaussian_epsilon
from dosimeter.pld.saddle.inversion import Inversion, Reading, chernoff, prepare, read
from dosimeter.pld.saddle.masses import add_atom, atom_of
from dosimeter.pld.saddle.periodic import PeriodicInversion, common
from dosimeter.pld.saddle.periodic import prepare as prepare_period
from dosimeter.pld.saddle.rare import by_one_jump, by_one_run, loudest
from dosimeter.pld.saddle.target import Target, exp_bound, sum_bounds, target
from dosimeter.pld.saddle.thin import thinned
from dosimeter.pld.saddle.total import Total, compose, start

TOLERANCE = 5e-7  # relative gap that sends a side to look for a better line
_WIDE = 1e-3  # relative gap that sends a side to look at simpler compositions around it
_HARDLY = Decimal("1e-7")  # of delta, that the rarest samples may add before anything else is tried
_LOOSE = 1e-5  # relative gap from which bounds without a line are tried
_MOST_LINES = 6
_LONG = 400  # nodes from which a line is reconsidered when the composition has doubled
_MUCH_TOO_LONG = 4_000  # nodes from which it is reconsidered sooner
_SAVED = 0.8  # of the nodes, above which a line stays as it is
_VERY_LONG = 50_000  # nodes from which a line is not tried again for the last digits
_NEAR = 40.0  # tilts below Chernoff's epsilon where a line may still be read


@dataclass(slots=True)
class _Track:
    """One line in use: its total, and the inversions prepared from it."""

    plan: plan.Plan
    total: Total
    seen: int
    runs: int  # how many runs were composed when the line was chosen
    fresh: bool = True  # made for the question now being asked
    plain: Inversion | PeriodicInversion | None = None
    twice: Inversion | None = None

    def ready(self) -> Inversion | PeriodicInversion:
        """The inversion of a track that was read."""
        if self.plain is None:
            raise RuntimeError("a line is read before it is asked for its inversion")
        return self.plain


class Side:
    """One direction of a growing composition."""

    def __init__(self, direction: Direction) -> None:
        self.direction = direction
        self.variance = Fraction(0)
        self.top: tuple[Fraction, Fraction] | None = (Fraction(0), Fraction(0))  # encloses the largest finite loss
        self.counts: dict[Law, int] = {}
        self._journal: list[tuple[Law, int]] = []
        self._lost = Bound(ZERO, ZERO)
        self._lattice: Lattice | None = None
        self._tracks: list[_Track] = []
        self._bystander = Bystander(direction)
        self._enough = TOLERANCE  # what was reached when a delta like `_asked` was asked for last
        self._asked = 0.0
        self._runs = 0
        self._alone = True  # not made to bound another side

    def append(self, law: Law, count: int) -> None:
        """Compose `count` more runs of a law."""
        self._lost = add_atom(self._lost, law, self.direction, count)
        ends = law.highest(self.direction)
        self.top = (
            None if ends is None or self.top is None else (self.top[0] + count * ends[0], self.top[1] + count * ends[1])
        )
        square = law.gaussian
        if square is not None:
            self.variance += count * square
            self._forget(None)
            return
        own = law.lattice(self.direction)
        self._lattice = (
            None if own is None or (self.counts and self._lattice is None) else common(self._lattice, own, count)
        )
        self._forget(None if self._lattice is None or self.variance else self._lattice.step)
        self.counts[law] = self.counts.get(law, 0) + count
        self._journal.append((law, count))
        self._runs += count

    def _forget(self, step: Fraction | None) -> None:
        """Drop what was prepared, and lines that are periods of another lattice than the losses have now."""
        self._tracks = [t for t in self._tracks if t.plan.lattice_step in (None, step)]
        for track in self._tracks:
            track.plain = track.twice = None

    @property
    def _mix(self) -> plan.Mix:
        step = None if self._lattice is None or self.variance else self._lattice.step
        return plan.Mix(self.counts, self.direction, float(self.variance), step)

    @property
    def atom(self) -> Bound:
        """The infinite atom of the composition."""
        return atom_of(self._lost)

    def epsilon(self, delta: Bound, known: float = 0.0) -> tuple[float, float]:
        """Floats around the least epsilon >= 0 with this delta.

        An answer that is certainly not above `known` may be left at that: (0, known).
        """
        goal = target(delta, self.atom)
        quick = gaussian_epsilon(self.variance, self._mass, goal) if self.variance and not self.counts else None
        if quick is not None:
            return quick
        form = self._closed()
        if form is not None:
            return form.epsilon(goal)
        if not self.counts:
            return 0.0, 0.0
        if known > 0 and self._is_below(goal, known):
            return 0.0, known
        if abs(goal.low - self._asked) > 1:
            self._enough, self._asked = TOLERANCE, goal.low
        low, high = 0.0, math.inf if self.top is None else _up(self.top[1])
        thin = self._thinned(delta.lower)
        if thin is not None and (not thin[0].counts or thin[1] <= delta.lower * _HARDLY):
            low, high = self._without(thin, delta, (low, high))
            if high - low <= TOLERANCE * high:
                return low, high
        for track in self._candidates(goal):
            before = high - low
            found = self._search(track, goal)
            low, high = max(low, found[0]), min(high, found[1])
            if math.isfinite(high) and high - low <= self._enough * high:
                self._tracks = [*(t for t in self._tracks if t is not track), track]
                return low, high
            far = track.total.line.count > _VERY_LONG and (high - low <= 1e-4 * high or track.plan.smoothing > 0)
            if track.fresh and (far or high - low > before / 2):
                break
        narrow = math.isfinite(high) and high - low <= _WIDE * high
        for above, side in () if narrow else self._frames():
            ends = side.epsilon(delta)
            low, high = (low, min(high, ends[1])) if above else (max(low, ends[0]), high)
        if self._alone and (not math.isfinite(high) or high - low > _LOOSE * high):
            low, high = (low, high) if thin is None else self._without(thin, delta, (low, high))
            low, high = self._wider(goal, delta, (low, high))
        self._enough = max(TOLERANCE, 1.5 * (high - low) / high) if 0 < high < math.inf else TOLERANCE
        return low, high

    def _wider(self, goal: Target, delta: Bound, ends: tuple[float, float]) -> tuple[float, float]:
        """Certified ends where no line gave narrow ones: by one moment, and by single runs that lose much."""
        low, high = ends[0], min(ends[1], self._by_one_moment(goal))
        law = loudest(self.counts, self.direction, delta)
        if law is not None:
            other = self._like({one: times for one, times in self.counts.items() if one != law})
            found = by_one_run(law, self.counts[law], self.direction, delta, other)
            low, high = max(low, found[0]), min(high, found[1])
        return low, min(high, by_one_jump(self._mix, self.variance, self.atom, delta))

    def _without(self, thin: tuple[Side, Decimal], delta: Bound, ends: tuple[float, float]) -> tuple[float, float]:
        """Certified ends from what is left without the rarest samples."""
        other, share = thin
        low, high = other.epsilon(delta)[0], other.epsilon(Bound(subtract_down(delta.lower, share), delta.upper))[1]
        return max(ends[0], low), min(ends[1], high)

    def _by_one_moment(self, goal: Target) -> float:
        """An epsilon that is certainly enough, by Chernoff's bound at the order that is best for it."""
        line = plan.for_moment(self._mix, goal.low)
        try:
            total = compose(line, self.direction, self.counts)
        except NoGuaranteeError:
            return math.inf
        share = _share(total, goal)
        if share > 0.5:
            return math.inf
        return chernoff(prepare(total, self.variance), line.order, goal.low + math.log1p(-share))

    def _thinned(self, delta: Decimal) -> tuple[Side, Decimal] | None:
        """The composition without its rarest samples, and how much those may add to delta; None if none are so rare."""
        found = thinned(self.counts, self.direction, Fraction(delta))
        return None if found is None else (self._like(found[0]), fraction_up(found[1]))

    def _like(self, counts: Mapping[Law, int]) -> Side:
        """Other laws next to the same Gaussian losses, with the same infinite atom."""
        other = Side(self.direction)
        other._alone = False
        for law, count in counts.items():
            other.append(law, count)
        other.variance += self.variance
        other._lost = self._lost
        return other

    def _is_below(self, goal: Target, known: float) -> bool:
        """Whether `known` is certainly enough: by one moment, or by the line that was read last."""
        aside, variance = self._bystander, float(self.variance) * (1 + 1e-15)
        if aside.is_below(self._journal, variance, goal.low, known):
            return True
        if not aside.is_settled(self._runs, goal.low):
            aside.choose(plan.order_for_delta(self._mix, goal.low), self._runs, goal.low)
            if aside.is_below(self._journal, variance, goal.low, known):
                return True
        return any(self._over(track, goal, self._read(track, known)) <= 1 for track in self._tracks[-1:])

    def delta(self, epsilon: float) -> Bound:
        """Bounds of delta at epsilon >= 0."""
        atom = self.atom
        if self.top is not None and Fraction(epsilon) >= self.top[1]:
            return atom
        form = self._closed()
        if form is not None:
            return sum_bounds(atom, form.delta(Decimal(epsilon)))
        best = Bound(ZERO, ONE)
        for track in self._readers(epsilon):
            found = self._read(track, epsilon)
            bound = exp_bound(found.log_scale, found.lower, found.upper, Decimal(track.total.cut))
            lower, upper = max(best.lower, bound.lower), min(best.upper, bound.upper)
            best = Bound(min(lower, upper), upper)
            if upper - lower <= Decimal(TOLERANCE) * upper:
                break
        result = sum_bounds(atom, best)
        for above, side in self._frames() if result.upper - result.lower > Decimal(_WIDE) * result.upper else ():
            other = side.delta(epsilon)
            lower, upper = (ZERO, other.upper) if above else (other.lower, ONE)
            upper = min(upper, result.upper)
            result = Bound(min(max(lower, result.lower), upper), upper)
        thin = (
            self._thinned(ONE) if self._alone and result.upper - result.lower > Decimal(_WIDE) * result.upper else None
        )
        if thin is not None:
            base = thin[0].delta(epsilon)
            upper = min(result.upper, add_up(base.upper, thin[1]))
            result = Bound(min(max(result.lower, base.lower), upper), upper)
        return result

    def _frames(self) -> Iterator[tuple[bool, Side]]:
        """Compositions certainly below (False) and above (True) this one, if it has allocated records."""
        if any(is_allocated(law) for law in self.counts):
            for above, counts in frames(self.counts):
                yield above, self._like(counts)

    @property
    def _mass(self) -> Bound:
        """The mass of finite losses."""
        atom = self.atom
        return Bound(max(ZERO, subtract_down(ONE, atom.upper)), subtract_up(ONE, atom.lower))

    def _closed(self) -> Closed | None:
        return closed(self.counts, self.variance, self.direction, self._mass)

    def _candidates(self, goal: Target) -> Iterator[_Track]:
        for track in reversed(self._tracks[-2:]):
            track.fresh = False
            count = track.total.line.count
            if count < _LONG or self._runs < track.runs * (1.2 if count > _MUCH_TOO_LONG else 2):
                yield track
            else:
                yield from self._shorter(track, goal)
        for margin in (3.0, 10.0, 30.0):
            yield from self._track(lambda m=margin: plan.for_delta(self._mix, goal.low, m))  # type: ignore[misc]

    def _shorter(self, track: _Track, goal: Target) -> Iterator[_Track]:
        """A line that is longer than the composition needs by now, cut to that; itself if little would be saved."""
        made = plan.shorter(self._mix, track.plan, goal.low)
        if made.line.count > track.total.line.count * _SAVED:
            track.runs = self._runs
            yield track
        else:
            for other in self._track(lambda: made):
                other.fresh = False
                yield other

    def _readers(self, epsilon: float) -> Iterator[_Track]:
        yield from list(reversed(self._tracks))
        yield from self._track(lambda: plan.for_epsilon(self._mix, epsilon))

    def _track(self, choose: Callable[[], plan.Plan]) -> Iterator[_Track]:
        """A new line, unless it turns out to be out of reach: then an answer is as wide as the other lines leave it."""
        try:
            made = choose()
            total = start(made.line, self.direction)
            for law, count in self.counts.items():
                total = total.add(law, count)
        except NoGuaranteeError:
            return
        track = _Track(made, total, len(self._journal), self._runs)
        self._tracks = [*self._tracks[1 - _MOST_LINES :], track]
        yield track

    def _read(self, track: _Track, epsilon: float) -> Reading:
        for law, count in self._journal[track.seen :]:
            track.total = track.total.add(law, count)
            track.plain = None
        track.seen = len(self._journal)
        smoothing = track.plan.smoothing
        if track.plain is None and track.plan.lattice_step is not None and self._lattice is not None:
            track.plain = prepare_period(track.total, self._lattice)
        elif track.plain is None:
            extra = Fraction(smoothing)
            track.plain = prepare(track.total, self.variance + extra)
            track.twice = prepare(track.total, self.variance + 2 * extra) if smoothing else None
        mass = math.exp(-float(self._lost.upper)) * (1 - 1e-12) - track.total.cut
        return read(track.plain, track.twice, smoothing, max(mass, 0.0), epsilon)

    def _over(self, track: _Track, goal: Target, reading: Reading) -> float:
        """An upper bound of delta over the target; infinite where the line leaves out more than is asked about."""
        share, gap = _share(track.total, goal), reading.log_scale - goal.low
        if share > 0.5:
            return math.inf
        return reading.upper * math.exp(min(gap, 700.0)) * (1 + 1e-15 * (2 + abs(gap))) + share

    def _search(self, track: _Track, goal: Target) -> tuple[float, float]:
        """Certified ends around the root of delta(eps) = target on one line; (0, inf) at worst."""
        first = self._read(track, 0.0)
        share = _share(track.total, goal)
        if share > 0.5:  # chosen for a much larger delta: what the line leaves out is more than is asked about
            return 0.0, math.inf

        def over(reading: Reading) -> float:
            return self._over(track, goal, reading)

        def under(reading: Reading) -> float:
            gap = reading.log_scale - goal.high
            return reading.lower * math.exp(min(gap, 700.0)) * (1 - 1e-15 * (2 + abs(gap)))

        if over(first) <= 1:
            return 0.0, 0.0
        c = track.total.line.order
        cap = chernoff(track.ready(), c, goal.low + math.log1p(-share))
        cap = cap if self.top is None else min(cap, _up(self.top[1]))
        if track.plan.smoothing > 1:  # such a line has no lower ends, and its upper ones are hardly better than that
            return 0.0, cap
        low, high, reading = max(cap - _NEAR / c, 0.0), cap, first
        at = max(cap - 2 / c, (low + high) / 2)
        for _ in range(60):
            reading = self._read(track, at)
            value = math.log(max(over(reading) + under(reading), 1e-300) / 2)
            low, high = (at, high) if value > 0 else (low, at)
            following = at + value / -min(reading.slope, -c / 64)
            if abs(value) > 1:  # far away, where rounding may have decided the slope
                following = max(low, min(following, high)) if reading.lower > 0 else (low + high) / 2
            elif abs(following - at) <= 1e-11 * at:
                break
            at = following if low < following < high else (low + high) / 2
            if high - low <= 1e-14 * high:
                break
        per_unit = 1.01 / -min(reading.slope, -c / 64)
        tail, head = max(over(reading) - 1, 0.0), max(1 - under(reading), 0.0)
        down, up = (max(x * per_unit if x < 0.01 else 0.05 / c, 1e-15 * at) for x in (head, tail))
        return (
            self._widen(track, (at, -down, 0.0), lambda r: under(r) >= 1),
            self._widen(track, (at, up, cap), lambda r: over(r) <= 1),
        )

    def _widen(self, track: _Track, path: tuple[float, float, float], good: Callable[[Reading], bool]) -> float:
        """The first point at a growing distance that is certified; the limit is known to be good."""
        at, step, limit = path
        for _ in range(60):
            candidate = at + step
            if (candidate >= limit) if step > 0 else (candidate <= limit):
                return limit
            if good(self._read(track, candidate)):
                return candidate
            step *= 1.4
        return limit


def _share(total: Total, goal: Target) -> float:
    """What a line leaves out, over the target; at most one."""
    return math.exp(min(math.log(total.cut + 1e-320) - goal.low, 0.0))


def _up(value: Fraction) -> float:
    result = float(value)
    return result if Fraction(result) >= value else math.nextafter(result, math.inf)

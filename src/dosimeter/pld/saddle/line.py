"""A vertical line c + it with equally spaced nodes, and everything one law contributes on it.

The contribution of a law depends on the law, the direction and the line only, so it is cached: adding a mechanism that
was seen before costs one vector addition.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np

from dosimeter.pld.allocation.law import AllocatedGaussianLaw
from dosimeter.pld.allocation.line import is_allocated, on_heights
from dosimeter.pld.allocation.line import log_end as allocated_end
from dosimeter.pld.allocation.line import log_moment_above as allocated_above
from dosimeter.pld.laws.law import Complexes, Direction, Law, Part, Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.laws.primitive import log_of
from dosimeter.pld.laws.spread import Piece, Spread
from dosimeter.pld.saddle.characteristic import Characteristic, Tilted, characteristic, tilt
from dosimeter.pld.saddle.contour import contour, is_long, values
from dosimeter.pld.saddle.decay import Layers, layers
from dosimeter.pld.saddle.quadrature import join, part_points
from dosimeter.pld.saddle.shift import Shifted, shifted
from dosimeter.pld.saddle.theta import is_smooth, log_moment, smooth


@dataclass(frozen=True, slots=True)
class Line:
    """Nodes c + ijh for 0 <= j < count, and a real order beyond c that bounds what lies to the right.

    `cut` is the P-mass that one run of a law may leave out (it is charged to delta). `few` says that so few runs are
    composed that a second certificate of decay is worth its time.
    """

    order: float
    beyond: float
    step: float
    count: int
    cut: float
    few: bool = True

    @property
    def period(self) -> float:
        """The trapezoid rule cannot tell losses apart that differ by a multiple of this."""
        return 2 * np.pi / self.step

    @property
    def end(self) -> float:
        """The first height that is left out."""
        return self.step * self.count


@dataclass(frozen=True, slots=True)
class OnLine:
    """One law on one line: its characteristic function there, and certified bounds of three more numbers."""

    values: Characteristic
    log_beyond: float  # at least log E_P[e^(beyond L)]
    log_end: float  # at least log |phi(s)| for every |s| >= end
    cut: float  # P-mass left out


_KEPT: OrderedDict[tuple[Law, Direction, Line], OnLine] = OrderedDict()
_LONGEST: dict[tuple[Law, Direction, Line], Line] = {}  # for a line without its count: the longest kept
_LOCK = threading.Lock()
_MOST_NODES = 8_000_000  # nodes kept, about 200 MB
_MOST_KEPT = 8_192


def on_line(law: Law, direction: Direction, line: Line) -> OnLine:
    """One law on one line, from the cache if it was seen; the longest unused are forgotten first.

    Of a line that starts like a longer one only the end is new.
    """
    key = (law, direction, line)
    alike = (law, direction, replace(line, count=0, few=True))
    with _LOCK:
        found = _KEPT.get(key)
        if found is not None:
            _KEPT.move_to_end(key)
            return found
        longest = _LONGEST.get(alike)
        longer = _KEPT.get((law, direction, longest)) if longest is not None and longest.count > line.count else None
    found = evaluate(law, direction, line) if longer is None else shortened(law, direction, line, longer)
    with _LOCK:
        _KEPT[key] = found
        if longer is None:
            _LONGEST[alike] = line
        nodes = sum(kept.count for _, _, kept in _KEPT) if line.count > 1_000 else 0
        while nodes > _MOST_NODES or len(_KEPT) > _MOST_KEPT:
            (other, where, oldest), _ = _KEPT.popitem(last=False)
            start = (other, where, replace(oldest, count=0, few=True))
            if _LONGEST.get(start) == oldest:
                del _LONGEST[start]
            nodes -= oldest.count
    return found


def shortened(law: Law, direction: Direction, line: Line, longer: OnLine) -> OnLine:
    """The first nodes of a law on a longer line, and what may be left out beyond them."""
    own = longer.values
    values = replace(own, log_phi=own.log_phi[: line.count].copy(), eta=own.eta[: line.count].copy())
    if is_allocated(law):
        ends = allocated_end(law, line.end)
    else:
        ends = 0.0 if is_smooth(law) else _log_end(law, direction, line, own.log_moment, own.log_error)
    return replace(longer, values=values, log_end=ends)


def evaluate(law: Law, direction: Direction, line: Line) -> OnLine:
    """One law on one line.

    Raises:
        NoGuaranteeError: it would take too many points.
    """
    if is_allocated(law):
        return _allocated(law, direction, line)
    if is_smooth(law):
        heights = line.step * np.arange(line.count, dtype=float)
        log_beyond = sum(log_moment(law, line.beyond))
        return OnLine(smooth(law, line.order, heights), log_beyond, 0.0, 0.0)
    parts = law.parts(direction, line.cut)
    cut = line.cut / len(parts)
    moments = [(0.0, 0.0), (line.order, line.end), (line.beyond, 0.0)]
    still = [(order, 0.0) for order, _ in moments]
    short, long = zip(*(_split(part, line.end, cut) for part in parts), strict=True)
    points = join([part_points(part, moments, cut) for part in short])
    rest = [part_points(part, still, cut) for part in long if part.spread.pieces]
    everything = join([points, *rest])
    log_mass = log_of(1 - law.infinite(direction))
    tilted = tilt(everything, line.order, log_mass)
    far = tilt(everything, line.beyond, log_mass, 2)
    heights = line.step * np.arange(line.count, dtype=float)
    more = None
    if rest:
        waves = [_wave(part, piece, line, cut, tilted) for part in long for piece in part.spread.pieces]
        more = (np.sum([w[0] for w in waves], axis=0), np.sum([w[1] for w in waves], axis=0))
    return OnLine(
        characteristic(tilted, heights, len(points.losses), more),
        far.log_moment + far.log_error + 1e-300,
        _log_end(law, direction, line, tilted.log_moment, tilted.log_error),
        everything.cut,
    )


def _allocated(law: AllocatedGaussianLaw, direction: Direction, line: Line) -> OnLine:
    return OnLine(
        on_heights(law, direction, line.order, line.step, line.count),
        allocated_above(law, direction, line.beyond),
        allocated_end(law, line.end),
        0.0,
    )


def _split(part: Part, reach: float, cut: float) -> tuple[Part, Part]:
    """The part with what a rule on the real axis can follow (and all points), and the pieces it cannot."""
    long = tuple(piece for piece in part.spread.pieces if is_long(part, piece, reach, cut))
    short = tuple(piece for piece in part.spread.pieces if piece not in long)
    return (
        replace(part, spread=replace(part.spread, pieces=short)),
        replace(part, spread=Spread(np.empty(0), np.empty(0), long)),
    )


def _wave(part: Part, piece: Piece, line: Line, cut: float, tilted: Tilted) -> tuple[Complexes, Reals]:
    """The share of phi of one piece; a loss that falls with the base is the mirror image of one that rises."""
    frame = (tilted.log_moment, tilted.centre * part.sign)
    share, error = values(contour(part, piece, line.order, line.end, cut, frame), line.step, line.count)
    return (share if part.sign > 0 else share.conj()), error


@functools.lru_cache(maxsize=4096)
def tower(law: Law, direction: Direction, order: float, cut: float) -> Layers:
    """The first certificate of decay of a law at a tilt."""
    return layers(law.parts(direction, cut), order, cut)


@functools.lru_cache(maxsize=4096)
def upper_sums(law: Law, direction: Direction, order: float, cut: float) -> Shifted | None:
    """The second one, where there is one."""
    return shifted(law.parts(direction, cut), order, cut)


def _log_end(law: Law, direction: Direction, line: Line, whole: float, error: float) -> float:
    """At least log |phi(s)| for every |s| >= end; `whole` is the law's log moment within `error`."""
    key = (law, direction, line.order, line.cut)
    bound = float(tower(*key).log_bound(np.array([line.end]), whole + error)[0])
    moved = upper_sums(*key) if line.few else None
    if moved is not None:
        bound = min(bound, moved.log_bound(line.end) - whole + error + 4 * UNIT * abs(whole))
    return bound

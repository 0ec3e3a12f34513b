"""The Laplace transform of one log-normal factor and its derivatives, at points spaced equally on a logarithmic ray.

For X = e^(v + i theta), 0 <= theta < pi/2, and one term y = Y/t of the mean S/t, this gives

    a_0 - 1 = E[e^(-Xy) - 1],        t^j a_j = E[Y^j e^(-Xy)] / j!,  j = 0 .. n.

**Integral.** With Y = e^(r u - r^2/2), u standard normal, r the root of the log-variance, the integral over u runs on
Im u = -eta, which turns z = X y by -r eta towards the real axis; the weights then have sizes phi(u) e^(eta^2/2). Since
z depends on v + r u only, a table of e^(-z) - 1 along one ray serves every v and every node: its windows are multiplied
by the weights of all j at once. The factor Y^j only moves the weights' centre to u = j r.

**Errors.** By Poisson summation the trapezoid rule with step h is off by at most e^(d^2/2) / (e^(2 pi b/h) - 1) for
either side: b is how far the line may move while |arg z| <= pi/2, so that |e^(-z)| <= 1, and Im u = d is where it ends.
For a_0 - 1 this is relative to |X| / t, because |e^(-z) - 1| <= |z|. Nodes far from a weight's centre are cut. Rounding
is summed up with the sizes of the terms; r itself is known to two units in the last place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dosimeter.pld.laws.law import Complexes, Reals
from dosimeter.pld.laws.parts import UNIT
from dosimeter.pld.saddle.blocks import ELEMENTARY

_MOST_TURN = 1.5  # e^(eta^2/2) = 3.1: how much larger than the integral its terms may be
_BLOCK = 16
_ROWS = 4096


@dataclass(frozen=True, slots=True)
class Ray:
    """The points X = e^(step (first + i) + i angle), 0 <= i < count, and the rule that integrates over u there.

    The rule has the nodes u = h k on the line Im u = -turn. A table entry is e^(-z) - 1 with log |z| a multiple of
    `base` from a common start; the next point is `stride` entries on, the next node `hop` entries.
    """

    root: float
    steps: int
    order: int
    angle: float
    first: int
    count: int
    base: float
    stride: int
    hop: int
    turn: float
    exponent: float

    @property
    def step(self) -> float:
        """Between the points, in log |X|."""
        return self.base * self.stride

    @property
    def h(self) -> float:
        """Between the nodes."""
        return self.base * self.hop / self.root

    @property
    def nodes(self) -> int:
        """How many nodes the rule has."""
        return self.last_node - self.first_node + 1

    @property
    def first_node(self) -> int:
        """The rule's first node."""
        return -math.ceil(self.far / self.h)

    @property
    def last_node(self) -> int:
        """The rule's last node: as far beyond the last weight's centre."""
        return math.ceil((self.far + self.root * (self.order + 1)) / self.h)

    @property
    def far(self) -> float:
        """Beyond this distance from a weight's centre nodes are cut."""
        return math.sqrt(2 * self.exponent) + 0.1

    @property
    def entries(self) -> int:
        """How long the table is."""
        return (self.count - 1) * self.stride + (self.nodes - 1) * self.hop + 1

    def logs(self) -> Reals:
        """v = log |X| of the points."""
        result: Reals = self.step * np.arange(self.first, self.first + self.count, dtype=float)
        return result


@dataclass(frozen=True, slots=True)
class Transform:
    """a_0 - 1, and t^j a_j for j = 0 .. n along the first axis, with their absolute errors."""

    change: Complexes
    change_error: Reals
    scaled: Complexes
    scaled_error: Reals


@dataclass(frozen=True, slots=True)
class Table:
    """A function at the table's points; its size, or a bound of it; its absolute error."""

    values: Complexes
    sizes: Reals
    errors: Reals


def ray(
    root: float, steps: int, order: int, angle: float, ends: tuple[float, float], widest: float, exponent: float
) -> Ray:
    """Points with log |X| between the ends, at most `widest` apart, and a rule for a_0 .. a_n, right to e^-exponent."""
    turn = min(_MOST_TURN, angle / root)
    above, below = turn + (math.pi / 2 - angle) / root, (math.pi / 2 + angle) / root - turn
    h = 0.5
    while _side(above, -turn, h) + _side(below, turn, h) > math.exp(-exponent):
        h *= 0.97
    hop = max(math.ceil(root * h / widest), 1)
    base = root * h / hop * (1 - 1e-9)
    stride = max(int(widest / base), 1)
    step = base * stride
    first, last = math.floor(ends[0] / step), math.ceil(ends[1] / step)
    return Ray(root, steps, order, angle, first, last - first + 1, base, stride, hop, turn, exponent)


def _side(room: float, away: float, h: float) -> float:
    """e^(d^2/2) / (e^(2 pi b/h) - 1) at the best b <= room; the line ends at a distance d = b + away from the axis."""
    b = min(room, max(2 * math.pi / h - away, 0.0))
    if b <= 0:
        return math.inf
    exponent = 2 * math.pi * b / h
    return math.exp((b + away) ** 2 / 2 - exponent) / -math.expm1(-exponent)


def transform(at: Ray) -> Transform:
    """The transform and its derivatives on a ray."""
    far, nodes = at.far, np.arange(at.first_node, at.last_node + 1, dtype=float)
    weights, sizes, lost = _weights(at, nodes)
    lost += sizes * (2 * UNIT * (_BLOCK + math.ceil(len(nodes) / _BLOCK) + 6))
    less, plain = _tables(at)
    change, change_error = _sums(at, less, (weights[:, :1], sizes[:, :1], lost[:, :1]))
    values, errors = _sums(at, plain, (weights, sizes, lost))
    cut = (1 + math.exp(at.turn**2 / 2) / far) * math.exp(-at.exponent)  # both tails of phi: below e^(-far^2/2) / far
    change_error += 1.01 * cut * np.minimum(np.exp(np.minimum(at.logs(), 700.0)) / at.steps, 2.0)
    orders = np.arange(at.order + 1).reshape(-1, 1)
    factorials = np.array([math.lgamma(j + 1) for j in range(at.order + 1)]).reshape(-1, 1)
    scale = np.exp(at.root**2 * orders * (orders - 1) / 2 - factorials)
    scaled = values * scale
    relative = UNIT * (16 + 4 * at.root**2 * orders * orders + 8 * orders)
    return Transform(
        change[0],
        change_error[0],
        scaled,
        (errors + 1.01 * cut) * scale * (1 + 1e-9) + np.abs(scaled) * relative,
    )


def _weights(at: Ray, nodes: Reals) -> tuple[Complexes, Reals, Reals]:
    """h phi(u - j r) e^(eta^2/2 + i eta (u - j r)) for each node and j; the sizes; and what rounding does to them."""
    u, centre = nodes[:, None] * at.h, at.root * np.arange(at.order + 1)[None, :]
    away = u - centre
    sizes: Reals = at.h / math.sqrt(2 * math.pi) * np.exp(at.turn**2 / 2 - away * away / 2)
    moved = 5 * np.abs(u) + 3 * centre + 2 * np.abs(away)
    lost: Reals = sizes * UNIT * (28 + (np.abs(away) + at.turn) * moved)
    turned: Any = np.exp(1j * at.turn * away)
    return sizes * turned, sizes, lost


def _tables(at: Ray) -> tuple[Table, Table]:
    """e^(-z) - 1 and e^(-z), from the first window's first entry to the last one's last."""
    start, count = at.first * at.stride + at.first_node * at.hop, at.entries
    log_size = at.base * np.arange(start, start + count, dtype=float)
    size = np.exp(np.minimum(log_size, 700.0)) * (math.exp(-(at.root**2) / 2) / at.steps)
    turned = at.angle - at.root * at.turn
    x, y = size * math.cos(turned), size * math.sin(turned)
    half, fade = np.sin(y / 2), np.exp(-x)
    less, plain = np.empty(count, dtype=complex), np.empty(count, dtype=complex)
    plain.real, plain.imag = fade * np.cos(y), -fade * np.sin(y)
    less.real, less.imag = np.expm1(-x) * np.cos(y) - 2 * half * half, plain.imag
    moved = UNIT * (32 + np.abs(log_size) + at.root**2) * size * fade
    limited = np.minimum(size, 2.0)
    return (
        Table(less, limited, moved + 4 * ELEMENTARY * limited),
        Table(plain, fade * (1 + 2 * ELEMENTARY), moved + 2 * ELEMENTARY * fade),
    )


def _sums(at: Ray, table: Table, weights: tuple[Complexes, Reals, Reals]) -> tuple[Complexes, Reals]:
    """Sums over the nodes for every order (first axis) and every point, and their absolute errors."""
    exact, sizes, lost = weights
    rows = [slice(i, min(i + _ROWS, at.count)) for i in range(0, at.count, _ROWS)]
    values = np.concatenate([_windows(at, table.values, exact, row) for row in rows])
    errors = np.concatenate(
        [_windows(at, table.errors, sizes, row) + _windows(at, table.sizes, lost, row) for row in rows]
    )
    return values.T, errors.T * (1 + 1e-9)


def _windows(at: Ray, table: Complexes | Reals, weights: Complexes | Reals, rows: slice) -> Any:
    span = (len(weights) - 1) * at.hop + 1
    part = table[rows.start * at.stride : (rows.stop - 1) * at.stride + span]
    seen = np.lib.stride_tricks.sliding_window_view(part, span)[:: at.stride, :: at.hop]
    result = np.zeros((rows.stop - rows.start, weights.shape[1]), dtype=table.dtype)
    for first in range(0, len(weights), _BLOCK):
        result += np.ascontiguousarray(seen[:, first : first + _BLOCK]) @ weights[first : first + _BLOCK]
    return result

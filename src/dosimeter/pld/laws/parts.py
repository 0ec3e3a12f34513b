"""A mechanism's loss as a function of a simpler loss: sampling changes l into log(1 - q + q e^l).

Every direction of every law is a sum of parts. A part is a measure S of a base loss l, a rate q and a sign:

* sign +1: the loss is G(l) = log(1 - q + q e^l) and S is its law under Q, so P has density e^G against S;
* sign -1: the loss is -G(l) and S is its law under P, so Q has density e^G against S.

Rate 1 and sign +1 is the base itself. From the parts follow the moments that the saddle line adds,
``E_P[e^(zL)] = sum of the S-integrals of e^(a G)`` with a = z + 1 or a = -z, and the masses that a lattice needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dosimeter.pld.laws.spread import Reals, Spread

UNIT = 2.0**-53  # relative error of one rounded operation
LOSS_ERROR = 16 * UNIT
_LARGE = 700.0  # e^_LARGE is still a double; beyond it 1 - q + q e^l is q e^l to the last place
MASS_ERROR = 1e-13


@dataclass(frozen=True, slots=True)
class Masses:
    """Logarithms of the P- and the Q-mass of each cell of losses; -inf where a cell has none.

    A finite entry x is within `error` * max(1, |x|) of the logarithm of the mass of a cell whose edges are within
    `edge_error` * |edge| of those asked for. A shared edge moves once, so nothing is lost or counted twice.
    """

    log_p: Reals
    log_q: Reals
    error: float
    edge_error: float


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a law in one direction."""

    spread: Spread
    sign: int = 1
    rate: float = 1.0
    stay: float = 0.0  # 1 - rate

    def growth(self, base: Reals) -> Reals:
        """G(l), within `LOSS_ERROR` of its size: log1p where the argument is near one, the plain form elsewhere."""
        if self.rate == 1.0:
            return base
        inner = self.rate * np.expm1(np.minimum(base, _LARGE))
        near = np.log1p(np.maximum(inner, -0.5))
        plain = np.log(self.stay + self.rate * np.exp(np.minimum(base, 0.0)))
        result = np.where(inner > -0.5, near, plain)
        return np.where(base > _LARGE, base + math.log(self.rate), result)

    def loss(self, base: Reals) -> Reals:
        """The loss at a base loss."""
        return self.growth(base) if self.sign > 0 else -self.growth(base)

    def base(self, growth: Reals) -> Reals:
        """The inverse of `growth`: -inf below its range."""
        if self.rate == 1.0:
            return growth
        large = growth > 1.0
        with np.errstate(divide="ignore"):
            inner = np.log1p(np.maximum(np.expm1(np.minimum(growth, 1.0)) / self.rate, -1.0))
        outer = growth - math.log(self.rate) + np.log1p(-self.stay * np.exp(-np.maximum(growth, 1.0)))
        return np.where(large, outer, inner)

    def edge_error(self) -> float:
        """How far `base` may move an edge, as a share of it."""
        return 0.0 if self.rate == 1.0 else 32 * UNIT / self.stay

    def masses(self, edges: Reals) -> Masses:
        """P- and Q-masses of the cells (edges[i], edges[i+1]]."""
        edges = np.asarray(edges, dtype=float)
        oriented = self.spread if self.sign > 0 else self.spread.mirrored()
        bases = self.base(edges) if self.sign > 0 else -self.base(-edges)
        pieces = Spread(np.empty(0), np.empty(0), oriented.pieces)
        own = pieces.log_cells(bases)
        other = pieces.tilted(float(self.sign)).log_cells(bases) if oriented.pieces else own
        losses = self.loss(oriented.losses * self.sign)
        cell = np.searchsorted(edges, losses, side="left") - 1
        kept = (cell >= 0) & (cell < len(own))
        stay = math.log(self.stay) if self.stay else -math.inf
        mixed = np.logaddexp(own + stay, other + math.log(self.rate))
        np.logaddexp.at(own, cell[kept], oriented.log_mass[kept])
        np.logaddexp.at(mixed, cell[kept], (oriented.log_mass + self.sign * losses)[kept])
        log_p, log_q = (mixed, own) if self.sign > 0 else (own, mixed)
        size = max([max(piece.size, piece.tilted(1.0).size) for piece in oriented.pieces], default=0.0)
        return Masses(log_p, log_q, MASS_ERROR + 16 * UNIT * size, self.edge_error())

    def support(self) -> tuple[float, float]:
        """An interval that holds every loss, rounded outwards."""
        ends = [float(x) for x in self.spread.losses] + [x for p in self.spread.pieces for x in (p.low, p.high)]
        if not ends:
            return math.inf, -math.inf
        low, high = sorted(float(x) for x in self.loss(np.array([min(ends), max(ends)])))
        return low - abs(low) * LOSS_ERROR, high + abs(high) * LOSS_ERROR

    def log_moment(self, order: float) -> float:
        """log E_P[e^(order L)] over this part, as an estimate; inf if it is infinite or beyond floating point."""
        a = order + 1 if self.sign > 0 else -order
        if self.rate == 1.0:
            return self.spread.tilted(a).log_total()
        terms = [self.spread.log_mass + a * self.growth(self.spread.losses)]
        for piece in self.spread.pieces:
            low, high = piece.low, piece.high
            if piece.gamma < 0:
                deviation = math.sqrt(-0.5 / piece.gamma)
                centres = [piece.tilted(x).beta * deviation**2 for x in (0.0, max(a, 0.0))]
                low = max(low, min(centres) - 40 * deviation)
                high = min(high, max(centres) + 40 * deviation)
            at = np.linspace(low, high, 4001)
            at = (at[1:] + at[:-1]) / 2
            terms.append(piece.log_density(at) + a * self.growth(at) + math.log((high - low) / 4000))
        return float(np.logaddexp.reduce(np.concatenate(terms)))


def add_masses(parts: tuple[Part, ...], edges: Reals) -> Masses:
    """The masses of several parts together."""
    each = [part.masses(edges) for part in parts]
    log_p, log_q = each[0].log_p, each[0].log_q
    for more in each[1:]:
        log_p, log_q = np.logaddexp(log_p, more.log_p), np.logaddexp(log_q, more.log_q)
    return Masses(log_p, log_q, max(m.error for m in each), max(m.edge_error for m in each))

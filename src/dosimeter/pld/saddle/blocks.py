"""Sums of weights * (e^(i t loss) - 1) at many equally spaced heights t at once.

With E = e^(iT loss) - 1 at the start T of a block of heights and e likewise inside the block,
e^(i(T+t) loss) - 1 = E e + E + e, so all heights come from a matrix product of two small tables. Small differences
stay small: every entry is |t loss| in size, at most two (losses may be complex, with Im >= 0). Products are made of
tiles so small that a numerical library does not wake its threads for them: those would wait for each other.

Products are summed over at most 64 terms at a time and then pairwise, so the sum is off by at most `rounding(n)` times
the sum of |weight| min(2, t |loss|), not counting the rounding of the phases t loss themselves: |E + 1| <= 1, so the
sizes of all terms of (E + 1) e + E add to at most twice that.
"""

from __future__ import annotations

import math

import numpy as np

from dosimeter.errors import NoGuaranteeError
from dosimeter.pld.laws.law import Complexes, Reals
from dosimeter.pld.laws.parts import UNIT

ELEMENTARY = 8 * UNIT  # relative error of exp, expm1, log, log1p, sin, cos: documented as at most half of this
SUM = 40 * UNIT  # error of a pairwise sum of fewer than 2^20 terms, as a share of the sum of their sizes
_BLOCK = 64
_TILE = 30  # rows and columns of a tile: 64 * 30 * 30 is below the 65536 operations from which libraries use threads
_MOST_TERMS = 3e9  # some seconds


def rounding(terms: int) -> float:
    """Relative rounding of `turns` for this many losses."""
    levels = 8 + math.ceil(terms / _BLOCK / 15)
    return 4 * ((_BLOCK + 8 + levels) * UNIT + 3 * ELEMENTARY)


def turns(losses: Reals | Complexes, weights: Reals | Complexes, step: float, count: int) -> Complexes:
    """The sums at step * (0, 1, ..., count - 1).

    Raises:
        NoGuaranteeError: there would be too many terms; the answer does without this line then.
    """
    if len(losses) * count > _MOST_TERMS:
        raise NoGuaranteeError(f"{len(losses)} points are too many for a line of {count} nodes")
    root = math.ceil(math.sqrt(count))
    across = math.ceil(root / _TILE)
    columns = math.ceil(root / across)
    inner = across * columns
    down = math.ceil(math.ceil(count / inner) / _TILE)
    rows = math.ceil(math.ceil(count / inner) / down)
    outer = down * rows
    chunks = [np.zeros((outer, inner), dtype=complex)]
    for start in range(0, len(losses), _BLOCK):
        part, share = losses[start : start + _BLOCK], weights[start : start + _BLOCK]
        block = _turn(np.outer(step * inner * np.arange(outer), part)) * share
        within = _turn(np.outer(part, step * np.arange(inner)))
        left = (block + share).reshape(down, 1, rows, -1)  # E e + e = (E + 1) e
        right = within.reshape(-1, across, columns).transpose(1, 0, 2)
        product = np.matmul(left, right).transpose(0, 2, 1, 3).reshape(outer, inner)
        chunks.append(product + block.sum(axis=1)[:, None])
        if len(chunks) == 16:
            chunks = [_pairwise(chunks)]
    return _pairwise(chunks).ravel()[:count]


def _turn(angle: Reals | Complexes) -> Complexes:
    """e^(i angle) - 1 = 2i sin(angle/2) e^(i angle/2) for real angles, without cancellation; complex ones alike."""
    half = angle.real / 2
    sine = np.sin(half)
    result = np.empty(angle.shape, dtype=complex)
    result.real = -2 * sine * sine
    result.imag = 2 * sine * np.cos(half)
    if np.iscomplexobj(angle):
        fade = np.expm1(-angle.imag)
        result += fade * (1 + result)
    return result


def _pairwise(items: list[Complexes]) -> Complexes:
    while len(items) > 1:
        items = [sum(items[i + 1 : i + 2], items[i]) for i in range(0, len(items), 2)]
    return items[0]

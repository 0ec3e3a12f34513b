"""The worst pure mechanisms for a boundary: how likely an adaptive run of epsilon-DP rounds reaches it, exactly.

An epsilon-DP round has a loss in [-epsilon, epsilon] with E[e^-loss] = 1, and every such law is that of a mechanism.
So x = e^-(loss so far) is a martingale whose steps are ratios in [e^-epsilon, e^epsilon], chosen by the analyst, and
the question is how likely it falls to the boundary. Randomized response is not always the worst: whoever is half a step
away takes half a step, which is likelier.

On a lattice the answer is still a finite game. Let epsilons and boundary be multiples of a step. Then some optimal
strategy only moves by whole steps, a up or d down, with 0 <= a, d <= epsilon / step. Proof, backwards in time: suppose
the later value is at most its chords, in x, between lattice points. The best a round can do at x is the concave hull of
these chords over the window [x e^-epsilon, x e^epsilon], so two outcomes suffice, each a lattice point or an end of the
window. Let x be a mixture of its neighbours x0 and x1 on the lattice.
* Two lattice points inside the window are open to x0 and x1 too.
* Two ends are the same mixture of the ends of x0 and of x1.
* A lattice point and one end: the chord at the end is a mixture of the two lattice points around it. Among the laws of
  mean x on these three points, this one lies between the one without the outermost, which is open to x0 and x1, and the
  mixture of what x0 and x1 can do with their own ends. The expectation is linear along them: one of the two is as good.

So the value at x is at most the chord of the values at x0 and x1. A boundary that counts as reached at a lattice point
keeps this: 0 below it and 1 from there on is at most its chord.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from dosimeter.errors import InputError

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Reals

_BELOW: Final = 9.0  # standard deviations below zero that are kept; a lower loss counts as the lowest kept
_ROUND: Final = 1e-14  # what floating point may be off by in one round (the step's own digits included), as a share
MOST_WORK: Final = 10**9


def reach_probability(step: float, sizes: Sequence[int], costs: Sequence[int], nodes: Sequence[int]) -> float:
    """The largest probability that any adaptive run of pure rounds reaches a boundary, rounded up.

    Guarantee: not below P(for some n the loss after n rounds is at least nodes[units used] steps), for all mechanisms
    and strategies: each round is epsilon-DP with epsilon = size x step for one of the sizes, takes that size's cost in
    units, and all costs together are at most `len(nodes) - 1` units. Equality, up to rounding, for some strategy.

    Args:
        step: of the lattice, in nats, > 0; the float nearest to the true one.
        sizes: epsilons of rounds in steps, whole numbers from 1 on.
        costs: units of each size, whole numbers from 1 on.
        nodes: the boundary in steps for each number of used units, from 0 on, not falling.

    Returns:
        The probability, at most 1.

    Raises:
        InputError: the game is too large.

    Reference: backward induction; the module's first words for why whole steps suffice.
    """
    units, longest, widest = len(nodes) - 1, max(costs), max(sizes)
    rounds = units // min(costs)
    spread = max(size * math.sqrt(units / cost) for size, cost in zip(sizes, costs, strict=True))
    low = -min(math.ceil(_BELOW * spread) + widest, rounds * widest)
    top = min(max(nodes), rounds * widest + 1)
    length = top - low + 1
    if units * length * sum(size * size for size in sizes) > MOST_WORK:
        raise InputError(
            f"a game of {units} units, {length} losses and rounds of {widest} steps is too large; take a larger step "
            "or a shorter horizon"
        )
    moves = [(size, cost, _moves(step, size)) for size, cost in zip(sizes, costs, strict=True)]
    places = np.arange(low, top + 1)
    later: dict[int, Reals] = {}
    best = np.zeros(length)
    for used in range(units, -1, -1):
        best = np.zeros(length)
        for _, cost, pairs in moves:
            if used + cost > units:
                continue
            values = later[used + cost]
            np.maximum(best, values[widest : widest + length], out=best)
            for up, down, chance in pairs:
                above = values[widest + up : widest + up + length]
                below = values[widest - down : widest - down + length]
                np.maximum(best, below + chance * (above - below), out=best)
        best = np.minimum(best * (1 + _ROUND), 1.0)
        best[places >= nodes[used]] = 1.0
        later[used] = np.concatenate([np.full(widest, best[0]), best, np.ones(widest)])
        later.pop(used + longest, None)
    return float(best[-low])


def _moves(step: float, size: int) -> list[tuple[int, int, float]]:
    """Up, down and the probability of up that makes e^-loss a martingale, for every pair of whole steps."""
    return [
        (up, down, math.expm1(-down * step) / math.expm1(-(up + down) * step))
        for up in range(1, size + 1)
        for down in range(1, size + 1)
    ]

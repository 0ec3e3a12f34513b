"""The smallest whole number at which a falling function is at most zero, in few evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

_LEAST: Final = 1e-4


def least(
    function: Callable[[int], float], low: int, high: int, guess: int, hop: int = 1, close: int = 1
) -> int | None:
    """The smallest number in (low, high] where the function is at most zero; None if it is above zero at `high`.

    Args:
        function: falls; taken to be above zero at `low`.
        low: an end that is not asked for.
        high: the other end.
        guess: where to start.
        hop: the first step away from the guess; steps double until the sign changes.
        close: the answer may be larger than the smallest by less than this.

    Whatever the function does, the number returned was asked for and found at most zero.
    """
    bottom, top = low, high + 1
    above, below = math.inf, -math.inf
    at, wide = min(max(guess, low + 1), high), 0
    while top - bottom > (close if top <= high and bottom > low else 1):
        width, value = top - bottom, function(at)
        if value <= 0:
            top, below = at, value
        else:
            bottom, above = at, value
        if top > high:
            at, hop = min(at + hop, high), 2 * hop
        elif bottom == low:
            at, hop = max(at - hop, low + 1), 2 * hop
        else:
            wide = wide + 1 if 2 * (top - bottom) > width else 0
            straight = wide < 2 and math.isfinite(above) and math.isfinite(below)  # else halve the interval
            part = above / (above - below) if straight else 0.5
            at = min(max(bottom + math.ceil(part * (top - bottom)), bottom + 1), top - 1)
    return top if top <= high else None


def straightened(missed: float, slack: float) -> float:
    """By how much a rule is missed, on a scale on which it is nearly straight: the same sign.

    It is the logarithm of what the slack must pay, relative to the slack.
    """
    return math.log(max(1 + missed / slack, _LEAST)) if missed != 0 else 0.0

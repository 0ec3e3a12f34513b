"""A guarantee with a free parameter is asked for at one epsilon or at one delta, never both."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from dosimeter.errors import InputError
from dosimeter.exact import Number
from dosimeter.notions.approx import ApproxDP
from dosimeter.notions.profiles.reading import read_target_delta, read_target_epsilon


def at_target(
    target_epsilon: Number | None,
    target_delta: Number | None,
    epsilon_at: Callable[[Decimal], Decimal],
    delta_at: Callable[[Decimal], Decimal],
) -> ApproxDP:
    """The (epsilon, delta) guarantee at the target that was given.

    Raises:
        InputError: not exactly one target was given.
    """
    if target_delta is not None and target_epsilon is None:
        delta = read_target_delta(target_delta, "target_delta")
        return ApproxDP(epsilon_at(delta), delta)
    if target_epsilon is not None and target_delta is None:
        epsilon = read_target_epsilon(target_epsilon, "target_epsilon")
        return ApproxDP(epsilon, delta_at(epsilon))
    raise InputError("give exactly one of target_epsilon= and target_delta=; the other one is the answer")

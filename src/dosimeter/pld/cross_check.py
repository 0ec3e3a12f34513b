"""Two engines, one number: the saddle line's interval and the tilted transform's must share a point.

The engines have nothing in common but the laws: one integrates moments along a vertical line, the other convolves
masses on a lattice. Both intervals contain the exact value if both are right, so an empty intersection proves that one
of them is wrong. That is an error, with both intervals in it, and never an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dosimeter.errors import EnginesDisagree, InputError, NoGuaranteeError
from dosimeter.exact import Bound, Number
from dosimeter.pld.tilted.bounds import Part, tilted_delta, tilted_epsilon

if TYPE_CHECKING:
    from dosimeter.pld.accountant import Accountant
    from dosimeter.pld.laws.law import Direction

SADDLE = "saddle line"
TILTED = "tilted transform"


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """Two certified intervals of one number, and what both say.

    Args:
        saddle: the interval of the saddle line, which is what `Accountant.epsilon` and `delta` report (but for random
            allocation with extreme noise, where they report what both engines have in common).
        tilted: the interval of the tilted transform.
    """

    saddle: Bound
    tilted: Bound

    @property
    def shared(self) -> Bound:
        """The values that both engines allow: contains the exact value, and is no wider than either interval."""
        return Bound(max(self.saddle.lower, self.tilted.lower), min(self.saddle.upper, self.tilted.upper))


def cross_check_epsilon(
    accountant: Accountant,
    delta: Number | None = None,
    *,
    log10_delta: Number | None = None,
    direction: Direction | str | None = None,
    accuracy: Number = "1e-4",
) -> CrossCheck:
    """Ask both engines for the least epsilon of a composition, and compare.

    Guarantee: returns only if the two intervals meet; then `shared` contains the exact value if either engine is right.

    Args:
        accountant: what was composed.
        delta: in [1e-300, 1), or 0 where all losses are bounded.
        log10_delta: instead of delta, its decimal logarithm in [-300, 0).
        direction: one direction only (`remove` or `add`); both by default.
        accuracy: the relative width asked of the tilted transform, in [1e-9, 0.1]: the finer, the longer it takes.

    Raises:
        EnginesDisagree: the intervals have no point in common; the message names both.
        NoGuaranteeError: one of the engines certifies nothing, so there is nothing to compare.

    Reference: the engines' own proofs; two correct enclosures of one number intersect.
    """
    first = accountant.epsilon(delta, log10_delta=log10_delta, direction=direction, alone=True)
    counts = _counts(accountant)
    return _compare(
        "epsilon",
        first,
        lambda: tilted_epsilon(counts, delta, log10_delta=log10_delta, direction=direction, accuracy=accuracy),
    )


def cross_check_delta(
    accountant: Accountant,
    epsilon: Number,
    *,
    direction: Direction | str | None = None,
    accuracy: Number = "1e-3",
) -> CrossCheck:
    """Ask both engines for the least delta of a composition, and compare.

    Guarantee: as `cross_check_epsilon`.

    Args:
        accountant: what was composed.
        epsilon: 0 or in [1e-300, 1e6], in nats.
        direction: one direction only (`remove` or `add`); both by default.
        accuracy: the relative width asked of the tilted transform, in [1e-9, 0.1].

    Raises:
        EnginesDisagree: the intervals have no point in common; the message names both.
        NoGuaranteeError: one of the engines certifies nothing.

    Reference: as `cross_check_epsilon`.
    """
    first = accountant.delta(epsilon, direction=direction, alone=True)
    counts = _counts(accountant)
    return _compare("delta", first, lambda: tilted_delta(counts, epsilon, direction=direction, accuracy=accuracy))


def _counts(accountant: Accountant) -> list[Part]:
    counts: list[Part] = list(accountant.counts.items())
    if not counts:
        raise InputError("nothing was composed yet; append something before checking it")
    return counts


def _compare(what: str, first: Bound, ask: Callable[[], Bound]) -> CrossCheck:
    try:
        second = ask()
    except NoGuaranteeError as error:
        raise NoGuaranteeError(
            f"{what} could not be checked: the {SADDLE} says [{first.lower}, {first.upper}], and the {TILTED} "
            f"certifies nothing ({error}); take the first answer unchecked, or check each part of the plan"
        ) from None
    if first.lower > second.upper or second.lower > first.upper:
        raise EnginesDisagree(
            f"the two engines contradict each other about {what}: the {SADDLE} says [{first.lower}, {first.upper}], "
            f"the {TILTED} says [{second.lower}, {second.upper}]; one of them is wrong, so use neither, and please "
            "report the plan",
            first,
            second,
        )
    return CrossCheck(first, second)

"""Boxes for the playground, with what a filter charges for them: randomized responses that may fail, Gaussian cells.

Every (epsilon, delta)-DP mechanism is a randomised image of randomized response with the same parameters, so for
filters that take such guarantees nothing is lost by playing only that. Gaussian noise is cut into cells, which is
post-processing: whoever wins with the cells wins with the noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dosimeter.accounting.losses import loss_for
from dosimeter.adaptive.game import gaussian_cells, randomized_response
from dosimeter.adaptive.playground import Option
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError
from dosimeter.events import Gaussian, RandomizedResponse
from dosimeter.exact import ZERO, Number, fraction_up, show, to_fraction
from dosimeter.exact import count as read_count

if TYPE_CHECKING:
    from dosimeter.adaptive.filter import Filter

CELLS: Final = (1, 2, 3, 4, 5, 6, 8, 10, 12)


def response_options(
    filter_: Filter[Any], base: Number, multiples: Iterable[int], failures: Iterable[Number] = (0,)
) -> list[Option]:
    """Randomized responses with epsilon = m log(base), and with each of the probabilities of failure.

    Guarantee: each box satisfies the guarantee that the filter is charged for it (epsilon rounded up).

    Args:
        filter_: whose prices are asked.
        base: e^step, a ratio or decimal above 1.
        multiples: whole numbers from 1 on.
        failures: probabilities of failure, 0 among them for boxes that never fail.

    Reference: Kairouz, Oh, Viswanath 2015.
    """
    odds = to_fraction(base, "base")
    if odds <= 1:
        raise InputError(f"base={show(base)} is not above 1")
    options = []
    for many in multiples:
        m = read_count(many, "multiple", largest=10_000)
        epsilon = up(enclose(lambda m=m: ball(odds).log() * m))  # type: ignore[misc]
        for failure in failures:
            lost = to_fraction(failure, "failure")
            event = RandomizedResponse(epsilon, fraction_up(lost) if lost else ZERO)
            options.append(Option(randomized_response(odds**m, lost), loss_for(event, filter_)))
    return options


def gaussian_options(filter_: Filter[Any], base: Number, mus: Iterable[Number]) -> list[Option]:
    """Gaussian noise of each mu, cut into cells on the lattice of log(base).

    Guarantee: the cells are a post-processing of the noise that the filter is charged for.

    Reference: merging outcomes is post-processing.
    """
    odds = to_fraction(base, "base")
    return [
        Option(gaussian_cells(float(Fraction(to_fraction(mu, "mu"))), odds, CELLS), loss_for(_noise(mu), filter_))
        for mu in mus
    ]


def _noise(mu: Number) -> Gaussian:
    return Gaussian(Decimal(1), mu)  # type: ignore[arg-type]

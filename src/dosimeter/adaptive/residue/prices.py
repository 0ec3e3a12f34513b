"""From a law of losses to its price list in the Gaussian family: the same list for every account.

A list has one row per level; a charge proven at a level holds while at least so much is left. Where a closed form
settles everything (Gaussian noise, randomized response, Laplace noise continuous or discrete) no slack is taken but the
law's own probability of revealing everything. Every other law takes the slack it is given.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from dosimeter.adaptive.residue.centre import Centred, charge_at, whole_charge
from dosimeter.adaptive.residue.clock import rho_of
from dosimeter.adaptive.residue.general import Proof, general_rows
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import LARGEST, ONE, ZERO, fraction_up, subtract_down
from dosimeter.notions.residue import QUANTUM, ResiduePrice

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Law

RULE: Final = ONE  # the version of these rules; an account names the one it was opened under
RESERVE: Final = ZERO  # the number of the Gaussian component of a budget
_LEVELS: Final = tuple(  # of the whole charge; between two of them the price falls by little
    Decimal(level) / 100
    for level in (102, 105, 110, 120, 135, 155, 180, 215, 260, 330, 450, 650, 1000, 1700, 3000, 7000, 20000, 100000)
)
_LARGEST_EPSILON: Final = 30  # beyond it a query takes what its worst case takes
_WORTH: Final = Decimal("1e-7")  # a row that saves a smaller share than this ends the list
_QUANTUM_UP: Final = decimal.Context(prec=400, rounding=decimal.ROUND_CEILING, Emin=-999_999, Emax=999_999)
_SMALLEST: Final = Decimal(1).scaleb(-QUANTUM)


@lru_cache(maxsize=4096)
def gaussian_price(law: Law, share: Decimal, most: Decimal | None = None) -> ResiduePrice:
    """What one run of a law costs a budget of the Gaussian family.

    Guarantee: each row satisfies the admission rule of the residue filter in both directions, at its level and above.

    Args:
        law: a dominating pair.
        share: the slack that one run may take where the law needs any, in [0, 1).
        most: the whole budget, if it is known: no row speaks of more.

    Raises:
        NoGuaranteeError: no charge could be proven.
    """
    if closed := closed_price(law):
        return closed
    rows, delta = general_rows(law, share, most)
    return single(law, rows, delta)


def closed_price(law: Law) -> ResiduePrice | None:
    """The list of a law whose charges have a closed form; None for others."""
    from dosimeter.pld.laws.law import Direction

    revealed = fraction_up(max(law.infinite(direction) for direction in Direction))
    if law.gaussian is not None:
        return single(law, [(quantised(fraction_up(law.gaussian)),) * 2], revealed)
    if (shape := shape_of(law)) is not None:
        return single(law, centred_rows(shape), revealed)
    return zero_price(law)


def gaussian_proves(law: Law, rows: Sequence[tuple[Decimal, Decimal]], delta: Decimal) -> bool:
    """Whether every level and charge satisfies the rule with so much slack, by whatever route they were found."""
    from dosimeter.pld.laws.law import Direction

    if closed := closed_price(law):
        own = list(zip(closed.levels, closed.charges, strict=True))
        return delta >= closed.deltas[0] and all(
            any(level >= at and charge >= least for at, least in own) for level, charge in rows
        )
    revealed = fraction_up(max(law.infinite(direction) for direction in Direction))
    try:
        proof = Proof.of(law, subtract_down(delta, revealed))
        return all(proof.holds(level, charge) for level, charge in rows)
    except NoGuaranteeError:
        return False


def shape_of(law: Law) -> Centred | None:
    """The law as the closed forms see it, outside of the failures that are paid from the slack."""
    from dosimeter.pld.laws.discrete_laplace import DiscreteLaplaceLaw
    from dosimeter.pld.laws.laplace import LaplaceLaw
    from dosimeter.pld.laws.response import ResponseLaw

    if isinstance(law, ResponseLaw) and law.epsilon:
        return Centred(law.epsilon)
    if isinstance(law, LaplaceLaw):
        return Centred(law.epsilon, Fraction(0))
    if isinstance(law, DiscreteLaplaceLaw):
        epsilon = law.shift / law.scale
        return Centred(epsilon) if law.shift == 1 else Centred(epsilon, 2 / law.scale)
    return None


def zero_price(law: Law) -> ResiduePrice | None:
    """The list of a law that reveals nothing outside of failures: it takes slack only."""
    from dosimeter.pld.laws.response import ResponseLaw

    if isinstance(law, ResponseLaw) and not law.epsilon:
        return single(law, [(ZERO, ZERO)], fraction_up(law.delta))
    return None


@lru_cache(maxsize=4096)
def centred_rows(shape: Centred) -> tuple[tuple[Decimal, Decimal], ...]:
    """Levels and charges, for the shapes with a closed form."""
    try:
        whole = whole_charge(shape)
    except NoGuaranteeError:  # a lattice too coarse for its own profile: take the worst case of its largest loss
        return centred_rows(Centred(shape.epsilon))
    rows = [(quantised(whole),) * 2]
    if shape.epsilon > _LARGEST_EPSILON or whole < 1000 * _SMALLEST:
        return tuple(rows)
    dearer = whole
    for multiple in _LEVELS:
        level = rounded(_QUANTUM_UP.multiply(whole, multiple))
        found = charge_at(shape, level, dearer) if level <= LARGEST else None
        if found is None or found >= dearer:
            break
        if (charge := quantised(found)) < rows[-1][1]:
            rows.append((level, charge))
        if dearer - found < _WORTH * found:
            break
        dearer = found
    return tuple(rows)


def single(law: Law, rows: Sequence[tuple[Decimal, Decimal]], delta: Decimal) -> ResiduePrice:
    """The list of one run of one law, paid by the Gaussian component."""
    many = len(rows)
    levels, charges = tuple(level for level, _ in rows), tuple(charge for _, charge in rows)
    rho = quantised(rho_of(law))
    return ResiduePrice((ONE,), (delta,), (rho,), (ZERO,) * many, (RESERVE,) * many, levels, charges)


def quantised(value: Decimal) -> Decimal:
    """A charge as a whole multiple of 10**-36, rounded up: sums of charges are then exact."""
    if not value:
        return ZERO
    return max(_SMALLEST, value.quantize(_SMALLEST, context=_QUANTUM_UP).normalize(_QUANTUM_UP))


def rounded(value: Decimal) -> Decimal:
    """A level in a few digits, rounded up."""
    return quantised(decimal.Context(prec=4, rounding=decimal.ROUND_CEILING).plus(value))

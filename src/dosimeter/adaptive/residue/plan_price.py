"""From a law to its price list in a plan: the reserve is offered first, then the runs of the plan in their order."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from dosimeter.adaptive.residue.clock import rho_of
from dosimeter.adaptive.residue.prices import RESERVE, gaussian_price, gaussian_proves, quantised, zero_price
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import ONE, ZERO, add_up, divide_down, fraction_up, multiply_up, subtract_down
from dosimeter.notions.residue import ResiduePrice

if TYPE_CHECKING:
    from dosimeter.adaptive.residue.plan_lattice import Lattice
    from dosimeter.pld.laws.law import Law

Rows: TypeAlias = tuple[tuple[Decimal, Decimal], ...]
PlannedLaws: TypeAlias = "tuple[tuple[Law, int], ...]"


def planned_price(law: Law, number: int) -> ResiduePrice:
    """One step of run `number`, without slack."""
    return _built(law, 1, [(number, ((ONE, ONE),))], ZERO)


@lru_cache(maxsize=1024)
def unplanned_price(
    law: Law, share: Decimal, laws: PlannedLaws, lattice: Lattice, reserve: Decimal, count: int
) -> ResiduePrice:
    """What `count` runs of a law that is not planned cost, charged together.

    Guarantee: each row satisfies the admission rule for its component, in both directions, at its level and above.

    Raises:
        NoGuaranteeError: neither the reserve nor any run can pay.
    """
    from dosimeter.adaptive.residue.plan_prices import plan_rows

    if zero := zero_price(law):
        return zero.repeat(count)
    offers: list[tuple[int, Rows]] = []
    reasons: list[str] = []
    taken = ZERO
    if reserve:
        try:
            each = gaussian_price(law, divide_down(share, count), reserve)
            own = tuple(zip(each.levels, each.charges, strict=True))
            offers.append((int(RESERVE), own if count == 1 else _together(each, count)))
            taken = multiply_up(each.deltas[0], count)
        except NoGuaranteeError as error:
            reasons.append(str(error))
    for number, (planned, many) in enumerate(laws, start=1):
        try:
            offers.append((number, plan_rows(law, planned, many, lattice, share, count)))
            taken = max(taken, add_up(share, _revealed(law, count)))
        except NoGuaranteeError as error:
            reasons.append(str(error))
    if not offers:
        raise NoGuaranteeError(reasons[0])
    return _built(law, count, offers, taken)


def proves_unplanned(
    law: Law, count: int, stored: ResiduePrice, laws: PlannedLaws, lattice: Lattice, reserve: Decimal
) -> bool:
    """Whether every row of a stored list satisfies the rule with the slack that the list takes."""
    from dosimeter.adaptive.residue.plan_prices import PlanProof

    if zero := zero_price(law):
        return stored.covers(zero.repeat(count))
    if stored.counts != (ONE,) or stored.rhos[0] < multiply_up(quantised(rho_of(law)), count):
        return False
    slack = stored.deltas[0]
    for component, rows in stored.offers_of(0):
        if component == 0:
            single = [(subtract_down(at, multiply_up(one, count - 1)), one) for at, one in _each(rows, count)]
            if not reserve or not gaussian_proves(law, single, divide_down(slack, count)):
                return False
            continue
        if component > len(laws):
            return False
        try:
            proof = PlanProof.of(
                law, laws[component - 1][0], lattice, subtract_down(slack, _revealed(law, count)), count
            )
        except NoGuaranteeError:
            return False
        if not all(proof.holds(int(at), int(charge), 0.0) for at, charge in rows):
            return False
    return True


def _together(each: ResiduePrice, count: int) -> Rows:
    """So many runs from the rows of one: while the last of them still finds the level, none is charged more."""
    many = zip(each.levels, each.charges, strict=True)
    rows = sorted((add_up(at, multiply_up(charge, count - 1)), multiply_up(charge, count)) for at, charge in many)
    kept: list[tuple[Decimal, Decimal]] = []
    for at, charge in rows:
        if not kept or (charge < kept[-1][1] and at > kept[-1][0]):
            kept.append((at, charge))
    return tuple(kept)


def _each(rows: Rows, count: int) -> Rows:
    """What each of so many runs is charged at least."""
    return tuple((at, divide_down(charge, count)) for at, charge in rows)


def _revealed(law: Law, count: int) -> Decimal:
    """The probability that one of so many runs reveals everything, rounded up."""
    from dosimeter.pld.laws.law import Direction

    return multiply_up(fraction_up(max(law.infinite(direction) for direction in Direction)), count)


def _built(law: Law, count: int, offers: Iterable[tuple[int, Rows]], delta: Decimal) -> ResiduePrice:
    rows = [(Decimal(number), level, charge) for number, own in offers for level, charge in own]
    components, levels, charges = zip(*rows, strict=True)
    rho = multiply_up(quantised(rho_of(law)), count)
    return ResiduePrice((ONE,), (delta,), (rho,), (ZERO,) * len(rows), components, levels, charges)

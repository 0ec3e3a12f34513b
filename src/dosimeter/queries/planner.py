"""From a question and a price to a plan: bound what one unit contributes, choose the noise, name the cost."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dosimeter.errors import QueryError
from dosimeter.exact import ONE, Number, amount, divide_down, text
from dosimeter.mechanisms.noise import Noise
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.queries.frame import SUM, Frame
from dosimeter.queries.framing import frame_of
from dosimeter.queries.plans import Part, Plan
from dosimeter.queries.price import Price
from dosimeter.queries.pricing import TooFine, cheapest_within, event_of, noise_for, require_held
from dosimeter.queries.query import Aggregate, Query
from dosimeter.queries.schema import Schema
from dosimeter.queries.sensitivity import Sensitivity, sensitivity

if TYPE_CHECKING:
    from dosimeter.adaptive.filter import Filter

DEFAULT_SALT = "dosimeter"
MAX_COARSER = 24


def plan(
    query: Query,
    *,
    schema: Schema,
    unit: PrivacyUnit,
    relation: NeighbouringRelation,
    filter: Filter[Any] | None,  # noqa: A002
    price: Price | None = None,
    within: Number | None = None,
    confidence: Number = "0.95",
    step: Number | None = None,
    salt: str = DEFAULT_SALT,
) -> Plan:
    """Plan a question: check it against the schema, bound what one unit contributes, choose the noise, name the cost.

    Guarantee: depends on the arguments only, never on a row. Releasing the parts with their noise satisfies the
    plan's event for this unit under this relation, provided the source enforces the frame's caps and bounds.

    Args:
        query: the question.
        schema: the public columns.
        unit: whose presence is protected, and how many rows one of them may contribute.
        relation: which data sets are neighbours.
        filter: of the account that will pay; None skips the check that its notion can hold the cost.
        price: the most the question may cost. Exactly one of `price` and `within` is given.
        within: the wanted error bar; the noise that meets it at least cost for this account is chosen.
        confidence: of the error bars, over all cells together.
        step: of a sum's lattice; derived from the bounds when left out.
        salt: decides which rows of a user are kept when there are too many.

    Raises:
        QueryError: the question does not fit the schema, has unbounded sensitivity, or cannot be priced as asked.
    """
    if not isinstance(query, Query):
        raise QueryError(f'{type(query).__name__} is not a query; build one, as in count().where("age >= 18")')
    if (price is None) == (within is None):
        raise QueryError(
            "say what the question may cost (epsilon, epsilon with delta, rho, or mu) or how exact it must be "
            "(within): one of the two"
        )
    relation = NeighbouringRelation.read(relation)
    wanted = None if within is None else amount(within, "within", round_up=False)
    sure = amount(confidence, "confidence", below_one=True)
    frame, parts = _fitted(query, schema, unit, relation, filter, price, wanted, sure, step, salt)
    result = Plan(query, unit, relation, price, wanted, sure, frame, parts)
    if filter is not None and price is not None:
        require_held(result.event, filter, price)
    return result


def _fitted(
    query: Query,
    schema: Schema,
    unit: PrivacyUnit,
    relation: NeighbouringRelation,
    filter: Filter[Any] | None,  # noqa: A002
    price: Price | None,
    within: Decimal | None,
    confidence: Decimal,
    step: Number | None,
    salt: str,
) -> tuple[Frame, tuple[Part, ...]]:
    """The frame and its releases; a derived step is made coarser until the noise has few enough steps."""
    too_fine: TooFine | None = None
    for coarser in range(MAX_COARSER):
        try:
            frame = frame_of(query, schema, unit, step=step, coarser=coarser, within=within, salt=salt)
        except QueryError:
            if too_fine is None:
                raise
            break
        try:
            return frame, _parts(query, frame, unit, relation, filter, price, within, confidence)
        except TooFine as error:
            too_fine = error
            if step is not None or frame.value is None:
                break
    raise QueryError(str(too_fine))


def _parts(
    query: Query,
    frame: Frame,
    unit: PrivacyUnit,
    relation: NeighbouringRelation,
    filter: Filter[Any] | None,  # noqa: A002
    price: Price | None,
    within: Decimal | None,
    confidence: Decimal,
) -> tuple[Part, ...]:
    parts = []
    for measure in frame.measures:
        low, high, step = 1, 1, ONE
        always = False
        if measure == SUM and frame.value is not None:
            spot = frame.value.lattice
            low, high, step = spot.lower - spot.centre, spot.upper - spot.centre, spot.step
            always = unit.column is None and frame.condition is None and not frame.axes
            always = always and not frame.value.column.nullable
        moved = sensitivity(
            low, high, contribution=frame.contribution, relation=relation, cells=frame.cells, always=always
        )
        if price is not None:
            noise = noise_for(price, moved, len(frame.measures))
        else:
            noise = _noise_within(query, frame, moved, step, filter, within or ONE, confidence)
        parts.append(Part(measure, frame.cells, noise, step, moved, event_of(noise, moved)))
    return tuple(parts)


def _noise_within(
    query: Query,
    frame: Frame,
    moved: Sensitivity,
    step: Decimal,
    filter: Filter[Any] | None,  # noqa: A002
    within: Decimal,
    confidence: Decimal,
) -> Noise:
    from dosimeter.mechanisms.accuracy import LARGEST_WIDTH, noise_within

    if query.aggregate is Aggregate.MEAN:
        raise QueryError(
            "the error of a mean depends on how many rows there are, which is private: ask with a price, "
            "or ask for a count and a sum, each within its own error"
        )
    if filter is None:
        raise QueryError("a wanted accuracy needs the account's filter, which decides which noise costs least")
    width = min(divide_down(within, step), LARGEST_WIDTH)
    if width < ONE:
        raise QueryError(
            f"within={text(within)} is less than one step of {text(step)}, and noise moves an answer by whole steps; "
            f"ask for within={text(step)} or more" + ("" if step == ONE else ", or give a finer step")
        )
    return cheapest_within(lambda kind: noise_within(kind, width, confidence, frame.cells), moved, filter)

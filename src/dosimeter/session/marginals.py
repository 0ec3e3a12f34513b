"""Many marginals in one question: residuals, one charge, answers that agree.

The plan is made of public facts: the declared keys, the wanted marginals, the price. Its event is charged before a row
is read; then every residual is counted by the source like any other question, noised, and stored together. Later
marginals measure only what is not known yet, so the next one may be chosen from what was seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from dosimeter.errors import InputError, QueryError, QueryRefused, QuotaExceeded
from dosimeter.events import loss_to_json
from dosimeter.exact import Number, amount, multiply_down, show, sqrt_down
from dosimeter.ledger import RefusedRequest, Replayed, Request
from dosimeter.ledger.quotas import QuotaRefused
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import Loss
from dosimeter.notions.profiles.gaussian import gaussian_mu
from dosimeter.queries import Price, Query, count, plan
from dosimeter.queries.condition import And, Compare, Condition, In, IsMissing, Literal, Name, Or, write
from dosimeter.queries.parse import MAX_LENGTH
from dosimeter.queries.query import Key, digest_of
from dosimeter.queries.schema import ColumnType

if TYPE_CHECKING:
    from dosimeter.mechanisms.matrix.marginals import Attributes, MarginalPlan, Marginals
    from dosimeter.session.session import Session


@dataclass(frozen=True, slots=True)
class MarginalsAnswer:
    """Noisy marginals that agree with each other, and what they cost.

    Args:
        keys: the declared values of every column.
        marginals: what was asked for.
        residuals: the noisy pieces; every marginal whose pieces are all there can be read off, asked for or not.
        question: what was asked, as a sentence.
        charge: what the account paid, in its notion.
        remaining: what the account has left, by quantity, rounded down.
        entry: the ledger's number of this request.
        request: the id under which the answer can be asked for again, free.
        replayed: whether this answer was given before and cost nothing now.
        where: the condition that narrowed the rows, in its normal form.
    """

    keys: Mapping[str, tuple[Key, ...]]
    marginals: tuple[tuple[str, ...], ...]
    residuals: Marginals = field(repr=False)
    question: str
    charge: Loss
    remaining: dict[str, str]
    entry: int
    request: str
    replayed: bool
    where: str | None = None

    def table(self, *columns: str) -> dict[Any, float]:
        """A marginal: key (or tuple of keys, in the order of the columns' declaration) -> noisy count.

        Raises:
            InputError: a column that was not declared, or a marginal that needs pieces that were not measured.
        """
        import itertools

        wanted = self._ordered(columns)
        cells = self.residuals.answer(wanted).ravel().tolist()
        labels = itertools.product(*(self.keys[c] for c in wanted))
        return {label[0] if len(label) == 1 else label: value for label, value in zip(labels, cells, strict=True)}

    def standard_deviation(self, *columns: str) -> float:
        """Of the noise in every cell of a marginal (floating point)."""
        return float(self.residuals.variance(self._ordered(columns)) ** 0.5)

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON: every wanted marginal with its cells and the deviation of their noise."""
        import itertools

        return {
            "question": self.question,
            "marginals": [
                {
                    "columns": list(m),
                    "standard_deviation": self.standard_deviation(*m),
                    "cells": [
                        {"label": list(label), "value": value}
                        for label, value in zip(
                            itertools.product(*(self.keys[c] for c in m)),
                            self.residuals.answer(m).ravel().tolist(),
                            strict=True,
                        )
                    ],
                }
                for m in self.marginals
            ],
            "charge": loss_to_json(self.charge),
            "remaining": self.remaining,
            "entry": self.entry,
            "request": self.request,
            "replayed": self.replayed,
        }

    def _ordered(self, columns: Sequence[str]) -> tuple[str, ...]:
        if unknown := [c for c in columns if c not in self.keys]:
            raise InputError(f"column {show(unknown[0])} was not declared; declared are: {', '.join(self.keys)}")
        return tuple(c for c in self.keys if c in columns)


def ask_marginals(
    session: Session,
    marginals: Sequence[Iterable[str]],
    keys: Mapping[str, Iterable[Key]],
    *,
    mu: Number | None = None,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    weights: Sequence[Number] | None = None,
    objective: str = "sum",
    where: str | None = None,
    known: MarginalsAnswer | None = None,
    request: str | None = None,
) -> MarginalsAnswer:
    """Ask for several marginals at once; see `Session.marginals`."""
    from dosimeter.mechanisms.matrix.marginals import Domain, Marginals, plan_marginals

    wanted = _lists(marginals)
    declared = _declared(keys)
    domain = Domain({c: len(k) for c, k in declared.items()})
    inside = _inside(declared)
    narrowed = None if where is None else count().where(where).condition
    if known is not None:
        if not isinstance(cast("object", known), MarginalsAnswer):
            raise QueryError(f"known={show(known)} is not an earlier answer of marginals")
        if dict(known.keys) != declared or tuple(known.keys) != tuple(declared):
            raise QueryError("known was answered for other columns or keys; pass the same keys, in the same order")
        if known.where != narrowed:
            raise QueryError("known was answered for other rows; pass the same where, or ask without known")
    pieces = Marginals(domain, session._entropy) if known is None else known.residuals.copy()
    price = _price(mu=mu, rho=rho, epsilon=epsilon, delta=delta)
    replaced = session.account.relation is NeighbouringRelation.REPLACE_ONE
    planned = plan_marginals(
        domain,
        wanted,
        mu=price,
        weights=weights,
        objective=objective,
        replace_one=replaced,
        records=session.account.unit.max_contributions,
        known=tuple(pieces.measured),
    )
    questions = {a: _counted(session, declared, a, (inside, where), price) for a in planned.stds}
    body = {
        "queries": [question.query.to_json() for question in questions.values()],
        "marginals": [list(m) for m in planned.marginals],
        "stds": [str(std) for std in planned.stds.values()],
        "keys": {c: list(k) for c, k in declared.items()},
    }
    digest = digest_of("dosimeter marginals 1", body)
    sentence = f"{len(planned.marginals)} marginals of {', '.join(domain.order)}" + (f" where {where}" if where else "")
    same = session.request_name(digest)  # fails where the rows are out of reach, so that nothing is paid for in vain
    name = same if request is None else request
    outcome = session._reserve(
        Request(
            id=name,
            event=planned.event(),
            relation=session.account.relation,
            body_digest=digest,
            description=sentence,
            delta=None if delta is None else amount(delta, "delta", below_one=True),
        )
    )
    if isinstance(outcome, QuotaRefused):
        raise QuotaExceeded(f"{sentence}: {outcome.message()}", outcome)
    if isinstance(outcome, RefusedRequest):
        raise QueryRefused(f"{sentence}: {outcome.refusal.message()}", outcome.refusal, outcome.advice)
    replayed = isinstance(outcome, Replayed)
    if isinstance(outcome, Replayed):
        stored = outcome.answer
    else:
        measured = Marginals(domain, session._entropy)
        for residual, question in questions.items():  # the first touch of private rows
            _measure(session, planned, residual, question, measured)
        settled = session.ledger.settle(outcome, {"residuals": measured.to_json()})
        stored, replayed = settled.answer, not settled.first
    pieces.add(Marginals.from_json(domain, _stored(stored)))
    return MarginalsAnswer(
        declared,
        planned.marginals,
        pieces,
        sentence,
        outcome.loss,
        session.balance().remaining,
        outcome.entry,
        name,
        replayed,
        narrowed,
    )


def _lists(marginals: object) -> list[list[str]]:
    """The wanted marginals, however they were given."""
    if isinstance(marginals, str) or not isinstance(marginals, Iterable):
        raise QueryError(f"marginals={show(marginals)} must be a list of lists of columns")
    found = []
    for marginal in marginals:
        if isinstance(marginal, str) or not isinstance(marginal, Iterable):
            raise QueryError(f"a marginal is a list of columns; got {show(marginal)}")
        found.append(list(marginal))
    return found


def _declared(keys: object) -> dict[str, tuple[Key, ...]]:
    """The declared values of every column."""
    if not isinstance(keys, Mapping):
        raise QueryError(f"keys={show(keys)} must map every column to the list of its public values")
    found = {}
    for column, values in keys.items():
        if not isinstance(values, Iterable):
            raise QueryError(f"the keys of {show(column)} are a list of values; got {show(values)}")
        found[column] = count().by(column, keys=values).groups[0].keys
    return found


def _inside(declared: Mapping[str, tuple[Key, ...]]) -> str:
    """The condition that every declared column holds one of its keys.

    All residuals must speak of the same rows. A row outside the keys would be in the total and in no cell, and the
    cells, which add up to the total, would share it out among them.
    """
    parts: list[Condition] = []
    for column, keys in declared.items():
        name = Name(column)
        given = [_literal(key) for key in keys if key is not None]
        options: list[Condition] = [IsMissing(name)] if None in keys else []
        if given:
            options.append(In(name, tuple(given)) if len(given) > 1 else Compare("=", name, given[0]))
        parts.append(Or(tuple(options)) if len(options) > 1 else options[0])
    text = write(And(tuple(parts)) if len(parts) > 1 else parts[0]) if parts else ""
    if len(text) > MAX_LENGTH:
        raise QueryError(
            f"the keys take {len(text)} characters when they are written as a condition, more than {MAX_LENGTH}; "
            "declare fewer, or ask for grouped counts of that column"
        )
    return text


def _literal(key: str | int | bool) -> Literal:
    if isinstance(key, bool):
        return Literal(key, ColumnType.BOOLEAN)
    if isinstance(key, int):
        return Literal(Decimal(key), ColumnType.INTEGER)
    return Literal(key, ColumnType.TEXT)


def _stored(answer: Any) -> object:
    if not isinstance(answer, dict) or "residuals" not in answer:
        raise InputError("the stored answer is not one of marginals; this request name was used for something else")
    return answer["residuals"]


def _price(*, mu: Number | None, rho: Number | None, epsilon: Number | None, delta: Number | None) -> Decimal:
    """The GDP parameter that a price buys, rounded down."""
    price = Price(epsilon=epsilon, delta=delta, rho=rho, mu=mu)
    if price.mu is not None:
        return price.mu
    if price.rho is not None:
        return sqrt_down(multiply_down(price.rho, 2))
    if price.epsilon is None or price.delta is None:
        raise QueryError("marginals get Gaussian noise, which has no pure price: give mu, rho, or epsilon with delta")
    return gaussian_mu(price.epsilon, price.delta)


def _counted(
    session: Session,
    keys: Mapping[str, tuple[Key, ...]],
    residual: Attributes,
    narrowed: Iterable[str | None],
    price: Decimal,
) -> Any:
    """The plan that counts one residual's table; its own noise is not used, only what it reads."""
    query: Query = count()
    for column in residual:
        query = query.by(column, keys=keys[column])
    for condition in narrowed:
        if condition is not None:
            query = query.where(condition)
    return plan(
        query,
        schema=session.schema,
        unit=session.account.unit,
        relation=session.account.relation,
        filter=None,
        price=Price(mu=price),
        salt=str(session.account.terms.get("salt", "")),
    )


def _measure(session: Session, planned: MarginalPlan, residual: Attributes, question: Any, into: Marginals) -> None:
    import numpy as np

    exact = session._source.aggregate(question)[0]
    shape = tuple(planned.domain.sizes[a] for a in residual)
    into.measure(planned, residual, np.array(exact, dtype=np.float64).reshape(shape))

"""What is asked of the ledger, and what it answers: values, because a refusal and a replay are expected outcomes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dosimeter.adaptive.filter import Filter, Refused
from dosimeter.errors import InputError
from dosimeter.events import Event
from dosimeter.events.event import require_event
from dosimeter.exact import amount, show
from dosimeter.ledger import texts
from dosimeter.neighbours import NeighbouringRelation
from dosimeter.notions import Loss

if TYPE_CHECKING:
    from dosimeter.accounting.fitting import Fit

_DIGEST: Final = re.compile("[0-9a-f]{1,128}")


@dataclass(frozen=True, slots=True)
class Request:
    """One release that somebody wants charged.

    Args:
        id: names the request for ever, 1 to 200 printable characters. The same id with the same body is the same
            request: it is charged once and, once answered, answered alike. The same id with another body is refused.
        event: what would be released.
        relation: the neighbouring relation under which the event was planned.
        body_digest: a hexadecimal digest of everything that decides the answer (the plan).
        description: a sentence for the statement; it may be public, so nothing from private rows belongs in it.
        delta: the probability of failure at which a mechanism without a pure guarantee is stated, if it needs one.
    """

    id: str
    event: Event
    relation: NeighbouringRelation
    body_digest: str
    description: str
    delta: Decimal | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", texts.name(self.id, "request id"))
        require_event(self.event)
        if type(self.relation) is not NeighbouringRelation:
            object.__setattr__(self, "relation", NeighbouringRelation.read(self.relation))
        digest = self.body_digest
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise InputError(f"body_digest={show(digest)} is not a lower-case hexadecimal digest of 1 to 128 digits")
        object.__setattr__(self, "description", texts.prose(self.description, "description", empty=True))
        if self.delta is not None:
            object.__setattr__(self, "delta", amount(self.delta, "delta", zero=True, below_one=True))


@dataclass(frozen=True, slots=True)
class Reserved:
    """The charge is durable; the rows may be touched now, and only `settle`'s answer may be released.

    `taken_over` says that the charge was made by an earlier attempt at the same request. Only the first attempt holds
    a `void_token`, and it stops working as soon as somebody takes the request over.
    """

    account_id: str
    entry: int
    request_id: str
    loss: Loss
    taken_over: bool = False
    void_token: bytes | None = field(default=None, repr=False, compare=False)
    rule: Filter[Any] | None = field(default=None, repr=False, compare=False)
    state: Any = field(default=None, repr=False, compare=False)

    @property
    def spent(self) -> dict[str, str]:
        """What the account's epoch had used when this was reserved, this charge included."""
        return {} if self.rule is None else self.rule.spent(self.state)

    @property
    def remaining(self) -> dict[str, str]:
        """What the account's epoch had left when this was reserved."""
        return {} if self.rule is None else self.rule.remaining(self.state)


@dataclass(frozen=True, slots=True)
class Replayed:
    """The request was answered before: the stored answer, free of charge."""

    account_id: str
    entry: int
    request_id: str
    loss: Loss
    answer: Any = field(hash=False)


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """The account's filter does not admit the request. Nothing was charged, and a cheaper request may follow."""

    account_id: str
    entry: int
    request_id: str
    loss: Loss
    refusal: Refused = field(hash=False)
    asked: Request | None = field(default=None, hash=False, repr=False, compare=False)
    rule: Filter[Any] | None = field(default=None, hash=False, repr=False, compare=False)
    state: Any = field(default=None, hash=False, repr=False, compare=False)

    def would_fit(self) -> Fit | None:
        """The same release with the least noise that would have been admitted; computed on demand, from a few prices.

        It depends on public facts alone: the event, the account's filter and where it stood.
        """
        from dosimeter.accounting.fitting import least_fit

        if self.asked is None or self.rule is None:
            return None
        asked = self.asked
        return least_fit(asked.event, self.rule, self.state, delta=asked.delta, relation=asked.relation)

    def advice(self) -> str:
        """What would fit, as a part of a sentence; nothing where no noise would help."""
        fit = self.would_fit()
        return "" if fit is None else fit.in_words()

    def message(self) -> str:
        """One sentence for a person: what was asked, what is left, what would fit."""
        return "; ".join(part for part in (self.refusal.message(), self.advice()) if part)


Outcome: TypeAlias = Reserved | Replayed | RefusedRequest


@dataclass(frozen=True, slots=True)
class ReservedTogether:
    """Every account admitted its request, in the order asked."""

    outcomes: tuple[Reserved | Replayed, ...]


@dataclass(frozen=True, slots=True)
class RefusedTogether:
    """At least one account refused, so no account was charged; the refusals, in the order asked."""

    refusals: tuple[RefusedRequest, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """The answer of a request, as stored. Release this and nothing else: an earlier attempt may have settled first.

    `first` says whether this call stored it.
    """

    account_id: str
    entry: int
    request_id: str
    answer: Any = field(hash=False)
    first: bool


@dataclass(frozen=True, slots=True)
class Quote:
    """What a release would cost now. Reads only; another request may change the account before it is reserved.

    `remaining_after` and `refusal`: the first is None where the release does not fit, the second where it does.
    `quota`: where the account would admit it and a quota would not, the `QuotaRefused` that says whose.
    """

    loss: Loss
    fits: bool
    refusal: Refused | None = field(hash=False)
    remaining: dict[str, str] = field(hash=False)
    remaining_after: dict[str, str] | None = field(hash=False)
    quota: Any = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What one odometer says about an epoch; where it has no bound to give, `bound` is None and `why_not` says why.

    `failure_probability` is the crossing probability of a bound on the loss (semantics "loss"), or the delta of every
    run stopped in time (semantics "dp").
    """

    odometer: dict[str, Any] = field(hash=False)
    semantics: str
    failure_probability: Decimal
    bound: Decimal | None
    why_not: str | None


@dataclass(frozen=True, slots=True)
class Balance:
    """Where an account stands, read in constant time; `readings` are its odometers' in the order it was opened with."""

    epoch: int
    spent: dict[str, str] = field(hash=False)
    remaining: dict[str, str] = field(hash=False)
    readings: tuple[Reading, ...]

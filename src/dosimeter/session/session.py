"""The one orchestrator: plan, reserve, aggregate, release, settle, in that order and no other.

The order is the guarantee. The plan sees public facts only. The charge is durable before a row is read. The noise is
drawn once per attempt, and only what the ledger stored as the answer is ever shown: a retry after a crash, in this
process or another, completes the same reservation or replays the same answer, and pays nothing.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dosimeter.errors import InputError, NotAuthorised, QueryRefused, QuotaExceeded
from dosimeter.exact import Number, amount
from dosimeter.ledger import (
    Account,
    Balance,
    DatasetIdentity,
    Ledger,
    Quote,
    RefusedRequest,
    Replayed,
    Request,
    Statement,
)
from dosimeter.ledger.account import GUARDED
from dosimeter.ledger.block_quotas import members_of
from dosimeter.ledger.quotas import Members, QuotaRefused
from dosimeter.queries import Plan, Price, Query, Result, Schema, plan
from dosimeter.session.answer import Answer
from dosimeter.session.words import left_in_words, loss_in_words, reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dosimeter.ledger import AuditReport
    from dosimeter.ledger.request import Outcome
    from dosimeter.mechanisms.entropy import Entropy
    from dosimeter.queries.query import Key
    from dosimeter.session.marginals import MarginalsAnswer
    from dosimeter.sources.port import Source


class Session:
    """An analyst's conversation with one data set under one account.

    Make one with `dosimeter.open`. Several sessions, threads and processes may use the same account at once.

    Args:
        ledger: keeps the account.
        account: pays.
        source: answers.
        entropy: draws the noise; the operating system's by default. Another one is for tests.
        pad_seconds: answer only at multiples of so many seconds, at most 3600, so that timing tells nothing; None to
            answer at once.
        analyst: who asks, of an account with members; their quota and their team's pay as well.
    """

    def __init__(
        self,
        ledger: Ledger,
        account: Account,
        source: Source,
        *,
        entropy: Entropy | None = None,
        pad_seconds: Number | None = None,
        analyst: str | None = None,
    ) -> None:
        self.ledger = ledger
        self.account = account
        self.analyst = analyst
        self.members = members_of(ledger, account) if GUARDED in account.terms else None
        if analyst is not None and self.members is None:
            raise InputError(f"{account.name!r} was opened without members, so anybody may ask; leave analyst out")
        self._source = source
        self._entropy = entropy
        self._pad_seconds = None if pad_seconds is None else amount(pad_seconds, "pad_seconds", largest=Decimal(3600))

    def __repr__(self) -> str:
        return f"Session(account={self.account.name!r}, filter={self.account.filter.kind!r})"

    def __str__(self) -> str:
        balance = self.balance()
        lines = [f"{self.account.name}: left {left_in_words(balance.remaining)}", loss_in_words(reading(balance))]
        return "\n".join(line for line in lines if line)

    @property
    def schema(self) -> Schema:
        """The public columns: those fixed when the account opened."""
        stored = self.account.terms.get("schema")
        return self._source.schema if stored is None else Schema.from_json(stored)

    def plan(
        self,
        query: Query,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        step: Number | None = None,
    ) -> Plan:
        """What asking would release and cost, from public facts alone; charges nothing.

        Args:
            query: the question, as in ``count().where("age >= 18")``.
            epsilon: the price, in exactly one form: epsilon, epsilon with delta, rho, or mu.
            delta: with epsilon, the price of a Gaussian that just meets both.
            rho: a price in zCDP.
            mu: a price in Gaussian DP.
            within: or the wanted error bar; the cheapest noise that meets it is chosen.
            confidence: of the error bars, all cells together.
            step: of a sum's lattice; derived from the bounds when left out.

        Raises:
            QueryError: the question does not fit the schema, or has unbounded sensitivity.
        """
        priced = any(value is not None for value in (epsilon, delta, rho, mu))
        return plan(
            query,
            schema=self.schema,
            unit=self.account.unit,
            relation=self.account.relation,
            filter=self.account.filter,
            price=Price(epsilon=epsilon, delta=delta, rho=rho, mu=mu) if priced else None,
            within=within,
            confidence=confidence,
            step=step,
            salt=str(self.account.terms.get("salt", "")),
        )

    def quote(self, query: Query, **price: Any) -> Quote:
        """What asking would be charged and whether it fits now; charges nothing. Takes the arguments of `plan`."""
        planned = self.plan(query, **price)
        quote = self.ledger.quote(self.account, planned.event, planned.relation, delta=planned.delta)
        if self.members is None or self.analyst is None or not quote.fits:
            return quote
        return with_quota(quote, self.members.refusal(self.analyst, planned.event, delta=planned.delta))

    def quota(self) -> Balance:
        """What the quota of the analyst who asks has used and left; what the account has left is `remaining`."""
        members, analyst = self._asking()
        return members.quota(analyst)

    def ask(self, query: Query, *, request: str | None = None, **price: Any) -> Answer:
        """Ask, pay, and get a noisy answer with its error bar. Takes the price arguments of `plan`.

        Asking the same question at the same price of the same rows again replays the stored answer and costs nothing.

        Args:
            query: the question.
            request: names this request. Give a new name to have fresh noise drawn and paid for; reuse one to retry.
                When left out, the question, its price and the rows name it.
            price: epsilon, epsilon and delta, rho, mu, or within and confidence, as in `plan`.

        Raises:
            QueryError: the question cannot be planned. Nothing was charged.
            QueryRefused: it does not certainly fit into the account. Nothing was charged; a cheaper one may.
            RequestConflict: this request name was used for something else.
            SourceError: the rows could not be read. The charge stays; asking again completes it, free.
        """
        planned = self.plan(query, **price)
        same = self._name(planned)  # fails where the rows are out of reach, so that nothing is paid for in vain
        with self._latency():
            return self._answer(planned, same if request is None else request)

    def marginals(
        self,
        marginals: Sequence[Iterable[str]],
        keys: Mapping[str, Iterable[Key]],
        **options: Any,
    ) -> MarginalsAnswer:
        """Ask for several marginals at once: one charge, least total error, and answers that agree with each other.

        Args:
            marginals: lists of columns, as in ``[["sex"], ["sex", "age"]]``; the empty list is the total.
            keys: the public values of every column that is named, in the order they are shown. A row counts where each
                of these columns holds one of its keys.
            options: the price (mu, rho, or epsilon with delta); `weights` (one per marginal); `objective`, "sum" or
                "max" of the variances; `where`; `known`, an earlier answer, whose pieces are not measured again;
                `request`, to name it.

        Raises:
            InputError: columns or keys that do not fit, nothing left to measure, or a `known` of other keys or rows.
            QueryRefused: it does not certainly fit into the account. Nothing was charged.
        """
        from dosimeter.session.marginals import ask_marginals

        with self._latency():
            return ask_marginals(self, marginals, keys, **options)

    def request_name(self, digest: str) -> str:
        """What the same question about the same rows is called, in any process."""
        identity = DatasetIdentity(self.account.name, self._source.content_digest())
        return self.ledger.request_name(identity, digest)

    def balance(self) -> Balance:
        """Where the account stands: spent, remaining, and what its odometers read."""
        return self.ledger.balance(self.account)

    def remaining(self) -> dict[str, str]:
        """What the account has left, by quantity, rounded down."""
        return self.balance().remaining

    def statement(self) -> Statement:
        """Everything that happened to the account, in order, and what it adds up to."""
        return self.ledger.statement(self.account)

    def audit(self) -> AuditReport:
        """Prove the account from its entries; names the first one that does not hold."""
        return self.ledger.audit(self.account)

    def _name(self, planned: Plan) -> str:
        """The same question at the same price of the same rows is the same request, in any process."""
        return self.request_name(planned.digest)

    def _answer(self, planned: Plan, request_id: str) -> Answer:
        from dosimeter.mechanisms.release import release

        question = str(planned.query)
        outcome = self._reserve(
            Request(
                id=request_id,
                event=planned.event,
                relation=planned.relation,
                body_digest=planned.digest,
                description=question,
                delta=planned.delta,
            )
        )
        if isinstance(outcome, QuotaRefused):
            raise QuotaExceeded(f"{question}: {outcome.message()}", outcome)
        if isinstance(outcome, RefusedRequest):
            raise QueryRefused(f"{question}: {outcome.refusal.message()}", outcome.refusal, outcome.advice)
        replayed = isinstance(outcome, Replayed)
        if isinstance(outcome, Replayed):
            stored = outcome.answer
        else:
            exact = self._source.aggregate(planned)  # the first touch of private rows
            noisy = [release(row, part.noise, self._entropy) for row, part in zip(exact, planned.parts, strict=True)]
            settled = self.ledger.settle(outcome, planned.answer(noisy).to_json())
            stored, replayed = settled.answer, not settled.first
        balance = self.balance()
        return Answer(
            result=Result.from_json(stored),
            question=question,
            charge=outcome.loss,
            remaining=balance.remaining,
            odometer=reading(balance),
            entry=outcome.entry,
            request=request_id,
            replayed=replayed,
        )

    def _reserve(self, request: Request) -> Outcome | QuotaRefused:
        if self.members is None:
            return self.ledger.reserve(self.account, request)
        members, analyst = self._asking()
        return members.reserve(analyst, request)

    def _asking(self) -> tuple[Members, str]:
        if self.members is None:
            raise InputError(f"{self.account.name!r} was opened without members, so nobody has a quota")
        if self.analyst is None:
            raise NotAuthorised(
                f"{self.account.name!r} has members; say who asks, as in analyst='Bob', or have a steward grant a role"
            )
        return self.members, self.analyst

    def _latency(self) -> Any:
        if self._pad_seconds is None:
            return nullcontext()
        from dosimeter.mechanisms.latency import pad_to

        return pad_to(self._pad_seconds)


def with_quota(quote: Quote, refused: QuotaRefused | None) -> Quote:
    """A quote that the account's filter admits, as far as quotas do."""
    if refused is None:
        return quote
    return replace(quote, fits=False, refusal=refused.refusal, remaining_after=None, quota=refused)

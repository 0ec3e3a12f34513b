"""Asking data that is split into blocks: a question names the blocks it reads, and only their rows are touched.

The named blocks become a part of the question's condition, so that the rows that are read are exactly those that are
paid for, whatever the data holds. Everything else is as in any session: plan, reserve (on every block or on none),
aggregate, release, settle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dosimeter.errors import InputError, QueryRefused, QuotaExceeded
from dosimeter.exact import Number
from dosimeter.ledger import Account, Balance, Ledger, Quote, Request
from dosimeter.ledger.block_quotas import BlockMembers
from dosimeter.ledger.blocks import BlockStatement, RefusedBlocks, ReplayedBlocks, ReservedBlocks, SplitAccount
from dosimeter.ledger.quotas import QuotaRefused
from dosimeter.ledger.split import TimeWindows
from dosimeter.queries import Plan, Query, Result
from dosimeter.session.answer import Answer
from dosimeter.session.session import Session, with_quota

if TYPE_CHECKING:
    from dosimeter.mechanisms.entropy import Entropy
    from dosimeter.sources.port import Source


class SplitSession(Session):
    """A conversation with a data set that was opened in blocks; made by `dosimeter.open` like any other session."""

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
        super().__init__(ledger, account, source, entropy=entropy, pad_seconds=pad_seconds, analyst=analyst)
        self.book = SplitAccount(ledger, account)

    def __str__(self) -> str:
        blocks = self.book.blocks()
        retired = sum(block.retired for block in blocks)
        return f"{self.account.name}: {len(blocks)} blocks opened, {retired} of them retired"

    def last(self, days: int, today: object) -> tuple[str, ...]:
        """The blocks that hold the last so many days, `today` (a date, or 2026-01-31) included."""
        return self._windows().last(days, today)

    def between(self, first: object, last: object) -> tuple[str, ...]:
        """The blocks that hold the days from `first` to `last`, both included."""
        return self._windows().between(first, last)

    def live(self, blocks: Sequence[object]) -> tuple[str, ...]:
        """Those of the blocks that have not retired."""
        return self.book.live(blocks)

    def plan(self, query: Query, *, blocks: Sequence[object] = (), **price: Any) -> Plan:
        """What asking these blocks would release and cost each of them; charges nothing."""
        return super().plan(query.where(self.book.split.rule.condition(self._named(blocks))), **price)

    def quote(self, query: Query, *, blocks: Sequence[object] = (), **price: Any) -> Quote:
        """What asking would be charged, and whether it fits into every block now: the quote of the tightest block."""
        planned = self.plan(query, blocks=blocks, **price)
        named = self._named(blocks)
        quotes = self.book.quote(named, planned.event, delta=planned.delta)
        quote = next((quote for quote in quotes.values() if not quote.fits), next(iter(quotes.values())))
        if self.analyst is None or not isinstance(self.members, BlockMembers) or not quote.fits:
            return quote
        return with_quota(quote, self.members.refusal_in(self.analyst, named, planned.event, delta=planned.delta))

    def quota(self) -> Balance:
        """In data in blocks a quota is one of each block: see `block_quota`."""
        raise InputError("this data is split into blocks, and a quota is one of each block; see block_quota(key)")

    def block_quota(self, key: object) -> Balance:
        """What the quota of the analyst who asks has used and left of one block."""
        members, analyst = self._asking()
        return members.block_quota(analyst, key) if isinstance(members, BlockMembers) else members.quota(analyst)

    def ask(self, query: Query, *, blocks: Sequence[object] = (), request: str | None = None, **price: Any) -> Answer:
        """Ask these blocks, pay on each of them, and get a noisy answer with its error bar.

        Args:
            query: the question; it is narrowed to the rows of these blocks.
            blocks: keys, such as those of `last(30, today)`.
            request: names this request, as in `Session.ask`.
            price: as in `Session.plan`.

        Raises:
            InputError: no blocks are named, or a key names none.
            QueryRefused: some block does not admit it; no block was charged. `live` leaves retired blocks out.
        """
        named = self._named(blocks)
        planned = self.plan(query, blocks=named, **price)
        same = self._name(planned)
        with self._latency():
            return self._answer_from(named, planned, same if request is None else request)

    def marginals(self, *_: Any, **__: Any) -> Any:
        """Not of data in blocks: ask for each marginal as a grouped count of the blocks."""
        raise InputError(
            "this data is split into blocks, and marginals are asked of whole data; ask for grouped counts of the "
            "blocks, as in ask(count().by(...), blocks=[...])"
        )

    def balance(self) -> Balance:
        """Blocks have balances of their own: see `blocks_statement`."""
        raise InputError("this data is split into blocks, and each has a balance of its own; see blocks_statement()")

    def remaining(self, blocks: Sequence[object] | None = None) -> dict[str, str]:
        """What the tightest of these blocks (of all opened ones, when left out) has left, by quantity."""
        from decimal import Decimal

        named = [b.key for b in self.book.blocks()] if blocks is None else list(self._named(blocks))
        left = [self.ledger.balance(self.book.block(key)).remaining for key in named]
        whole = self.account.filter.remaining(self.account.filter.start())
        return {name: min((one[name] for one in [*left, whole]), key=Decimal) for name in whole}

    def blocks_statement(self) -> BlockStatement:
        """What is promised per block and per person, and what each block has spent."""
        return self.book.statement()

    def _answer_from(self, named: tuple[str, ...], planned: Plan, request_id: str) -> Answer:
        from dosimeter.mechanisms.release import release

        question = str(planned.query)
        outcome = self._reserve_blocks(
            named,
            Request(
                id=request_id,
                event=planned.event,
                relation=planned.relation,
                body_digest=planned.digest,
                description=question,
                delta=planned.delta,
            ),
        )
        if isinstance(outcome, QuotaRefused):
            raise QuotaExceeded(f"{question}: {outcome.message()}", outcome)
        if isinstance(outcome, RefusedBlocks):
            refused = next(iter(outcome.refusals.values()))
            raise QueryRefused(f"{question}: {outcome.message()}", refused.refusal, refused.advice)
        replayed = isinstance(outcome, ReplayedBlocks)
        if isinstance(outcome, ReplayedBlocks):
            stored, loss, entry = outcome.answer, outcome.loss, outcome.entry
        else:
            exact = self._source.aggregate(planned)  # the first touch of private rows
            noisy = [release(row, part.noise, self._entropy) for row, part in zip(exact, planned.parts, strict=True)]
            stored, first = self.book.settle(outcome, planned.answer(noisy).to_json())
            loss, entry, replayed = outcome.loss, outcome.held[0].entry, not first
        return Answer(
            result=Result.from_json(stored),
            question=question,
            charge=loss,
            remaining=self.remaining(named),
            odometer=None,
            entry=entry,
            request=request_id,
            replayed=replayed,
        )

    def _reserve_blocks(
        self, named: tuple[str, ...], request: Request
    ) -> ReservedBlocks | ReplayedBlocks | RefusedBlocks | QuotaRefused:
        if self.members is None:
            return self.book.reserve(named, request)
        members, analyst = self._asking()
        if not isinstance(members, BlockMembers):  # what members_of makes of data in blocks
            raise InputError("this data is split into blocks, whose members have a quota in each of them")
        return members.reserve_blocks(analyst, named, request)

    def _named(self, blocks: Sequence[object]) -> tuple[str, ...]:
        if not blocks:
            raise InputError("this data is split into blocks; name those to read, as in blocks=['2026-01-31']")
        return self.book.split.require(blocks)

    def _windows(self) -> TimeWindows:
        rule = self.book.split.rule
        if not isinstance(rule, TimeWindows):
            raise InputError("this data is not split by time; name its blocks by their keys")
        return rule

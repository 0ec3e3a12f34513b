"""Data that grows, in blocks: each block has an account of its own with a filter of the same kind.

A request names the blocks it reads and is charged its whole loss on each of them, on all or on none, in one
transaction. Blocks are disjoint, so charges on different blocks do not add up for anybody who lies in one of them.

What is proved (block composition: Lécuyer et al. 2019, "Sage"; Luo et al. 2021, "PrivateKube"). Let a rule that looks
at one row alone put each row into one block. Let every request depend on the rows of the blocks that it names and on
nothing else of the data, and let its loss hold for neighbours that differ in the rows of one person in any of them.
Which blocks are named, and with which event, may depend on everything released so far. Then for each block the whole
interaction, all requests on all blocks, keeps the block's guarantee for two data sets that differ in one person's rows
inside this block. Proof: fix the rows of all other blocks. Requests that do not name the block are functions of what
was released and of fixed rows, so they are post-processing; those that name it were admitted by its filter, which
holds for every adaptive choice; refusals depend on parameters alone.

A person in several blocks. Adding or removing a person with rows in k blocks changes k blocks. Let each request that
names any of them count for one of them: the interaction is then k interactive mechanisms, interleaved by an adversary,
and by concurrent composition (Vadhan and Zhang 2023) it satisfies k guarantees together, by the notion's own law. Under
`replace_one` a person leaves some blocks and enters others, so twice as many count: for one block per person, the two
largest (McSherry 2009; the case of `composition.parallel`). There, each loss must hold when a person is replaced and
also when one is removed or added, because the other half may lie in a block that was not named; the losses of planned
queries do.

A block's budget is never refreshed silently. The same rows lie in the same block for ever; a fresh budget for them is a
new epoch, a steward's decision on record, and the statement adds the epochs up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dosimeter.adaptive.filter import Filter
from dosimeter.errors import AccountConflict, AccountNotFound, LedgerError
from dosimeter.exact import add_up, text
from dosimeter.ledger.account import GUARDED, SPLIT, Account, DatasetIdentity, agreement
from dosimeter.ledger.request import (
    Balance,
    Quote,
    RefusedRequest,
    RefusedTogether,
    Replayed,
    Request,
    Reserved,
    ReservedTogether,
)
from dosimeter.ledger.split import Split, split_from_json
from dosimeter.ledger.texts import canonical
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.notions import Loss

if TYPE_CHECKING:
    from dosimeter.events import Event
    from dosimeter.ledger.audit import AuditReport
    from dosimeter.ledger.ledger import Ledger

BLOCK = "block"  # of the account of a block


@dataclass(frozen=True, slots=True)
class ReservedBlocks:
    """The charge is durable on every named block; rows of these blocks, and no others, may be touched now."""

    blocks: tuple[str, ...]
    held: tuple[Reserved, ...]

    @property
    def loss(self) -> Loss:
        """What each block was charged."""
        return self.held[0].loss

    @property
    def request_id(self) -> str:
        """The request."""
        return self.held[0].request_id

    @property
    def taken_over(self) -> bool:
        """Whether an earlier attempt had reserved it."""
        return self.held[0].taken_over


@dataclass(frozen=True, slots=True)
class ReplayedBlocks:
    """The request was answered before: the stored answer, free of charge."""

    blocks: tuple[str, ...]
    entry: int
    loss: Loss
    answer: Any = field(hash=False)


@dataclass(frozen=True, slots=True)
class RefusedBlocks:
    """Some named block does not admit the request, so no block was charged; by key, what each of these said."""

    blocks: tuple[str, ...]
    refusals: dict[str, RefusedRequest] = field(hash=False)

    def message(self) -> str:
        """One sentence for a person."""
        key, refusal = next(iter(self.refusals.items()))
        others = f" (and {len(self.refusals) - 1} more blocks)" if len(self.refusals) > 1 else ""
        return f"block {key}{others}: {refusal.refusal.message()}; or leave these blocks out"


@dataclass(frozen=True, slots=True)
class Block:
    """One block: its key, its account, where it stands, and whether it has retired."""

    key: str
    account: Account
    balance: Balance
    retired: bool


@dataclass(frozen=True, slots=True)
class BlockStatement:
    """What the blocks promise and have spent.

    `per_block` protects the rows of a person inside any one block. `per_person` protects a whole person; None where
    nobody vouched for how many blocks a person may lie in. Both hold for all epochs together, and whatever is asked
    next. `spent_per_person` adds up, by quantity, the largest amounts that the current epochs of so many blocks have
    used.
    """

    account: Account
    split: Split
    blocks: tuple[Block, ...]
    blocks_affected: int | None
    per_block: Loss
    per_person: Loss | None
    spent_per_person: dict[str, str] | None = field(hash=False)

    def to_json(self) -> dict[str, Any]:
        """The statement as JSON, numbers as texts."""
        from dosimeter.events import loss_to_json

        return {
            "account": self.account.to_json(),
            "split": self.split.to_json(),
            "blocks": [
                {
                    "block": block.key,
                    "account": block.account.id,
                    "epoch": block.balance.epoch,
                    "spent": block.balance.spent,
                    "remaining": block.balance.remaining,
                    "retired": block.retired,
                }
                for block in self.blocks
            ],
            "blocks_affected": self.blocks_affected,
            "per_block": loss_to_json(self.per_block),
            "per_person": None if self.per_person is None else loss_to_json(self.per_person),
            "spent_per_person": self.spent_per_person,
        }


class SplitAccount:
    """The account of a data set that was opened with a split: what is asked of it names blocks.

    Args:
        ledger: keeps the accounts.
        account: of the whole data set. It carries the terms, and is never charged itself.
    """

    def __init__(self, ledger: Ledger, account: Account) -> None:
        self.ledger = ledger
        self.account = account
        self.split = split_of(account)
        self._known: dict[str, Account] = {}

    # -- blocks --------------------------------------------------------------------------------------------------

    def block(self, key: object) -> Account:
        """The account of a block, which is opened by the rule the first time that somebody asks for it."""
        name = self.split.rule.require(key)
        if name not in self._known:
            whole = self.account
            found = self.ledger.open(
                self._identity(name),
                unit=whole.unit,
                relation=whole.relation,
                filter=whole.filter,
                odometers=whole.odometers,
                terms={BLOCK: name, "of": whole.id} | ({GUARDED: True} if GUARDED in whole.terms else {}),
                opened_by=whole.opened_by,
            )
            self._known[name] = found
        return self._known[name]

    def blocks(self) -> tuple[Block, ...]:
        """The blocks that were opened, in order of key."""
        mine = [a for a in self.ledger.accounts() if a.terms.get("of") == self.account.id and BLOCK in a.terms]
        found = ((str(account.terms[BLOCK]), account, self.ledger.balance(account)) for account in mine)
        return tuple(sorted((Block(k, a, b, self._retired(a, b)) for k, a, b in found), key=lambda block: block.key))

    def live(self, keys: Sequence[object]) -> tuple[str, ...]:
        """Those of the blocks that have not retired; a choice by public facts."""
        retired = {block.key for block in self.blocks() if block.retired}
        return tuple(key for key in self.split.require(keys) if key not in retired)

    # -- requests ------------------------------------------------------------------------------------------------

    def quote(self, keys: Sequence[object], event: Event, *, delta: Decimal | None = None) -> dict[str, Quote]:
        """What a release over these blocks would cost each of them, and whether it fits; charges nothing."""
        named = self.split.require(keys)
        return {key: self.ledger.quote(self.block(key), event, self.account.relation, delta=delta) for key in named}

    def reserve(self, keys: Sequence[object], request: Request) -> ReservedBlocks | ReplayedBlocks | RefusedBlocks:
        """Charge every named block for a request, or none of them, durably, before any row is touched.

        The same id over the same blocks is the same request. Over other blocks that share one with it, it is a
        conflict; over blocks that share none with it, it is another request.

        Raises:
            InputError: a key names no block.
            RequestConflict, NoGuaranteeError, NotionError: as `Ledger.reserve`.
        """
        together = self.requests(keys, request)
        return self.outcome(together, self.ledger.reserve_all(list(together.values())))

    def requests(self, keys: Sequence[object], request: Request) -> dict[str, tuple[Account, Request]]:
        """What reserving comes to: each named block's account, and the request bound to all of the named blocks."""
        named = self.split.require(keys)
        bound = replace(request, body_digest=self._digest(request, named))
        return {key: (self.block(key), bound) for key in named}

    def outcome(
        self, together: dict[str, tuple[Account, Request]], outcome: ReservedTogether | RefusedTogether
    ) -> ReservedBlocks | ReplayedBlocks | RefusedBlocks:
        """What the accounts said together, in the words of blocks."""
        named = tuple(together)
        if isinstance(outcome, RefusedTogether):
            key_of = {account.id: key for key, (account, _) in together.items()}
            return RefusedBlocks(named, {key_of[refusal.account_id]: refusal for refusal in outcome.refusals})
        held = tuple(one for one in outcome.outcomes if isinstance(one, Reserved))
        if not held:
            answers = [one for one in outcome.outcomes if isinstance(one, Replayed)]
            return ReplayedBlocks(named, answers[0].entry, answers[0].loss, answers[0].answer)
        if len(held) != len(named):
            raise LedgerError("some of these blocks have an answer and some have not; run the audit")
        return ReservedBlocks(named, held)

    def settle(self, reserved: ReservedBlocks, answer: Any) -> tuple[Any, bool]:
        """Store the noisy answer on every block, in one transaction.

        Returns:
            The answer to release (the first one stored, for ever), and whether this call stored it.
        """
        settled = self.ledger.settle_batch([(held, answer) for held in reserved.held])
        return settled[0].answer, settled[0].first

    def void(self, reserved: ReservedBlocks, *, reason: str, by: str) -> None:
        """Give the charges back, on all blocks or on none; only the live first holder may, before rows are touched."""
        self.ledger.void_all(reserved.held, reason=reason, by=by)

    # -- a steward's and an auditor's -----------------------------------------------------------------------------

    def new_epoch(self, keys: Sequence[object], *, reason: str, authorised_by: str) -> tuple[Account, ...]:
        """Let these blocks begin a new epoch with a fresh budget over the same rows; the statement adds epochs up."""
        named = self.split.require(keys)
        return tuple(self.ledger.reset(self.block(key), reason=reason, authorised_by=authorised_by) for key in named)

    def statement(self) -> BlockStatement:
        """What is promised per block and per person, and what each block has spent."""
        blocks, rule = self.blocks(), self.account.filter
        affected = blocks_affected(self.account, self.split)
        epochs = sorted((block.balance.epoch for block in blocks), reverse=True)
        promise: Any = rule.guarantee()
        per_person = spent = None
        if affected is not None:
            counted = epochs[:affected]  # blocks that were not opened yet count with their first epoch
            per_person = promise.repeat(sum(counted) + affected - len(counted))
            spent = largest_together([block.balance.spent for block in blocks], affected)
        return BlockStatement(
            account=self.account,
            split=self.split,
            blocks=blocks,
            blocks_affected=affected,
            per_block=promise.repeat(max(epochs, default=1)),
            per_person=per_person,
            spent_per_person=spent,
        )

    def audit(self, *, progress: Callable[[int, int], None] | None = None) -> tuple[AuditReport, ...]:
        """Prove the whole account and every block; a block under other terms than the whole is an error.

        Args:
            progress: told now and then how many records of the account in turn were read, and of how many.

        Raises:
            AccountConflict: a block has another filter, unit or relation than the data set.
        """
        terms = _agreement(self.account)
        for block in self.blocks():
            if _agreement(block.account) != terms:
                raise AccountConflict(f"block {block.key} has other terms than its data set; it must not be charged")
        accounts = [self.account, *(block.account for block in self.blocks())]
        return tuple(self.ledger.audit(account, progress=progress) for account in accounts)

    # -- inside --------------------------------------------------------------------------------------------------

    def _identity(self, key: str) -> DatasetIdentity:
        name = hashlib.sha256(canonical(["dosimeter block 1", self.account.id, key]).encode()).hexdigest()
        return DatasetIdentity(f"block {name[:40]} of {self.account.id}", name)

    def _digest(self, request: Request, named: tuple[str, ...]) -> str:
        words = canonical(["dosimeter blocks 1", request.body_digest, list(named)])
        return hashlib.sha256(words.encode()).hexdigest()

    def _retired(self, account: Account, balance: Balance) -> bool:
        budget, least = account.filter.budget(), Decimal(self.split.retire_below)
        pairs = [(Decimal(balance.remaining.get(name, value)), Decimal(value)) for name, value in budget.items()]
        return any(cap > 0 and left < cap * least for left, cap in pairs)


def open_split(
    ledger: Ledger,
    identity: DatasetIdentity,
    split: Split,
    *,
    unit: PrivacyUnit,
    relation: NeighbouringRelation,
    filter: Filter[Any],  # noqa: A002 - the word of the domain
    odometers: Sequence[Any] = (),
    terms: dict[str, Any] | None = None,
    opened_by: str,
) -> SplitAccount:
    """Open a data set that grows, split into blocks that each have the budget of `filter`, or find it as it was opened.

    Raises:
        AccountConflict: the data set was opened before without blocks, or with another rule or other terms.
    """
    facts = {**(terms or {}), SPLIT: split.to_json()}
    account = ledger.open(
        identity,
        unit=unit,
        relation=relation,
        filter=filter,
        odometers=odometers,
        terms=facts,
        opened_by=opened_by,
    )
    return SplitAccount(ledger, account)


def split_of(account: Account) -> Split:
    """How an account's data is split; raises AccountNotFound where it is not."""
    if SPLIT not in account.terms:
        raise AccountNotFound(f"the data of {account.name!r} was not opened in blocks; ask it as a whole")
    return split_from_json(account.terms[SPLIT])


def blocks_affected(account: Account, split: Split) -> int | None:
    """How many blocks one person's presence may change, under the account's neighbouring relation; None: unknown."""
    most = 1 if account.unit.column is None else split.blocks_per_person
    if most is None:
        return None
    return 2 * most if account.relation is NeighbouringRelation.REPLACE_ONE else most


def largest_together(spent: Sequence[dict[str, str]], how_many: int) -> dict[str, str]:
    """By quantity, the sum of the largest amounts of so many blocks, rounded up."""
    together: dict[str, str] = {}
    for name in {name for amounts in spent for name in amounts}:
        values = sorted((Decimal(amounts[name]) for amounts in spent if name in amounts), reverse=True)
        together[name] = text(add_up(*values[:how_many]))
    return dict(sorted(together.items()))


def _agreement(account: Account) -> dict[str, Any]:
    return agreement(account.unit, account.relation, account.filter, account.odometers)

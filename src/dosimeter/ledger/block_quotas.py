"""Quotas over data in blocks: every analyst and team has their quota in each block anew, as each block has its budget.

A request names blocks and is charged to each of them, and in each of them to the analyst's quota and the team's: to
all or to none, in one transaction. So a quota of 0.4 means: of no block's budget more than 0.4, however many blocks
come. A quota in a block is an account of its own, opened the first time that it is needed under the terms of the grant.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dosimeter.errors import InputError
from dosimeter.exact import show
from dosimeter.ledger import charging
from dosimeter.ledger.account import SHARE, Account
from dosimeter.ledger.blocks import RefusedBlocks, ReplayedBlocks, ReservedBlocks, SplitAccount
from dosimeter.ledger.members import identity
from dosimeter.ledger.quotas import Grant, Members, QuotaRefused, Share, Whose
from dosimeter.ledger.request import Balance, Request, Reserved

if TYPE_CHECKING:
    from dosimeter.events import Event
    from dosimeter.ledger.ledger import Ledger
    from dosimeter.ledger.store import Writing


class BlockMembers(Members):
    """The members of a guarded account whose data is split into blocks.

    Args:
        ledger: keeps the accounts.
        account: of the whole data set; opened with a split and with members.
    """

    def __init__(self, ledger: Ledger, account: Account) -> None:
        super().__init__(ledger, account)
        self.book = SplitAccount(ledger, account)
        self._opened: dict[tuple[str, Whose, str], Account] = {}

    def reserve(self, analyst: str, request: Request) -> Any:  # noqa: ARG002 - nothing is asked as a whole
        """Data in blocks is asked by block: see `reserve_blocks`."""
        raise InputError(
            f"the data of {self.account.name!r} is split into blocks; name those that {show(analyst)} asks"
        )

    def reserve_blocks(
        self, analyst: str, keys: Sequence[object], request: Request
    ) -> ReservedBlocks | ReplayedBlocks | RefusedBlocks | QuotaRefused:
        """Charge every named block, and in each of them the quotas of the analyst and their team; all or none.

        Returns:
            ReservedBlocks, ReplayedBlocks, RefusedBlocks: as `SplitAccount.reserve`.
            QuotaRefused: a quota does not admit it in some block. Nothing was charged.

        Raises:
            NotAuthorised: the name is not of an analyst.
        """
        together = self.book.requests(keys, request)
        bound = {account.id: one for account, one in together.values()}
        quotas = {account.id: shares for account, shares in self._of_blocks(analyst, together)}

        def shares(tx: Writing, new: Sequence[Reserved]) -> QuotaRefused | None:
            self._analyst(tx, analyst)
            paid = [(share, held) for held in new for share in quotas[held.account_id]]
            return self._charge(tx, paid, next(iter(bound.values())))

        outcome = charging.reserve_all(self._desk, list(together.values()), shares=shares)
        return outcome if isinstance(outcome, QuotaRefused) else self.book.outcome(together, outcome)

    def refusal_in(
        self, analyst: str, keys: Sequence[object], event: Event, *, delta: Decimal | None = None
    ) -> QuotaRefused | None:
        """Which quota in which block would not admit an event now, if any; charges nothing."""
        named = {key: (self.book.block(key), None) for key in self.book.split.require(keys)}
        every = [share for _, shares in self._of_blocks(analyst, named) for share in shares]
        with self.ledger.store.read() as view:
            return self._first_refusal(view, every, event, delta)

    def block_quota(self, name: str, key: object) -> Balance:
        """What an analyst's quota in one block has used and left."""
        return self.ledger.balance(self._share(self.book.block(key), "analyst", self._known(name).account, name))

    def _of_blocks(self, analyst: str, together: dict[str, tuple[Account, Any]]) -> list[tuple[Account, list[Share]]]:
        """By block, the quotas that pay; opened where they are new."""
        with self.ledger.store.read() as view:
            grant: Grant = self._analyst(view, analyst)
            whole = self._shares(view, grant)
        return [
            (block, [Share(s.whose, s.name, self._share(block, s.whose, s.account, s.name)) for s in whole])
            for block, _ in together.values()
        ]

    def _share(self, block: Account, whose: Whose, granted: Account, name: str) -> Account:
        known = self._opened.get((block.id, whose, name))
        if known is None:
            known = self.ledger.open(
                identity(block, f"{whose} quota", name),
                unit=block.unit,
                relation=block.relation,
                filter=granted.filter,
                terms={"of": block.id, "quota": name, "whose": whose, SHARE: granted.terms[SHARE]},
                opened_by=granted.opened_by,
            )
            self._opened[block.id, whose, name] = known
        return known


def members_of(ledger: Ledger, account: Account) -> Members:
    """The members of a guarded account, whether its data is split into blocks or not."""
    from dosimeter.ledger.account import SPLIT

    return BlockMembers(ledger, account) if SPLIT in account.terms else Members(ledger, account)

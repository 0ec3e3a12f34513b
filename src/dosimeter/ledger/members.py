"""Who may do what with an account: steward, analyst, auditor, as facts on record that the ledger itself looks up.

An account is guarded when it was opened with ``terms={"members": True}``. From then on nobody charges it except an
analyst through `quotas.Members`, and only a steward resets it, lets changed data in, or grants roles. Whoever opened
the account is its first steward. A grant and a withdrawal are records in chains like everything else.

A name says who acts; it does not prove it. Proving it (a login, a certificate) is the business of whatever stands
between people and the ledger, which passes the name that it has checked.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from dosimeter.errors import NotAuthorised
from dosimeter.exact import show
from dosimeter.ledger.account import GUARDED, SHARE, Account, DatasetIdentity
from dosimeter.ledger.texts import canonical

if TYPE_CHECKING:
    from dosimeter.ledger.desk import Desk
    from dosimeter.ledger.store import Reading

ROLE: Final = "role"


class Role(StrEnum):
    """What a member may do."""

    STEWARD = "steward"  # grants and withdraws roles, resets, lets changed data in; asks nothing
    ANALYST = "analyst"  # asks, within a quota
    AUDITOR = "auditor"  # looks and proves; asks and changes nothing


def identity(account: Account, what: str, name: str) -> DatasetIdentity:
    """What the ledger calls the account of a member or a team, and the mark of a withdrawal."""
    words = hashlib.sha256(canonical(["dosimeter member 1", account.id, what, name]).encode()).hexdigest()
    return DatasetIdentity(f"{what} {words[:40]} of {account.id}", words)


def member(desk: Desk, view: Reading, account: Account, name: str) -> tuple[Account, Role] | None:
    """The member's own account and role, if they have one that was not withdrawn."""
    found = view.owner("name", identity(account, "member", name).name)
    if found is None or view.owner("name", identity(account, "withdrawn", name).name) is not None:
        return None
    own = desk.account(view, found)
    return (own, Role(own.terms[ROLE])) if _granted(desk, view, account, own) else None


def _granted(desk: Desk, view: Reading, account: Account, own: Account) -> bool:
    """Whether whoever opened the member's account was a steward; one whose role was withdrawn later still was."""
    if own.opened_by == account.opened_by:
        return True
    found = view.owner("name", identity(account, "member", own.opened_by).name)
    return found is not None and desk.account(view, found).terms[ROLE] == Role.STEWARD


def require_steward(desk: Desk, view: Reading, account: Account, name: str) -> None:
    """Refuse whoever is no steward of a guarded account; any name may decide about one that is not guarded.

    Raises:
        NotAuthorised: the name is of nobody, of an analyst or of an auditor.
    """
    while (SHARE in account.terms or GUARDED in account.terms) and "of" in account.terms:
        account = desk.account(view, account.terms["of"])  # of a quota or a block: its stewards are the whole account's
    if GUARDED not in account.terms or name == account.opened_by:
        return
    found = member(desk, view, account, name)
    if found is None or found[1] is not Role.STEWARD:
        what = "has no role" if found is None else f"is {found[1]}"
        raise NotAuthorised(f"{show(name)} {what} in account {account.id}; this is for its stewards to decide")

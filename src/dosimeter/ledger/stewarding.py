"""What a steward does with accounts: open, find, let changed data in, begin a new epoch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from dosimeter.adaptive.filter import Filter
from dosimeter.errors import AccountConflict, InputError, NotAuthorised
from dosimeter.ledger import pricing, rules, texts
from dosimeter.ledger.account import Account, DatasetIdentity, agreement
from dosimeter.ledger.desk import Desk
from dosimeter.ledger.members import require_steward
from dosimeter.ledger.record import Draft, Head, Kind, before_first
from dosimeter.ledger.store import Reading, Writing
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit


class Wanted(NamedTuple):
    """An account as somebody asks for it; `facts` is None where the stored terms are accepted."""

    identity: DatasetIdentity
    agreed: dict[str, Any]
    facts: dict[str, Any] | None
    start: dict[str, Any]
    by: str


def wanted(
    identity: DatasetIdentity,
    unit: PrivacyUnit,
    relation: NeighbouringRelation,
    rule: Filter[Any],
    odometers: Sequence[Any],
    terms: dict[str, Any] | None,
    opened_by: str,
) -> Wanted:
    """Check what is asked for before anything is read or written."""
    by = texts.name(opened_by, "opened_by")
    agreed = agreement(unit, NeighbouringRelation.read(relation), _stored_form(rule), tuple(odometers))
    for data in agreed["odometers"]:
        stored = pricing.read_odometer(data)
        pricing.require_reads(stored, rule)
        pricing.verify(stored)
    facts, _ = texts.plain(terms if terms is not None else {}, "terms", largest=texts.MAX_TERMS)
    if not isinstance(facts, dict):
        raise InputError("terms is not an object of JSON; give a dict")
    return Wanted(identity, agreed, facts if terms is not None else None, rule.state_to_json(rule.start()), by)


def open_or_find(desk: Desk, asked: Wanted) -> Account:
    """The data set's account, opened if it has none."""
    mac = asked.identity.content_mac(desk.key.key)

    def work(tx: Writing) -> Account:
        found = owner(tx, asked.identity, mac)
        if found is not None:
            return _reopen(desk, tx, found, asked, mac)
        account_id = os.urandom(12).hex()
        body = {
            "ledger": desk.key.ledger_id,
            "key": desk.key.check(),
            "name": asked.identity.name,
            "content": mac,
            **asked.agreed,
            "terms": asked.facts or {},
            "by": asked.by,
            "state": asked.start,
        }
        draft = Draft(Kind.OPENED, texts.canonical(body), state=texts.canonical(asked.start))
        desk.append(tx, before_first(account_id, desk.key.ledger_id), draft)
        tx.claim("name", asked.identity.name, account_id)
        tx.claim("content", mac, account_id)
        return desk.account(tx, account_id)

    return desk.write("open", work)


def _reopen(desk: Desk, tx: Writing, account_id: str, asked: Wanted, mac: str) -> Account:
    same_content(tx, account_id, asked.identity, mac)
    current = desk.account(tx, account_id)
    stored = agreement(current.unit, current.relation, current.filter, current.odometers)
    for part, value in (*stored.items(), ("terms", current.terms)):
        given = asked.facts if part == "terms" else asked.agreed[part]
        if given is not None and given != value:
            raise AccountConflict(
                f"account {account_id} of {current.name!r} was opened with {part}={texts.canonical(value)}, "
                f"not {texts.canonical(given)}; open it with its own terms, or leave the budget out to find it as it is"
            )
    if tx.owner("name", asked.identity.name) is None:
        draft = Draft(Kind.NAMED, texts.canonical({"name": asked.identity.name}))
        desk.append(tx, desk.head(tx, account_id), draft)
        tx.claim("name", asked.identity.name, account_id)
    return current


def accept_data_change(
    desk: Desk, account: Account, identity: DatasetIdentity, reason: object, by: object
) -> tuple[Account, bool]:
    """The account, and whether this was news to it."""
    reason, by = decision(reason, by)
    mac = identity.content_mac(desk.key.key)

    def work(tx: Writing) -> tuple[Account, bool]:
        current = desk.account(tx, account.id)
        require_steward(desk, tx, current, by)
        owners = (tx.owner("name", identity.name), tx.owner("content", mac))
        if any(owner not in (None, current.id) for owner in owners):
            raise AccountConflict(
                f"the name {identity.name!r} or its content belongs to another account; an account cannot take "
                "over data that another one already speaks for"
            )
        if all(owner == current.id for owner in owners):
            return current, False
        body = {"name": identity.name, "content": mac, "reason": reason, "by": by}
        desk.append(tx, desk.head(tx, current.id), Draft(Kind.DATA_CHANGED, texts.canonical(body)))
        if owners[0] is None:
            tx.claim("name", identity.name, current.id)
        if owners[1] is None:
            tx.claim("content", mac, current.id)
        return current, True

    return desk.write("accept_data_change", work)


def reset(desk: Desk, account: Account, reason: object, by: object) -> Account:
    """The account in its new epoch."""
    reason, by = decision(reason, by)

    def work(tx: Writing) -> tuple[Account, Head, Draft]:
        current = desk.account(tx, account.id)
        require_steward(desk, tx, current, by)
        head = desk.head(tx, current.id)
        draft = rules.reset(current, head, reason, by)
        desk.append(tx, head, draft)
        return current, head, draft

    current, head, draft = desk.write("reset", work)
    desk.saw(head, draft)
    return replace(current, epoch=head.epoch + 1)


# -- whose data it is ------------------------------------------------------------------------------------------------


def owner(view: Reading, identity: DatasetIdentity, mac: str) -> str | None:
    """The account that this data already has, by its name or by its content."""
    by_name, by_content = view.owner("name", identity.name), view.owner("content", mac)
    if by_name and by_content and by_name != by_content:
        raise AccountConflict(
            f"the name {identity.name!r} belongs to account {by_name}, but its content is that of account "
            f"{by_content}; use the name of the data set whose content this is"
        )
    return by_name or by_content


def same_content(view: Reading, account_id: str, identity: DatasetIdentity, mac: str) -> None:
    """Refuse data that has changed since the account knew it."""
    if view.owner("content", mac) != account_id:
        raise AccountConflict(
            f"the data of {identity.name!r} has changed since account {account_id} was opened; a steward decides "
            "with accept_data_change, and the budget already spent stays spent"
        )


def decision(reason: object, authorised_by: object) -> tuple[str, str]:
    """A steward's reason and name; raises NotAuthorised where one is missing."""
    if not isinstance(reason, str) or not reason.strip():
        raise NotAuthorised("this changes what the data set's people were promised; give a reason")
    if not isinstance(authorised_by, str) or not authorised_by.strip():
        raise NotAuthorised("this changes what the data set's people were promised; say who authorised it")
    return texts.prose(reason, "reason"), texts.name(authorised_by, "authorised_by")


def _stored_form(rule: Filter[Any]) -> Filter[Any]:
    """The filter as it will be read back: an account opens under no rule that it cannot restart with, nor under one
    that does not keep its own promise."""
    pricing.verify(rule)
    stored = pricing.read_filter(rule.to_json())
    if type(stored) is not type(rule) or stored.to_json() != rule.to_json():
        raise InputError(f"the filter {rule.kind} does not read back from its own JSON as itself")
    return stored

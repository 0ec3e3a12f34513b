"""The account belongs to the data: what identifies a data set, and the terms fixed when its account was opened."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from typing import Any, Final

from dosimeter.adaptive.filter import Filter
from dosimeter.errors import InputError, NotAuthorised
from dosimeter.ledger import pricing, texts
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit

GUARDED: Final = "members"  # the term of an account that only its members charge, within their quotas
SHARE: Final = "unlock"  # the term of an account that keeps a quota: how it unlocks, or None
SPLIT: Final = "split"  # the term under which an account says that its data is split into blocks


@dataclass(frozen=True, slots=True)
class DatasetIdentity:
    """Which data an account is about.

    Args:
        name: what its owner calls it, 1 to 200 printable characters.
        content_digest: a digest of its content. Whoever holds it can check a guess of the whole data set, so it is
            never shown, and a ledger keeps only a keyed hash of it.
    """

    name: str
    content_digest: str = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", texts.name(self.name, "dataset name"))
        digest = self.content_digest
        if not isinstance(digest, str) or not 1 <= len(digest) <= texts.MAX_NAME or not digest.isascii():
            raise InputError(f"content_digest is not a text of 1 to {texts.MAX_NAME} ASCII characters")

    def content_mac(self, key: bytes) -> str:
        """What a ledger keeps instead of the digest: HMAC-SHA256 under the ledger's own random key."""
        return hmac.digest(key, self.content_digest.encode("ascii"), "sha256").hex()

    def request_name(self, key: bytes, body_digest: str) -> str:
        """A name for the question with this digest, asked of this content: other content, another name."""
        words = f"request\n{self.content_digest}\n{body_digest}".encode("ascii")
        return f"q-{hmac.digest(key, words, 'sha256').hex()[:40]}"


@dataclass(frozen=True, slots=True)
class Account:
    """One data set's budget and the terms it was opened under; only `epoch` ever changes, by a steward's reset.

    `terms` are facts the steward fixed together with the budget (schema, bounds): the ledger keeps them as they are.
    """

    id: str
    name: str
    unit: PrivacyUnit
    relation: NeighbouringRelation
    filter: Filter[Any]
    odometers: tuple[Any, ...]
    epoch: int
    opened_at: str
    opened_by: str
    terms: dict[str, Any] = field(hash=False)

    def to_json(self) -> dict[str, Any]:
        """The account's facts as JSON."""
        return {
            "id": self.id,
            "name": self.name,
            **agreement(self.unit, self.relation, self.filter, self.odometers),
            "epoch": self.epoch,
            "opened_at": self.opened_at,
            "opened_by": self.opened_by,
            "terms": self.terms,
        }


def agreement(
    unit: PrivacyUnit, relation: NeighbouringRelation, rule: Filter[Any], odometers: tuple[Any, ...]
) -> dict[str, Any]:
    """The terms that decide privacy, as JSON: two accounts agree exactly when these agree."""
    return {
        "unit": {"column": unit.column, "max_contributions": unit.max_contributions},
        "relation": str(relation),
        "filter": rule.to_json(),
        "odometers": [odometer.to_json() for odometer in odometers],
    }


def account_from_json(account_id: str, epoch: int, opened_at: str, body: dict[str, Any]) -> Account:
    """Read an account from the body of its first record."""
    return Account(
        id=account_id,
        name=body["name"],
        unit=PrivacyUnit(body["unit"]["column"], body["unit"]["max_contributions"]),
        relation=NeighbouringRelation.read(body["relation"]),
        filter=pricing.read_filter(body["filter"]),
        odometers=tuple(pricing.read_odometer(data) for data in body["odometers"]),
        epoch=epoch,
        opened_at=opened_at,
        opened_by=body["by"],
        terms=body["terms"],
    )


def require_whole(account: Account, *, for_members: bool = False) -> None:
    """Refuse to charge directly what blocks pay for (its budget would come on top of theirs), or what members share.

    `for_members`: the quotas of a member are charged in the same transaction.
    """
    if SPLIT in account.terms:
        raise InputError(
            f"the data of {account.name!r} is split into blocks, which pay for themselves; name the blocks"
        )
    if (GUARDED in account.terms and not for_members) or SHARE in account.terms:
        raise NotAuthorised(f"account {account.id} is charged by its members only, within quotas; ask as one of them")

"""Export and import: the whole ledger as JSON lines, and back, to the last byte.

The lines hold everything that the store holds except its secret: records, names and content hashes, heads. Answers are
in them, noisy as they are, and so they are as public as the answers were. The secret travels apart, in a file of its
own, because whoever has it can check guesses about the data and seal a forged head. Without it an export can be audited
by anybody; with it, it can be made a ledger again, whose chain goes on where it ended.

The form of each line is described by the JSON Schema in `dosimeter/data/ledger-export.schema.json`. Nothing that is
read is believed: a line is checked for its form, every account by the audit (digests, prices, folds, seal), and the
whole by the digest on its last line. The import is one transaction: all of it, or nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from dosimeter.errors import InputError, LedgerCorrupt
from dosimeter.ledger.audit import audit_account
from dosimeter.ledger.record import Head, LedgerKey, Record, seal_of
from dosimeter.ledger.store import IdentityKind, Store
from dosimeter.ledger.texts import canonical

FORMAT: Final = "dosimeter ledger 1"
KEY_FORMAT: Final = "dosimeter ledger key 1"
_RECORD: Final[dict[str, tuple[type, ...]]] = {
    "account_id": (str,),
    "seq": (int,),
    "kind": (str,),
    "request_id": (str, type(None)),
    "refers_to": (int, type(None)),
    "epoch": (int,),
    "recorded_at": (str,),
    "body": (str,),
    "previous": (str,),
    "digest": (str,),
}
_IDENTITY: Final[dict[str, tuple[type, ...]]] = {"account_id": (str,), "kind": (str,), "value": (str,)}
_HEAD: Final[dict[str, tuple[type, ...]]] = {
    "account_id": (str,),
    "epoch": (int,),
    "seq": (int,),
    "digest": (str,),
    "state": (str,),
    "seal": (str,),
}
_FIRST: Final[dict[str, tuple[type, ...]]] = {"format": (str,), "ledger_id": (str,), "key_check": (str,)}
_LAST: Final[dict[str, tuple[type, ...]]] = {"lines": (int,), "sha256": (str,)}
_FORMS: Final = {"ledger": _FIRST, "record": _RECORD, "identity": _IDENTITY, "head": _HEAD, "end": _LAST}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an export holds: the ledger's id, and for each account its number of records and its last digest."""

    ledger_id: str
    heads: dict[str, tuple[int, str]]

    @property
    def records(self) -> int:
        """The records of all accounts."""
        return sum(count for count, _ in self.heads.values())

    def to_json(self) -> dict[str, Any]:
        """The manifest as JSON."""
        accounts = [{"account_id": i, "records": n, "head": digest} for i, (n, digest) in self.heads.items()]
        return {"ledger_id": self.ledger_id, "records": self.records, "accounts": accounts}


@dataclass(frozen=True, slots=True)
class _Account:
    """One account as it was read: complete, and audited."""

    records: list[Record]
    identities: list[tuple[str, str]]
    head: Head


# -- out -------------------------------------------------------------------------------------------------------------


def export(store: Store) -> Iterator[str]:
    """The ledger in a store as lines of JSON, each ending in a newline; one moment of it, accounts in order of id."""
    key, digest, count = store.key(), hashlib.sha256(), 0
    for data in _facts(store, key):
        line = canonical(data) + "\n"
        digest.update(_bytes(line))
        count += 1
        yield line
    yield canonical({"type": "end", "lines": count, "sha256": digest.hexdigest()}) + "\n"


def _bytes(line: str) -> bytes:
    try:
        return line.encode()
    except UnicodeEncodeError:
        raise LedgerCorrupt("a record holds a text that is none: it was damaged; run the audit") from None


def _facts(store: Store, key: LedgerKey) -> Iterator[dict[str, Any]]:
    yield {"type": "ledger", "format": FORMAT, "ledger_id": key.ledger_id, "key_check": key.check()}
    with store.read() as view:
        for account_id in sorted(view.account_ids()):
            head = view.head(account_id)
            if head is None:
                raise LedgerCorrupt(f"account {account_id} has no head; run the audit")
            for record in view.records(account_id):
                yield {"type": "record", **record._asdict()}
            for kind, value in sorted(view.identities(account_id)):
                yield {"type": "identity", "account_id": account_id, "kind": kind, "value": value}
            yield {"type": "head", **head._asdict()}


def key_to_text(key: LedgerKey) -> str:
    """A ledger's secret as the text of a file. Keep that file as you keep the ledger's own."""
    return json.dumps({"format": KEY_FORMAT, "ledger_id": key.ledger_id, "key": key.key.hex()}, indent=2) + "\n"


def key_from_text(text: str) -> LedgerKey:
    """Read a ledger's secret back; raises InputError for anything else."""
    try:
        data = json.loads(text)
        key = LedgerKey(str(data["ledger_id"]), bytes.fromhex(data["key"])) if data["format"] == KEY_FORMAT else None
    except (KeyError, TypeError, ValueError, RecursionError):
        key = None
    if key is None or not 16 <= len(key.key) <= 64:
        raise InputError("this is no key of a ledger; give the file that `dosimeter export --key-output` wrote")
    return key


# -- in --------------------------------------------------------------------------------------------------------------


def check(lines: Iterable[str], key: LedgerKey | None = None) -> Manifest:
    """Read an export and prove it; writes nothing.

    Args:
        lines: as they were exported.
        key: the ledger's secret. Without it everything is proved but the heads' seals.

    Raises:
        LedgerCorrupt: something was changed, is missing, or does not fold; says which line or record.
        InputError: this is no export, or the key is another ledger's.
    """
    reader = _Reader(lines, key)
    heads = {account.head.account_id: (account.head.seq, account.head.digest) for account in reader.accounts()}
    return Manifest(reader.key.ledger_id, heads)


def load(lines: Iterable[str], store: Store) -> Manifest:
    """Read an export into an empty store that was made with its key: one transaction, everything proved on the way.

    Raises:
        LedgerCorrupt: something was changed, is missing, or does not fold; nothing was written.
        InputError: this is no export, the store has another key, or it is not empty.
    """
    key, heads = store.key(), {}
    reader = _Reader(lines, key)
    with store.write() as tx:
        if tx.account_ids():
            raise InputError("the ledger to import into is not empty; import into a new one, so that nothing is mixed")
        for account in reader.accounts():
            for record, head in _steps(account, key):
                tx.append(record, head)
            for kind, value in account.identities:
                tx.claim(_identity_kind(kind), value, account.head.account_id)
            heads[account.head.account_id] = (account.head.seq, account.head.digest)
    return Manifest(key.ledger_id, heads)


def _steps(account: _Account, key: LedgerKey) -> Iterator[tuple[Record, Head]]:
    """Each record with the head that stood after it; the last head is the exported one, as the audit has shown."""
    state = ""
    for record in account.records:
        body = record.content()
        state = canonical(body["state"]) if "state" in body else state
        after = (record.account_id, record.epoch, record.seq, record.digest, state)
        yield record, Head(*after, seal=seal_of(key.key, *after))


def _identity_kind(kind: str) -> IdentityKind:
    if kind == "name":
        return "name"
    if kind == "content":
        return "content"
    raise LedgerCorrupt("an identity is neither a name nor a content hash; the export was changed")


class _Reader:
    """The lines, one account at a time."""

    def __init__(self, lines: Iterable[str], key: LedgerKey | None) -> None:
        self._lines = iter(lines)
        self._digest = hashlib.sha256()
        self._count = 0
        kind, first = self._next()
        if kind != "ledger" or first["format"] != FORMAT:
            raise InputError(f"this is no export of a ledger: its first line does not say {FORMAT!r}")
        self.key = LedgerKey(first["ledger_id"], b"") if key is None else key
        if key is not None and (key.ledger_id, key.check()) != (first["ledger_id"], first["key_check"]):
            raise InputError("this export belongs to another ledger than the key; give the key exported with it")

    def accounts(self) -> Iterator[_Account]:
        """Each account, proved; at the end, that nothing is missing."""
        seen: set[str] = set()
        records: list[Record] = []
        identities: list[tuple[str, str]] = []
        while True:
            before = self._digest.copy(), self._count
            kind, data = self._next()
            if kind == "record":
                records.append(Record(**data))
            elif kind == "identity":
                identities.append((data["kind"], data["value"]))
            elif kind == "head":
                head = Head(**data)
                self._need(head.account_id not in seen, f"account {head.account_id} comes twice")
                seen.add(head.account_id)
                yield self._proved(_Account(records, identities, head))
                records, identities = [], []
            elif kind == "end":
                self._need(not records and not identities, "the last account has no head: lines are missing")
                told = data["lines"], data["sha256"]
                self._need(told == (before[1], before[0].hexdigest()), "the last line's digest is another")
                self._need(next(self._lines, "").strip() == "", "something follows the last line")
                return
            else:
                raise self._broken("a second ledger begins")

    def _proved(self, account: _Account) -> _Account:
        owner = account.head.account_id
        report = audit_account(owner, account.head, account.records, account.identities, self.key)
        self._need(report.ok, report.message())
        return account

    def _next(self) -> tuple[str, dict[str, Any]]:
        line = next(self._lines, None)
        if line is None:
            raise self._broken("the export ends too early: its last line is missing")
        self._count += 1
        try:
            data = json.loads(line)
            kind = data.pop("type")
            form = _FORMS[kind]
            whole = canonical({"type": kind, **data}) + "\n"
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            if self._count == 1:
                raise InputError("this is no export of a ledger: its first line is not one of ours") from None
            raise self._broken("it is not a line of an export") from None
        self._need(data.keys() == form.keys(), f"a {kind} has other fields")
        for name, types in form.items():
            self._need(type(data[name]) in types, f"the field {name} has another type")
        self._need(line.rstrip("\r\n") + "\n" == whole, "it is not written in the canonical form")
        self._digest.update(_bytes(whole))
        return kind, data

    def _need(self, holds: bool, what: str) -> None:
        if not holds:
            raise self._broken(what)

    def _broken(self, what: str) -> LedgerCorrupt:
        return LedgerCorrupt(f"line {self._count} of the export does not hold: {what}; nothing was imported")

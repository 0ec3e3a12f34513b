"""Checkpoints: how far every account of a ledger had come, noted elsewhere so that history cannot be rewritten.

A chain proves that its records belong together, not that they are the ones that were written: whoever can write the
file can put an older copy back, remove an account, or compute every digest anew. A checkpoint closes that gap. It is a
small public value (no answers, no secrets); kept where the ledger's writer cannot reach it, or signed by somebody who
is not the writer, it lets an audit find every such change to what it covers.

Guarantee: if the audit against a checkpoint finds nothing, then the records of every account up to the number noted
are, byte for byte, those that stood there when the checkpoint was taken (or SHA-256 has a collision). What came after
the checkpoint is covered by the next one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from dosimeter.errors import InputError
from dosimeter.ledger.audit import AuditReport, Problem
from dosimeter.ledger.clock import Clock, stamp, utc_now
from dosimeter.ledger.texts import canonical

if TYPE_CHECKING:
    from dosimeter.ledger.ledger import Ledger

FORMAT: Final = "dosimeter checkpoint 1"
_HEXADECIMAL: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Noted:
    """One account at a checkpoint: how many records it had, and the digest of the last."""

    account_id: str
    records: int
    head: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Every account of a ledger at one moment.

    Args:
        ledger_id: the ledger's public id.
        taken_at: when, by the clock of whoever took it; no check depends on it.
        accounts: each account, by id.
        public_key: of the signer, 64 hexadecimal digits (Ed25519); None when unsigned.
        signature: over `message()`, 128 hexadecimal digits; None when unsigned.
    """

    ledger_id: str
    taken_at: str
    accounts: tuple[Noted, ...]
    public_key: str | None = None
    signature: str | None = None

    @property
    def signed(self) -> bool:
        """Whether it carries a signature; that it is a good one is checked by `signing.verify`."""
        return self.signature is not None

    def message(self) -> bytes:
        """What is signed: everything but the signature, in the one canonical form, the signer's key included."""
        return canonical(self._facts()).encode()

    def to_json(self) -> dict[str, Any]:
        """The checkpoint as JSON."""
        return {**self._facts(), "signature": self.signature}

    def _facts(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "ledger_id": self.ledger_id,
            "taken_at": self.taken_at,
            "accounts": [{"account_id": a.account_id, "records": a.records, "head": a.head} for a in self.accounts],
            "public_key": self.public_key,
        }


def take(ledger: Ledger, clock: Clock = utc_now) -> Checkpoint:
    """Note every account of a ledger at one moment."""
    with ledger.store.read() as view:
        heads = [view.head(account_id) for account_id in sorted(view.account_ids())]
    noted = tuple(Noted(head.account_id, head.seq, head.digest) for head in heads if head is not None)
    return Checkpoint(ledger.store.key().ledger_id, stamp(clock), noted)


def checkpoint_from_json(data: object) -> Checkpoint:
    """Read a checkpoint back; raises InputError for anything else."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"this is no checkpoint of a ledger (its format is not {FORMAT!r}); give the file as written")
    try:
        accounts = tuple(
            Noted(_text(a["account_id"]), _count(a["records"]), _hexadecimal(a["head"], 64)) for a in data["accounts"]
        )
        unsigned = Checkpoint(_text(data["ledger_id"]), _text(data["taken_at"]), accounts)
        _distinct([a.account_id for a in accounts])
        key, signature = data.get("public_key"), data.get("signature")
        if key is None and signature is None:
            return unsigned
        return replace(unsigned, public_key=_hexadecimal(key, 64), signature=_hexadecimal(signature, 128))
    except (KeyError, TypeError, ValueError):
        raise InputError("this checkpoint is incomplete or was edited; take it from where it was noted") from None


def read_checkpoint(text: str) -> Checkpoint:
    """Read a checkpoint from the text of its file."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(
            "this is no checkpoint: it is not JSON; give the file as `dosimeter checkpoint` wrote it"
        ) from (None)
    return checkpoint_from_json(data)


def audit_against(
    ledger: Ledger,
    checkpoint: Checkpoint,
    only: Iterable[str] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[AuditReport]:
    """Audit every account of a ledger, and that it still contains what the checkpoint noted.

    Args:
        ledger: to prove.
        checkpoint: noted earlier; check its signature first (`signing.verify`).
        only: the ids of the accounts to audit; all of them, and all that were noted, when left out.
        progress: told now and then how many records of the account in turn were read, and of how many.

    Returns:
        One verdict per account, those that have gone missing included.

    Raises:
        InputError: the checkpoint is of another ledger.
    """
    if checkpoint.ledger_id != ledger.store.key().ledger_id:
        raise InputError("this checkpoint was taken of another ledger; give the one that belongs to this ledger")
    noted = {account.account_id: account for account in checkpoint.accounts}
    with ledger.store.read() as view:
        present = set(view.account_ids())
    wanted = present | set(noted) if only is None else set(only)
    return [_audit(ledger, one, noted.get(one), one in present, progress) for one in sorted(wanted)]


def _audit(
    ledger: Ledger, account_id: str, noted: Noted | None, present: bool, progress: Callable[[int, int], None] | None
) -> AuditReport:
    if not present:
        gone = Problem(
            None, "it was there at the checkpoint and is gone: an older copy was put back, or it was removed"
        )
        return AuditReport(account_id, False, gone, 0, 0, None, {})
    report = ledger.audit_by_id(account_id, known_head=None if noted is None else noted.head, progress=progress)
    if noted is not None and report.ok and report.records < noted.records:  # no chain holds that; never trust one check
        return replace(report, ok=False, first_bad=Problem(None, "it has fewer records than at the checkpoint"))
    return report


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def _count(value: object) -> int:
    if type(value) is not int or value < 1:
        raise TypeError
    return value


def _distinct(names: list[str]) -> None:
    if len(set(names)) != len(names):
        raise ValueError


def _hexadecimal(value: object, digits: int) -> str:
    if not isinstance(value, str) or len(value) != digits or not set(value) <= _HEXADECIMAL:
        raise ValueError
    return value

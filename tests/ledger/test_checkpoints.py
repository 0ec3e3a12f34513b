"""A checkpoint kept elsewhere finds every rewrite of what it covers, signed or not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.ledger_world import PEOPLE, SetClock, answered, ask, open_account

from dosimeter.errors import InputError, LedgerCorrupt
from dosimeter.ledger import DatasetIdentity, Ledger
from dosimeter.ledger.checkpoint import Checkpoint, audit_against, checkpoint_from_json, read_checkpoint, take
from dosimeter.ledger.exchange import export, load
from dosimeter.ledger.record import Draft, Head, Kind, Record, before_first, chain
from dosimeter.ledger.texts import canonical
from dosimeter.stores import MemoryStore

OTHERS = DatasetIdentity("others", "77aa")


def filled(ledger: Ledger) -> Checkpoint:
    """Two accounts with a few answers, a refusal and an orphan; a checkpoint in the middle."""
    people, others = open_account(ledger), open_account(ledger, "2", OTHERS)
    answered(ledger, people, "q1", "0.3")
    answered(ledger, others, "q1", "0.5")
    noted = take(ledger)
    answered(ledger, people, "q2", "0.2")
    ledger.reserve(people, ask("too much", "5"))
    ledger.reserve(people, ask("orphan", "0.1"))
    return noted


def copy_of(ledger: Ledger) -> Ledger:
    """The same ledger in a second store, as a backup would hold it."""
    store = MemoryStore(key=ledger.store.key())
    load(export(ledger.store), store)
    return Ledger(store)


def test_a_history_that_only_grew_contains_its_checkpoint(ledger: Ledger) -> None:
    """Every account is proved, also those opened after the checkpoint."""
    noted = filled(ledger)
    open_account(ledger, "1", DatasetIdentity("later", "88bb"))
    reports = audit_against(ledger, noted)
    assert [report.ok for report in reports] == [True, True, True]


def test_a_checkpoint_reads_back_as_itself(ledger: Ledger) -> None:
    """Through its JSON; and it holds no answer, name or secret."""
    noted = filled(ledger)
    text = json.dumps(noted.to_json())
    assert read_checkpoint(text) == noted
    assert ledger.store.key().key.hex() not in text
    assert "people" not in text


def test_an_older_copy_that_was_put_back_is_found(ledger: Ledger) -> None:
    """Even if charging went on with the copy until it was longer than the original."""
    account = open_account(ledger)
    answered(ledger, account, "q1", "0.3")
    old = copy_of(ledger)
    answered(ledger, account, "q2", "0.3")
    noted = take(ledger)
    for number in range(3):
        (report,) = audit_against(old, noted)
        assert not report.ok
        assert report.first_bad is not None
        assert "older copy" in report.first_bad.what
        answered(old, account, f"other {number}", "0.1")
    assert old.audit(account).ok  # without the checkpoint nothing can be seen


def test_an_account_that_was_taken_out_is_found(ledger: Ledger) -> None:
    """Its records, head and names are all gone, so that no chain is broken."""
    noted = filled(ledger)
    fresh = Ledger(MemoryStore(key=ledger.store.key()))
    account = open_account(fresh)
    reports = {report.account_id: report for report in audit_against(fresh, noted)}
    assert [reports[a.account_id].ok for a in noted.accounts] == [False, False]
    assert reports[account.id].ok
    assert "gone" in reports[noted.accounts[0].account_id].message()


def _forged(ledger: Ledger, account_id: str, change: Callable[[list[Record]], list[Record]]) -> Ledger:
    """A ledger whose chain and seals were all computed anew by somebody who knows the key."""
    key = ledger.store.key()
    store = MemoryStore(key=key)
    with ledger.store.read() as view:
        records = change(list(view.records(account_id)))
        identities = view.identities(account_id)
    head: Head = before_first(account_id, key.ledger_id)
    with store.write() as tx:
        for old in records:
            state = old.content().get("state")
            draft = Draft(Kind(old.kind), old.body, old.request_id, old.refers_to, state=state and canonical(state))
            record, head = chain(head, draft, old.recorded_at, key.key)
            tx.append(record, head)
        for kind, value in identities:
            tx.claim(kind, value, account_id)  # type: ignore[arg-type]
    return Ledger(store)


def _reworded(records: list[Record]) -> list[Record]:
    return [r._replace(body=r.body.replace("question q1", "question of somebody else")) for r in records]


def _exchanged(records: list[Record]) -> list[Record]:
    assert {r.kind for r in records[1:]} == {"refused"}
    return [records[0], records[2], records[1], *records[3:]]


@pytest.mark.parametrize("change", [_reworded, _exchanged, lambda r: r[:-1], lambda r: r[:1]])
def test_a_consistent_forgery_of_what_was_noted_is_found(change: Callable[[list[Record]], list[Record]]) -> None:
    """A rewrite, a reordering, a truncation, with all digests and seals mended: the checkpoint still says no."""
    ledger = Ledger(MemoryStore(), SetClock())
    account = open_account(ledger, "1")
    for number in range(4):  # refusals can be exchanged without any fold noticing
        ledger.reserve(account, ask(f"q{number}", "5"))
    noted = take(ledger)
    forged = _forged(ledger, account.id, change)
    assert forged.audit(account).ok  # control: nothing can be seen in the forged file alone
    (report,) = audit_against(forged, noted)
    assert not report.ok


def test_a_checkpoint_of_another_ledger_proves_nothing(ledger: Ledger) -> None:
    """It is refused, not passed."""
    open_account(ledger)
    other = Ledger(MemoryStore())
    open_account(other)
    with pytest.raises(InputError, match="another ledger"):
        audit_against(ledger, take(other))


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.update(format="dosimeter checkpoint 2"),
        lambda d: d.pop("accounts"),
        lambda d: d["accounts"].append(d["accounts"][0]),
        lambda d: d["accounts"][0].update(records=0),
        lambda d: d["accounts"][0].update(records="3"),
        lambda d: d["accounts"][0].update(head="12"),
        lambda d: d.update(signature="ab" * 64),
        lambda d: d.update(public_key="ab" * 32),
        lambda d: d.update(ledger_id=None),
    ],
)
def test_a_damaged_checkpoint_is_refused(ledger: Ledger, damage: Callable[[dict[str, Any]], object]) -> None:
    """Missing fields, repeated accounts, half a signature: an error that says so."""
    data = filled(ledger).to_json()
    damage(data)
    with pytest.raises(InputError, match="checkpoint"):
        checkpoint_from_json(data)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "[" * 100_000])
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    """Whatever the file holds."""
    with pytest.raises(InputError, match="no checkpoint"):
        read_checkpoint(text)


# -- signatures ------------------------------------------------------------------------------------------------------


def test_a_signature_vouches_for_exactly_one_checkpoint(ledger: Ledger) -> None:
    """It fits what was signed, also after a round trip, and nothing else."""
    signing = pytest.importorskip("dosimeter.ledger.signing")
    pytest.importorskip("cryptography")
    pair, noted = signing.new_key_pair(), filled(ledger)
    signed = signing.sign(noted, pair.private_pem)
    signing.verify(read_checkpoint(json.dumps(signed.to_json())), pair.public_pem)
    first, *rest = signed.accounts
    edited = [
        replace(signed, taken_at="2020-01-01T00:00:00.000000Z"),
        replace(signed, ledger_id="another"),
        replace(signed, accounts=tuple(rest)),
        replace(signed, accounts=(replace(first, records=first.records + 1), *rest)),
        replace(signed, accounts=(replace(first, head="0" * 64), *rest)),
        replace(signed, signature="0" * 128),
    ]
    for forgery in edited:
        with pytest.raises(LedgerCorrupt, match="does not fit"):
            signing.verify(forgery, pair.public_pem)


def test_only_the_expected_signer_counts(ledger: Ledger) -> None:
    """Another key's signature, an unsigned checkpoint, a key that is none: refused."""
    pytest.importorskip("cryptography")
    from dosimeter.ledger import signing

    ours, theirs, noted = signing.new_key_pair(), signing.new_key_pair(), filled(ledger)
    with pytest.raises(InputError, match="another key"):
        signing.verify(signing.sign(noted, theirs.private_pem), ours.public_pem)
    with pytest.raises(InputError, match="not signed"):
        signing.verify(noted, ours.public_pem)
    swapped = replace(
        signing.sign(noted, theirs.private_pem), public_key=signing.sign(noted, ours.private_pem).public_key
    )
    with pytest.raises(LedgerCorrupt, match="does not fit"):
        signing.verify(swapped, ours.public_pem)
    for pem in (b"", b"nonsense", ours.public_pem):
        with pytest.raises(InputError, match="private key"):
            signing.sign(noted, pem)
    for pem in (b"", b"nonsense", ours.private_pem):
        with pytest.raises(InputError, match="public key"):
            signing.verify(signing.sign(noted, ours.private_pem), pem)


def test_other_kinds_and_locked_keys_are_named(ledger: Ledger) -> None:
    """An elliptic-curve key is not Ed25519; an encrypted key needs its passphrase."""
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    from dosimeter.ledger import signing

    form, pem = serialization.PrivateFormat.PKCS8, serialization.Encoding.PEM
    curve = ec.generate_private_key(ec.SECP256R1()).private_bytes(pem, form, serialization.NoEncryption())
    with pytest.raises(InputError, match="not an Ed25519 key"):
        signing.sign(filled(ledger), curve)
    key = ed25519.Ed25519PrivateKey.generate()
    locked = key.private_bytes(pem, form, serialization.BestAvailableEncryption(b"word"))
    with pytest.raises(InputError, match="passphrase"):
        signing.sign(take(ledger), locked)
    assert signing.sign(take(ledger), locked, passphrase="word").signed


def test_without_the_library_signing_says_what_to_install(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints work without it; signing names the extra."""
    import sys

    from dosimeter.ledger import signing

    noted = filled(ledger)
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(InputError, match=r"dosimeter\[signing\]"):
        signing.sign(noted, b"")
    assert all(report.ok for report in audit_against(ledger, noted))


def test_a_ledger_file_put_back_is_found(file: Path, tmp_path: Path) -> None:
    """With a real file, copied and copied back while nobody has it open."""
    import shutil

    from dosimeter.stores import SQLiteStore

    store = SQLiteStore(file)
    account = open_account(Ledger(store), identity=PEOPLE)
    answered(Ledger(store), account, "q1", "0.5")
    store.close()
    shutil.copy(file, tmp_path / "backup.db")
    store = SQLiteStore(file)
    answered(Ledger(store), account, "q2", "0.5")
    noted = take(Ledger(store))
    store.close()
    shutil.copy(tmp_path / "backup.db", file)
    store = SQLiteStore(file)
    (report,) = audit_against(Ledger(store), noted)
    assert not report.ok
    store.close()

"""Commands that prove a ledger's history, carry it elsewhere, and publish it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dosimeter.cli import options as o
from dosimeter.cli.base import app
from dosimeter.cli.output import counting, emit, speaks_plainly, write

if TYPE_CHECKING:
    from dosimeter.ledger import Ledger
    from dosimeter.ledger.checkpoint import Checkpoint


@app.command()
@speaks_plainly
def checkpoint(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where it goes; printed when left out.")] = None,
    sign: Annotated[Path | None, typer.Option(help="Sign it with this private key (Ed25519, PEM).")] = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Note how far every account has come, to be kept where nobody can rewrite it. Holds no answers and no secrets.

    Example: dosimeter checkpoint --sign auditor.pem -o 2026-01-31.checkpoint.json
    """
    from dosimeter.ledger.checkpoint import take

    taken = take(_ledger(ledger))
    if sign is not None:
        from dosimeter.ledger import signing

        taken = signing.sign(taken, _bytes(sign))
    if output is None:
        emit(taken.to_json())
        return
    write(output, _json(taken))
    if as_json:
        emit({"checkpoint": str(output), "accounts": len(taken.accounts), "signed": taken.signed})
    else:
        typer.echo(f"wrote {output}: {len(taken.accounts)} accounts{', signed' if taken.signed else ''}")


@app.command("signing-key")
@speaks_plainly
def signing_key(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the private key goes; must not exist.")],
    as_json: o.AsJson = False,
) -> None:
    """Make a key to sign checkpoints with; the public half lies beside it with the ending .pub.

    Keep the private key away from the machine that charges. Any Ed25519 key in PEM form does as well.

    Example: dosimeter signing-key -o auditor.pem
    """
    from dosimeter.ledger.signing import new_key_pair

    pair, public = new_key_pair(), Path(f"{output}.pub")
    _write_new(output, [pair.private_pem.decode()])
    write(public, pair.public_pem.decode())
    if as_json:
        emit({"private_key": str(output), "public_key": str(public)})
    else:
        typer.echo(f"wrote {output} (keep it secret) and {public} (give it to whoever audits)")


@app.command("export")
@speaks_plainly
def export_ledger(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the lines go; must not exist.")],
    key_output: Annotated[
        Path | None, typer.Option(help="Where the ledger's secret goes, which an import needs; must not exist.")
    ] = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Write the whole ledger as JSON lines. The secret is left out unless it is asked for, into a file of its own.

    Example: dosimeter export -o ledger.jsonl --key-output ledger.key
    """
    from dosimeter.ledger import exchange

    store = _ledger(ledger).store
    count = _write_new(output, exchange.export(store))
    if key_output is not None:
        _write_new(key_output, [exchange.key_to_text(store.key())])
    if as_json:
        emit({"export": str(output), "lines": count, "key": None if key_output is None else str(key_output)})
    else:
        typer.echo(f"wrote {output}: {count} lines")


@app.command("import")
@speaks_plainly
def import_ledger(
    lines: Annotated[Path, typer.Argument(help="What `dosimeter export` wrote.")],
    key: Annotated[Path | None, typer.Option(help="The ledger's secret, exported with it.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Prove the export and write nothing; needs no secret.")
    ] = False,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Make a new ledger from an export. Everything is proved first; what was tampered with is refused.

    Example: dosimeter import ledger.jsonl --key ledger.key --ledger restored.db
    """
    from dosimeter.errors import InputError
    from dosimeter.ledger import exchange
    from dosimeter.stores.location import open_store, shown_location
    from dosimeter.stores.sql.postgresql_url import is_url

    secret = None if key is None else exchange.key_from_text(_bytes(key).decode("utf-8", "replace"))
    if not check and secret is None:
        raise InputError("importing needs the ledger's secret: give --key, or --check to prove the export only")
    if not check and not is_url(ledger) and Path(ledger).exists():
        raise InputError(f"{ledger} exists; import into a new ledger, so that nothing is mixed or overwritten")
    with _lines(lines) as given:
        manifest = exchange.check(given, secret)
    if not check and secret is not None:
        store = open_store(ledger, key=secret)
        with _lines(lines) as given:
            manifest = exchange.load(given, store)
        store.close()
    if as_json:
        emit({**manifest.to_json(), "imported": not check})
    else:
        done = "holds" if check else f"was imported into {shown_location(ledger)}"
        typer.echo(f"{lines} {done}: {len(manifest.heads)} accounts, {manifest.records} records")


@app.command()
@speaks_plainly
def registry(
    account: o.AccountName = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where it goes; printed when left out.")] = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """An account in the shape of the public registries of deployments, to be completed by people and published."""
    from dosimeter.cli.accounts import _account
    from dosimeter.report import registry_entry

    book = _ledger(ledger)
    entry = registry_entry(book.statement(_account(book, account)))
    if output is None:
        emit(entry)
        return
    write(output, _json_text(entry))
    emit({"entry": str(output)}) if as_json else typer.echo(f"wrote {output}; complete the texts that begin with TODO")


def audit_checkpoint(
    book: Ledger, account: str | None, against: str | None, public_key: Path | None, *, as_json: bool
) -> None:
    """`dosimeter audit --against FILE`: every account, or one; exit code 1 where something does not hold."""
    from dosimeter.cli.accounts import _account
    from dosimeter.errors import InputError
    from dosimeter.exact import show
    from dosimeter.ledger import checkpoint as checkpoints
    from dosimeter.ledger import signing

    if against is None:
        raise InputError("--public-key says who signed a checkpoint; give the checkpoint with --against FILE")
    if not Path(against).exists():
        raise InputError(
            f"{show(against)} is neither a head noted earlier (its 64 digits) nor the file of a checkpoint"
        )
    noted = checkpoints.read_checkpoint(_bytes(Path(against)).decode("utf-8", "replace"))
    if public_key is not None:
        signing.verify(noted, _bytes(public_key))
    elif noted.signed:
        raise InputError("this checkpoint is signed; say by whom it must be with --public-key FILE, so that it counts")
    only = None if account is None else [_account(book, account).id]
    with counting("proving", quiet=as_json) as progress:
        reports = checkpoints.audit_against(book, noted, only, progress=progress)
    ok = all(report.ok for report in reports)
    if as_json:
        emit({"ok": ok, "signed": noted.signed, "accounts": [report.to_json() for report in reports]})
    else:
        for report in reports:
            typer.echo(report.message())
        signed = "signed " if noted.signed else ""
        if ok:
            typer.echo(f"the history contains the {signed}checkpoint taken at {noted.taken_at}")
    if not ok:
        raise typer.Exit(1)


def _ledger(location: str) -> Ledger:
    from dosimeter.session import open_ledger

    return open_ledger(location, create=False)


def _json(taken: Checkpoint) -> str:
    return _json_text(taken.to_json())


def _json_text(data: object) -> str:
    import json

    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _bytes(path: Path) -> bytes:
    from dosimeter.errors import InputError

    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


@contextmanager
def _lines(path: Path) -> Iterator[Iterator[str]]:
    from dosimeter.errors import InputError

    try:
        file = path.open(encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    with file:
        yield iter(file)


def _write_new(path: Path, lines: Iterable[str]) -> int:
    """Write a file that only its owner may read and that is not there yet; gone again when it cannot be finished."""
    from dosimeter.errors import InputError

    count = 0
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            for count, line in enumerate(lines, start=1):  # noqa: B007 - the last number is the answer
                file.write(line)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return count

"""Commands for whoever looks after a ledger: prove it, examine it, measure it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import typer

from dosimeter.cli import options as o
from dosimeter.cli.accounts import _account as find_account
from dosimeter.cli.accounts import _ledger as open_book
from dosimeter.cli.base import app
from dosimeter.cli.blocks import audit_blocks
from dosimeter.cli.output import counting, emit, speaks_plainly

HEAD: Final = re.compile("[0-9a-f]{64}")
_COLOURS: Final = {"ok": "green", "warning": "yellow", "error": "red"}


@app.command()
@speaks_plainly
def audit(
    account: o.AccountName = None,
    against: Annotated[
        str | None,
        typer.Option(help="A head noted earlier, or the file of a checkpoint: the history must still contain it."),
    ] = None,
    public_key: Annotated[Path | None, typer.Option(help="The key that must have signed the checkpoint (PEM).")] = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    read_only: o.ReadOnly = False,
    as_json: o.AsJson = False,
) -> None:
    """Prove an account: its chain, every charge recomputed from its event, every total.

    Exit code 1 means that something does not hold; the first bad entry is named.
    """
    book = open_book(ledger, read_only=read_only)
    if public_key is not None or (against is not None and not HEAD.fullmatch(against)):
        from dosimeter.cli.history import audit_checkpoint

        audit_checkpoint(book, account, against, public_key, as_json=as_json)
        return
    chosen = find_account(book, account)
    if against is None and "split" in chosen.terms:
        audit_blocks(book, chosen, as_json=as_json)
        return
    with counting(f"proving {chosen.name}", quiet=as_json) as progress:
        report = book.audit(chosen, known_head=against, progress=progress)
    if as_json:
        emit(report.to_json())
    else:
        typer.echo(report.message())
    if not report.ok:
        raise typer.Exit(1)


@app.command()
@speaks_plainly
def doctor(
    where: Annotated[str | None, typer.Argument(metavar="LEDGER", help="The ledger; --ledger when left out.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out what takes time with the history: pages and proofs.")
    ] = False,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Examine a ledger: file or server, settings, rights, room, tables, chains, orphans, clock, randomness. Only reads.

    Every finding says what is the case; a warning or an error also why it matters and what to do. Exit code 1 means
    that there is an error; with warnings alone it is 0. The report holds no questions, no answers and no secrets.

    Examples: dosimeter doctor dosimeter.db, dosimeter doctor postgresql://db.example.org/privacy --quick --json
    """
    from dosimeter.stores.doctor import examine

    with counting("proving", quiet=as_json or quick) as progress:
        found = examine(ledger if where is None else where, thorough=not quick, progress=progress)
    if as_json:
        emit(found.to_json())
    else:
        for finding in found.findings:
            level = typer.style(f"{finding.level:8}", fg=_COLOURS[finding.level])
            typer.echo(f"{level}{finding.check}: {finding.what}")
            if finding.todo:
                typer.echo(f"        why:  {finding.why}\n        then: {finding.todo}")
        typer.echo(found.message())
    if not found.ok:
        raise typer.Exit(1)


@app.command()
@speaks_plainly
def metrics(
    account: o.AccountName = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Replace this file at once; printed when left out.")
    ] = None,
    orphans: Annotated[
        bool, typer.Option("--orphans", help="Also count reservations without an answer, which reads every record.")
    ] = False,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    read_only: o.ReadOnly = False,
    as_json: o.AsJson = False,
) -> None:
    """Budgets, what was spent and what is left, for a monitoring system: Prometheus' text format.

    Run it now and then and give the file to a collector. Accounts appear by id. Holds no questions and no answers.

    Example: dosimeter metrics -o /var/lib/node_exporter/dosimeter.prom
    """
    from dosimeter.ledger.metrics import exposition, measure

    book = open_book(ledger, read_only=read_only)
    chosen = None if account is None else [find_account(book, account)]
    families = measure(book, chosen, orphans=orphans)
    if as_json:
        emit([family.to_json() for family in families])
    elif output is None:
        typer.echo(exposition(families), nl=False)
    if output is not None:
        replace_at_once(output, exposition(families))


def replace_at_once(path: Path, content: str) -> None:
    """Write a file so that a reader sees the old one or the new one, never a half; raises InputError."""
    from dosimeter.cli.output import write
    from dosimeter.errors import InputError

    half = path.with_name(f".{path.name}.new")
    write(half, content)
    try:
        half.replace(path)
    except OSError as failed:
        half.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {failed.strerror}") from None

"""Blocks on the command line: the words that say how data is split and which blocks to read, and their statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dosimeter.cli import options as o
from dosimeter.cli.base import app
from dosimeter.cli.output import counting, emit, speaks_plainly, table

if TYPE_CHECKING:
    from dosimeter.ledger import Account, Ledger
    from dosimeter.ledger.split import Split
    from dosimeter.session import Session


@app.command()
@speaks_plainly
def blocks(account: o.AccountName = None, ledger: o.LedgerPath = o.DEFAULT_LEDGER, as_json: o.AsJson = False) -> None:
    """The blocks of a data set that was opened with --split-by: what each has left, and what they promise together."""
    from dosimeter.cli.accounts import _account, _ledger
    from dosimeter.ledger.blocks import SplitAccount
    from dosimeter.report.statement import promise
    from dosimeter.session.words import left_in_words, spent_in_words

    book = _ledger(ledger)
    told = SplitAccount(book, _account(book, account)).statement()
    if as_json:
        emit(told.to_json())
        return
    typer.echo(f"{told.account.name}: each block promises {promise(told.per_block)}, to a person's rows inside it")
    if told.per_person is not None:
        many = f"up to {told.blocks_affected} blocks" if told.blocks_affected != 1 else "one block"
        typer.echo(f"a whole person, whose presence changes {many}: {promise(told.per_person)}")
    else:
        typer.echo("nobody vouched for how many blocks hold rows of one person (--blocks-per-person)")
    table(
        "Blocks",
        ["block", "epoch", "spent", "left", "status"],
        [
            [
                block.key,
                str(block.balance.epoch),
                spent_in_words(block.balance.spent),
                left_in_words(block.balance.remaining),
                "retired" if block.retired else "open",
            ]
            for block in told.blocks
        ],
    )


def audit_blocks(book: Ledger, account: Account, *, as_json: bool) -> None:
    """`dosimeter audit` of data in blocks: the account that carries the terms, and every block's."""
    from dosimeter.ledger.blocks import SplitAccount

    with counting("proving", quiet=as_json) as progress:
        reports = SplitAccount(book, account).audit(progress=progress)
    ok = all(report.ok for report in reports)
    if as_json:
        emit({"ok": ok, "accounts": [report.to_json() for report in reports]})
    else:
        for report in reports:
            typer.echo(report.message())
    if not ok:
        raise typer.Exit(1)


def split_from_words(
    column: str | None, every: str | None, start: str | None, keys: list[str] | None, per_person: int | None
) -> Split | None:
    """The split that the options of `open` describe, if any."""
    from dosimeter.errors import InputError
    from dosimeter.ledger.split import Groups, Split, TimeWindows, read_day

    if column is None:
        if every or start or keys or per_person is not None:
            raise InputError(
                "--every, --start, --block and --blocks-per-person say how to split; add --split-by COLUMN"
            )
        return None
    if (every is None) == (not keys) or (every is None) != (start is None):
        raise InputError("--split-by needs either --every with --start, or --block KEY for each block")
    if every is not None:
        made: Any = TimeWindows(column, every, read_day(start, "start"))  # type: ignore[arg-type]
    else:
        made = Groups(column, tuple(keys or ()))
    return Split(made, per_person)


def named_blocks(session: Session, words: str | None) -> dict[str, Any]:
    """`--blocks` as the argument of `ask` and `quote`: keys with commas, FIRST..LAST, or last:DAYS:TODAY."""
    from dosimeter.errors import InputError
    from dosimeter.exact import show
    from dosimeter.session.split import SplitSession

    if words is None:
        return {}
    if not isinstance(session, SplitSession):
        raise InputError("this data was not opened in blocks; leave --blocks out")
    if words.startswith("last:"):
        _, _, rest = words.partition(":")
        days, colon, today = rest.partition(":")
        if not colon or not days.isdecimal():
            raise InputError(f"--blocks {show(words)} is not of the form last:DAYS:TODAY, as in last:30:2026-01-31")
        return {"blocks": session.last(int(days), today)}
    if ".." in words:
        first, _, last = words.partition("..")
        return {"blocks": session.between(first, last)}
    return {"blocks": [key.strip() for key in words.split(",")]}


Blocks = Annotated[
    str | None,
    typer.Option("--blocks", help="Which blocks to read: keys with commas, FIRST..LAST, or last:DAYS:TODAY."),
]

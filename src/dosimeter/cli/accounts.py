"""Commands of a steward and an auditor: open, look, prove, decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dosimeter.cli import options as o
from dosimeter.cli.base import app
from dosimeter.cli.blocks import split_from_words
from dosimeter.cli.output import emit, speaks_plainly, table, write
from dosimeter.exact import brief_up

if TYPE_CHECKING:
    from dosimeter.ledger import Account, Ledger
    from dosimeter.session import Session

PART: Final = "of"  # the term of an account that belongs to another one: a block's, or a quota's


@app.command("open")
@speaks_plainly
def open_account(  # noqa: PLR0917 - one parameter per option
    data: o.Data,
    epsilon: Annotated[str | None, typer.Option(help="Budget: epsilon of all queries together.")] = None,
    delta: Annotated[str | None, typer.Option(help="Budget: the probability of failure, as in 1e-6.")] = None,
    rho: Annotated[str | None, typer.Option(help="Or a budget in zCDP.")] = None,
    mu: Annotated[str | None, typer.Option(help="Or a budget in Gaussian DP.")] = None,
    declared_delta: Annotated[
        str | None, typer.Option(help="Part of delta kept for mechanisms that may fail; 0 when left out.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--filter", help="A kind of filter, or a .json file that holds one; see `dosimeter advise`."),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="A plan file: its own steps cost their tight price, and it may be left (residue_plan)."),
    ] = None,
    menu: Annotated[
        Path | None, typer.Option(help="A menu file: what may be asked, at an exact worst case (menu).")
    ] = None,
    reserve: Annotated[str | None, typer.Option(help="With --plan: mu squared kept for other questions.")] = None,
    slack: Annotated[
        str | None, typer.Option(help="Of residue filters: the part of delta for tails and failures.")
    ] = None,
    queries: Annotated[
        str | None, typer.Option(help="Of residue filters: how many queries the slack should last for.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="Column that identifies a person; without it a row is one.")] = None,
    max_contributions: Annotated[int, typer.Option(help="Rows of one person that one query may use.")] = 1,
    relation: Annotated[str, typer.Option(help="add_remove, replace_one or zero_out.")] = "add_remove",
    column: Annotated[
        list[str] | None, typer.Option(help="A column's public type, as in age=integer; repeat for more.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What the data set is called; the file's name when left out.")
    ] = None,
    table: o.Table = None,
    opened_by: Annotated[str | None, typer.Option("--by", help="Who opens it; your login name when left out.")] = None,
    split_by: Annotated[
        str | None, typer.Option(help="For data that grows: the column that splits it in blocks.")
    ] = None,
    every: Annotated[str | None, typer.Option(help="A block per day, week, month or year of that column.")] = None,
    start: Annotated[str | None, typer.Option(help="With --every: the first day, as in 2026-01-01.")] = None,
    block: Annotated[list[str] | None, typer.Option(help="Or a value of that column per block; repeatable.")] = None,
    blocks_per_person: Annotated[
        int | None, typer.Option(help="Blocks that may hold rows of one person, if you can vouch for it.")
    ] = None,
    members: Annotated[
        bool, typer.Option("--members", help="Only members ask, within quotas; --by is the first steward.")
    ] = False,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Open a data set's account with a budget, or find the one it has.

    The account belongs to the data: another path, copy or process finds the same one, with what was spent spent.

    For many small questions `--filter residue` admits most, for private training `--plan`, for a few mechanisms named
    beforehand `--menu`; `dosimeter advise` compares.

    Example: dosimeter open people.csv --epsilon 1 --delta 1e-6 --user person_id --max-contributions 5
    """
    import dosimeter

    given = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu, "declared_delta": declared_delta}
    budget: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    files = {"plan": None if plan is None else str(plan), "menu": None if menu is None else str(menu)}
    shares = {**files, "reserve": reserve, "slack": slack, "queries": queries}
    if kind is not None or any(value is not None for value in shares.values()):
        from dosimeter.cli.rules import filter_from_words

        implied = "residue_plan" if plan is not None else "menu" if menu is not None else "residue"
        budget = {"filter": filter_from_words(kind or implied, budget | shares)}
    session = dosimeter.open(
        data,
        **budget,
        user=user,
        max_contributions=max_contributions,
        relation=relation,
        columns=_types(column),
        name=name,
        table=table,
        members=members,
        opened_by=opened_by,
        split=split_from_words(split_by, every, start, block, blocks_per_person),
        ledger=ledger,
    )
    _show_account(session, as_json)


@app.command()
@speaks_plainly
def accounts(ledger: o.LedgerPath = o.DEFAULT_LEDGER, read_only: o.ReadOnly = False, as_json: o.AsJson = False) -> None:
    """List the accounts of a ledger."""
    from dosimeter.session.words import left_in_words

    book = _ledger(ledger, read_only=read_only)
    found = [(account, book.balance(account)) for account in book.accounts() if PART not in account.terms]
    if as_json:
        emit([{**account.to_json(), "remaining": balance.remaining} for account, balance in found])
        return
    table(
        "Accounts",
        ["name", "id", "filter", "epoch", "left"],
        [[a.name, a.id, a.filter.kind, str(a.epoch), left_in_words(b.remaining)] for a, b in found],
    )


@app.command()
@speaks_plainly
def remaining(
    account: o.AccountName = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    read_only: o.ReadOnly = False,
    as_json: o.AsJson = False,
) -> None:
    """What an account has left, and how much privacy loss its odometers read."""
    book = _ledger(ledger, read_only=read_only)
    chosen = _account(book, account)
    balance = book.balance(chosen)
    if as_json:
        emit(
            {
                "account": chosen.id,
                "epoch": balance.epoch,
                "spent": balance.spent,
                "remaining": balance.remaining,
                "odometers": [_reading(r) for r in balance.readings],
            }
        )
        return
    from dosimeter.session.words import left_in_words

    typer.echo(f"{chosen.name}: left {left_in_words(balance.remaining)}")
    for line in balance.readings:
        said = f"at most epsilon {brief_up(line.bound, 4)}" if line.bound is not None else f"no bound ({line.why_not})"
        about = "privacy loss so far" if line.semantics == "loss" else "a run stopped now"
        typer.echo(f"{about}: {said} ({line.odometer['kind']} odometer,")
        typer.echo(f"  which fails with probability at most {brief_up(line.failure_probability, 3)})")


@app.command()
@speaks_plainly
def statement(
    account: o.AccountName = None,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained HTML page here.")] = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    read_only: o.ReadOnly = False,
    as_json: o.AsJson = False,
) -> None:
    """Everything that happened to an account, in order, and what it adds up to."""
    book = _ledger(ledger, read_only=read_only)
    made = book.statement(_account(book, account))
    if html is not None:
        from dosimeter.report import html as page

        write(html, page(made))
        if not as_json:
            typer.echo(f"wrote {html}")
            return
    if as_json:
        emit(made.to_json())
        return
    from dosimeter.report.statement import charged, moment, promise, status
    from dosimeter.session.words import left_in_words, spent_in_words

    typer.echo(f"{made.account.name}, epoch {made.account.epoch}: {promise(made.guarantee)}")
    if len(made.epochs) > 1:
        typer.echo(f"all {len(made.epochs)} epochs together: {promise(made.guarantee_of_all_epochs)}")
    table(
        "Decisions",
        ["no.", "when", "what", "who", "why"],
        [[str(d.seq), moment(d.at), d.kind, d.by or "", d.reason or d.name or ""] for d in made.decisions],
    )
    table(
        "Queries",
        ["no.", "when", "question", "charge", "status"],
        [[str(e.entry), moment(e.requested_at), e.description, charged(e), status(e)] for e in made.entries],
    )
    typer.echo(f"spent {spent_in_words(made.spent)}; left {left_in_words(made.remaining)}")
    typer.echo(f"head {made.head}")


@app.command()
@speaks_plainly
def plot(
    account: o.AccountName = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the SVG goes.")] = Path("odometer.svg"),
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    read_only: o.ReadOnly = False,
    as_json: o.AsJson = False,
) -> None:
    """Draw the odometers against intrinsic time, with the budget and every query."""
    from dosimeter.report import odometer_figure, svg

    book = _ledger(ledger, read_only=read_only)
    figure = odometer_figure(book.statement(_account(book, account)))
    write(output, svg(figure))
    if as_json:
        emit({"figure": str(output), "queries": len(figure.queries), "curves": [c.name for c in figure.curves]})
    else:
        typer.echo(f"wrote {output}")


@app.command()
@speaks_plainly
def reset(
    reason: o.Reason,
    authorised_by: o.AuthorisedBy,
    account: o.AccountName = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Open a new epoch with a fresh budget. Logged for ever; statements add up what all epochs promise."""
    book = _ledger(ledger)
    renewed = book.reset(_account(book, account), reason=reason, authorised_by=authorised_by)
    emit(renewed.to_json()) if as_json else typer.echo(f"{renewed.name} is in epoch {renewed.epoch}")


@app.command("accept-change")
@speaks_plainly
def accept_change(
    data: o.Data,
    reason: o.Reason,
    authorised_by: o.AuthorisedBy,
    account: o.AccountName = None,
    name: o.Name = None,
    table: o.Table = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Let an account go on with changed data. What was spent stays spent."""
    from dosimeter.session import opening

    book = _ledger(ledger)
    chosen = _account(book, account)
    identity = opening.identity_of(data, name=name or chosen.name, table=table)
    known = book.knows(chosen, identity)
    changed = book.accept_data_change(chosen, identity, reason=reason, authorised_by=authorised_by)
    said = "knows this data already; nothing was changed" if known else "goes on with the changed data"
    emit({**changed.to_json(), "changed": not known}) if as_json else typer.echo(f"{changed.name} {said}")


@app.command()
@speaks_plainly
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the ledger and the statement.")] = Path(
        "demo-output"
    ),
    as_json: o.AsJson = False,
) -> None:
    """An adaptive analysis of a real health experiment, from opening the account to the statement."""
    from dosimeter.cli.demo import run

    run(output, as_json=as_json)


def _ledger(location: str, *, read_only: bool = False) -> Ledger:
    from dosimeter.session import open_ledger

    return open_ledger(location, create=False, read_only=read_only)


def _account(book: Ledger, wanted: str | None) -> Account:
    from dosimeter.errors import AccountNotFound
    from dosimeter.exact import show

    found = [a for a in book.accounts() if wanted in (a.id, a.name) or (wanted is None and PART not in a.terms)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{a.name} ({a.id})" for a in book.accounts() if PART not in a.terms) or "none"
    what = "no account" if not found else f"{len(found)} accounts"
    asked = "" if wanted is None else f" called {show(wanted)}"
    raise AccountNotFound(f"this ledger has {what}{asked}; choose one with --account: {known}")


def _types(columns: list[str] | None) -> dict[str, str] | None:
    from dosimeter.errors import InputError
    from dosimeter.exact import show

    if not columns:
        return None
    types = {}
    for column in columns:
        name, equals, kind = column.rpartition("=")
        if not equals:
            raise InputError(f"--column {show(column)} is not of the form name=type, as in age=integer")
        types[name] = kind
    return types


def _reading(reading: Any) -> dict[str, Any]:
    from dosimeter.exact import text

    return {
        "odometer": reading.odometer,
        "semantics": reading.semantics,
        "bound": None if reading.bound is None else text(reading.bound),
        "failure_probability": text(reading.failure_probability),
        "why_not": reading.why_not,
    }


def _show_account(session: Session, as_json: bool) -> None:
    balance = session.ledger.balance(session.account)
    if as_json:
        emit({**session.account.to_json(), "spent": balance.spent, "remaining": balance.remaining})
        return
    from dosimeter.report.statement import promise
    from dosimeter.session.words import left_in_words

    account = session.account
    unit = account.unit
    who = "one row" if unit.column is None else f"one {unit.column}, up to {unit.max_contributions} rows each"
    typer.echo(f"{account.name} (account {account.id})")
    typer.echo(f"promise: {promise(account.filter.guarantee())}, protecting {who}, under {account.relation}")
    typer.echo(f"left: {left_in_words(balance.remaining)}")

"""Roles and quotas on the command line: who may ask, how much of the budget each may use, and what each has left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dosimeter.cli import options as o
from dosimeter.cli.accounts import _account as find_account
from dosimeter.cli.accounts import _ledger as open_book
from dosimeter.cli.base import app
from dosimeter.cli.output import emit, speaks_plainly, table

if TYPE_CHECKING:
    from dosimeter.adaptive.filter import Filter
    from dosimeter.ledger import Account
    from dosimeter.ledger.quotas import Members

quota = typer.Typer(
    no_args_is_help=True,
    help="Roles and quotas of an account that was opened with --members.\n\n"
    "One filter protects the people in the data; quotas share out what it grants. A steward grants roles; analysts ask "
    "with --as NAME; auditors look and prove. Everything is on record.",
)
app.add_typer(quota, name="quota")

Who = Annotated[str, typer.Argument(help="The name, as whoever logs people in passes it on.")]
Size = Annotated[str | None, typer.Option(help="The quota; the whole budget when left out.")]


@quota.command()
@speaks_plainly
def grant(  # noqa: PLR0917 - one parameter per option
    name: Who,
    by: o.Steward,
    role: Annotated[str, typer.Option(help="analyst, auditor or steward.")] = "analyst",
    epsilon: Size = None,
    delta: Size = None,
    rho: Size = None,
    mu: Size = None,
    team: Annotated[str | None, typer.Option(help="A team whose quota the analyst shares as well.")] = None,
    unlock_from: Annotated[str | None, typer.Option(help="Unlock evenly from this day on, as in 2026-01-01.")] = None,
    unlock_days: Annotated[int | None, typer.Option(help="With --unlock-from: over so many days.")] = None,
    account: o.AccountName = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Give somebody a role, and an analyst a quota. Fixed by the grant; the same again finds the same.

    Example: dosimeter quota grant Bob --epsilon 0.4 --team demography --by Ada
    """
    from dosimeter.errors import InputError
    from dosimeter.ledger.quotas import Unlock
    from dosimeter.ledger.split import read_day

    if (unlock_from is None) != (unlock_days is None):
        raise InputError("--unlock-from and --unlock-days belong together; give both or neither")
    unlock = None if unlock_from is None else Unlock(read_day(unlock_from, "--unlock-from"), unlock_days or 0)
    members = _members(ledger, account)
    size = _filter(epsilon, delta, rho, mu)
    made = members.grant(name, role, by=by, quota=size, team=team, unlock=unlock)
    if as_json:
        emit({"name": made.name, "role": str(made.role), "team": made.team, "quota": _json(members, made.account)})
    else:
        typer.echo(f"{made.name} is {made.role} of {members.account.name}")


@quota.command()
@speaks_plainly
def team(
    name: Who,
    by: o.Steward,
    epsilon: Size = None,
    delta: Size = None,
    rho: Size = None,
    mu: Size = None,
    account: o.AccountName = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Form a team: a quota that its members' questions share, on top of their own.

    Example: dosimeter quota team demography --epsilon 0.6 --by Ada
    """
    members = _members(ledger, account)
    made = members.form_team(name, by=by, quota=_filter(epsilon, delta, rho, mu) or members.account.filter)
    emit({"team": name, "quota": _json(members, made)}) if as_json else typer.echo(f"team {name} was formed")


@quota.command()
@speaks_plainly
def show(
    account: o.AccountName = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    read_only: o.ReadOnly = False,
    as_json: o.AsJson = False,
) -> None:
    """Who has which role, and what each analyst's and team's quota has used and left."""
    members = _members(ledger, account, read_only=read_only)
    people: list[dict[str, Any]] = [
        {"name": one.name, "role": str(one.role), "team": one.team, "quota": _json(members, one.account)}
        for one in members.grants()
    ]
    teams: list[dict[str, Any]] = [
        {"team": name, "quota": _json(members, members.team_account(name))} for name in members.teams()
    ]
    if as_json:
        emit({"account": members.account.id, "members": people, "teams": teams})
        return
    rows = [_row(one["name"], one["role"], one["team"], one["quota"]) for one in people]
    rows += [_row(one["team"], "team", None, one["quota"]) for one in teams]
    typer.echo(f"{members.account.name}: the first steward is {members.account.opened_by}")
    table("Members", ["name", "role", "team", "used", "left"], rows)


@quota.command()
@speaks_plainly
def renew(
    name: Who,
    by: o.Steward,
    reason: o.Reason,
    of_team: Annotated[bool, typer.Option("--team", help="NAME is a team's.")] = False,
    account: o.AccountName = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Let a quota begin anew with its full size. The account's filter stays as it is: no more is promised away."""
    members = _members(ledger, account)
    renewed = members.renew(name, reason=reason, by=by, team=of_team)
    emit(_json(members, renewed)) if as_json else typer.echo(f"the quota of {name} begins anew")


@quota.command()
@speaks_plainly
def withdraw(
    name: Who,
    by: o.Steward,
    reason: o.Reason,
    account: o.AccountName = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Take somebody's role away, for ever and on record. What they spent stays spent."""
    _members(ledger, account).withdraw(name, reason=reason, by=by)
    emit({"name": name, "withdrawn": True}) if as_json else typer.echo(f"{name} has no role any more")


def _members(location: str, account: str | None, *, read_only: bool = False) -> Members:
    from dosimeter.ledger.block_quotas import members_of

    book = open_book(location, read_only=read_only)
    return members_of(book, find_account(book, account))


def _filter(epsilon: str | None, delta: str | None, rho: str | None, mu: str | None) -> Filter[Any] | None:
    from dosimeter.session.defaults import filter_for

    if epsilon is None and rho is None and mu is None and delta is None:
        return None
    made: Filter[Any] = filter_for(epsilon=epsilon, delta=delta, rho=rho, mu=mu)
    return made


def _json(members: Members, own: Account) -> dict[str, Any]:
    balance = members.ledger.balance(own)
    return {"epoch": balance.epoch, "spent": balance.spent, "remaining": balance.remaining}


def _row(name: str, role: str, of: str | None, size: dict[str, Any]) -> list[str]:
    from dosimeter.session.words import left_in_words, spent_in_words

    asks = role in {"analyst", "team"}
    used, left = (spent_in_words(size["spent"]), left_in_words(size["remaining"])) if asks else ("", "")
    return [name, role, of or "", used, left]

"""Commands of an analyst: ask, and quote before asking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from dosimeter.cli import options as o
from dosimeter.cli.base import app
from dosimeter.cli.blocks import Blocks, named_blocks
from dosimeter.cli.output import emit, speaks_plainly
from dosimeter.cli.question import Words, build
from dosimeter.notions.words import in_words

if TYPE_CHECKING:
    from dosimeter.session import Session


@app.command()
@speaks_plainly
def ask(  # noqa: PLR0917 - one parameter per option
    data: o.Data,
    aggregate: o.Aggregate,
    column: o.Column = None,
    lower: o.Lower = None,
    upper: o.Upper = None,
    edges: o.Edges = None,
    where: o.Where = None,
    by: o.By = None,
    max_groups: o.MaxGroups = None,
    max_rows_per_group: o.MaxRowsPerGroup = None,
    epsilon: o.Epsilon = None,
    delta: o.Delta = None,
    rho: o.Rho = None,
    mu: o.Mu = None,
    within: o.Within = None,
    confidence: o.Confidence = "0.95",
    step: o.Step = None,
    request: o.RequestName = None,
    blocks: Blocks = None,
    analyst: o.Analyst = None,
    name: o.Name = None,
    table: o.Table = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """Ask a question, pay its price, get a noisy answer with its error bar.

    The same question at the same price again replays the stored answer, free. Exit code 3 means that the account's
    filter refused, 5 that a quota did.

    Example: dosimeter ask people.csv mean income --lower 0 --upper 100000 --by sex=F,M --epsilon 0.1
    """
    session = _session(data, ledger, name, table, analyst)
    words = Words(aggregate, column, lower, upper, edges, where, by, max_groups, max_rows_per_group)
    price = _price(epsilon, delta, rho, mu, within, confidence, step) | named_blocks(session, blocks)
    answer = session.ask(build(session.schema, words), request=request, **price)
    if as_json:
        emit(answer.to_json())
        return
    from dosimeter.session.words import left_in_words, loss_in_words

    for line in (answer.question, str(answer), f"left: {left_in_words(answer.remaining)}"):
        typer.echo(line)
    if answer.odometer is not None:
        typer.echo(loss_in_words(answer.odometer))


@app.command()
@speaks_plainly
def quote(  # noqa: PLR0917 - one parameter per option
    data: o.Data,
    aggregate: o.Aggregate,
    column: o.Column = None,
    lower: o.Lower = None,
    upper: o.Upper = None,
    edges: o.Edges = None,
    where: o.Where = None,
    by: o.By = None,
    max_groups: o.MaxGroups = None,
    max_rows_per_group: o.MaxRowsPerGroup = None,
    epsilon: o.Epsilon = None,
    delta: o.Delta = None,
    rho: o.Rho = None,
    mu: o.Mu = None,
    within: o.Within = None,
    confidence: o.Confidence = "0.95",
    step: o.Step = None,
    blocks: Blocks = None,
    analyst: o.Analyst = None,
    name: o.Name = None,
    table: o.Table = None,
    ledger: o.LedgerPath = o.DEFAULT_LEDGER,
    as_json: o.AsJson = False,
) -> None:
    """What a question would cost, how exact it would be, and whether it fits; charges nothing.

    Example: dosimeter quote people.csv count --where "age >= 65" --within 50
    """
    from dosimeter.events import loss_to_json

    session = _session(data, ledger, name, table, analyst)
    words = Words(aggregate, column, lower, upper, edges, where, by, max_groups, max_rows_per_group)
    price = _price(epsilon, delta, rho, mu, within, confidence, step) | named_blocks(session, blocks)
    query = build(session.schema, words)
    plan, quoted = session.plan(query, **price), session.quote(query, **price)
    if as_json:
        emit(
            {
                "plan": plan.to_json(),
                "charge": loss_to_json(quoted.loss),
                "fits": quoted.fits,
                "remaining": quoted.remaining,
                "remaining_after": quoted.remaining_after,
                "quota": None if quoted.quota is None else quoted.quota.message(),
            }
        )
        return
    from dosimeter.session.words import left_in_words

    typer.echo(plan.describe())
    typer.echo(f"charge: {in_words(quoted.loss)}")
    if quoted.remaining_after is not None:
        typer.echo(f"fits; left afterwards: {left_in_words(quoted.remaining_after)}")
    elif quoted.quota is not None:
        typer.echo(f"fits into the account, not into a quota: {quoted.quota.message()}")
    else:
        typer.echo(f"does not fit; left: {left_in_words(quoted.remaining)}")


def _session(data: str, ledger: str, name: str | None, table: str | None, analyst: str | None) -> Session:
    from dosimeter.session import open, open_ledger

    return open(data, ledger=open_ledger(ledger, create=False), name=name, table=table, analyst=analyst)


def _price(
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    mu: str | None,
    within: str | None,
    confidence: str,
    step: str | None,
) -> dict[str, Any]:
    return {
        "epsilon": epsilon,
        "delta": delta,
        "rho": rho,
        "mu": mu,
        "within": within,
        "confidence": confidence,
        "step": step,
    }

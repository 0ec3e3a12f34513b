"""How slack and charge are traded, for one kind of query in an account that prices whole profiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dosimeter.cli import options as o
from dosimeter.cli.base import app
from dosimeter.cli.output import emit, figure_to, speaks_plainly, table
from dosimeter.errors import InputError
from dosimeter.exact import brief_up, text

if TYPE_CHECKING:
    from dosimeter.accounting.trade import Trade
    from dosimeter.events import Event
    from dosimeter.report.chart import Chart


@app.command(name="slack-trade")
@speaks_plainly
def slack_trade(  # noqa: PLR0917 - one parameter per option
    epsilon: Annotated[str | None, typer.Option(help="Of the account; found where --plan is given.")] = None,
    delta: Annotated[str | None, typer.Option(help="Of the account, as in 1e-6.")] = None,
    slack: Annotated[str | None, typer.Option(help="The part of delta kept as slack; a hundredth if left out.")] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", help="A plan file, for an account that follows it (residue_plan).")
    ] = None,
    reserve: Annotated[str | None, typer.Option(help="With --plan: mu^2 of a Gaussian budget beside it.")] = None,
    pure: Annotated[str | None, typer.Option(help="The query: pure, its epsilon.")] = None,
    laplace: Annotated[str | None, typer.Option(help="The query: Laplace noise, its epsilon.")] = None,
    gaussian: Annotated[str | None, typer.Option(help="The query: Gaussian noise, its noise multiplier.")] = None,
    sgd: Annotated[
        str | None, typer.Option(help="The query: a step of DP-SGD, PROBABILITY/NOISE_MULTIPLIER as in 0.01/1.5.")
    ] = None,
    planned: Annotated[
        list[int] | None, typer.Option(help="For how many queries the slack should last; repeat for more.")
    ] = None,
    relation: Annotated[str, typer.Option(help="add_remove, replace_one or zero_out.")] = "add_remove",
    figure: Annotated[Path | None, typer.Option("--figure", help="Write a figure (.svg or .png) here.")] = None,
    as_json: o.AsJson = False,
) -> None:
    """More slack for each query makes it cheaper, and leaves slack for fewer of them: both, side by side.

    Set `--queries` of `dosimeter open` to the row that admits most. Nothing is opened, nothing is charged.

    Example: dosimeter slack-trade --epsilon 2 --delta 1e-5 --sgd 0.01/1.5
    """
    from dosimeter.accounting.trade import PLANNED
    from dosimeter.accounting.trade import slack_trade as compute
    from dosimeter.adaptive.filters import fits
    from dosimeter.cli.rules import filter_from_words

    event = _event({"pure": pure, "laplace": laplace, "gaussian": gaussian, "sgd": sgd})
    given = {"epsilon": epsilon, "delta": delta, "slack": slack, "plan": plan, "reserve": reserve}
    rule: Any = filter_from_words("residue" if plan is None else "residue_plan", given)
    trades = compute(event, rule, relation=relation, queries=planned or PLANNED)
    admitted = [0 if one.price is None else fits(rule, rule.start(), one.price) for one in trades]
    if figure is not None:
        figure_to(figure, _chart(trades))
    if as_json:
        emit(
            {
                "filter": rule.to_json(),
                "trades": [_plain(one, many) for one, many in zip(trades, admitted, strict=True)],
            }
        )
        return
    rows = []
    for one, many in zip(trades, admitted, strict=True):
        words = "too little slack to prove a price" if one.price is None else one.price.in_words()
        rows.append([str(one.queries), brief_up(one.share), words, str(many)])
    table("Slack and charge", ["slack for", "slack each", "one costs", "fit"], rows)
    if figure is not None:
        typer.echo(f"wrote {figure}")


def _event(words: dict[str, str | None]) -> Event:
    from dosimeter.cli.expected import sketch_from_words

    given = [(name, word) for name, word in words.items() if word is not None]
    if len(given) != 1:
        raise InputError("say which query is meant, in one of: --pure, --laplace, --gaussian, --sgd")
    name, word = given[0]
    ((event, _),) = sketch_from_words(None, [(name, [f"{word}x1"])], None).parts
    return event


def _plain(one: Trade, many: int) -> dict[str, Any]:
    from dosimeter.events import loss_to_json

    price = None if one.price is None else loss_to_json(one.price)
    return {"queries": one.queries, "share": text(one.share), "price": price, "fit": many}


def _chart(trades: tuple[Trade, ...]) -> Chart:
    from dosimeter.report.chart import Axis, Chart, Line

    known = [(float(one.queries), one.price.digest.offers[0][1][0]) for one in trades if one.price is not None]
    least = [(many, float(rows[0][1]) / 1e36) for many, (_, rows) in known]
    most = [(many, float(rows[-1][1]) / 1e36) for many, (_, rows) in known]
    if len(known) < 2 or min(y for _, y in least) <= 0:
        raise InputError("fewer than two of these plans have a price, so there is nothing to draw; plan other numbers")
    low, high = min(y for _, y in least), max(y for _, y in most)
    return Chart(
        "What one query costs, by how many the slack is for",
        Axis("queries that the slack is for", known[0][0], known[-1][0], log=True),
        Axis("charge", low / 1.2, high * 1.6, log=True),
        [Line("where much is left", least), Line("where little is left", most)],
    )

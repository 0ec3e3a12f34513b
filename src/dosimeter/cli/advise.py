"""Which account to open: what each kind of filter would admit of what people expect to ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dosimeter.cli import options as o
from dosimeter.cli.base import app
from dosimeter.cli.output import emit, figure_to, progress, speaks_plainly, table, write

if TYPE_CHECKING:
    from dosimeter.accounting.advice import Advice, Offer
    from dosimeter.report.bars import Bars


@app.command()
@speaks_plainly
def advise(  # noqa: PLR0917 - one parameter per option
    plan: Annotated[
        Path | None, typer.Argument(help="A plan file with what is expected, in place of or before the options.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="The promise: epsilon of all queries together.")] = None,
    delta: Annotated[str | None, typer.Option(help="The promise: the probability of failure, as in 1e-6.")] = None,
    rho: Annotated[str | None, typer.Option(help="Or a promise in zCDP.")] = None,
    mu: Annotated[str | None, typer.Option(help="Or a promise in Gaussian DP.")] = None,
    pure: Annotated[
        list[str] | None, typer.Option(help="Expected: pure queries, EPSILONxCOUNT as in 0.01x500; repeat for more.")
    ] = None,
    laplace: Annotated[list[str] | None, typer.Option(help="Expected: Laplace noise, EPSILONxCOUNT.")] = None,
    gaussian: Annotated[
        list[str] | None, typer.Option(help="Expected: Gaussian noise, NOISE_MULTIPLIERxCOUNT as in 20x10.")
    ] = None,
    sgd: Annotated[
        list[str] | None,
        typer.Option(help="Expected: steps of DP-SGD, PROBABILITY/NOISE_MULTIPLIERxCOUNT as in 0.01/1.0x2000."),
    ] = None,
    relation: Annotated[
        str | None, typer.Option(help="add_remove, replace_one or zero_out; the plan's own when left out.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write the recommended filter here, for `open --filter`.")] = None,
    figure: Annotated[Path | None, typer.Option("--figure", help="Write a figure (.svg or .png) here.")] = None,
    as_json: o.AsJson = False,
) -> None:
    """Which filter to open an account with, for what people expect to ask. Nothing is opened, nothing is charged.

    Each kind of filter is opened for the promise and charged with the real losses. Whatever is asked in the end, the
    promise holds; what is expected only decides which filter wastes least.

    Example: dosimeter advise --epsilon 1 --delta 1e-6 --pure 0.01x500
    """
    from dosimeter.accounting.advice import Target
    from dosimeter.accounting.advice import advise as compute
    from dosimeter.adaptive.filters import FILTERS
    from dosimeter.cli.expected import sketch_from_words

    words = [("pure", pure), ("laplace", laplace), ("gaussian", gaussian), ("sgd", sgd)]
    sketch = sketch_from_words(plan, words, relation)
    target = Target(epsilon, delta or 0, rho, mu)  # type: ignore[arg-type]
    with progress("filters", len(FILTERS), quiet=as_json) as watch:
        advice = compute(target, sketch, watch=watch)
    if figure is not None:
        figure_to(figure, _bars(advice))
    if save is not None and advice.recommended is not None:
        write(save, json.dumps(advice.recommended.to_json()["filter"], indent=2) + "\n")
    command = None if advice.recommended is None else _command(advice.recommended, save)
    if as_json:
        emit({**advice.to_json(), "command": command})
        return
    _say(advice)
    for path in (save if advice.recommended else None, figure):
        if path is not None:
            typer.echo(f"wrote {path}")
    if command is not None:
        typer.echo(f"open it with: {command}")


def _say(advice: Advice) -> None:
    from dosimeter.cli.expected import names_of

    names = names_of(advice.sketch)
    several = len(names) > 1
    usable = [one for one in advice.offers if one.filter is not None]
    table(
        f"Queries admitted, for {advice.target.in_words()} ({advice.sketch.relation})",
        ["filter", "admits", *([f"{name} alone" for name in names] if several else []), ""],
        [
            [one.kind, str(one.admitted), *([str(n) for n in one.alone] if several else []), _remark(one, advice)]
            for one in usable
        ],
    )
    typer.echo(
        "expected: " + ", ".join(f"{n} x {name}" for name, (_, n) in zip(names, advice.sketch.parts, strict=True))
    )
    for one in advice.offers:
        if one.filter is None:
            typer.echo(f"not {one.kind}: {one.reason}")
    for reason in advice.reasons:
        typer.echo(reason)


def _remark(one: Offer, advice: Advice) -> str:
    return "recommended" if one is advice.recommended else "for comparison" if one.comparison_only else ""


def _command(one: Offer, saved: Path | None) -> str | None:
    """What a steward types; None where the filter has to be saved first."""
    from dosimeter.cli.rules import words_of

    if one.filter is None:
        return None
    words = words_of(one.filter)
    if words is not None:
        options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in words.items())
        return f"dosimeter open DATA --filter {one.kind} {options}"
    return f"dosimeter open DATA --filter {saved or 'FILE'}" + ("" if saved else " (write FILE with --save FILE)")


def _bars(advice: Advice) -> Bars:
    from dosimeter.report.bars import Bar, Bars

    rows = [one for one in advice.offers if one.filter is not None]
    return Bars(
        f"Queries admitted, for {advice.target.in_words()}",
        [Bar(one.kind, float(one.admitted), str(one.admitted), one.comparison_only) for one in rows],
        (float(advice.sketch.queries), f"expected {advice.sketch.queries}"),
    )

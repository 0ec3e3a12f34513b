"""The figures behind the claims, made again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dosimeter.cli import options as o
from dosimeter.cli.base import app
from dosimeter.cli.output import emit, progress, speaks_plainly, table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dosimeter.report.reproduce import Reproduced

STEPS = 30  # about so many steps of work in a group of figures


@app.command()
@speaks_plainly
def reproduce(
    what: Annotated[str, typer.Argument(help="odometers, filters or imgm-features.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the files.")] = Path("figures"),
    data: Annotated[
        Path | None,
        typer.Option("--data", help="For imgm-features: the folder that holds mnist, cifar10, svhn and imdb."),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="For imgm-features: how many repetitions.")] = 5,
    png: Annotated[bool, typer.Option("--png/--no-png", help="Also PNG, which needs Pillow.")] = True,
    as_json: o.AsJson = False,
) -> None:
    """Make the figures about odometers, filters or perturbed features again: SVG, PNG and CSV, with numbers to check.

    Example: dosimeter reproduce odometers --output figures
    """
    from dosimeter.errors import InputError
    from dosimeter.exact import show
    from dosimeter.report.reproduce import FIGURES, save

    choices = (*FIGURES, "imgm-features")
    if what not in choices:
        raise InputError(f"{show(what)} cannot be reproduced; choose one of: {', '.join(choices)}")
    if data is not None and what != "imgm-features":
        raise InputError(f"--data is for imgm-features; the figures about {what} need no data")
    made: list[tuple[Reproduced, list[Path]]] = []
    with progress(what, STEPS, quiet=as_json) as watch:
        if what == "imgm-features":
            from dosimeter.report.reproduce.features import imgm_features

            made += [(built, save(built, output, png=png)) for built in imgm_features(watch, data, seeds=seeds)]
        for figure in FIGURES.get(what, ()):
            built = figure(watch)
            made.append((built, save(built, output, png=png)))
    if as_json:
        emit([_json(built, files) for built, files in made])
        return
    for built, files in made:
        typer.echo(built.about)
        table(built.name, ["number", "value"], built.numbers.items())
        _wrote(files)


def _wrote(files: Iterable[Path]) -> None:
    for path in files:
        typer.echo(f"wrote {path}")


def _json(figure: Reproduced, files: list[Path]) -> dict[str, Any]:
    return {
        "name": figure.name,
        "about": figure.about,
        "numbers": dict(figure.numbers),
        "files": [str(path) for path in files],
    }

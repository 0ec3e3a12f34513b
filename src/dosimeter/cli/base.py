"""The application that commands register with."""

from __future__ import annotations

from typing import Annotated

import typer

from dosimeter import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Differentially private analysis under full adaptivity.\n\n"
    "A steward opens an account on a data set with a budget. Analysts ask one question after another, each chosen from "
    "earlier answers, and see the price before they pay. When a question would not certainly fit, it is refused; the "
    "account goes on. Everything is in the ledger file, and `audit` proves it.\n\n"
    "Start with: dosimeter demo",
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"dosimeter {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the command itself."""

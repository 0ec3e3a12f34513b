"""The application that commands register with."""

from __future__ import annotations

import logging
from enum import StrEnum
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


class Log(StrEnum):
    """How the ledger's log is written."""

    TEXT = "text"
    JSON = "json"


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback has answered
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    log: Annotated[
        Log | None,
        typer.Option("--log", envvar="DOSIMETER_LOG", show_envvar=True, help="Log to standard error what happens."),
    ] = None,
) -> None:
    """Options of the command itself."""
    if log is not None:
        from dosimeter.ledger import watch

        handler, level = logging.StreamHandler(), watch.LOGGER.level
        watch.log_to(handler, as_json=log is Log.JSON)
        context.call_on_close(lambda: watch.LOGGER.removeHandler(handler))
        context.call_on_close(lambda: watch.LOGGER.setLevel(level))

"""How the command line speaks: tables for people, JSON for machines, one sentence for an error, never a traceback."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import typer

from dosimeter.errors import DosimeterError, InputError, QueryRefused, QuotaExceeded

if TYPE_CHECKING:
    from dosimeter.report.bars import Bars
    from dosimeter.report.chart import Chart

P = ParamSpec("P")
R = TypeVar("R")

FAILED: Final = 1
REFUSED: Final = 3
OVER_QUOTA: Final = 5


def emit(data: Any) -> None:
    """Print JSON for a machine."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table for a person. Cells are printed as they are: no markup in a question or a name is obeyed."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    built = Table(title=Text(title), title_justify="left", header_style="bold")
    for column in columns:
        built.add_column(column, overflow="fold")
    for row in rows:
        built.add_row(*(Text(cell) for cell in row))
    Console().print(built)


def write(path: Path, content: str) -> None:
    """Write a text file; raises InputError where that is not possible."""
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def figure_to(path: Path, figure: Chart | Bars) -> None:
    """Write a figure, as PNG where the file's name says so, else as SVG; raises InputError where that fails."""
    from dosimeter.report.bars import Bars, draw_bars
    from dosimeter.report.chart import draw

    if path.suffix.lower() != ".png":
        write(path, draw_bars(figure) if isinstance(figure, Bars) else draw(figure))
        return
    from dosimeter.report.raster import png

    content = png(figure)
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


@contextmanager
def progress(what: str, steps: int, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A bar on standard error while long work goes on, where a person watches; yields what to call before each step."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(what, total=steps)
        begun = False

        def step(name: str) -> None:
            nonlocal begun
            shown.update(task, advance=int(begun), description=f"{what}: {name}")
            begun = True

        yield step


@contextmanager
def counting(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error for what tells now and then how far it is, and of how much; None where nobody watches."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def speaks_plainly(command: Callable[P, R]) -> Callable[P, R]:
    """Turn the errors of a command into one sentence (or one JSON object) and an exit code.

    1 for an error, 3 for a refusal by the account's filter, 5 for one by a quota; 2 is Typer's own for wrong usage.
    """

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        as_json = bool(kwargs.get("as_json"))
        try:
            return command(*args, **kwargs)
        except QuotaExceeded as refusal:
            quota = refusal.quota
            code, error, kind = OVER_QUOTA, str(refusal), "over_quota"
            numbers = {"whose": quota.whose, "name": quota.name, "locked": quota.locked} | vars_of(refusal.refusal)
        except QueryRefused as refusal:
            code, error, numbers = REFUSED, str(refusal), vars_of(refusal.refusal)
            kind = "refused"
        except DosimeterError as caught:
            code, error, numbers, kind = FAILED, str(caught), {}, type(caught).__name__
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            code, numbers, kind = FAILED, {}, "Interrupted"
            error = "interrupted; what was charged stays charged, and asking the same again completes it free"
        except BrokenPipeError:
            raise  # the reader went away, as in `dosimeter statement | head`: nothing to say, nobody to say it to
        except OSError as caught:
            code, numbers, kind = FAILED, {}, "SystemError"
            error = (
                f"{caught.strerror or 'the system failed'}; what was charged stays charged, and asking again is free"
            )
        except Exception as caught:
            code, numbers, kind = FAILED, {}, "InternalError"
            error = f"an internal error ({type(caught).__name__}); what was charged stays charged. Please report it"
        if as_json:
            emit({"error": {"kind": kind, "message": error, **numbers}})
        else:
            sys.stderr.write(f"dosimeter: {error}\n")
        raise typer.Exit(code) from None

    return run


def vars_of(refusal: Any) -> dict[str, Any]:
    """The numbers of a refusal, for JSON."""
    names = ("code", "requested", "spent", "remaining", "budget")
    return {name: getattr(refusal, name) for name in names}

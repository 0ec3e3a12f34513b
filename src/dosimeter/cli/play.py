"""The box game: a strategy against a filter, as something to play with and as an audit."""

from __future__ import annotations

import runpy
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dosimeter.cli import options as o
from dosimeter.cli.base import app
from dosimeter.cli.output import emit, figure_to, progress, speaks_plainly
from dosimeter.errors import InputError
from dosimeter.exact import brief_up, count, show, to_decimal

if TYPE_CHECKING:
    from collections.abc import Callable

    from dosimeter.adaptive.filters import AnyFilter
    from dosimeter.adaptive.playground import Option, Seen, Strategy, Table
    from dosimeter.report.chart import Chart

PATHS = 24
CURVE_POINTS = 64
BROKEN = 4  # the exit code when a claim was beaten


@app.command()
@speaks_plainly
def play(  # noqa: PLR0917 - one parameter per option
    kind: Annotated[
        str, typer.Option("--filter", help="A kind of filter, or a .json file that holds one; see `dosimeter advise`.")
    ] = "approx",
    epsilon: Annotated[str | None, typer.Option(help="The filter's budget: epsilon.")] = None,
    delta: Annotated[str | None, typer.Option(help="The filter's budget: delta.")] = None,
    rho: Annotated[str | None, typer.Option(help="Or a budget in zCDP.")] = None,
    mu: Annotated[str | None, typer.Option(help="Or a budget in Gaussian DP.")] = None,
    declared_delta: Annotated[str | None, typer.Option(help="Part of delta kept for boxes that may fail.")] = None,
    strategy: Annotated[
        str,
        typer.Option(
            help="threshold, doubling, greedy, optimal, steady-small, steady-large, all; a .py file with a function "
            "choose(seen); or a .json file with a strategy that was computed."
        ),
    ] = "all",
    base: Annotated[str, typer.Option(help="The smallest box: the odds e^epsilon of a randomized response.")] = "1.1",
    boxes: Annotated[str, typer.Option(help="Which multiples of its epsilon are on offer.")] = "1,2,3,4",
    failures: Annotated[str, typer.Option(help="Probabilities with which boxes fail; each box comes with each.")] = "0",
    noise: Annotated[
        str | None, typer.Option("--gaussian", help="Gaussian boxes instead: their mus, as in 0.3,0.5.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="The epsilon at which delta is asked; the filter's own, or 1.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="At most so many boxes.")] = 1000,
    odometer: Annotated[
        str | None, typer.Option(help="Read an odometer after every box: mixture, filter or stitched.")
    ] = None,
    crossing: Annotated[str, typer.Option(help="The odometer's crossing probability.")] = "0.05",
    runs: Annotated[
        int | None, typer.Option(help="Play so often by Monte Carlo; exactly when left out and where possible.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of the draws of Monte Carlo and of the figure (0), and of a game at the table.")
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Play yourself: choose the boxes and guess the world.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw some runs (.svg or .png), with the odometer and the level.")
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Play a strategy against a filter: how much it reaches of what the filter claims, exactly or by Monte Carlo.

    The player sees every answer before she chooses the next box; the filter sees prices. Nothing private is involved.
    Exit code 4 means that a claim was beaten, which must not happen to a filter that is offered.

    Example: dosimeter play --filter approx --epsilon 1 --delta 0.01 --strategy doubling
    """
    from dosimeter.adaptive.playground import BUILT_IN, Table
    from dosimeter.adaptive.playground import play as play_once

    options = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu, "declared_delta": declared_delta}
    if not any(options.values()) and not kind.lower().endswith(".json"):
        options |= {"epsilon": "1", "delta": "0.01"}
    rule = _filter(kind, options, base, boxes)
    menu = _boxes(rule, base, boxes, failures, noise)
    level = at if at is not None else getattr(rule, "epsilon", None) or Decimal(1)
    game = Table(rule, menu, to_ratio(base), level, rounds, _odometer(odometer, crossing, rule))
    if interactive:
        _at_the_table(game, seed, quiet=as_json)
        return
    seed = seed or 0
    names = list(BUILT_IN) if strategy == "all" else [strategy]
    with progress("strategies", len(names), quiet=as_json) as watch:
        results = []
        for name in names:
            watch(name)
            results.append(play_once(game, _strategy(name), runs=runs, seed=seed))
    if figure is not None:
        figure_to(figure, _paths(game, names[-1] if strategy != "all" else "optimal", seed))
    if as_json:
        emit([one.to_json() for one in results])
    else:
        for one in results:
            typer.echo(one.in_words())
        if figure is not None:
            typer.echo(f"wrote {figure}")
    if any(one.beaten for one in results):
        raise typer.Exit(BROKEN)


def to_ratio(word: str) -> Any:
    """A ratio or a decimal, exactly."""
    from dosimeter.exact import to_fraction

    return to_fraction(word, "base")


def _filter(kind: str, given: dict[str, str | None], base: str, boxes: str) -> AnyFilter:
    """As words say it; a kind that needs orders is opened for the target as `advise` would, for these boxes."""
    from dosimeter.accounting.advice import Sketch, Target
    from dosimeter.accounting.advice.openings import OPENINGS
    from dosimeter.cli.rules import filter_from_words
    from dosimeter.enclosure import ball, enclose, up
    from dosimeter.events import RandomizedResponse

    try:
        return filter_from_words(kind, given)
    except InputError:
        if kind not in OPENINGS or given["declared_delta"] is not None:
            raise
    target = Target(given["epsilon"], given["delta"] or 0, given["rho"], given["mu"])  # type: ignore[arg-type]
    odds = to_ratio(base)
    sizes = [up(enclose(lambda m=m: ball(odds).log() * m)) for m in _whole(boxes)]  # type: ignore[misc]
    return OPENINGS[kind](target, Sketch.of([(RandomizedResponse(size), 1) for size in sizes]))


def _boxes(rule: AnyFilter, base: str, boxes: str, failures: str, noise: str | None) -> list[Option]:
    from dosimeter.accounting.menus import gaussian_options, response_options

    if noise is not None:
        return gaussian_options(rule, base, [word.strip() for word in noise.split(",")])
    return response_options(rule, base, _whole(boxes), [word.strip() for word in failures.split(",")])


def _whole(words: str) -> list[int]:
    found = []
    for word in words.split(","):
        digits = word.strip()
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 6:
            raise InputError(f"--boxes {show(words)} is not a list of whole numbers, as in 1,2,3")
        found.append(count(int(digits), "boxes", largest=10_000))
    return found


def _at_the_table(game: Table, seed: int | None, *, quiet: bool) -> None:
    """One game with the person at the keyboard; with JSON the conversation goes to standard error."""
    from dosimeter.adaptive.playground import built_in, sit_down

    keyboard = typer.get_text_stream("stdin")
    found = sit_down(
        game,
        lambda: keyboard.readline() or None,
        lambda line: typer.echo(line, err=quiet),
        seed=seed,
        hint=built_in("optimal", game),
    )
    if quiet:
        emit(found.to_json())


def _strategy(name: str) -> str | Callable[[Seen], int | None] | Strategy:
    """A built-in's name, the function `choose` of a file of the user's own, or a stored strategy."""
    if not name.endswith((".py", ".json")):
        return name
    if not Path(name).is_file():
        raise InputError(f"there is no file {name}; it should define choose(seen), or be a stored strategy")
    if name.endswith(".json"):
        return _stored(name)
    chosen = runpy.run_path(name).get("choose")
    if not callable(chosen):
        raise InputError(f"{name} does not define a function choose(seen)")
    own: Callable[[Seen], int | None] = chosen
    return own


def _stored(name: str) -> Strategy:
    """A strategy that `dosimeter.adaptive.adversary` computed and somebody stored."""
    import json

    from dosimeter.adaptive.adversary import Strategy as Best
    from dosimeter.adaptive.playground import following

    try:
        data = json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{name} cannot be read as JSON") from None
    return following(Best.from_json(data))


def _odometer(kind: str | None, crossing: str, rule: AnyFilter) -> Any:
    """An odometer tuned to where the filter's budget ends."""
    from dosimeter.adaptive.odometers import FilterOdometer, MixtureOdometer, StitchedOdometer

    if kind is None:
        return None
    end, share = _end(rule), to_decimal(crossing, "crossing")
    if kind == "mixture":
        return MixtureOdometer.tuned(delta=share, intrinsic_time=end)
    if kind == "filter":
        return FilterOdometer(share, end)
    if kind == "stitched":
        return StitchedOdometer(share, end / 8)
    raise InputError(f"--odometer {show(kind)} is unknown here; use one of: mixture, filter, stitched")


def _end(rule: AnyFilter) -> Decimal:
    caps = {name: Decimal(value) for name, value in rule.budget().items()}
    if "rho" in caps:
        return 2 * caps["rho"]
    return next((caps[name] for name in ("mu_squared", "sum_of_squares") if name in caps), Decimal(1))


def _paths(game: Table, name: str, seed: int) -> Chart:
    """Some runs: the loss against the filter's clock, the odometer's reading, and the level."""
    from dosimeter.adaptive.playground import Strategy, built_in, sample_paths
    from dosimeter.report.chart import Axis, Chart, Limit, Line

    chosen = _strategy(name)
    if isinstance(chosen, str):
        how = built_in(chosen, game)
    else:
        how = chosen if isinstance(chosen, Strategy) else Strategy.of(chosen)
    found = sample_paths(game, how, paths=PATHS, seed=seed)
    lines = [Line("", list(zip(one.times, one.losses, strict=True)), quiet=True) for one in found]
    right = max(max(one.times) for one in found) or 1.0
    if game.odometer is not None:
        times = [right * i / (CURVE_POINTS - 1) for i in range(CURVE_POINTS)]
        reading = [(t, float(game.odometer.bound(_At(Decimal(repr(t)))))) for t in times]
        share = brief_up(game.odometer.crossing_probability, 3)
        lines.append(Line(f"{game.odometer.kind} odometer, passed with probability at most {share}", reading))
    level = float(game.level)
    tops = [level, *(y for line in lines for _, y in line.points)]
    clock = "intrinsic time V" if getattr(game.filter.start(), "intrinsic_time", None) is not None else "boxes opened"
    return Chart(
        f"{how.name} against {game.filter.kind}: {PATHS} runs",
        Axis(clock, 0.0, 1.02 * right),
        Axis("privacy loss", min(0.0, *tops) * 1.05, 1.1 * max(tops) or 1.0),
        lines,
        limits=[Limit(level, f"epsilon {level:.6g}")],
    )


class _At:
    """A state that only an odometer reads."""

    def __init__(self, time: Decimal) -> None:
        self.intrinsic_time, self.delta = time, Decimal(0)

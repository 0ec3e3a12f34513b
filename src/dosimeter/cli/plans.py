"""Commands for plans fixed in advance: what a plan costs, what it can afford, what each theorem says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dosimeter.cli import options as o
from dosimeter.cli.base import app
from dosimeter.cli.output import emit, speaks_plainly, table, write
from dosimeter.errors import DosimeterError, InputError, NoGuaranteeError
from dosimeter.exact import Bound, amount, brief_down, brief_up, text

if TYPE_CHECKING:
    from dosimeter.events import Event
    from dosimeter.interop import PlanFile
    from dosimeter.pld.accountant import Accountant
    from dosimeter.report.chart import Chart, Line

PlanPath = Annotated[Path, typer.Argument(help="A plan file: .json, .yaml or .yml.")]
TargetDelta = Annotated[str | None, typer.Option("--delta", help="At which delta; the plan file's own when left out.")]
FigurePath = Annotated[Path | None, typer.Option("--figure", help="Write a figure (SVG) here.")]
Group = Annotated[int, typer.Option("--group", help="How many rows stand or fall together: the rows of one user.")]
GroupSampling = Annotated[
    str, typer.Option("--group-sampling", help="Who has a coin of their own in a sample: records, or groups.")
]
PROFILE_POINTS = 33
REPETITIONS = (1, 2, 4, 8, 16, 32, 64)
TALLEST = 3.0  # a theorem that says more than this multiple of the truth would flatten the others


@app.command()
@speaks_plainly
def account(
    plan: PlanPath,
    delta: TargetDelta = None,
    epsilon: Annotated[str | None, typer.Option(help="Or: the delta at this epsilon.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Ask a second, independent engine too; a contradiction is an error.")
    ] = False,
    group: Group = 1,
    group_sampling: GroupSampling = "records",
    figure: FigurePath = None,
    as_json: o.AsJson = False,
) -> None:
    """What a plan costs, exactly: certified bounds of epsilon at a delta, or of delta at an epsilon.

    The plan's parameters are fixed in advance. For parameters chosen from answers, open an account with a filter.

    Example: dosimeter account plan.yaml --delta 1e-6
    """
    one = _load(plan)
    read = _for_groups(one, group, group_sampling)
    said: dict[str, Any] = {"plan": read.to_json(), "engine": "saddle line", "group": group}
    target = None if epsilon is not None and delta is None else _delta(delta, read)
    level = None if epsilon is None else amount(epsilon, "epsilon", zero=True)
    try:
        accountant = _accountant(read)
    except NoGuaranteeError:
        if target is None or level is not None or check or figure is not None:
            raise
        said |= _bounded(one, target, group, group_sampling)
    else:
        said |= _exact(accountant, level, target, check=check)
        if group > 1 and target is not None:
            said |= _bounded(one, target, group, group_sampling)
            if said["engine"] != "saddle line":  # the second engine was asked about the events, which say less
                said.pop("check_epsilon", None)
        if figure is not None:
            top = accountant.epsilon(Decimal("1e-12")).upper
            write(figure, _draw(_profile(accountant, top, read.title or plan.name)))
            said["figure"] = str(figure)
    if as_json:
        emit(said)
        return
    rows = [[name(said), *_cells(said[key])] for key, name in _ROWS.items() if key in said]
    whom = str(read.relation) if group == 1 else f"{read.relation}, groups of {group}"
    table(f"{read.title or plan.name} ({whom})", ["", "at least", "at most"], rows)
    if said["engine"] != "saddle line":
        typer.echo(f"by {said['engine']}, which only bounds it from above")
    if figure is not None:
        typer.echo(f"wrote {figure}")


@app.command()
@speaks_plainly
def calibrate(
    plan: PlanPath,
    epsilon: Annotated[
        str, typer.Option(help="The epsilon that the whole plan may cost, 0 included; ? where it is what to find.")
    ],
    delta: TargetDelta = None,
    group: Group = 1,
    group_sampling: GroupSampling = "records",
    as_json: o.AsJson = False,
) -> None:
    """Find the number written as "?" in a plan: the noise, count, probability, batch size, ... that meets a target.

    The answer is certified: at that value the plan costs at most epsilon. The nearest value that was not certified is
    shown with it. Epsilon or delta may be the "?" too, when the plan has no other.

    Example: dosimeter calibrate plan.yaml --epsilon 1 --delta 1e-5
    """
    from dosimeter.cli.unknowns import Question, find
    from dosimeter.interop.planfile import read_plan_data

    asked = Question.read(read_plan_data(plan), epsilon, delta)
    found = find(asked, lambda read: _for_groups(read, group, group_sampling))
    if as_json:
        emit(found)
        return
    typer.echo(f"{found['unknown']} = {found['value']}")
    if found["unknown"] != "delta":
        typer.echo(f"epsilon at delta {found['delta']}: at most {brief_up(found['epsilon']['upper'], 10)}")
    if found["unknown"] in {"epsilon", "delta"}:
        typer.echo(f"at least {brief_down(found['not_certified'], 10)}")
    elif found["not_certified"] is None:
        typer.echo("the whole range meets the target")
    else:
        typer.echo(f"not certified at {found['not_certified']}")
    if found["way"] != "privacy_loss_distribution":
        typer.echo(f"priced by {found['way']}, which only bounds it: some of the plan has no exact law")


@app.command()
@speaks_plainly
def compare(plan: PlanPath, delta: TargetDelta = None, figure: FigurePath = None, as_json: o.AsJson = False) -> None:
    """What each theorem says about a plan, side by side: exact pricing, and every composition theorem that applies.

    The figure repeats the plan up to 64 times and shows each theorem as a multiple of the exact price.

    Example: dosimeter compare plan.yaml --delta 1e-6 --figure compare.svg
    """
    read = _load(plan)
    target = _delta(delta, read)
    rows = _theorems(read, target, 1)
    if figure is not None:
        write(figure, _draw(_growth(read, target, rows, read.title or plan.name)))
    if as_json:
        emit({"plan": read.to_json(), "delta": text(target), "theorems": rows})
        return
    table(
        f"{read.title or plan.name}: epsilon at delta {text(target)}",
        ["theorem", "epsilon at most", "why not"],
        [
            [row["theorem"], "" if row["epsilon"] is None else brief_up(row["epsilon"], 10), row["reason"]]
            for row in rows
        ],
    )
    if figure is not None:
        typer.echo(f"wrote {figure}")


def _load(path: Path) -> PlanFile:
    from dosimeter.interop import load_plan

    return load_plan(path)


def _for_groups(plan: PlanFile, size: int, sampling: str) -> PlanFile:
    from dosimeter.accounting.groups import for_group

    grown = tuple(replace(step, event=for_group(step.event, size=size, sampling=sampling)) for step in plan.steps)
    return replace(plan, steps=grown)


_ROWS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "at_epsilon": lambda said: f"epsilon at delta {said['at_delta']}",
    "check_epsilon": lambda _: "by the second engine",
    "delta": lambda said: f"delta at epsilon {said['epsilon']}",
    "check_delta": lambda _: "by the second engine",
}


def _exact(accountant: Accountant, level: Decimal | None, target: Decimal | None, *, check: bool) -> dict[str, Any]:
    """Delta at an epsilon and epsilon at a delta, by one engine or by two."""
    said: dict[str, Any] = {}
    if level is not None:
        said |= {"epsilon": text(level), "delta": _ends(accountant.delta(level))}
        said |= {"check_delta": _ends(accountant.cross_check(epsilon=level).tilted)} if check else {}
    if target is not None:
        said |= {"at_delta": text(target), "at_epsilon": _ends(accountant.epsilon(target))}
        said |= {"check_epsilon": _ends(accountant.cross_check(target).tilted)} if check else {}
    return said


def _bounded(plan: PlanFile, delta: Decimal, group: int, sampling: str) -> dict[str, Any]:
    """Epsilon at a delta by the best that is known for a group, or for want of a law."""
    from dosimeter.accounting.fixed_plans import group_price

    parts = [(step.event, step.count) for step in plan.steps]
    price = group_price(parts, delta, size=group, sampling=sampling, relation=plan.relation)
    engine = {} if price.exact else {"engine": price.way}
    return {**engine, "at_delta": text(delta), "at_epsilon": _ends(price.epsilon)}


def _accountant(plan: PlanFile, times: int = 1) -> Accountant:
    from dosimeter.pld.accountant import Accountant

    accountant = Accountant(plan.relation)
    for step in plan.steps:
        accountant.append(step.event, step.count * times)
    return accountant


def _delta(given: str | None, plan: PlanFile) -> Decimal:
    if given is not None:
        return amount(given, "delta", round_up=False, below_one=True, zero=True)
    if plan.delta is None:
        raise InputError("neither --delta nor the plan file says at which delta; add --delta 1e-6")
    return plan.delta


EXACT = "exact (saddle line)"


def _theorems(plan: PlanFile, delta: Decimal, times: int) -> list[dict[str, Any]]:
    from dosimeter.composition import best

    events = [(step.event, step.count * times) for step in plan.steps]
    rows = [_row(EXACT, lambda: _accountant(plan, times).epsilon(delta).upper)]
    try:
        considered = best(events, delta).considered
    except NoGuaranteeError:  # the theorems for parameters alone know no sampling; Renyi divergences do
        return [*rows, _row("rdp_sum", lambda: _renyi(plan, events, delta))]
    for one in considered:
        if one.theorem != "privacy_loss_distribution":  # the exact row says it already
            epsilon = None if one.epsilon is None else text(one.epsilon)
            rows.append({"theorem": one.theorem, "epsilon": epsilon, "reason": one.reason})
    if all(row["theorem"] != "rdp_sum" for row in rows):
        rows.append(_row("rdp_sum", lambda: _renyi(plan, events, delta)))
    return rows


def _row(name: str, price: Callable[[], Decimal]) -> dict[str, Any]:
    try:
        return {"theorem": name, "epsilon": text(price()), "reason": ""}
    except DosimeterError as error:
        return {"theorem": name, "epsilon": None, "reason": str(error)}


def _renyi(plan: PlanFile, events: list[tuple[Event, int]], delta: Decimal) -> Decimal:
    """Renyi divergences of every step, added, and converted at the best order: a fixed plan may."""
    from functools import reduce

    from dosimeter.accounting import loss_for
    from dosimeter.adaptive.filters import RDPCurveFilter
    from dosimeter.composition.descriptions import ORDERS
    from dosimeter.notions.convert import rdp_to_approx

    at = RDPCurveFilter(ORDERS, (Decimal(1),) * len(ORDERS))
    losses: list[Any] = [loss_for(event, at, relation=plan.relation).repeat(count) for event, count in events]  # type: ignore[union-attr]
    return rdp_to_approx(reduce(lambda a, b: a.compose(b), losses), target_delta=delta).epsilon


def _growth(plan: PlanFile, delta: Decimal, rows: list[dict[str, Any]], title: str) -> Chart:
    from dosimeter.report.chart import Axis, Chart, Line

    points: dict[str, list[tuple[float, float]]] = {}
    for times in REPETITIONS:
        said = {row["theorem"]: row["epsilon"] for row in (rows if times == 1 else _theorems(plan, delta, times))}
        exact = float(said.get(EXACT) or 0)
        for name, epsilon in said.items():
            if epsilon is not None and exact > 0 and float(epsilon) <= TALLEST * exact:
                points.setdefault(name, []).append((float(times), float(epsilon) / exact))
    lines: list[Line] = [Line(name, places) for name, places in points.items() if len(places) > 1]
    if not lines:
        raise InputError("this plan has no exact price to compare with; there is nothing to draw")
    top = max(y for line in lines for _, y in line.points)
    return Chart(
        f"{title}: epsilon at delta {text(delta)}, as a multiple of the exact one",
        Axis("times the plan is run", 1.0, float(REPETITIONS[-1]), log=True),
        Axis("times the exact epsilon", 0.95, max(1.2, 1.0 + 1.6 * (top - 1.0))),
        lines,
    )


def _profile(accountant: Accountant, top: Decimal, title: str) -> Chart:
    from dosimeter.report.chart import Axis, Chart, Line

    levels = [top * i / (PROFILE_POINTS - 1) for i in range(PROFILE_POINTS)]
    points = [(float(e), float(d)) for e in levels if (d := accountant.delta(e).upper) > 0]
    if len(points) < 2 or not top:
        raise InputError("this plan reveals too little for a figure: its delta is 0 at every epsilon")
    return Chart(
        f"{title}: delta against epsilon",
        Axis("epsilon", 0.0, float(top)),
        Axis("delta", max(1e-12, min(d for _, d in points)) / 2, max(d for _, d in points) * 4, log=True),
        [Line("delta, certified upper bound", points)],
    )


def _draw(chart: Chart) -> str:
    from dosimeter.report.chart import draw

    return draw(chart)


def _ends(bound: Bound) -> dict[str, str]:
    return {"lower": text(bound.lower), "upper": text(bound.upper)}


def _cells(ends: dict[str, str]) -> list[str]:
    return [brief_down(ends["lower"], 12), brief_up(ends["upper"], 12)]

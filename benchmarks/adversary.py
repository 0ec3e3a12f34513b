"""The optimal adversary: how fast she is, what she reaches of every offered claim, and which flawed schemes she beats.

`python -m benchmarks adversary [--quick]` prints four tables. A ratio of 1 would mean that a claim is tight; above 1 it
is broken, which must happen to the controls and to nothing else. Ratios are certified: lower ends for filters whose
states are counted in cells and for controls, upper ends elsewhere.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from benchmarks.table import show
from dosimeter.accounting import loss_for
from dosimeter.accounting.advice import Sketch, Target
from dosimeter.accounting.advice.openings import OPENINGS
from dosimeter.accounting.menus import response_options
from dosimeter.adaptive.adversary import (
    Menu,
    Offer,
    cells_of,
    worst_crossing,
    worst_delta_against,
)
from dosimeter.adaptive.adversary.points import Side
from dosimeter.adaptive.adversary.values import delta_values, directions
from dosimeter.adaptive.filters import FILTERS, PlanResidueFilter, PublishedApproxFilter
from dosimeter.adaptive.game import exact_law, filter_rule, randomized_response
from dosimeter.adaptive.game import worst_delta as worst_under
from dosimeter.adaptive.odometers import (
    FilterOdometer,
    MixtureOdometer,
    StitchedOdometer,
    UnionOdometer,
)
from dosimeter.adaptive.playground import claimed_delta
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.events import Gaussian, PoissonSampled, RandomizedResponse
from dosimeter.exact import brief_down
from dosimeter.notions.profiles import gaussian_delta

D = Decimal
BASE = Fraction(11, 10)
STEPS = (1, 2, 3)
SHARE = D("0.05")
CELLS = 300
EPSILONS = {"pure": "0.5"}  # at its own epsilon the pure filter promises a delta of zero, and keeps it
BOXES = 20


def main() -> None:
    """Print the tables."""
    quick = "--quick" in sys.argv
    columns = ["menu", "units", "losses", "wall s", "processor s", "value"]
    show("one side of the worst case, one thread", columns, list(timed(100 if quick else 1000)))
    started, filters = time.perf_counter(), list(against_filters())
    show("what is reached of each filter's delta", ["filter", "epsilon", "claimed", "reached", "ratio"], filters)
    odometers = list(against_odometers(40 if quick else 120))
    show("what is reached of each odometer's crossing", ["odometer", "claimed", "reached", "ratio"], odometers)
    beaten = list(controls(400 if quick else 2000))
    note = f"{len(filters) + len(odometers) + len(beaten)} games in {time.perf_counter() - started:.0f} s"
    show("controls: schemes that are flawed", ["scheme", "claimed", "reached", "ratio"], beaten, note)
    if any(float(row[-1]) > 1 for row in (*filters, *odometers)) or any(float(row[-1]) <= 1 for row in beaten):
        raise SystemExit("a claim is broken, or a control is not")


def timed(units: int) -> Iterator[list[Any]]:
    """Twenty boxes, a thousand units, about ten thousand losses: few points each, and hundreds."""
    few = Menu.responses(Fraction(1, 200), range(5, 5 * BOXES + 1, 5), list(range(1, BOXES + 1)))
    scale = D(1000).sqrt()
    dense = Menu(tuple(Offer(Gaussian(scale / D(j).sqrt()), j) for j in range(1, BOXES + 1)), Fraction(1, 340))
    for name, menu, epsilon in (("randomized response", few, 12.0), ("Gaussian noise", dense, 4.0)):
        way = directions(menu)[0]
        delta_values(menu, 1, epsilon, Side.DOMINATING, way)
        start, own = time.perf_counter(), time.process_time()
        solved = delta_values(menu, units, epsilon, Side.DOMINATING, way)
        passed, used = time.perf_counter() - start, time.process_time() - own
        times = [f"{passed:.1f}", f"{used:.1f}"]
        yield [f"{BOXES} boxes, {name}", units, solved.window.length, *times, f"{solved.value(units):.6g}"]


def against_filters() -> Iterator[list[Any]]:
    """Every registered kind, opened for (1, 0.01) and responses of 0.095, 0.19 and 0.29."""
    events = [RandomizedResponse(up(enclose(lambda m=m: ball(BASE).log() * m))) for m in STEPS]  # type: ignore[misc]
    for kind in FILTERS:
        target = Target("1", 0) if kind == "pure" else Target("1", "0.01")  # type: ignore[arg-type]
        sketch = Sketch.of([(event, 10) for event in (events[:1] if kind == "residue_plan" else events)])
        filter_: Any = OPENINGS[kind](target, sketch)
        epsilon = EPSILONS.get(kind, "1")
        claimed = claimed_delta(filter_, epsilon)
        if kind.startswith("residue"):
            component = max(
                (name for name in filter_.caps() if name != "delta"), key=lambda name, f=filter_: f.caps()[name]
            )
            cells = CELLS if component == "mu_squared" else int(filter_.caps()[component])
            priced = list(_priced(filter_, events))
            after = cells_of(filter_, [price for _, price in priced], component, cells)
            reached = worst_delta_against([event for event, _ in priced], after, cells, epsilon).lower
        else:
            options = response_options(filter_, BASE, STEPS)
            rule = filter_rule(filter_, [(option.box, option.charge) for option in options])
            reached = worst_under(rule, BASE, epsilon).upper
        yield [kind, epsilon, *_shares(claimed, reached)]


def _priced(filter_: Any, events: list[Any]) -> Iterator[tuple[Any, Any]]:
    """The events that fit at all, with their prices."""
    for event in events:
        with contextlib.suppress(NoGuaranteeError):
            yield event, loss_for(event, filter_)


def against_odometers(units: int) -> Iterator[list[Any]]:
    """Loss odometers read after every round of 0.1, 0.2 or 0.3, at an intrinsic time of the sum of squares."""
    step = D("0.1")
    menu = Menu.responses(step, (1, 2, 3))
    third = SHARE / 3
    parts = (FilterOdometer(third, D("0.5")), MixtureOdometer(third, D("0.1")), StitchedOdometer(third, D("0.1")))
    for odometer in (
        FilterOdometer(SHARE, D("0.5")),
        MixtureOdometer(SHARE, D("0.1")),
        StitchedOdometer(SHARE, D("0.1")),
        UnionOdometer(parts),
        UnionOdometer(parts, "average"),
    ):
        found = worst_crossing(menu, units, _read(odometer, step))
        name = odometer.kind + (" (average)" if getattr(odometer, "combine", "") == "average" else "")
        yield [name, *_shares(SHARE, found.upper)]


def controls(rounds: int) -> Iterator[list[Any]]:
    """Schemes that look right; their claims, and what is certainly reached."""
    yield ["composing what was realised", *_shares(D("0.2"), _natural())]
    looking = PublishedApproxFilter("1", "0.01")
    units = int(looking.capacity / D("0.01"))
    behind = _once([1, 400])
    steps = [RandomizedResponse("0.1"), RandomizedResponse("2")]
    yield ["looking at what has run, not at what comes", *_against(D("0.01"), steps, behind, units, "1")]
    half = gaussian_delta("0.5", "0.05")
    yield ["epsilon^2 as a residue at all times", *_against(half, [RandomizedResponse("0.5")], _once([1]), 1, "0.05")]
    sampled = PoissonSampled("0.1", RandomizedResponse("4"))
    one_way = gaussian_delta("0.2425", "0.3")
    yield ["charging the harmless direction only", *_against(one_way, [sampled], _once([1]), 1, "0.3")]
    planned = ((RandomizedResponse("0.2"), 16),)
    rule = PlanResidueFilter(planned, PlanResidueFilter.smallest_epsilon(planned, "1e-3"), "1e-3")
    strange = [RandomizedResponse("0.2"), RandomizedResponse("0.4")]
    yield ["one step of a plan for any query", *_against(rule.delta, strange, _once([1, 1]), 16, rule.epsilon)]
    crossed = worst_crossing(Menu.responses("0.1", (1,)), rounds, lambda used: _advanced(used) if used else None)
    yield ["advanced composition read at every time", *_shares(SHARE, crossed.lower)]


def _natural() -> Decimal:
    first, strong, weak = (randomized_response(Fraction(*odds)) for odds in ((3, 2), (7, 2), (2, 1)))

    def steer(history: Any) -> Any:
        if not history:
            return first
        plan = [strong] if history[0][1] == 0 else [weak] * 3
        return plan[len(history) - 1] if len(history) <= len(plan) else None

    exact = exact_law(steer, rounds=4).hockey_stick(Fraction(3))
    return D(exact.numerator) / D(exact.denominator)


def _once(costs: list[int]) -> Callable[[int, int, bool], int | None]:
    """Admits while anything is left, whatever the request takes."""
    return lambda entry, left, _: max(0, left - costs[entry]) if left else None


def _against(claimed: Decimal, events: list[Any], after: Any, cells: int, epsilon: Any) -> list[str]:
    return _shares(claimed, worst_delta_against(events, after, cells, epsilon).lower)


def _advanced(used: int) -> Decimal:
    return D(repr(used * 0.005 + 0.1 * math.sqrt(2 * used * math.log(20))))


class _At:
    """A state that only an odometer reads."""

    def __init__(self, intrinsic_time: Decimal) -> None:
        self.intrinsic_time, self.delta = intrinsic_time, D(0)


def _read(odometer: Any, step: Decimal) -> Callable[[int], Decimal]:
    def reading(used: int) -> Decimal:
        value: Decimal = odometer.bound(_At(used * step * step))
        return value

    return reading


def _shares(claimed: Decimal, reached: Decimal) -> list[str]:
    return [brief_down(claimed, 4), f"{reached:.4g}", f"{float(reached / claimed) if claimed else 0:.3f}"]


if __name__ == "__main__":
    main()

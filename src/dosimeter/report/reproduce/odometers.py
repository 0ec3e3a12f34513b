"""Odometers: where each reads lowest, and what reading at every time costs beyond one moment fixed in advance."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from dosimeter.adaptive import boundaries
from dosimeter.adaptive.odometers.tuning import gamma_one_sided
from dosimeter.report.chart import Axis, Chart, Line
from dosimeter.report.reproduce.figures import Reproduced, Watch, crossing, short, spaced

DELTA: Final = Decimal("1e-6")
TARGET, GAMMA, START = Decimal("0.02"), Decimal("0.001"), Decimal("0.01")
TUNED_TO: Final = Decimal("0.01")
POINTS: Final = 81
Curve = Callable[[Decimal], Decimal]

CURVES: Final[dict[str, Curve]] = {
    "filter, tuned to V = 0.02": lambda v: boundaries.line(v, DELTA, TARGET),
    "mixture, gamma = 0.001": lambda v: boundaries.mixture(v, DELTA, GAMMA),
    "stitched, from V = 0.01": lambda v: boundaries.stitched_rounded(v, DELTA, START),
    "stitched, lowest line": lambda v: boundaries.stitched_envelope(v, DELTA, START),
}


def advanced_composition(time: Decimal, delta: Decimal = DELTA) -> Decimal:
    """sqrt(2 log(1/delta) V) + V/2, for one moment fixed in advance; rounded up. It is no odometer."""
    from dosimeter.enclosure import ball, enclose, up

    if not time:
        return Decimal(0)
    return up(enclose(lambda: (-2 * ball(delta).log() * ball(time)).sqrt() + ball(time) / 2))


def against_time(watch: Watch) -> Reproduced:
    """Each odometer's reading against intrinsic time, with the times at which they change places."""
    line, mixture, stitched, envelope = CURVES.values()
    times = [TARGET * 4 * i / (POINTS - 1) for i in range(POINTS)]
    lines, table = [], [[short(t) for t in times]]
    for name, curve in CURVES.items():
        watch(name)
        values = [curve(t) for t in times]
        lines.append(Line(name, [(float(t), float(v)) for t, v in zip(times, values, strict=True)]))
        table.append([short(v) for v in values])
    watch("crossings")
    d = Decimal
    numbers = {
        "filter below mixture from V": crossing(line, mixture, d("0.001"), TARGET),
        "filter below mixture to V": crossing(line, mixture, TARGET, d("0.1")),
        "filter and stitched cross at V": crossing(line, stitched, TARGET, d(1)),
        "filter and the lowest stitched line cross at V": crossing(line, envelope, TARGET, d(1)),
        "stitched below mixture from V": crossing(mixture, stitched, d(1), d(10_000)),
        "the lowest stitched line below mixture from V": crossing(mixture, envelope, d(1), d(10_000)),
    }
    return Reproduced(
        "odometers-against-time",
        "Three odometers with a crossing probability of 1e-6: each reads lowest somewhere.",
        Chart(
            "Odometers against intrinsic time, crossing probability 1e-6",
            Axis("intrinsic time V", 0.0, float(times[-1])),
            Axis("reading (epsilon)", 0.0, 1.25 * max(y for one in lines for _, y in one.points)),
            lines,
        ),
        ("V", *CURVES),
        list(zip(*table, strict=True)),
        {name: short(value) for name, value in numbers.items()},
    )


def against_advanced_composition(watch: Watch) -> Reproduced:
    """Readings as multiples of advanced composition at each time, which may only be read at one time fixed before."""
    gamma = gamma_one_sided(TUNED_TO, DELTA)
    tuned: dict[str, Curve] = {
        "filter": lambda v: boundaries.line(v, DELTA, TUNED_TO),
        "mixture": lambda v: boundaries.mixture(v, DELTA, gamma),
        "stitched": lambda v: boundaries.stitched_envelope(v, DELTA, TUNED_TO / 10),
    }
    times = spaced("0.0001", "1", POINTS)
    lines, table = [], [[short(t) for t in times]]
    for name, curve in tuned.items():
        watch(name)
        ratios = [curve(t) / advanced_composition(t) for t in times]
        lines.append(Line(f"{name}, tuned to V = 0.01", _points(times, ratios)))
        table.append([short(r) for r in ratios])
    lines.append(Line("advanced composition at this V alone: no odometer", [(1e-4, 1.0), (1.0, 1.0)], dashed=True))
    watch("how often advanced composition is crossed")
    best, here = advanced_composition(TUNED_TO), tuned["mixture"](TUNED_TO)
    numbers = {
        "advanced composition at V = 0.01": short(best, 6),
        "tuned mixture at V = 0.01": short(here, 6),
        "mixture over advanced composition at V = 0.01": short(here / best, 6),
        "filter over advanced composition at V = 0.01": short(tuned["filter"](TUNED_TO) / best, 6),
        "crossed when read after each of 2000 responses of 0.1 (stated 0.05)": short(naive_crossing(), 6),
    }
    return Reproduced(
        "odometers-against-advanced-composition",
        "What reading at every time costs: readings as multiples of the bound for one time fixed in advance.",
        Chart(
            "Odometers as multiples of advanced composition at each time, crossing probability 1e-6",
            Axis("intrinsic time V", 1e-4, 1.0, log=True),
            Axis("times advanced composition", 0.95, 2.2),
            [Line(one.name, _cut(one.points, 2.2), one.dashed) for one in lines],
        ),
        ("V", *tuned),
        list(zip(*table, strict=True)),
        numbers,
    )


def computed_against_closed_forms(watch: Watch) -> Reproduced:
    """Computed boundaries up to V = 1 as multiples of the mixture odometer that is tuned for the same range."""
    from dosimeter.adaptive.filters import GDPState
    from dosimeter.adaptive.odometers import GaussianOdometer, PureOdometer, PureRecord, StoppedGaussianOdometer

    horizon, delta = Decimal(1), DELTA
    gamma = gamma_one_sided(horizon / 2, delta)
    watch("Gaussian rounds, square root")
    root = GaussianOdometer.computed(delta=delta, horizon=horizon)
    watch("Gaussian rounds, mixture")
    lowered = GaussianOdometer.computed(delta=delta, horizon=horizon, shape="mixture", parameter=gamma)
    watch("GDP accounts")
    stopped = StoppedGaussianOdometer.computed(delta=delta, horizon=horizon, shape="mixture", parameter=gamma)
    watch("pure rounds")
    pure = PureOdometer.computed(
        delta=delta, horizon=horizon, step="0.005", sizes=(20,), shape="mixture", parameter=gamma
    )
    curves: dict[str, Curve] = {
        "line, tuned to V = 0.5": lambda v: boundaries.line(v, delta, horizon / 2),
        "computed, Gaussian rounds, square root from V = 0.1": root.reading,
        "computed, Gaussian rounds, mixture": lowered.reading,
        "computed, GDP accounts: stopped runs": lambda v: stopped.bound(GDPState(v)),
        "computed, pure rounds of 0.1, mixture": lambda v: pure.bound(PureRecord(int(v * 40_000))),
    }
    times = [Decimal(n) / 100 for n in range(2, 101)]
    closed = [boundaries.mixture(t, delta, gamma) for t in times]
    lines, table = [], [[short(t) for t in times], [short(c) for c in closed]]
    for name, curve in curves.items():
        watch(name)
        values = [curve(t) for t in times]
        ratios = [value / c for value, c in zip(values, closed, strict=True)]
        lines.append(Line(name, _cut(_points(times, ratios), 1.15)))
        table.append([short(value) for value in values])
    lines.append(Line("mixture, tuned to V = 0.5", [(float(times[0]), 1.0), (1.0, 1.0)], dashed=True))
    last = closed[-1]
    numbers = {
        "square root: standard deviations at every V from 0.1 to 1": short(root.scale, 6),
        "Gaussian rounds: mixture lowered to": short(lowered.scale, 6),
        "GDP accounts, stopped runs: mixture lowered to": short(stopped.scale, 6),
        "pure rounds of 0.1: mixture lowered to": short(pure.scale, 6),
        "closed mixture at V = 1": short(last, 6),
        "Gaussian rounds at V = 1": short(lowered.reading(horizon), 6),
        "stopped runs of GDP accounts at V = 1": short(stopped.bound(GDPState(horizon)), 6),
        "pure rounds at V = 1": short(pure.bound(PureRecord(40_000)), 6),
    }
    return Reproduced(
        "odometers-computed-against-closed-forms",
        "What computing the worst case saves: boundaries up to V = 1 as multiples of the tuned mixture odometer.",
        Chart(
            "Computed odometers as multiples of the tuned mixture, crossing probability 1e-6",
            Axis("intrinsic time V", 0.02, 1.0, log=True),
            Axis("times the mixture odometer", 0.85, 1.3),
            lines,
        ),
        ("V", "mixture, tuned to V = 0.5", *curves),
        list(zip(*table, strict=True)),
        numbers,
    )


def naive_crossing(rounds: int = 2000) -> float:
    """How often advanced composition at delta = 0.05 is passed at some time by equal responses of 0.1, exactly."""
    import math

    from dosimeter.adaptive.game import budget_rule, randomized_response, worst_crossing

    base = Fraction(math.exp(0.1))

    def reading(left: tuple[int, ...]) -> Decimal | None:
        done = rounds - left[0]
        return advanced_composition(Decimal(done) / 100, Decimal("0.05")) if done else None

    rule: Any = budget_rule([(randomized_response(base), (1,))], (rounds,))
    found = worst_crossing(rule, base, reading)
    return float(found.lower)


def _points(times: list[Decimal], values: list[Decimal]) -> list[tuple[float, float]]:
    return [(float(t), float(v)) for t, v in zip(times, values, strict=True)]


def _cut(points: Any, top: float) -> list[tuple[float, float]]:
    return [(x, y) for x, y in points if y <= top]


ODOMETER_FIGURES: Final = (against_time, against_advanced_composition, computed_against_closed_forms)

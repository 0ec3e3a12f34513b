"""Filters: how many queries each admits, what adaptivity costs, how much of its claim the strongest analyst reaches."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from dosimeter.report.bars import Bar, Bars
from dosimeter.report.chart import Axis, Chart, Line
from dosimeter.report.reproduce.figures import Reproduced, Watch, short

SIZES: Final = ("0.005", "0.0075", "0.01", "0.015", "0.02", "0.03", "0.05", "0.075", "0.1", "0.15", "0.2", "0.3", "0.5")
DRAWN: Final = ("menu", "residue_plan", "residue", "approx", "approx_published", "gdp", "pure", "rogers")
DELTAS: Final = ("1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8")
STEP, UNITS = Decimal("0.1"), 100
ADAPTIVE_MENU: Final = (1, 2, 3, 4, 5, 10)
BASE, MULTIPLES = Fraction(11, 10), (1, 2, 3)
PLAYED: Final = (
    *("menu", "residue", "residue_plan", "rdp", "approx", "rdp_curve"),
    *("gdp", "rdp_weighted", "approx_published", "rogers", "pure"),
)
OPTIMUM: Final = "fixed in advance: the optimum"


def queries_admitted(watch: Watch) -> Reproduced:
    """Pure queries of one size that each filter admits under (1, 1e-6), beside the optimum without choice."""
    kinds = list(DRAWN)
    found: dict[str, dict[str, int]] = {}
    for size in SIZES:
        watch(f"queries of {size}")
        found[size] = {**_admitted("1", "1e-6", size), OPTIMUM: optimum("1", "1e-6", size)}
    watch("queries of 0.02 under (2, 1e-5)")
    second = {**_admitted("2", "1e-5", "0.02"), OPTIMUM: optimum("2", "1e-5", "0.02")}
    named = {"approx_published": "published", "approx": "recommended sum", "residue": "residue"}
    named |= {"residue_plan": "plan", "menu": "menu", OPTIMUM: OPTIMUM}
    numbers = {f"(1, 1e-6), queries of 0.01: {words}": str(found["0.01"][k]) for k, words in named.items()}
    numbers |= {f"(2, 1e-5), queries of 0.02: {words}": str(second[k]) for k, words in named.items()}
    names = (OPTIMUM, *kinds)  # the menu of one query is the optimum, so their lines are one
    lines = [
        Line(name, [(float(s), float(found[s][name])) for s in SIZES if found[s][name]], dashed=name == OPTIMUM)
        for name in names
    ]
    return Reproduced(
        "filters-queries-admitted",
        "Pure queries that each filter admits under (1, 1e-6): few large ones are for sums, many small for profiles.",
        Chart(
            "Pure queries admitted under epsilon 1, delta 1e-6",
            Axis("epsilon of each query", float(SIZES[0]), float(SIZES[-1]), log=True),
            Axis("queries admitted", 1.0, 4.0 * max(y for one in lines for _, y in one.points), log=True),
            lines,
            falling=True,
        ),
        ("epsilon", *kinds, OPTIMUM),
        [[size, *(str(found[size].get(kind, "")) for kind in kinds), str(found[size][OPTIMUM])] for size in SIZES],
        numbers,
    )


def _admitted(epsilon: str, delta: str, size: str) -> dict[str, int]:
    from dosimeter.accounting.advice import Sketch, Target, offer
    from dosimeter.events import RandomizedResponse

    target, sketch = Target(epsilon, delta), Sketch.of([(RandomizedResponse(size), 1)])  # type: ignore[arg-type]
    return {kind: offer(kind, target, sketch).admitted for kind in DRAWN}


def optimum(epsilon: str, delta: str, size: str) -> int:
    """The largest number of equal queries that may be fixed in advance: their exact worst case, without any choice."""
    from dosimeter.adaptive.adversary import Menu, largest_budget

    return largest_budget(Menu.responses(size, (1,)), epsilon, delta)


def price_of_adaptivity(watch: Watch) -> Reproduced:
    """The epsilon of squares adding up to one: fixed plan, optimal adversary, and what each filter has to claim."""
    from dosimeter.adaptive.adversary import Menu, worst_epsilon

    step = str(STEP)
    fixed, free = Menu.responses(step, (1,)), Menu.responses(step, ADAPTIVE_MENU)
    rows: dict[str, list[Decimal]] = {}
    for delta in DELTAS:
        watch(f"delta {delta}")
        rows[delta] = [
            worst_epsilon(fixed, UNITS, delta).upper,
            worst_epsilon(free, UNITS, delta).upper,
            residue_epsilon(delta),
            concentrated_epsilon(delta),
            published_epsilon(delta),
        ]
    names = (
        "100 responses of 0.1, fixed: the truth",
        "responses of 0.1 to 1, the optimal adversary: the truth",
        "residue filter",
        "sum of zCDP, converted",
        "published filter",
    )
    numbers = {}
    for delta in ("1e-3", "1e-5", "1e-7"):
        for name, value in zip(
            ("fixed", "adaptive", "residue", "recommended sum", "published"), rows[delta], strict=True
        ):
            numbers[f"delta {delta}: {name}"] = short(value, 9)
    one = rows["1e-5"]
    numbers["price of adaptivity at delta 1e-5, percent"] = short(100 * (one[1] / one[0] - 1), 3)
    numbers["slack of the published filter at delta 1e-5, percent"] = short(100 * (one[4] / one[1] - 1), 3)
    numbers["residue filter above the fixed truth at delta 1e-5, percent"] = short(100 * (one[2] / one[0] - 1), 3)
    xs = [float(delta) for delta in DELTAS]
    lines = [
        Line(name, [(x, float(rows[d][i])) for x, d in zip(xs, DELTAS, strict=True)], dashed=i < 2)
        for i, name in enumerate(names)
    ]
    return Reproduced(
        "filters-price-of-adaptivity",
        "What adaptivity costs and what theorems give away: squares of epsilons that add up to one.",
        Chart(
            "Epsilon of pure queries whose squares add up to 1",
            Axis("delta", xs[-1], xs[0], log=True),
            Axis("epsilon", 0.0, 1.5 * max(y for one in lines for _, y in one.points)),
            lines,
        ),
        ("delta", *names),
        [[delta, *(short(value, 12) for value in rows[delta])] for delta in DELTAS],
        numbers,
    )


def residue_epsilon(delta: str) -> Decimal:
    """The smallest epsilon, to six digits, for which a residue filter admits 100 responses of 0.1."""
    from dosimeter.accounting import loss_for
    from dosimeter.adaptive.filter import Admitted
    from dosimeter.adaptive.filters import ResidueFilter
    from dosimeter.events import RandomizedResponse

    def fits(epsilon: Decimal) -> bool:
        rule = ResidueFilter(epsilon, Decimal(delta), Decimal(0))
        return isinstance(rule.admit(rule.start(), loss_for(RandomizedResponse(STEP), rule), UNITS), Admitted)

    low, high = Decimal("0.5"), Decimal(16)
    while high - low > Decimal("1e-6"):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def concentrated_epsilon(delta: str) -> Decimal:
    """The epsilon of 100 responses of 0.1 by adding zCDP and converting at the best order, rounded up."""
    from dosimeter.notions import PureDP
    from dosimeter.notions.convert import pure_to_zcdp, zcdp_to_approx

    total = pure_to_zcdp(PureDP(STEP)).repeat(UNITS)
    return zcdp_to_approx(total, target_delta=delta).epsilon


def published_epsilon(delta: str) -> Decimal:
    """sqrt(2 log(1/delta) V) + V/2 at V = 1, rounded up: what the published filter has to be opened with."""
    from dosimeter.report.reproduce.odometers import advanced_composition

    return advanced_composition(STEP * STEP * UNITS, Decimal(delta))


def shares_reached(watch: Watch) -> Reproduced:
    """How much of its claimed delta the optimal analyst reaches, for kinds of filters opened for (1, 0.01)."""
    from dosimeter.accounting.advice import Sketch, Target
    from dosimeter.accounting.advice.openings import OPENINGS
    from dosimeter.accounting.menus import response_options
    from dosimeter.adaptive.playground import Table, play
    from dosimeter.enclosure import ball, enclose, up
    from dosimeter.errors import DosimeterError
    from dosimeter.events import RandomizedResponse

    sizes = [up(enclose(lambda m=m: ball(BASE).log() * m)) for m in MULTIPLES]  # type: ignore[misc]
    sketch = Sketch.of([(RandomizedResponse(size), 4) for size in sizes])
    target = Target("1", "0.01")  # type: ignore[arg-type]
    reached: list[tuple[str, Decimal, Decimal, float]] = []
    for kind in PLAYED:
        watch(kind)
        try:
            rule: Any = OPENINGS[kind](target, sketch)
            game = Table(rule, response_options(rule, BASE, MULTIPLES), BASE, "1", 2000)
            found = play(game, "optimal", claim=target.delta)
        except DosimeterError:
            continue
        reached.append((kind, found.delta.ends[0], found.delta.ends[1], found.rounds))
    reached.sort(key=lambda row: -row[1])
    return Reproduced(
        "filters-share-reached",
        "The share of delta 0.01 that the optimal analyst reaches at epsilon 1, with responses of 0.1 to 0.3.",
        Bars(
            "Share of delta = 0.01 at epsilon 1 that the optimal analyst reaches",
            [Bar(kind, float(low * 100), f"{float(low * 100):.1%}") for kind, low, _, _ in reached],
            (1.0, "claimed"),
        ),
        ("filter", "delta at least", "delta at most", "boxes on average"),
        [[kind, short(low), short(high), short(rounds, 6)] for kind, low, high, rounds in reached],
        {f"{kind}: share of delta reached": short(low * 100, 4) for kind, low, _, _ in reached},
    )


FILTER_FIGURES: Final = (queries_admitted, price_of_adaptivity, shares_reached)

"""Residue filters against the others: how much they admit, what leaving a training plan costs, how long a charge takes.

`python -m benchmarks residue [--quick]` prints three tables. Epsilons are at delta 1e-5. The Renyi column adds
up the same events at one order, the best one for the plan, as the Renyi filter must fix it in advance.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from benchmarks.table import show
from dosimeter.accounting import loss_for
from dosimeter.accounting.advice.openings import renyi_of
from dosimeter.accounting.advice.target import Sketch
from dosimeter.adaptive.filters import (
    Admitted,
    ApproxFilter,
    PlanResidueFilter,
    PublishedApproxFilter,
    ResidueFilter,
    fits,
)
from dosimeter.events import DiscreteGaussian, Event, Gaussian, Laplace, PoissonSampled, RandomizedResponse, Repeated
from dosimeter.exact import brief_down, brief_up
from dosimeter.notions import RDP
from dosimeter.notions.convert import rdp_to_approx
from dosimeter.pld.accountant import Accountant

DELTA = "1e-5"
PLANS = [("0.01", "1.0", 2000), (str(Decimal(256) / 60000), "1.1", 14000), ("0.05", "2.0", 1000)]
OPTIMA = [("1", "1e-6", "0.01", 562), ("2", "1e-5", "0.02", 632)]  # by optimal homogeneous composition
Taken = list[tuple[Event, int]]


def main() -> None:
    """Print the tables."""
    plans = PLANS[:1] if "--quick" in sys.argv else PLANS
    columns = ["target", "query", "published", "default", "residue", "fixed in advance"]
    show("queries admitted", columns, list(counted()))
    columns = ["plan", "what happens", "tight", "residue_plan", "Renyi filter", "left over"]
    show("epsilon of private training at delta 1e-5", columns, [row for plan in plans for row in training(*plan)])
    show("time of a charge", ["account", "query", "first, ms", "again, us"], list(timed()))


def counted() -> Iterator[list[Any]]:
    """How many equal pure queries each filter admits."""
    for epsilon, delta, step, optimum in OPTIMA:
        query, rules = RandomizedResponse(step), (PublishedApproxFilter, ApproxFilter, ResidueFilter)
        counts = [fits(rule, rule.start(), loss_for(query, rule)) for rule in (one(epsilon, delta) for one in rules)]
        yield [f"({epsilon}, {delta})", step, *counts, optimum]


def training(q: str, sigma: str, steps: int) -> Iterator[list[str]]:
    """One plan, followed and left in three ways."""
    step = PoissonSampled(q, Gaussian(sigma))
    plan = ((step, steps),)
    accountant = Accountant()
    accountant.append(step, steps)
    tight = accountant.epsilon(DELTA).upper
    bare = PlanResidueFilter.smallest_epsilon(plan, DELTA, 0)
    rule = PlanResidueFilter(plan, PlanResidueFilter.smallest_epsilon(plan, DELTA), DELTA)
    few = PlanResidueFilter(plan, rule.epsilon, DELTA, queries=Decimal(5))  # the same slack for fewer, larger requests
    order = _best_order(plan)
    name = f"{q[:7]}, {sigma}, {steps}"
    yield [name, "on plan, no slack", brief_up(tight), brief_up(bare), _renyi(list(plan), order), ""]
    yield [name, "on plan", brief_up(tight), brief_up(rule.epsilon), _renyi(list(plan), order), ""]
    gentle = PoissonSampled(q, Gaussian(Decimal(sigma) * Decimal("1.5")))
    ways = {
        "noise up by half for the second half": _gentler(few, step, gentle, steps),
        "a Gaussian query of 20 every 200 steps": _asked(rule, step),
        "stop at 70 %, five larger queries": _stopped(rule, step, steps),
    }
    for words, (taken, left) in ways.items():
        yield [name, words, "", brief_up(rule.epsilon), _renyi(taken, order), left]


def _gentler(rule: PlanResidueFilter, step: Event, gentle: Event, steps: int) -> tuple[Taken, str]:
    """Half of the steps; as many gentler ones, decided at half time, as one block; what is left as planned."""
    half = steps // 2
    state = _take(rule, rule.start(), step, half)
    state = _take(rule, state, Repeated(gentle, half), 1)
    left = int(Decimal(rule.remaining(state)["steps of run 1"]))
    _take(rule, state, step, left)
    return [(step, half), (gentle, half), (step, left)], f"{left} more steps, taken"


def _asked(rule: PlanResidueFilter, step: Event) -> tuple[Taken, str]:
    """The plan, with a question after every 200 steps, until the plan is used up."""
    state, question, ran, asked = rule.start(), Gaussian(20), 0, 0
    price, own = _price(rule, question), _price(rule, step)
    while (many := min(200, fits(rule, state, own, largest=200))) > 0:
        state, ran = _take(rule, state, step, many), ran + many
        if not isinstance(answer := rule.admit(state, price), Admitted):
            break
        state, asked = answer.state, asked + 1
    rest = fits(rule, state, own)
    return [(step, ran + rest), (question, asked)], f"{ran + rest} steps, {asked} queries"


def _stopped(rule: PlanResidueFilter, step: Event, steps: int) -> tuple[Taken, str]:
    """The largest equal Gaussian queries of which five fit after 70 % of the steps."""
    ran = steps * 7 // 10
    state = _take(rule, rule.start(), step, ran)
    low, high = 1, 400  # noise multiplier in tenths
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fit(rule, state, Gaussian(Decimal(middle) / 10), 5) else (middle, high)
    question = Gaussian(Decimal(high) / 10)
    return [(step, ran), (question, 5)], f"noise multiplier {question.sigma}"


def _fit(rule: PlanResidueFilter, state: Any, event: Event, count: int) -> bool:
    from dosimeter.errors import NoGuaranteeError

    try:
        return isinstance(rule.admit(state, _price(rule, event), count), Admitted)
    except NoGuaranteeError:
        return False


def _price(rule: Any, event: Event) -> Any:
    return loss_for(event, rule, relation="add_remove")


def _take(rule: Any, state: Any, event: Event, count: int) -> Any:
    if not count:
        return state
    answer = rule.admit(state, _price(rule, event), count)
    if not isinstance(answer, Admitted):
        raise SystemExit(answer.message())
    return answer.state


def _sum(taken: Taken) -> RDP:
    return renyi_of(Sketch.of([(event, count) for event, count in taken if count]))


def _best_order(plan: Any) -> Decimal:
    total = _sum(list(plan))
    one = [RDP((a,), (e,)) for a, e in zip(total.orders, total.epsilons, strict=True)]
    return min(one, key=lambda rdp: rdp_to_approx(rdp, target_delta=DELTA).epsilon).orders[0]


def _renyi(taken: Taken, order: Decimal) -> str:
    total = _sum(taken)
    at = RDP((order,), (total.epsilons[total.orders.index(order)],))
    return brief_up(rdp_to_approx(at, target_delta=DELTA).epsilon)


def timed() -> Iterator[list[str]]:
    """A first charge of a query never seen before, and the same again; tables that every query shares are warm."""
    step = PoissonSampled("0.01", Gaussian(1))
    plan = PlanResidueFilter(((step, 2000),), "2.6", DELTA)
    accounts = [("residue (1, 1e-6)", ResidueFilter("1", "1e-6")), ("residue (4, 1e-5)", ResidueFilter("4", DELTA))]
    for name, rule in [*accounts, ("residue_plan, 2000 steps", plan)]:
        _price(rule, PoissonSampled("0.013", Gaussian("1.7")))
        queries: list[Event] = [RandomizedResponse("0.013"), Laplace("71"), Gaussian("23"), DiscreteGaussian("19")]
        queries += [PoissonSampled("0.011", Gaussian("1.3")), PoissonSampled("0.021", Laplace("3"))]
        for event in queries:
            start = time.perf_counter()
            price = _price(rule, event)
            first = time.perf_counter() - start
            state = rule.start()
            rule.admit(state, price)
            again = []
            for _ in range(5):
                start = time.perf_counter()
                for _ in range(200):
                    rule.admit(state, price)
                again.append((time.perf_counter() - start) / 200)
            inner = f" of {event.event.kind}" if isinstance(event, PoissonSampled) else ""
            yield [
                name,
                event.kind + inner,
                brief_down(Decimal(first * 1e3), 3),
                brief_down(Decimal(min(again) * 1e6), 3),
            ]


if __name__ == "__main__":
    main()

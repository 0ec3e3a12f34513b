"""The optimal strategy drives the real filter and the real ledger: what it reaches there is what was computed."""

import json
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.ledger_world import RELATION, open_account

from dosimeter.accounting import loss_for
from dosimeter.adaptive.adversary import (
    Menu,
    Offer,
    Replay,
    Strategy,
    best_crossing,
    best_strategy,
    every_run,
    replay,
    worst_delta,
)
from dosimeter.adaptive.filters import Admitted, PublishedApproxFilter
from dosimeter.errors import InputError
from dosimeter.events import Gaussian, RandomizedResponse
from dosimeter.ledger import DatasetIdentity, Ledger, RefusedRequest, Request, Reserved
from dosimeter.stores import MemoryStore, SQLiteStore

D = Decimal
STEP = D("0.3")
RULE = PublishedApproxFilter("1", "0.5")  # sum of squares at most 0.439: four units of 0.09
UNITS = int(RULE.capacity / STEP**2)
TARGET = "0.5"


@cache
def menu() -> Menu:
    return Menu.responses(STEP, (1, 2))


@cache
def optimum(units: int = UNITS) -> Strategy:
    return best_strategy(menu(), units, TARGET)


@pytest.fixture(params=["memory", "sqlite"])
def book(request: Any, tmp_path: Path) -> Iterator[Ledger]:
    store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "ledger.db")
    yield Ledger(store)
    close = getattr(store, "close", None)
    if close is not None:
        close()


def at_a_ledger(book: Ledger) -> Callable[[], Callable[[Offer], bool]]:
    """Every run has an account of its own, and every request is reserved there and settled."""
    runs, requests = count(), count()

    def begin() -> Callable[[Offer], bool]:
        number = next(runs)
        account = open_account(book, identity=DatasetIdentity(f"run {number}", f"{number:04x}"), filter=RULE)

        def ask(offer: Offer) -> bool:
            request = Request(f"q{next(requests)}", offer.event, RELATION, "ab", "a box")
            outcome = book.reserve(account, request)
            if isinstance(outcome, Reserved):
                book.settle(outcome, 1)
                return True
            assert isinstance(outcome, RefusedRequest)
            return False

        return ask

    return begin


@cache
def price(offer: Offer) -> Any:
    return loss_for(offer.event, RULE)


def at_a_filter() -> Callable[[Offer], bool]:
    """The same without a ledger."""
    state = RULE.start()

    def ask(offer: Offer) -> bool:
        nonlocal state
        decision = RULE.admit(state, price(offer))
        if isinstance(decision, Admitted):
            state = decision.state
            return True
        return False

    return ask


def probability(run: Replay, world: str) -> float:
    """Of a run's answers: randomized response favours the world that it is run in."""
    total = 1.0
    for turn in run.turns:
        if turn.admitted:
            assert turn.jump is not None
            favoured = 1 / (1 + math.exp(-abs(turn.jump) * float(STEP)))
            total *= favoured if (turn.jump > 0) == (world == "P") else 1 - favoured
    return total


def realised_delta(runs: Iterable[Replay]) -> tuple[float, float, float]:
    """The delta of the interaction's law, and what the probabilities of all runs add up to in both worlds."""
    masses: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for run in runs:
        assert run.loss is not None
        masses[run.loss][0] += probability(run, "P")
        masses[run.loss][1] += probability(run, "Q")
    delta = sum(max(0.0, p - math.exp(float(TARGET)) * q) for p, q in masses.values())
    return delta, sum(p for p, _ in masses.values()), sum(q for _, q in masses.values())


def test_every_run_at_the_ledger_adds_up_to_the_computed_worst_case(book: Ledger) -> None:
    """All runs of the optimum, each with an account of its own: the ledger admits them, and their law has the value."""
    runs = list(every_run(optimum(), at_a_ledger(book)))
    assert len(runs) > 4
    assert not any(run.refused for run in runs)
    delta, under_p, under_q = realised_delta(runs)
    assert under_p == pytest.approx(1)
    assert under_q == pytest.approx(1)
    truth = worst_delta(menu(), UNITS, TARGET)
    assert float(truth.lower) - 1e-12 <= delta <= float(truth.upper) + 1e-12
    assert delta > 0.08
    assert all(book.audit(account).ok for account in list(book.accounts())[:3])


def test_the_ledger_stops_a_strategy_that_plans_for_more(book: Ledger) -> None:
    """Planned for two units more it is refused on some runs, on all stores alike; never before the budget is used."""
    greedy = optimum(UNITS + 2)
    runs = list(every_run(greedy, at_a_ledger(book)))
    assert runs == list(every_run(greedy, at_a_filter))
    assert any(run.refused for run in runs)
    for run in runs:
        spent = sum(menu().costs[turn.entry] for turn in run.turns if turn.admitted)
        assert spent <= UNITS
        if run.refused:
            assert spent + menu().costs[run.turns[-1].entry] > UNITS


def test_without_the_ledger_it_reaches_more() -> None:
    """The control: nothing refuses, and the same strategy is beyond the worst case of the ledger's budget."""
    stopped, _, _ = realised_delta(every_run(optimum(UNITS + 2), at_a_filter))
    free, _, _ = realised_delta(every_run(optimum(UNITS + 2), lambda: lambda _: True))
    assert stopped <= float(worst_delta(menu(), UNITS, TARGET).upper) < free


def sampled(strategy: Strategy, *, runs: int, seed: int, blind: bool = False) -> list[Replay]:
    """Runs in both worlds at the real filter, first P, then Q; a blind world answers as if it were P."""
    draw = random.Random(seed)

    def answers(world: str) -> Callable[[Offer], int]:
        def answer(offer: Offer) -> int:
            event: Any = offer.event
            steps = round(float(event.epsilon / STEP))
            favoured = draw.random() < 1 / (1 + math.exp(-float(event.epsilon)))
            return steps if favoured == (world == "P" or blind) else -steps

        return answer

    return [replay(strategy, at_a_filter(), answers(world)) for world in ("P", "Q") for _ in range(runs)]


def seems_to_reach(runs: list[Replay], value: float) -> bool:
    """Whether the frequencies of a loss above the target, in both worlds, fit the value within four deviations."""
    half = len(runs) // 2
    p, q = (
        sum(run.loss is None or run.loss * float(STEP) > float(TARGET) for run in part) / half
        for part in (runs[:half], runs[half:])
    )
    slope = math.exp(float(TARGET))
    deviation = math.sqrt((p * (1 - p) + slope**2 * q * (1 - q)) / half)
    return abs(p - slope * q - value) <= 4 * deviation


def test_simulated_frequencies_fit_and_two_controls_do_not() -> None:
    """Drawn in both worlds the optimum fits its value; a world that ignores the secret, and another value, do not."""
    best = optimum()
    assert seems_to_reach(sampled(best, runs=3000, seed=1), best.value)
    assert not seems_to_reach(sampled(best, runs=3000, seed=1, blind=True), best.value)
    assert not seems_to_reach(sampled(best, runs=3000, seed=1), best.value * 2.5)


def test_a_strategy_survives_its_json() -> None:
    """The same choices, the same runs; for crossings and for noise off the lattice too."""
    noisy = Menu((Offer(Gaussian(4), 1), Offer(RandomizedResponse("0.2"), 1)))
    for best in (optimum(), best_crossing(menu(), 6, lambda used: D("0.5")), best_strategy(noisy, 3, "0.5")):
        read = Strategy.from_json(json.loads(json.dumps(best.to_json())))
        assert read == best
        assert (read.choices == best.choices).all()
        assert read.describe() == best.describe()
    assert list(every_run(Strategy.from_json(optimum().to_json()), at_a_filter)) == list(
        every_run(optimum(), at_a_filter)
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("budget", 3),
        ("budget", "4"),
        ("direction", "both"),
        ("value", 1.5),
        ("value", "0.1"),
        ("goal", 7),
        ("choices", {}),
        ("choices", {str(left): [[0, 3, 9]] for left in range(UNITS + 1)}),
        ("choices", {str(left): [[0, 3, 0], [5, 6, 1]] for left in range(UNITS + 1)}),
        ("choices", {str(left): [[0, 3, 0], [4, 6, 0]] for left in range(UNITS + 1)}),
        ("choices", {str(left): [[0, 10**9, 0]] for left in range(UNITS + 1)}),
        ("choices", {str(left): [] for left in range(UNITS + 1)}),
        ("choices", {str(left): [[-left, 3, 0]] for left in range(UNITS + 1)}),
        ("choices", {str(left): [[0.0, 3, 0]] for left in range(UNITS + 1)}),
        ("menu", {}),
    ],
)
def test_what_is_no_strategy_is_refused(field: str, value: Any) -> None:
    """Wrong types, gaps, split runs, entries that are not on the menu, rows of different lengths, endless rows."""
    with pytest.raises(InputError):
        Strategy.from_json({**optimum().to_json(), field: value})
    with pytest.raises(InputError):
        Strategy.from_json({k: v for k, v in optimum().to_json().items() if k != field})


def test_too_many_runs_are_refused() -> None:
    """The number of runs is limited."""
    with pytest.raises(InputError):
        list(every_run(optimum(), at_a_filter, most=3))

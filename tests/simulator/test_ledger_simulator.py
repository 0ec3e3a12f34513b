"""Whatever clients, crashes and faults a seed invents, no promise of the ledger is broken, on any store."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager

import pytest
from tests.simulator import backends
from tests.simulator.__main__ import seeds_of
from tests.simulator.world import Failed, World, simulate

HUNDREDS = range(0, 2000, 100)


def run(
    where: AbstractContextManager[backends.Callable[[], backends.Backend]], store: str, seeds: range
) -> Counter[str]:
    """These seeds, on this store."""
    total: Counter[str] = Counter()
    with where as make:
        for seed in seeds:
            total += simulate(seed, make, store, steps=30)
    return total


def saw_something(total: Counter[str]) -> bool:
    """A simulation in which nothing happened would prove nothing."""
    kinds = (
        *("charges", "answers", "replays", "refusals", "kills", "faults", "tried again"),
        *("restored copies found", "voided together"),
    )
    return all(total[kind] > 0 for kind in kinds)


@pytest.mark.parametrize("first", HUNDREDS)
def test_thousands_of_seeds_in_memory(first: int) -> None:
    """A hundred at a time."""
    total = run(backends.memory(), "memory", range(first, first + 100))
    assert saw_something(total)
    assert total["draws"] >= total["answers"]


@pytest.mark.parametrize("first", range(5000, 5150, 25))
def test_seeds_on_sqlite(first: int) -> None:
    """A hundred and fifty: each process opens the file for itself; slow transactions meet real locks."""
    total = run(backends.sqlite(), "sqlite", range(first, first + 25))
    assert total["charges"] > 100


@pytest.mark.parametrize("first", range(6000, 6100, 20))
def test_seeds_on_postgresql(first: int, postgresql_database: str) -> None:
    """A hundred: each process has connections of its own to one server."""
    total = run(backends.postgresql(postgresql_database), "postgresql", range(first, first + 20))
    assert total["charges"] > 50


def test_a_seed_replays() -> None:
    """The same seed does the same, to the last line of its log."""
    logs = []
    for _ in range(2):
        world = World(11, backends.Memory())
        world.run()
        logs.append(world.log)
    assert logs[0] == logs[1]
    assert len(logs[0]) > 20


def test_a_failure_says_how_to_run_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its seed, its store and the end of its log."""

    def breaks(self: World) -> None:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(World, "prove", breaks)
    with pytest.raises(
        Failed, match=r"seed 5 on memory: RuntimeError: on purpose(.|\n)*make sim SEEDS=5-5 STORE=memory"
    ):
        simulate(5, backends.Memory, "memory")


def test_seeds_are_read_as_they_are_written() -> None:
    """One, or from the first to the last."""
    assert list(seeds_of("7")) == [7]
    assert list(seeds_of("3-5")) == [3, 4, 5]

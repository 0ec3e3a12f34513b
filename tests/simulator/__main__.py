"""`make sim SEEDS=0-9999 STORE=sqlite`: more seeds than the tests have time for."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.simulator.backends import BACKENDS
from tests.simulator.world import Failed, simulate

CHUNK = 25


def seeds_of(text: str) -> range:
    """`7`, `0-999`: the seeds from the first to the last."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def run(store: str, seeds: range) -> Counter[str]:
    """Some seeds, in this process."""
    total: Counter[str] = Counter()
    with BACKENDS[store]() as make:
        for seed in seeds:
            total += simulate(seed, make, store)
    return total


def main() -> int:
    """Run them; the first failure says how to run it again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("0-999"))
    parser.add_argument("--store", choices=sorted(BACKENDS), default="memory")
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    chunks = [asked.seeds[i : i + CHUNK] for i in range(0, len(asked.seeds), CHUNK)]
    if asked.store == "postgresql":  # one server, one database: one after the other
        chunks = [asked.seeds]
    began, total = time.perf_counter(), Counter[str]()
    try:
        if asked.workers > 1 and len(chunks) > 1:
            with ProcessPoolExecutor(asked.workers) as pool:
                for part in pool.map(run, [asked.store] * len(chunks), chunks):
                    total += part
        else:
            for chunk in chunks:
                total += run(asked.store, chunk)
    except Failed as failed:
        print(failed, file=sys.stderr)
        return 1
    print(f"{asked.store}: no promise was broken in {time.perf_counter() - began:.0f} s; {dict(sorted(total.items()))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

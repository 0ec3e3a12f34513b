"""What a long history costs: charges on it, its file, and its audit, with the memory that a fresh process needs."""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks._ledger_clients import account_of, request
from dosimeter.ledger import Ledger, Reserved
from dosimeter.stores import SQLiteStore

BATCH, SAMPLES = 5000, 300


def grow(path: Path, sizes: list[int]) -> list[list[str]]:
    """Fill one account to each number of records and charge it there, one at a time; a row per size."""
    ledger = Ledger(SQLiteStore(path))
    account = account_of(ledger, 1)
    rows, records = [], 1
    for size in sizes:
        began, filled = time.perf_counter(), records
        while records < size:
            names = [f"fill {records} {i}" for i in range(min(BATCH, (size - records + 1) // 2))]
            held = [
                one for one in ledger.reserve_batch(account, [request(n) for n in names]) if isinstance(one, Reserved)
            ]
            ledger.settle_batch([(one, {"value": [0.5]}) for one in held])
            records += 2 * len(names)
        filling = (time.perf_counter() - began) / max(records - filled, 1)
        times = []
        for number in range(SAMPLES):
            before = time.perf_counter()
            one = ledger.reserve(account, request(f"sample {size} {number}"))
            if isinstance(one, Reserved):
                ledger.settle(one, {"value": [0.5]})
            times.append(time.perf_counter() - before)
        records += 2 * SAMPLES
        median = statistics.median(times) * 1e3
        tail = sorted(times)[int(0.99 * SAMPLES)] * 1e3
        rows.append([f"{size:,}", f"{median:.2f} ms", f"{tail:.2f} ms", f"{filling * 1e6:.0f} us"])
    ledger.store.close()
    return rows


def audit(path: Path) -> list[str]:
    """In a process of its own: records, seconds, bytes on disk, memory before and at the peak."""
    fresh = multiprocessing.get_context("spawn")
    told: Any = fresh.SimpleQueue()
    process = fresh.Process(target=_audit, args=(str(path), told))
    process.start()
    records, seconds, before, peak = told.get()
    process.join()
    size = os.path.getsize(path)
    return [
        f"{records:,}",
        f"{seconds:.1f} s",
        f"{seconds / records * 1e6:.0f} us",
        f"{size / 1e6:.0f} MB",
        f"{size / records:.0f} bytes",
        f"{(peak - before) / 1024:.0f} MiB above {before / 1024:.0f} MiB",
    ]


def _audit(path: str, told: Any) -> None:
    ledger = Ledger(SQLiteStore(path, read_only=True))
    account = ledger.accounts()[0]
    ledger.balance(account)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    report = ledger.audit(account)
    seconds = time.perf_counter() - began
    if not report.ok:
        raise TypeError(report.message())
    told.put((report.records, seconds, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))

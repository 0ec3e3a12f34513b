"""Noise with structure: how fast exact noise is, what streams and marginals gain, how wide the certified prices are.

`python -m benchmarks matrix [--quick] [--census FILE]` prints four tables. The rate of exact noise is beside OpenDP's
discrete Gaussian in the same run. With `--census` (a CSV of the 2019 American Community Survey excerpt) the marginals
are also measured, and their real squared error stands beside the promised one.
"""

from __future__ import annotations

import csv
import gzip
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np

from benchmarks.table import show
from dosimeter.mechanisms.entropy import SystemEntropy
from dosimeter.mechanisms.matrix import (
    Domain,
    FiniteSet,
    FrobeniusBall,
    GaussianMechanism,
    KroneckerNoise,
    Marginals,
    banded_inverse_strategy,
    banded_strategy,
    independent_strategy,
    one_step_strategy,
    optimal_strategy,
    plan_marginals,
    prefix,
    rounded_normals,
    square_root_strategy,
    tree_online_errors,
    tree_sensitivity_squared,
)

CENSUS = {
    "SEX": 2,
    "MSP": 7,
    "HISP": 5,
    "RAC1P": 8,
    "NOC": 7,
    "NPF": 8,
    "HOUSING_TYPE": 3,
    "OWN_RENT": 3,
    "INDP_CAT": 20,
    "EDU": 13,
    "PINCP_DECILE": 11,
    "DVET": 7,
    "DREM": 3,
    "DPHY": 3,
    "DEYE": 2,
    "DEAR": 2,
}  # fmt: skip  how many values the survey's dictionary allows


def main() -> None:
    """Print the tables."""
    quick = "--quick" in sys.argv
    census = Path(sys.argv[sys.argv.index("--census") + 1]) if "--census" in sys.argv else None
    rates(10**5 if quick else 10**7)
    prices(20 if quick else 200)
    streams((64,) if quick else (256, 1024))
    marginals(census, quick=quick)


def _median(run: Callable[[], object], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def rates(size: int) -> None:
    """Entries of exact noise a second, in turn."""
    entropy = SystemEntropy()
    rounded_normals(10, 40, entropy.bits)
    entropy.discrete_gaussian(Decimal(2**20), 10)
    few = max(size // 100, 1000)
    ours = _median(lambda: rounded_normals(size, 40, entropy.bits)) / size
    peer = _median(lambda: entropy.discrete_gaussian(Decimal(2**20), few)) / few
    show(
        "Exact noise, processor time, medians of three",
        ["sampler", "entries", "seconds", "entries a second"],
        [
            ["rounded_normals, 2^40 steps to a deviation", str(size), f"{ours * size:.2f}", f"{1 / ours:,.0f}"],
            ["OpenDP's discrete Gaussian, 2^20 steps", str(few), f"{peer * few:.2f}", f"{1 / peer:,.0f}"],
            ["ratio", "", "", f"{peer / ours:.1f}"],
        ],
    )


def prices(trials: int) -> None:
    """How far apart the ends of mu are, and how long a price takes, by the side of a Kronecker covariance."""
    rng = np.random.default_rng(1)
    rows = []
    for side in (4, 16, 64, 256):
        gaps, took = [], []
        for _ in range(max(trials // side, 2)):
            factors = [rng.normal(size=(side, side)) + 2 * side**0.5 * np.eye(side) for _ in range(2)]
            start = time.process_time()
            noise = KroneckerNoise(factors[0], factors[1])
            bounds = [
                GaussianMechanism(noise, s).mu
                for s in (FrobeniusBall(1), FiniteSet((rng.normal(size=(side, side)),)))  # type: ignore[arg-type]
            ]
            took.append((time.process_time() - start) / 2)
            gaps += [float((b.upper - b.lower) / b.upper) for b in bounds]
        rows.append([f"{side} x {side}", f"{max(gaps):.0e}", f"{statistics.median(took) * 1e3:.2f} ms"])
    show("Certified prices of matrix Gaussian noise", ["value", "widest relative gap of mu", "time"], rows)


def streams(lengths: tuple[int, ...]) -> None:
    """Root mean squared error of running totals at mu = 1."""
    rows = []
    for n in lengths:
        found = {s.name: s.rmse() for s in (
            independent_strategy(n), square_root_strategy(n), banded_strategy(n, 16), banded_inverse_strategy(n, 8),
            one_step_strategy(n, "0.95"),
        )}  # fmt: skip
        found["binary tree, online"] = (tree_sensitivity_squared(n) * float(tree_online_errors(n).mean())) ** 0.5
        if n <= 256:
            best = optimal_strategy(prefix(n))
            found["dense optimum"] = (best.total_error / n) ** 0.5
            found["no strategy is below"] = (best.least_error / n) ** 0.5
        rows += [[str(n), name, f"{value:.4f}"] for name, value in found.items()]
    show("Running totals: root mean squared error at mu = 1", ["steps", "strategy", "error"], rows)


def marginals(census: Path | None, *, quick: bool) -> None:
    """Total squared error of all marginals of the survey's columns at mu = 1, planned and (with the file) measured."""
    domain, rows = Domain(CENSUS), []
    table = None if census is None else _read(census)
    for ways in (1, 2) if quick else (1, 2, 3):
        wanted = domain.all_marginals(ways)
        start = time.process_time()
        plan = plan_marginals(domain, wanted, mu=1, most_records=10**6)
        took = time.process_time() - start
        alone = sum(domain.cells(m) for m in wanted) * len(wanted)  # the price split evenly, noise of its own for each
        real = "" if table is None or ways > 2 else f"{_measured(domain, plan, table):.4g}"
        rows.append([
            f"all {ways}-way ({len(wanted)})", f"{alone:.4g}", f"{plan.total_error:.4g}",
            f"{plan.least_error:.4g}", real, f"{took:.2f} s",
        ])  # fmt: skip
    small = Domain({"a": 3, "b": 4, "c": 2, "d": 5})
    for ways in (1, 2):
        plan = plan_marginals(small, small.all_marginals(ways), mu=1)
        dense = optimal_strategy(_written_out(small, plan.marginals), accuracy=1e-5).least_error
        rows.append([f"3 x 4 x 2 x 5, {ways}-way", "", f"{plan.total_error:.6g}", f"{dense:.6g} (dense)", "", ""])
    show(
        "Marginals at mu = 1: total expected squared error",
        ["marginals", "independent noise", "residuals", "no mechanism is below", "measured", "planning"],
        rows,
    )


def _read(path: Path) -> np.ndarray:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as held:
        records = list(csv.DictReader(held))
    codes = []
    for name, size in CENSUS.items():
        values = [record[name] for record in records]
        order = {value: i for i, (value, _) in enumerate(Counter(values).most_common(size))}
        codes.append([order.get(value, 0) for value in values])
    return np.array(codes)


def _measured(domain: Domain, plan: object, table: np.ndarray) -> float:
    def exact(attributes: tuple[str, ...]) -> np.ndarray:
        shape = tuple(domain.sizes[a] for a in attributes)
        if not attributes:
            return np.array(float(table.shape[1]))
        flat = np.ravel_multi_index(tuple(table[domain.order.index(a)] for a in attributes), shape)
        return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(float)

    answers = Marginals(domain)
    for residual in plan.stds:  # type: ignore[attr-defined]
        answers.measure(plan, residual, exact(residual))  # type: ignore[arg-type]
    return float(sum(((answers.answer(m) - exact(m)) ** 2).sum() for m in plan.marginals))  # type: ignore[attr-defined]


def _written_out(domain: Domain, wanted: tuple[tuple[str, ...], ...]) -> np.ndarray:
    cells = np.indices(tuple(domain.sizes.values())).reshape(len(domain.order), -1)
    rows = []
    for m in wanted:
        axes = [domain.order.index(a) for a in m]
        for values in np.ndindex(*(domain.sizes[a] for a in m)):
            rows.append((cells[axes] == np.array(values)[:, None]).all(axis=0).astype(float))
    return np.array(rows)


if __name__ == "__main__":
    main()

"""The IMGM paper's second experiment, done soundly: perturb each record's features once, learn, count what is right.

Every record's features are an 8 x 8 matrix of Frobenius norm at most `CLIP`; replacing the record moves them by at
most 2 CLIP. Each mechanism adds noise to them once, at (epsilon, delta) for the record. No amplification applies: every
record is released. The paper divides by a sampling rate here; that column is kept as a replica and labelled as what it
is, not private at the epsilon it carries.

The figures are made from public data with a seeded generator, so that they can be made again; nothing is released.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import count, show
from dosimeter.mechanisms.matrix import (
    FrobeniusBall,
    GaussianMechanism,
    KroneckerNoise,
    analytic_gaussian,
    classical_gaussian,
    imgm,
    mvg,
)
from dosimeter.notions.profiles.gaussian import gaussian_mu
from dosimeter.report.bars import Bar, Bars
from dosimeter.report.chart import Axis, Chart, Line
from dosimeter.report.reproduce.features import extract
from dosimeter.report.reproduce.features.data import READERS, Labelled, small_mnist
from dosimeter.report.reproduce.figures import Reproduced, Watch

if TYPE_CHECKING:
    from dosimeter.report.reproduce.features.data import Floats, Labels

SIDE: Final = 8
CLIP: Final = 4
DELTA: Final = "1e-5"
EPSILONS: Final = ("0.01", "0.05", "0.1", "0.5", "1", "2", "4", "8")
SEEDS: Final = 5
MOST_SEEDS: Final = 100
PAPER_RATE: Final = "0.01"  # the share of records in a batch that the paper's convention divides by
UNPERTURBED: Final = "unperturbed"
REPLICA: Final = f"the paper's epsilon/{PAPER_RATE}: NOT private"
FEATURES: Final[dict[str, Callable[[Any, int], Any]]] = {
    "projection": extract.projection,
    "scattering": extract.scattering,
    "words": extract.hashed_words,
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of the table: accuracies over seeds of one mechanism at one epsilon."""

    epsilon: str
    mechanism: str
    std: float
    mu: Decimal | None
    accuracies: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return float(np.mean(self.accuracies))

    @property
    def error(self) -> float:
        """The standard error of the mean; 0 for one seed."""
        n = len(self.accuracies)
        return float(np.std(self.accuracies, ddof=1) / n**0.5) if n > 1 else 0.0


def mechanisms(epsilon: str, rng: Any) -> dict[str, GaussianMechanism | str]:
    """Every baseline at (epsilon, 1e-5) for one record's matrix; a text says why there is none."""
    target: dict[str, Any] = {"l2_sensitivity": 2 * CLIP, "epsilon": epsilon, "delta": DELTA}
    shape = (SIDE, SIDE)
    turned = [np.linalg.qr(rng.normal(size=(SIDE, SIDE)))[0] for _ in range(2)]
    half = np.where(np.arange(SIDE) < SIDE // 2, 2.0, 1.0)
    directional = GaussianMechanism(
        KroneckerNoise(turned[0] * half, np.eye(SIDE)), FrobeniusBall(Decimal(2 * CLIP))
    ).scaled_to(gaussian_mu(epsilon, DELTA))
    shares = (np.where(np.arange(SIDE) < SIDE // 2, 0.7, 0.3) / (SIDE // 2)).tolist()
    options: dict[str, Any] = {"value_bound": CLIP, **target}
    found: dict[str, GaussianMechanism | str] = {
        "aGM": analytic_gaussian(shape, **target),
        "IMGM": imgm(turned[0], turned[1], **target),
    }
    try:
        found["cGM"] = classical_gaussian(shape, **target)
    except NoGuaranteeError:
        found["cGM"] = "refused: not private here"
    found["directional (exact)"] = directional
    found["MVG without slack"] = mvg(turned[0], shares, SIDE, calibration="without_slack", **options)
    found["MVG published"] = mvg(turned[0], shares, SIDE, **options)
    found[REPLICA] = analytic_gaussian(
        shape,
        l2_sensitivity=2 * CLIP,
        epsilon=Decimal(epsilon) / Decimal(PAPER_RATE),
        delta=Decimal(DELTA) / Decimal(PAPER_RATE),
    )
    return found


def noisy(features: Floats, mechanism: GaussianMechanism, rng: Any) -> Floats:
    """All records' features with noise of the mechanism's covariance, each on its own."""
    white = rng.normal(size=features.shape)
    return features + np.asarray(mechanism.noise.colour(white))


def nearest_mean(train: Floats, labels: Labels, test: Floats, truth: Labels) -> float:
    """The share of test records nearest to the mean of their own class, means being of the noisy training records."""
    x, y = (a.reshape(len(a), -1) for a in (train, test))
    classes = np.unique(labels)
    means = np.stack([x[labels == c].mean(axis=0) for c in classes])
    distances = (means**2).sum(axis=1) - 2 * y @ means.T
    return float((classes[distances.argmin(axis=1)] == truth).mean())


def run(
    data: Labelled, features: str, *, epsilons: Sequence[str] = EPSILONS, seeds: int = SEEDS, watch: Watch
) -> list[Cell]:
    """The table of one data set.

    Args:
        data: records and labels.
        features: "projection", "scattering" or "words".
        epsilons: of one record's release.
        seeds: how many repetitions.
        watch: told what is being done.
    """
    if features not in FEATURES:
        raise InputError(f"features={show(features)} are unknown; use one of: {', '.join(FEATURES)}")
    repeats = count(seeds, "seeds", largest=MOST_SEEDS)
    x, y = (extract.clipped(FEATURES[features](part, SIDE), CLIP) for part in (data.train, data.test))
    clean = nearest_mean(x, data.train_labels, y, data.test_labels)
    cells = []
    for epsilon in epsilons:
        watch(f"{data.name}, epsilon {epsilon}")
        cells.append(Cell(epsilon, UNPERTURBED, 0.0, None, (clean,)))
        scores: dict[str, list[float]] = {}
        made: dict[str, GaussianMechanism | str] = {}
        for seed in range(repeats):
            rng = np.random.default_rng([seed, *epsilon.encode()])
            made = mechanisms(epsilon, rng)
            for name, mechanism in made.items():
                scores.setdefault(name, [])
                if isinstance(mechanism, GaussianMechanism):
                    learned = nearest_mean(noisy(x, mechanism, rng), data.train_labels, y, data.test_labels)
                    scores[name].append(learned)
        for name, mechanism in made.items():
            if isinstance(mechanism, GaussianMechanism):
                cells.append(Cell(epsilon, name, _std(mechanism), mechanism.mu.upper, tuple(scores[name])))
            else:
                cells.append(Cell(epsilon, name, 0.0, None, ()))
    return cells


def _std(mechanism: GaussianMechanism) -> float:
    """The root mean square of the entries' standard deviations."""
    units = np.eye(SIDE * SIDE).reshape(-1, SIDE, SIDE)
    return float(np.sqrt((np.asarray(mechanism.noise.colour(units)) ** 2).sum() / SIDE**2))


def _words(cell: Cell) -> str:
    return f"{100 * cell.mean:.1f} ± {100 * cell.error:.1f} %" if cell.accuracies else "refused"


def figure(data: Labelled, features: str, cells: list[Cell]) -> Reproduced:
    """Accuracy against epsilon, with the table and the numbers to check it by."""
    names = list(dict.fromkeys(c.mechanism for c in cells))
    lines = []
    for name in names:
        of_it = [c for c in cells if c.mechanism == name and c.accuracies]
        points = [(float(c.epsilon), 100 * c.mean) for c in of_it]
        if points:
            dashed = name in (UNPERTURBED, REPLICA)
            lines.append(Line(name, points, dashed=dashed, errors=[100 * c.error for c in of_it]))
    by = {(c.epsilon, c.mechanism): c for c in cells}
    numbers = {
        f"epsilon {c.epsilon}: {c.mechanism}": _words(c)
        for c in cells
        if c.epsilon in ("0.5", "1", "2", "4", "8") and c.mechanism != REPLICA
    }
    pairs = [(by[e, "aGM"], by[e, "IMGM"]) for e in dict.fromkeys(c.epsilon for c in cells)]
    apart = max(abs(b.std / a.std - 1) for a, b in pairs)
    numbers["largest difference of the deviations of IMGM and aGM"] = f"{apart:.0e}"
    slug = "-".join("".join(c if c.isalnum() else " " for c in data.name.lower()).split())
    grid = [float(c.epsilon) for c in cells]
    return Reproduced(
        f"imgm-features-{slug}-{features}",
        f"{data.name}: {SIDE * SIDE} features ({features}) of each record perturbed once; nearest class mean.",
        Chart(
            f"{data.name}: accuracy on clean test records",
            Axis(f"epsilon of each record, delta {DELTA}", min(grid), max(grid), log=True),
            Axis("percent right", 0.0, 100.0),
            lines,
        ),
        ("data", "features", "epsilon", "mechanism", "std", "mu", "accuracy", "standard error", "seeds", "private"),
        [
            [
                data.name,
                features,
                c.epsilon,
                c.mechanism,
                f"{c.std:.6g}",
                "" if c.mu is None else f"{c.mu:.6g}",
                f"{c.mean:.4f}" if c.accuracies else "refused",
                f"{c.error:.4f}" if c.accuracies else "",
                str(len(c.accuracies)),
                "no" if c.mechanism in (REPLICA, UNPERTURBED) or not c.accuracies else "yes",
            ]
            for c in cells
        ],
        numbers,
    )


def imgm_features(watch: Watch, folder: Path | None = None, *, seeds: int = SEEDS) -> list[Reproduced]:
    """Every data set whose official files are in the folder; without a folder, the digits that come with the package.

    Args:
        watch: told what is being done.
        folder: holds the folders mnist, cifar10, svhn and imdb, as many of them as there are.
        seeds: how many repetitions, 1 to 100.

    Raises:
        InputError: a damaged file, or a folder that does not exist or holds none of the data sets.
    """
    if folder is None:
        sets: dict[str, Labelled | None] = {"mnist": small_mnist()}
    elif folder.is_dir():
        sets = {name: _read(name, folder, watch) for name in READERS}
    else:
        raise InputError(f"{folder} is not a folder; give the one that holds {', '.join(READERS)}")
    if not any(sets.values()):
        raise InputError(f"{folder} holds none of the data sets; put the official files into {', '.join(READERS)}")
    made: list[Reproduced] = []
    bars: list[Bar] = []
    for name, data in sets.items():
        if data is None:
            bars.append(Bar(name, 0.0, "data absent", faint=True))
            continue
        for kind in ("words",) if isinstance(data.train, list) else ("projection", "scattering"):
            cells = run(data, kind, seeds=seeds, watch=watch)
            made.append(figure(data, kind, cells))
            last = next(c for c in cells if c.epsilon == EPSILONS[-1] and c.mechanism == "aGM")
            bars.append(Bar(f"{name}, {kind}", 100 * last.mean, f"{100 * last.mean:.1f} %"))
    return [*made, summary(bars)]


def _read(name: str, folder: Path, watch: Watch) -> Labelled | None:
    try:
        return READERS[name](folder / name)
    except FileNotFoundError:
        watch(f"{name}: data absent")
        return None


def summary(bars: list[Bar]) -> Reproduced:
    """One bar a data set, the absent ones included, so that nobody takes silence for a result."""
    return Reproduced(
        "imgm-features-data-sets",
        f"Accuracy of the analytic Gaussian at epsilon {EPSILONS[-1]} by data set; absent data sets are named.",
        Bars(f"aGM at epsilon {EPSILONS[-1]}, percent right", bars),
        ("data set", "percent right"),
        [[bar.name, bar.label.removesuffix(" %")] for bar in bars],
        {bar.name: bar.label for bar in bars},
    )

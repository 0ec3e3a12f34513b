"""Labelled data for the feature experiment: official files from a folder, and the digits that come with the package.

Readers take the formats the data sets are published in. Pickles are not read (they can run code); CIFAR-10 is published
as plain bytes as well. Every size that a file states is checked against the bytes it has before anything is made of it.
"""

from __future__ import annotations

import gzip
import struct
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from dosimeter.errors import InputError

if TYPE_CHECKING:
    Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
    Labels: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

MAX_BYTES: Final = 1 << 30
MAX_RECORDS: Final = 100_000
MAX_REVIEW: Final = 1 << 20  # bytes of one text
LARGEST_SIDE: Final = 32  # of an image


@dataclass(frozen=True, eq=False)
class Labelled:
    """Records with labels, split for training and testing.

    Args:
        name: of the data set.
        train: images as records x height x width (grey, 0 to 1), or texts.
        train_labels: whole numbers from 0.
        test: as train.
        test_labels: as train_labels.
    """

    name: str
    train: Floats | list[str]
    train_labels: Labels
    test: Floats | list[str]
    test_labels: Labels

    def __post_init__(self) -> None:
        sizes = []
        for part, labels in ((self.train, self.train_labels), (self.test, self.test_labels)):
            if not 1 <= len(part) == len(labels):
                raise InputError(f"{self.name} has {len(part)} records and {len(labels)} labels; the files do not fit")
            sizes.append(() if isinstance(part, list) else part.shape[1:])
        if sizes[0] != sizes[1] or any(n > LARGEST_SIDE for n in sizes[0]):
            raise InputError(
                f"{self.name} has images of {sizes[0]} and {sizes[1]}; they must agree, at most {LARGEST_SIDE} a side"
            )


def small_mnist() -> Labelled:
    """The 10,000 test digits that come with the package: the first 8,000 to learn from, the others to test on."""
    images, labels = _packaged("t10k-images-idx3-ubyte.gz"), _packaged("t10k-labels-idx1-ubyte.gz")
    x, y = read_idx(images, 3) / 255.0, read_idx(labels, 1).astype(np.int64)
    return Labelled("MNIST (10,000 digits)", x[:8_000], y[:8_000], x[8_000:], y[8_000:])


def mnist(folder: Path) -> Labelled:
    """The four official IDX files, with or without `.gz`."""
    parts = [
        read_idx(_unpacked(_one_of(folder, name)), axes)
        for name, axes in (
            ("train-images-idx3-ubyte", 3),
            ("train-labels-idx1-ubyte", 1),
            ("t10k-images-idx3-ubyte", 3),
            ("t10k-labels-idx1-ubyte", 1),
        )
    ]
    return Labelled("MNIST", parts[0] / 255.0, parts[1].astype(np.int64), parts[2] / 255.0, parts[3].astype(np.int64))


def cifar10(folder: Path) -> Labelled:
    """The official binary version: data_batch_1.bin (and more, as many as there are) and test_batch.bin."""
    train = [read_cifar(p.read_bytes()) for p in sorted(folder.glob("data_batch_*.bin"))]
    test = read_cifar(_unpacked(_one_of(folder, "test_batch.bin")))
    if not train:
        raise FileNotFoundError("data_batch_1.bin")
    return Labelled(
        "CIFAR-10",
        np.concatenate([x for x, _ in train]),
        np.concatenate([y for _, y in train]),
        test[0],
        test[1],
    )


def svhn(folder: Path) -> Labelled:
    """The official train_32x32.mat and test_32x32.mat; reading them needs scipy."""
    try:
        from scipy.io import loadmat  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise InputError("reading SVHN's MATLAB files needs scipy: pip install scipy") from None
    parts = []
    for name in ("train_32x32.mat", "test_32x32.mat"):
        path = _one_of(folder, name)
        try:
            held = loadmat(path, variable_names=["X", "y"])
            x = np.moveaxis(np.asarray(held["X"], dtype=np.float64), 3, 0).mean(axis=3) / 255.0
            parts.append((x, np.asarray(held["y"]).ravel().astype(np.int64) % 10))
        except Exception:  # a damaged file fails in many ways
            raise InputError(f"{name} is not SVHN's MATLAB file, or it is damaged; give the official one") from None
    return Labelled("SVHN", parts[0][0], parts[0][1], parts[1][0], parts[1][1])


def imdb(folder: Path) -> Labelled:
    """The official aclImdb folder (or aclImdb_v1.tar.gz): train and test, pos and neg, one text a file."""
    found: dict[tuple[str, str], list[str]] = {}
    archive = folder / "aclImdb_v1.tar.gz"
    for part in ("train", "test"):
        for side in ("neg", "pos"):
            where = folder / "aclImdb" / part / side
            found[part, side] = [p.read_text("utf-8", "replace") for p in sorted(where.glob("*.txt"))[:MAX_RECORDS]]
    if not any(found.values()) and archive.exists():
        try:
            with tarfile.open(archive) as tar:
                for member in tar:
                    places = Path(member.name).parts
                    if len(places) != 4 or not member.isfile() or member.size >= MAX_REVIEW:
                        continue
                    texts = found.get((places[1], places[2]))
                    held = tar.extractfile(member)
                    if texts is not None and held is not None and len(texts) < MAX_RECORDS:
                        texts.append(held.read().decode("utf-8", "replace"))
        except (tarfile.TarError, OSError, EOFError, zlib.error):
            raise InputError(f"{archive.name} is not a whole archive; give the official one") from None
    if not all(found.values()):
        raise FileNotFoundError("aclImdb")
    train, test = (
        (found[part, "neg"] + found[part, "pos"], [0] * len(found[part, "neg"]) + [1] * len(found[part, "pos"]))
        for part in ("train", "test")
    )
    return Labelled("IMDB", train[0], np.array(train[1]), test[0], np.array(test[1]))


READERS: Final[dict[str, Callable[[Path], Labelled]]] = {"mnist": mnist, "cifar10": cifar10, "svhn": svhn, "imdb": imdb}


def read_idx(raw: bytes, axes: int) -> Floats:
    """An IDX file of bytes as an array.

    Raises:
        InputError: not such a file, or its sizes do not fit its bytes.
    """
    head = 4 + 4 * axes
    if len(raw) < head or raw[:4] != bytes([0, 0, 8, axes]):
        raise InputError(f"not an IDX file of bytes with {axes} axes; give the official file")
    shape = struct.unpack(f">{axes}I", raw[4:head])
    if int(np.prod([int(n) for n in shape], dtype=object)) != len(raw) - head or shape[0] > MAX_RECORDS:
        raise InputError(
            f"an IDX file states the sizes {shape} and holds {len(raw) - head} bytes; it is cut or damaged"
        )
    return np.frombuffer(raw, dtype=np.uint8, offset=head).reshape(shape).astype(np.float64)


def read_cifar(raw: bytes) -> tuple[Floats, Labels]:
    """A batch of CIFAR-10's binary version as grey images and labels.

    Raises:
        InputError: not whole records, or labels above 9.
    """
    size = 1 + 3 * 32 * 32
    if not raw or len(raw) % size or len(raw) // size > MAX_RECORDS:
        raise InputError(f"a batch of CIFAR-10's binary version is records of {size} bytes; {len(raw)} bytes are not")
    records = np.frombuffer(raw, dtype=np.uint8).reshape(-1, size)
    if records[:, 0].max() > 9:
        raise InputError("a batch of CIFAR-10 holds a label above 9; give the binary version of the official files")
    return records[:, 1:].reshape(-1, 3, 32, 32).mean(axis=1) / 255.0, records[:, 0].astype(np.int64)


def _packaged(name: str) -> bytes:
    return gzip.decompress(resources.files("dosimeter.data").joinpath(name).read_bytes())


def _one_of(folder: Path, name: str) -> Path:
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(name)


def _unpacked(path: Path) -> bytes:
    if path.suffix != ".gz":
        return path.read_bytes()
    try:
        with gzip.open(path) as held:
            raw = held.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise InputError(f"{path.name} is not a whole gzip file") from None
    if len(raw) > MAX_BYTES:
        raise InputError(f"{path.name} unpacks to more than {MAX_BYTES} bytes")
    return raw

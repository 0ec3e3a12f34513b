"""The experiment on perturbed features: official files in, sound numbers out, damaged files refused."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dosimeter.cli.app import app
from dosimeter.errors import InputError
from dosimeter.mechanisms.matrix import GaussianMechanism
from dosimeter.report.reproduce.features import experiment, extract
from dosimeter.report.reproduce.features.data import (
    Labelled,
    cifar10,
    imdb,
    mnist,
    read_cifar,
    read_idx,
    small_mnist,
    svhn,
)

RNG = np.random.default_rng(9)


def _idx(array: np.ndarray) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()
    )


def _write_mnist(folder: Path, *, packed: bool) -> None:
    folder.mkdir(parents=True)
    for name, array in (
        ("train-images-idx3-ubyte", RNG.integers(0, 256, size=(40, 28, 28))),
        ("train-labels-idx1-ubyte", np.arange(40) % 10),
        ("t10k-images-idx3-ubyte", RNG.integers(0, 256, size=(20, 28, 28))),
        ("t10k-labels-idx1-ubyte", np.arange(20) % 10),
    ):
        raw = _idx(array)
        (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(raw) if packed else raw)


def test_the_digits_that_come_along() -> None:
    """Ten thousand images of ten kinds, split once and for all."""
    data = small_mnist()
    assert np.shape(data.train) == (8_000, 28, 28)
    assert np.shape(data.test) == (2_000, 28, 28)
    assert np.bincount(np.concatenate([data.train_labels, data.test_labels])).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip


def test_sound_accounting_orders_the_mechanisms() -> None:
    """At epsilon 8: aGM and IMGM have the same deviation, above MVG's by far in accuracy; more epsilon never hurts."""
    data = small_mnist()
    cells = experiment.run(data, "projection", epsilons=("1", "8"), seeds=2, watch=lambda _: None)
    by = {(c.epsilon, c.mechanism): c for c in cells}
    assert by["8", "IMGM"].std == pytest.approx(by["8", "aGM"].std, rel=1e-12)
    assert by["1", "MVG published"].std > 10 * by["1", "MVG without slack"].std > 100 * by["1", "aGM"].std
    assert by["8", "unperturbed"].mean > by["8", "aGM"].mean > by["1", "aGM"].mean > 0.1
    assert by["8", "aGM"].mean > 0.6
    assert by["8", "MVG published"].mean < 0.2
    assert by["8", experiment.REPLICA].std < by["8", "aGM"].std  # control: the paper's convention adds less noise
    figure = experiment.figure(data, "projection", cells)
    assert "NOT private" in figure.csv()
    assert figure.numbers["epsilon 8: aGM"].endswith("%")


def test_every_mechanism_of_the_table_is_private_but_the_replica() -> None:
    """Each one's exact delta at its epsilon is at most 1e-5; the replica's is not."""
    for epsilon in ("0.1", "1", "4"):
        for name, mechanism in experiment.mechanisms(epsilon, np.random.default_rng(1)).items():
            if isinstance(mechanism, GaussianMechanism):
                assert (mechanism.delta(epsilon) <= 1e-5) is (name != experiment.REPLICA), name


@pytest.mark.parametrize("kind", ["projection", "scattering"])
def test_features_depend_on_their_own_record_alone(kind: str) -> None:
    """One record replaced: the others' features stay bit for bit, its own move by at most twice the clipping norm."""
    images = RNG.random(size=(5, 28, 28))
    other = images.copy()
    other[2] = RNG.random(size=(28, 28))
    a, b = (extract.clipped(experiment.FEATURES[kind](x, 8), 4) for x in (images, other))
    assert np.allclose(np.delete(a, 2, 0), np.delete(b, 2, 0), rtol=0, atol=1e-12)
    assert 0 < np.linalg.norm(a[2] - b[2]) <= 8
    assert np.linalg.norm(a.reshape(5, -1), axis=1).max() <= 4 * (1 + 1e-12)


def test_words_need_no_vocabulary() -> None:
    """Hashed words of a text depend on its words alone, and texts without words are all zero."""
    features = extract.hashed_words(["A fine film", "a FINE film!", "1234"], 8)
    assert np.array_equal(features[0], features[1])
    assert not features[2].any()


@pytest.mark.parametrize("packed", [True, False])
def test_official_files_are_found_and_the_absent_ones_are_named(tmp_path: Path, packed: bool) -> None:
    """MNIST, CIFAR-10 and IMDB from their official files; SVHN is absent, and the table says so."""
    _write_mnist(tmp_path / "mnist", packed=packed)
    (tmp_path / "cifar10").mkdir()
    for name in ("data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"):
        records = RNG.integers(0, 256, size=(12, 3073), dtype=np.uint8)
        records[:, 0] = np.arange(12) % 10
        (tmp_path / "cifar10" / name).write_bytes(records.tobytes())
    for part in ("train", "test"):
        for side, text in (("pos", "a great film"), ("neg", "a dull film")):
            where = tmp_path / "imdb" / "aclImdb" / part / side
            where.mkdir(parents=True)
            for i in range(5):
                (where / f"{i}_1.txt").write_text(f"{text} {i}")
    made = experiment.imgm_features(lambda _: None, tmp_path, seeds=1)
    assert [f.name for f in made] == [
        "imgm-features-mnist-projection",
        "imgm-features-mnist-scattering",
        "imgm-features-cifar-10-projection",
        "imgm-features-cifar-10-scattering",
        "imgm-features-imdb-words",
        "imgm-features-data-sets",
    ]
    assert made[-1].numbers["svhn"] == "data absent"


def test_an_archive_of_reviews_is_read_in_place(tmp_path: Path) -> None:
    """The official archive serves as well as the folder; members that are not reviews are passed over."""
    with tarfile.open(tmp_path / "aclImdb_v1.tar.gz", "w:gz") as tar:
        for name, text in (
            ("aclImdb/train/pos/0_9.txt", "good"),
            ("aclImdb/train/neg/0_1.txt", "bad"),
            ("aclImdb/test/pos/0_9.txt", "fine"),
            ("aclImdb/test/neg/0_1.txt", "poor"),
            ("aclImdb/README", "about"),
            ("../../outside.txt", "no"),
        ):
            held = tarfile.TarInfo(name)
            held.size = len(text)
            tar.addfile(held, io.BytesIO(text.encode()))
    data = imdb(tmp_path)
    assert data.train == ["bad", "good"]
    assert data.test_labels.tolist() == [0, 1]
    assert [p.name for p in tmp_path.iterdir()] == ["aclImdb_v1.tar.gz"]


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """Cut files, wrong magic, wrong labels, and gzip that ends early have clear errors."""
    good = _idx(RNG.integers(0, 256, size=(4, 28, 28)))
    for bad in (b"", good[:-1], good + b"x", b"\0\0\x08\1" + good[4:], b"\0\0\x09\3" + good[4:], good[:7]):
        with pytest.raises(InputError):
            read_idx(bad, 3)
    record = bytes([10]) + bytes(3072)
    for bad in (b"", record[:-1], record):
        with pytest.raises(InputError):
            read_cifar(bad)
    _write_mnist(tmp_path / "mnist", packed=True)
    whole = (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").read_bytes()
    (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(whole[:-40])
    with pytest.raises(InputError, match="whole gzip"):
        mnist(tmp_path / "mnist")
    with pytest.raises(FileNotFoundError):
        cifar10(tmp_path)
    with pytest.raises(InputError, match="none of the data sets"):
        experiment.imgm_features(lambda _: None, tmp_path / "mnist")
    with pytest.raises(InputError, match="not a folder"):
        experiment.imgm_features(lambda _: None, tmp_path / "nowhere")
    with pytest.raises(InputError, match="seeds"):
        experiment.run(small_mnist(), "projection", seeds=0, watch=lambda _: None)


def test_files_that_do_not_fit_each_other_are_refused(tmp_path: Path) -> None:
    """Fewer labels than images, images of two sizes or too large: refused before anything is learned."""
    images, labels = np.zeros((3, 28, 28)), np.zeros(3, dtype=np.int64)
    Labelled("fits", images, labels, images, labels)
    for parts in (
        (images, labels[:2], images, labels),
        (images, labels, images[:0], labels[:0]),
        (images, labels, np.zeros((3, 20, 28)), labels),
        (np.zeros((3, 64, 64)), labels, np.zeros((3, 64, 64)), labels),
        (["a"], labels, ["b"], labels[:1]),
    ):
        with pytest.raises(InputError, match=r"fit|agree"):
            Labelled("does not fit", *parts)


def test_archives_that_are_none_are_refused(tmp_path: Path) -> None:
    """Damaged archives, MATLAB files and deflate streams have one clear error each."""
    (tmp_path / "aclImdb_v1.tar.gz").write_bytes(gzip.compress(b"no archive " * 100))
    with pytest.raises(InputError, match="whole archive"):
        imdb(tmp_path)
    with tarfile.open(tmp_path / "aclImdb_v1.tar.gz", "w:gz") as tar:
        held = tarfile.TarInfo("aclImdb/train/pos/0_9.txt")
        held.size = 50_000
        tar.addfile(held, io.BytesIO(RNG.bytes(50_000)))
    whole = (tmp_path / "aclImdb_v1.tar.gz").read_bytes()
    (tmp_path / "aclImdb_v1.tar.gz").write_bytes(whole[:20_000])
    with pytest.raises(InputError, match="whole archive"):
        imdb(tmp_path)
    (tmp_path / "train_32x32.mat").write_bytes(b"not MATLAB" * 50)
    with pytest.raises(InputError, match="SVHN"):
        svhn(tmp_path)
    _write_mnist(tmp_path / "mnist", packed=True)
    broken = bytearray((tmp_path / "mnist" / "train-images-idx3-ubyte.gz").read_bytes())
    broken[20:60] = bytes(range(40))
    (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(bytes(broken))
    with pytest.raises(InputError):
        mnist(tmp_path / "mnist")


def test_a_mechanism_that_is_refused_is_not_called_private() -> None:
    """The classical formula has no row that says yes where it was refused."""
    cells = [experiment.Cell(e, name, 1.0, None, (0.5,)) for e in ("4", "8") for name in ("aGM", "IMGM")]
    made = experiment.figure(small_mnist(), "projection", [*cells, experiment.Cell("8", "cGM", 0.0, None, ())])
    private = {row[3]: row[-1] for row in made.rows if row[2] == "8"}
    assert private == {"aGM": "yes", "IMGM": "yes", "cGM": "no"}


def test_the_command_says_what_it_needs(tmp_path: Path) -> None:
    """A folder that is none, data for figures that need none, and an unknown figure."""
    runner = CliRunner()
    for arguments in (
        ["reproduce", "imgm-features", "--data", str(tmp_path / "x"), "-o", str(tmp_path)],
        ["reproduce", "filters", "--data", str(tmp_path), "-o", str(tmp_path)],
        ["reproduce", "nothing", "-o", str(tmp_path)],
    ):
        assert runner.invoke(app, arguments).exit_code == 1

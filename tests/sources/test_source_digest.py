"""The fingerprint: one for every copy of the same rows, another one when a row changes."""

import gzip
import random

import duckdb
import pytest

from dosimeter.sources import DuckDBSource

HEADER = "id,day,x,when,ok"
ROWS = [
    f"{i},{'Mon' if i % 3 else ''},{i / 7:.3f},2013-01-{1 + i % 28:02d},{'true' if i % 2 else 'FALSE'}"
    for i in range(200)
]


def digest(path, **kwargs):
    return DuckDBSource.open(path, **kwargs).content_digest()


def write(path, rows, header=HEADER):
    text = "\n".join([header, *rows]) + "\n"
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def original(tmp_path):
    """The data set under its first name."""
    return write(tmp_path / "original.csv", ROWS)


def copies(tmp_path):
    """The same rows, spelled in other ways."""
    shuffled = ROWS[:]
    random.Random(7).shuffle(shuffled)
    yield "copy", write(tmp_path / "copy.csv", ROWS)
    yield "compressed", write(tmp_path / "copy.csv.gz", ROWS)
    yield "sorted otherwise", write(tmp_path / "shuffled.csv", shuffled)
    columns = HEADER.split(",")
    turned = [",".join(row.split(",")[::-1]) for row in ROWS]
    yield "columns in another order", write(tmp_path / "turned.csv", turned, ",".join(columns[::-1]))
    yield "semicolons", write(tmp_path / "semi.csv", [r.replace(",", ";") for r in ROWS], HEADER.replace(",", ";"))
    quoted = [",".join(f'"{cell}"' for cell in row.split(",")) for row in ROWS]
    yield "quoted", write(tmp_path / "quoted.csv", quoted)
    (tmp_path / "windows.csv").write_bytes(("\r\n".join([HEADER, *ROWS]) + "\r\n").encode())
    yield "windows", tmp_path / "windows.csv"
    padded = [row.replace(",", ".0,", 1) for row in ROWS]
    yield "whole numbers written as reals", write(tmp_path / "reals.csv", padded)
    connection = duckdb.connect(str(tmp_path / "copy.duckdb"))
    connection.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{tmp_path / 'shuffled.csv'}')")
    connection.execute(f"COPY t TO '{tmp_path / 'copy.parquet'}' (FORMAT parquet)")
    connection.close()
    yield "database", tmp_path / "copy.duckdb"
    yield "parquet", tmp_path / "copy.parquet"


def test_every_copy_has_the_fingerprint_of_the_original(tmp_path, original):
    """Another path, order, compression, quoting, format: the same account."""
    expected = digest(original)
    found = {name: digest(path) for name, path in copies(tmp_path)}
    assert set(found.values()) == {expected}, [name for name, d in found.items() if d != expected]


def test_declaring_other_types_does_not_make_another_data_set(original):
    """Types are a way of reading; the account belongs to what is read."""
    assert digest(original, columns={"id": "text", "x": "integer", "day": "boolean"}) == digest(original)


CHANGES = {
    "one cell": lambda rows: [rows[0].replace("0,", "1,", 1), *rows[1:]],
    "one row less": lambda rows: rows[:-1],
    "one row more": lambda rows: [*rows, rows[0]],
    "a row twice, another gone": lambda rows: [rows[1], *rows[1:]],
    "a cell emptied": lambda rows: [*rows[:-1], rows[-1].replace("Mon", "")],
    "two cells swapped between rows": lambda rows: [
        rows[0].replace("2013-01-01", "2013-01-02"),
        rows[1].replace("2013-01-02", "2013-01-01"),
        *rows[2:],
    ],
    "case": lambda rows: [row.replace("Mon", "mon") for row in rows],
    "a blank": lambda rows: [rows[0], rows[1].replace("Mon", "Mon "), *rows[2:]],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_row_changes_the_fingerprint(tmp_path, original, change):
    """Content that differs is other content."""
    assert digest(write(tmp_path / "changed.csv", CHANGES[change](ROWS))) != digest(original)


def test_renamed_or_additional_columns_are_other_content(tmp_path, original):
    """Names are part of the content."""
    assert digest(write(tmp_path / "renamed.csv", ROWS, HEADER.replace("day", "dag"))) != digest(original)
    assert digest(write(tmp_path / "wider.csv", [row + ",1" for row in ROWS], HEADER + ",y")) != digest(original)


def test_cells_that_share_their_text_across_columns_do_not_collide(tmp_path):
    """Values keep to their columns: (ab, c) is not (a, bc), and a missing value is not its neighbour's."""
    pairs = [["ab,c"], ["a,bc"], [",abc"], ["abc,"], [",ab"], ["ab,"]]
    found = {digest(write(tmp_path / f"{i}.csv", rows, "p,q")) for i, rows in enumerate(pairs)}
    assert len(found) == len(pairs)


def test_whole_numbers_beyond_double_precision_keep_their_digits(tmp_path):
    """2^53 and 2^53 + 1 are two identifiers."""
    found = {digest(write(tmp_path / f"{n}.csv", [str(n)], "id")) for n in (2**53, 2**53 + 1, 2**62, 2**62 + 1)}
    assert len(found) == 4
    connection = duckdb.connect(str(tmp_path / "n.duckdb"))
    connection.execute(f"CREATE TABLE t AS SELECT {2**62 + 1}::BIGINT AS id")
    connection.close()
    assert digest(tmp_path / "n.duckdb") in found


def test_the_fingerprint_is_a_short_hex_text_and_names_nothing(original):
    """It is a hash; no value, name or count can be read from it."""
    found = digest(original)
    assert len(found) == 64
    assert set(found) <= set("0123456789abcdef")

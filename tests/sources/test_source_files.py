"""Opening files: every kind that is supported, every way a file can be wrong, and never another file."""

import gzip
import os

import duckdb
import pytest

from dosimeter.errors import InputError, SourceError
from dosimeter.neighbours import PrivacyUnit
from dosimeter.queries import Price, Schema, count, plan, sum_of
from dosimeter.sources import DuckDBSource

TEXT = "user,day,spend,age\n1,Mon,2.5,20\n1,Tue,,21\n2,Mon,4.25,\n3,,0.5,50\n"


def write(path, text=TEXT):
    data = text if isinstance(text, bytes) else text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    path.write_bytes(data)
    return path


def answer(source, query):
    made = plan(query, schema=source.schema, unit=PrivacyUnit(), relation="add_remove", filter=None, price=Price(mu=1))
    return source.aggregate(made)


def kinds(source):
    return {column.name: str(column.type) for column in source.schema.columns}


@pytest.fixture
def files(tmp_path):
    """The same rows in every kind of file."""
    write(tmp_path / "a.csv")
    write(tmp_path / "a.csv.gz")
    write(tmp_path / "a.tsv", TEXT.replace(",", "\t"))
    write(tmp_path / "semicolons.csv", TEXT.replace(",", ";"))
    write(tmp_path / "bom.csv", b"\xef\xbb\xbf" + TEXT.encode())
    write(tmp_path / "crlf.csv", TEXT.replace("\n", "\r\n"))
    write(tmp_path / "noend.CSV", TEXT.rstrip("\n"))
    connection = duckdb.connect(str(tmp_path / "a.duckdb"))
    connection.execute(f"CREATE TABLE visits AS SELECT * FROM read_csv('{tmp_path / 'a.csv'}')")
    connection.execute(f"COPY visits TO '{tmp_path / 'a.parquet'}' (FORMAT parquet)")
    connection.close()
    return tmp_path


KINDS = ["a.csv", "a.csv.gz", "a.tsv", "semicolons.csv", "bom.csv", "crlf.csv", "noend.CSV", "a.parquet", "a.duckdb"]


@pytest.mark.parametrize("name", KINDS)
def test_the_same_rows_give_the_same_answers_from_every_kind_of_file(files, name):
    """CSV however it is written, compressed, Parquet, a database."""
    source = DuckDBSource.open(files / name)
    assert kinds(source) == {"user": "integer", "day": "text", "spend": "real", "age": "integer"}
    assert answer(source, count()) == ((4,),)
    assert answer(source, count().by("day", keys=["Mon", None])) == ((2, 1),)
    assert answer(source, sum_of("spend", lower=0, upper=3).where("age >= 20")) == ((3_000_000,),)
    source.close()


def test_types_can_be_declared_and_then_no_row_is_looked_at_for_them(files):
    """What does not read as the declared type is missing, by rule, and never an error."""
    source = DuckDBSource.open(files / "a.csv", columns={"day": "integer", "age": "text", "user": "real"})
    assert kinds(source) == {"user": "real", "day": "integer", "spend": "real", "age": "text"}
    assert answer(source, count().where("day IS NULL")) == ((4,),)
    whole = Schema.of({"age": "real", "spend": "integer"})
    source = DuckDBSource.open(files / "a.parquet", columns=whole)
    assert source.schema == whole
    assert answer(source, count().where("spend IS NOT NULL")) == ((0,),)


INFERRED = [
    ("1\n-2\n+3\n", "integer"),
    ("1\n\n3\n", "integer"),
    ("1.0\n2\n", "real"),
    ("1e3\n-.5\n7.\n", "real"),
    ("1\ninf\n-Infinity\n", "real"),
    ("0123\n4567\n", "text"),
    ("1\n12a\n", "text"),
    ("true\nFALSE\n", "boolean"),
    ("yes\nno\n", "text"),
    ("2013-01-31\n2013-02-01\n", "date"),
    ("2013-01-31\n2013-02-30\n", "text"),
    ("2013-01-31 17:00\n2013-01-31\n", "timestamp"),
    ("2013-01-31T17:00:01.5\n", "timestamp"),
    ("9223372036854775808\n", "real"),
    ('""\n""\n', "text"),
    ("nan\n1\n", "text"),
    ("1_000\n", "text"),
    ("0x10\n", "text"),
    ("1,5\n", None),
]


@pytest.mark.parametrize(("cells", "kind"), INFERRED)
def test_a_column_has_the_narrowest_type_that_every_cell_reads_as(tmp_path, cells, kind):
    """The whole file is looked at, so a late cell cannot become an error; postal codes keep their zeros."""
    path = write(tmp_path / "t.csv", "x\n" + cells)
    if kind is None:
        with pytest.raises(SourceError):
            DuckDBSource.open(path)
    else:
        assert kinds(DuckDBSource.open(path)) == {"x": kind}


def test_the_last_row_of_a_large_file_decides_like_the_first(tmp_path):
    """Inference by sample would turn row 30,001 into an error that depends on it."""
    path = write(tmp_path / "t.csv", "x\n" + "1\n" * 30_000 + "one\n")
    assert kinds(DuckDBSource.open(path)) == {"x": "text"}


BROKEN = {
    "empty": ("t.csv", b"", "empty"),
    "header only": ("t.csv", b"a,b\n", "no rows"),
    "header without end": ("t.csv", b"a,b", "no rows"),
    "short row": ("t.csv", b"a,b\n1\n", "read as a table"),
    "long row": ("t.csv", b"a,b\n1,2,3\n", "read as a table"),
    "open quote": ("t.csv", b'a,b\n"1,2\n', "read as a table"),
    "stray quote": ("t.csv", b'a,b\n1,"x"y\n', "read as a table"),
    "not utf-8": ("t.csv", b"a,b\n1,2\n" * 5000 + b"1,\xff\xfe\n", "read as a table"),
    "utf-16": ("t.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-8"),
    "not utf-8 header": ("t.csv", b"\xff\xfe,b\n1,2\n", "UTF-8"),
    "binary": ("t.csv", bytes(range(256)) * 40, "UTF-8|printable"),
    "no gzip": ("t.csv.gz", b"a,b\n1,2\n", "gzip"),
    "cut gzip": ("t.csv.gz", gzip.compress(b"a,b\n" + os.urandom(4000).hex().encode())[:60], "gzip|cut short"),
    "same name twice": ("t.csv", b"a,a\n1,2\n", "twice"),
    "same name up to case": ("t.csv", b"a,A\n1,2\n", "up to case"),
    "nameless column": ("t.csv", b"a,,c\n1,2,3\n", "column 2"),
    "trailing comma": ("t.csv", b"a,b,\n1,2,\n", "column 3"),
    "control characters": ("t.csv", b"a,b\x07\n1,2\n", "column 2"),
    "no parquet": ("t.parquet", b"a,b\n1,2\n", "opened"),
    "empty parquet": ("t.parquet", b"", "opened"),
    "cut parquet": ("t.parquet", b"PAR1" + b"\0" * 40, "opened"),
    "no database": ("t.duckdb", b"a,b\n1,2\n", "opened"),
    "other database": ("t.db", b"SQLite format 3\0" + b"\0" * 4096, "opened"),
    "unknown ending": ("t.xlsx", b"a,b\n1,2\n", "must end in"),
    "no ending": ("t", b"a,b\n1,2\n", "must end in"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_a_table_says_what_to_do_and_quotes_nothing(tmp_path, name):
    """Fixed messages; no cell, no line number, no count."""
    file, data, why = BROKEN[name]
    path = tmp_path / file
    path.write_bytes(data)
    with pytest.raises(SourceError, match=why) as caught:
        DuckDBSource.open(path)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("path", ["nowhere.csv", "http://example.org/a.csv", "s3://bucket/a.csv", "a\0b.csv", None, 5])
def test_what_is_not_a_file_is_refused(path):
    """No address, no missing path, no directory: a path on this machine."""
    with pytest.raises(SourceError, match="no file"):
        DuckDBSource.open(path)


def test_the_delimiter_is_found_in_the_header_or_told(tmp_path):
    """The one that splits the header most; tabs in a .tsv; a declared one always."""
    assert DuckDBSource.open(write(tmp_path / "t.tsv", "name, first\tage\nx\t1\n")).schema.names == (
        "name, first",
        "age",
    )
    path = write(tmp_path / "t.csv", "a;b,c\n1;2,3\n")
    assert DuckDBSource.open(path).schema.names == ("a;b", "c")
    assert DuckDBSource.open(path, delimiter=";").schema.names == ("a", "b,c")
    assert answer(DuckDBSource.open(write(tmp_path / "T.CSV.GZ.csv.gz")), count()) == ((4,),)
    for wrong in ("::", "", '"', "\n", 7):
        with pytest.raises(SourceError, match="not one character"):
            DuckDBSource.open(path, delimiter=wrong)


def test_a_directory_is_refused(tmp_path):
    """Also when its name ends like a file's."""
    with pytest.raises(SourceError, match="directory"):
        DuckDBSource.open("")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(SourceError, match="directory"):
        DuckDBSource.open(tmp_path / "d.csv")


@pytest.mark.parametrize(
    "name", ["a[1].csv", "a*.csv", "a?.csv", "a'b.csv", "ä b;--.csv", "{a,b}.csv", "a%20.csv", "[!a].csv"]
)
def test_a_name_is_a_name_and_never_a_pattern(tmp_path, name):
    """An engine would read a1.csv for a[1].csv: somebody else's rows under this account."""
    for other in ("a1.csv", "ab.csv", "axx.csv", "a.csv", "b.csv", "c.csv"):
        write(tmp_path / other, "x\n7\n7\n7\n")
    write(tmp_path / name, "x\n1\n")
    assert answer(DuckDBSource.open(tmp_path / name), count()) == ((1,),)


def test_links_and_relative_paths_are_followed(tmp_path, monkeypatch):
    """However the path is spelled, the rows are the same, and so is their fingerprint."""
    write(tmp_path / "a.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "a.csv")
    monkeypatch.chdir(tmp_path)
    digests = {DuckDBSource.open(p).content_digest() for p in ("./a.csv", "link.csv", b"a.csv")}
    assert len(digests) == 1


def test_names_are_taken_as_they_are(tmp_path):
    """Spaces, quotes, keywords, the names of our own intermediate columns."""
    header = [
        "c0",
        "cell",
        "value",
        "unit",
        "place",
        "low",
        "mark0",
        "key",
        "data",
        "raw",
        'say ""hi""',
        "select",
        "é",
        "a b",
        "given",
    ]
    text = ",".join(f'"{name}"' for name in header) + "\n" + ",".join("1" for _ in header) + "\n"
    source = DuckDBSource.open(write(tmp_path / "t.csv", text))
    assert source.schema.names == tuple(name.replace('""', '"') for name in header)
    for name in source.schema.names:
        quoted = '"' + name.replace('"', '""') + '"'
        query = sum_of(name, lower=0, upper=5).where(f"{quoted} = 1").by(name, keys=[1])
        assert answer(source, query) == ((1,),)


def test_a_database_says_which_tables_it_has(tmp_path):
    """One table needs no name; several do; views are not tables."""
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE one AS SELECT 1 AS x")
        connection.execute("CREATE VIEW sly AS SELECT 1 / 0 AS x")
    assert answer(DuckDBSource.open(path), count()) == ((1,),)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA s")
        connection.execute('CREATE TABLE s."tw o" AS SELECT 1 AS x UNION ALL SELECT 2')
    assert answer(DuckDBSource.open(path, table="one"), count()) == ((1,),)
    assert answer(DuckDBSource.open(path, table="s.tw o"), count()) == ((2,),)
    for table in (None, "two", "sly", "one; DROP TABLE one"):
        with pytest.raises(SourceError, match=r"the database has: one, s\.tw o"):
            DuckDBSource.open(path, table=table)


def test_a_table_name_belongs_to_a_database(files):
    """A CSV file holds one table."""
    with pytest.raises(SourceError, match="belongs to a database"):
        DuckDBSource.open(files / "a.csv", table="a")


def test_declared_columns_must_exist(files):
    """A misspelled column is found when the data is opened."""
    with pytest.raises(SourceError, match="'agee' was declared"):
        DuckDBSource.open(files / "a.csv", columns={"agee": "integer"})
    with pytest.raises(InputError, match="type 'number'"):
        DuckDBSource.open(files / "a.csv", columns={"age": "number"})


def test_every_type_of_a_database_reads_as_one_of_ours(tmp_path):
    """Unsigned, decimal, enumerated, nested, zoned: by value where that makes sense, else by text."""
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 1::UTINYINT AS a, 2::HUGEINT AS b, 1.50::DECIMAL(10, 2) AS c, 0.5::FLOAT AS d, "
            "'x'::ENUM ('x', 'y') AS e, [1, 2] AS f, uuid() AS g, '12:00'::TIME AS h, NULL::INTEGER AS k, true AS l, "
            "TIMESTAMPTZ '2013-01-01 00:00+00' AS i, 'a'::BLOB AS j, DATE '2013-01-01' AS m, {'a': 1} AS n, "
            "TIMESTAMP_NS '2013-01-01' AS o"
        )
    source = DuckDBSource.open(path)
    assert kinds(source) == {
        "a": "integer", "b": "integer", "c": "real", "d": "real", "e": "text", "f": "text", "g": "text", "h": "text",
        "i": "timestamp", "j": "text", "k": "integer", "l": "boolean", "m": "date", "n": "text", "o": "timestamp",
    }  # fmt: skip
    where = "a = 1 AND b = 2 AND c = 1.5 AND d = 0.5 AND e = 'x' AND f = '[1, 2]' AND h = '12:00:00' AND k IS NULL"
    assert answer(source, count().where(where + " AND i = '2013-01-01' AND l AND m = '2013-01-01'")) == ((1,),)


def test_a_collation_of_the_database_does_not_merge_keys(tmp_path):
    """Under NOCASE one row would count in two cells, twice what the sensitivity allows."""
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (x VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES ('a'), ('A')")
    source = DuckDBSource.open(path)
    assert answer(source, count().by("x", keys=["a", "A"])) == ((1, 1),)
    assert answer(source, count().where("x = 'A'")) == ((1,),)

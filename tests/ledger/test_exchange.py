"""A ledger leaves as lines and comes back the same; what was changed on the way does not come back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.ledger_world import PEOPLE, answered, ask, open_account, spent

from dosimeter.adaptive.filters import FILTER_KINDS, ApproxFilter, RDPFilter, ZCDPFilter
from dosimeter.adaptive.odometers import MixtureOdometer
from dosimeter.errors import DosimeterError, InputError, LedgerCorrupt
from dosimeter.events import Gaussian
from dosimeter.ledger import Account, DatasetIdentity, Ledger, Replayed, Request
from dosimeter.ledger.exchange import check, export, key_from_text, key_to_text, load
from dosimeter.ledger.record import LedgerKey
from dosimeter.stores import MemoryStore, SQLiteStore


def filled(ledger: Ledger) -> Account:
    """An account with every kind of record, and others with other filters and hard texts."""
    account = open_account(ledger, "2", odometers=[MixtureOdometer("1e-6", "0.1")], terms={"note": "\u00e9 \U0001f600"})
    answered(ledger, account, "q1", "0.3", answer={"value": 1.5, "text": '\u2028 "quoted" \\ \u00e9', "big": 10**40})
    first = ledger.reserve(account, ask("given back", "0.25"))
    ledger.void(first, reason="the source was away", by="Ada")  # type: ignore[arg-type]
    ledger.reserve(account, ask("too much", "50"))
    ledger.reserve(account, ask("orphan", "0.1"))
    ledger.reserve(account, ask("orphan", "0.1"))
    ledger.reset(account, reason="a new study", authorised_by="Ada")
    answered(ledger, account, "q2", "0.4")
    changed = DatasetIdentity("people", "new content")
    ledger.accept_data_change(account, changed, reason="April", authorised_by="Ada")
    open_account(
        ledger, "2", DatasetIdentity("an alias \u00e9", "new content"), odometers=[MixtureOdometer("1e-6", "0.1")]
    )
    for number, rule in enumerate([ZCDPFilter("1"), ApproxFilter("1", "1e-6"), RDPFilter(order="8", epsilon="1")]):
        other = open_account(ledger, identity=DatasetIdentity(f"data {number}", f"{number}"), filter=rule)
        release = Request("g", Gaussian(sigma="10"), other.relation, "ab", "a mean")
        ledger.settle(ledger.reserve(other, release), number)  # type: ignore[arg-type]
    return account


def test_a_round_trip_is_exact(ledger: Ledger) -> None:
    """Records, heads, states, names: the same; the second export is the first to the byte; and charging goes on."""
    account = filled(ledger)
    lines = list(export(ledger.store))
    copy = MemoryStore(key=ledger.store.key())
    manifest = load(lines, copy)
    assert list(export(copy)) == lines
    again = Ledger(copy)
    for original in ledger.accounts():
        statement = ledger.statement(original)
        assert again.statement(original) == statement
        assert manifest.heads[original.id] == (statement.records, statement.head)
        assert again.audit(original).ok
    assert spent(again, account) == spent(ledger, account)
    assert isinstance(again.reserve(account, ask("q2", "0.4")), Replayed)
    answered(again, account, "q3", "0.1")
    assert again.audit(account).ok


def test_between_stores_of_different_kinds(tmp_path: Path) -> None:
    """From memory into a file and back."""
    source = Ledger(MemoryStore())
    filled(source)
    lines = list(export(source.store))
    file = SQLiteStore(tmp_path / "copy.db", key=source.store.key())
    load(lines, file)
    assert list(export(file)) == lines
    file.close()
    reopened = SQLiteStore(tmp_path / "copy.db")
    assert list(export(reopened)) == lines
    reopened.close()


def test_an_empty_ledger_is_a_ledger(ledger: Ledger) -> None:
    """Two lines."""
    lines = list(export(ledger.store))
    assert len(lines) == 2
    assert check(lines, ledger.store.key()).records == 0


def test_the_secret_is_not_in_the_export(ledger: Ledger) -> None:
    """It travels in a text of its own, which reads back as itself."""
    filled(ledger)
    key = ledger.store.key()
    assert key.key.hex() not in "".join(export(ledger.store))
    assert key_from_text(key_to_text(key)) == key
    for wrong in ("", "{}", "[]", '{"format": "dosimeter ledger key 1", "ledger_id": "x", "key": "zz"}', "[" * 100_000):
        with pytest.raises(InputError, match="no key"):
            key_from_text(wrong)


def test_an_outsider_can_prove_an_export_without_the_secret(ledger: Ledger) -> None:
    """Chain, prices and folds; the wrong secret is refused."""
    filled(ledger)
    lines = list(export(ledger.store))
    assert check(lines) == check(lines, ledger.store.key())
    with pytest.raises(InputError, match="another ledger"):
        check(lines, LedgerKey.new())
    with pytest.raises(InputError, match="another ledger"):
        load(lines, MemoryStore())


def test_an_import_needs_an_empty_store(ledger: Ledger) -> None:
    """Nothing is mixed, nothing is overwritten; also not with itself."""
    filled(ledger)
    lines = list(export(ledger.store))
    with pytest.raises(InputError, match="not empty"):
        load(lines, ledger.store)
    assert list(export(ledger.store)) == lines


def _edit(lines: list[str], kind: str, change: Callable[[dict[str, Any]], object], which: int = 0) -> list[str]:
    places = [i for i, line in enumerate(lines) if json.loads(line)["type"] == kind]
    place = places[which]
    data = json.loads(lines[place])
    change(data)
    return [*lines[:place], _line(data), *lines[place + 1 :]]


def _line(data: dict[str, Any]) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def _mended(lines: list[str]) -> list[str]:
    """With the digest on the last line computed anew, as a careful forger would."""
    import hashlib

    body = lines[:-1]
    digest = hashlib.sha256("".join(body).encode()).hexdigest()
    return [*body, _line({"type": "end", "lines": len(body), "sha256": digest})]


TAMPERINGS: dict[str, Callable[[list[str]], list[str]]] = {
    "a body": lambda ls: _edit(
        ls, "record", lambda d: d.update(body=d["body"].replace("question q1", "question Q")), 1
    ),
    "a price": lambda ls: _edit(ls, "record", lambda d: d.update(body=d["body"].replace('"0.3"', '"0.1"')), 1),
    "an answer": lambda ls: _edit(ls, "record", lambda d: d.update(body=d["body"].replace("1.5", "2.5")), 2),
    "a time": lambda ls: _edit(ls, "record", lambda d: d.update(recorded_at="2020-01-01T00:00:00.000000Z"), 3),
    "a digest": lambda ls: _edit(ls, "record", lambda d: d.update(digest="0" * 64), 3),
    "a record is missing": lambda ls: [*ls[:3], *ls[4:]],
    "two records are exchanged": lambda ls: [*ls[:3], ls[4], ls[3], *ls[5:]],
    "a record comes twice": lambda ls: [*ls[:3], ls[3], *ls[3:]],
    "the state": lambda ls: _edit(ls, "head", lambda d: d.update(state=d["state"].replace('"0', '"9'))),
    "the head's number": lambda ls: _edit(ls, "head", lambda d: d.update(seq=d["seq"] - 1)),
    "a name is missing": lambda ls: [x for x in ls if '"an alias' not in x or '"identity"' not in x],
    "a name is added": lambda ls: _edit(ls, "identity", lambda d: d.update(value="somebody's")),
    "a head is missing": lambda ls: [x for i, x in enumerate(ls) if i != _first(ls, "head")],
    "an account comes twice": lambda ls: [
        *ls[: _first(ls, "head") + 1],
        *ls[1 : _first(ls, "head") + 1],
        *ls[_first(ls, "head") + 1 :],
    ],
}
CUTS: dict[str, Callable[[list[str]], list[str]]] = {
    "the last line": lambda ls: ls[:-1],
    "an account and the last digest": lambda ls: [*ls[: _first(ls, "head") + 1], ls[-1]],
    "half": lambda ls: ls[: len(ls) // 2],
    "half a line": lambda ls: [*ls[:4], ls[4][: len(ls[4]) // 2]],
    "something behind": lambda ls: [*ls, ls[1]],
    "a field more": lambda ls: _edit(ls, "record", lambda d: d.update(note="x")),
    "a field less": lambda ls: _edit(ls, "record", lambda d: d.pop("epoch")),
    "a number as a text": lambda ls: _edit(ls, "record", lambda d: d.update(seq="1")),
    "a truth as a number": lambda ls: _edit(ls, "record", lambda d: d.update(seq=True)),
    "spaces": lambda ls: [ls[0], ls[1].replace('":', '": ', 1), *ls[2:]],
    "no JSON": lambda ls: [ls[0], "nonsense\n", *ls[2:]],
    "another kind": lambda ls: [ls[0], '{"type":"surprise"}\n', *ls[2:]],
    "two ledgers": lambda ls: [ls[0], ls[0], *ls[1:]],
    "nothing after the first": lambda ls: ls[:1],
}


def _first(lines: list[str], kind: str) -> int:
    return next(i for i, line in enumerate(lines) if json.loads(line)["type"] == kind)


@pytest.fixture(scope="module")
def story() -> tuple[LedgerKey, list[str]]:
    """One export with its key."""
    ledger = Ledger(MemoryStore())
    account = open_account(ledger, "2")
    answered(ledger, account, "q1", "0.3")
    for number in range(3):
        ledger.reserve(account, ask(f"too much {number}", "50"))
    ledger.accept_data_change(account, DatasetIdentity("people", "new"), reason="April", authorised_by="Ada")
    open_account(ledger, "2", DatasetIdentity("an alias", "new"))
    answered(ledger, open_account(ledger, "1", DatasetIdentity("others", "5")), "q1")
    # the account with the most to tamper with comes first, whatever ids were drawn
    key, lines = ledger.store.key(), list(export(ledger.store))
    mine = [line for line in lines[1:-1] if json.loads(line)["account_id"] == account.id]
    rest = [line for line in lines[1:-1] if json.loads(line)["account_id"] != account.id]
    return key, _mended([lines[0], *mine, *rest, lines[-1]])


@pytest.mark.parametrize("what", sorted(TAMPERINGS))
@pytest.mark.parametrize("mended", [False, True])
def test_what_was_tampered_with_is_refused(story: tuple[LedgerKey, list[str]], what: str, mended: bool) -> None:
    """Whether or not the forger mended the last line; nothing is written, and the message names a place."""
    key, lines = story
    assert check(lines, key).records > 5
    forged = TAMPERINGS[what](lines)
    assert forged != lines
    forged = _mended(forged) if mended else forged
    store = MemoryStore(key=key)
    with pytest.raises(LedgerCorrupt, match=r"line \d+ of the export"):
        load(forged, store)
    with store.read() as view:
        assert list(view.account_ids()) == []
    if what != "the state":
        with pytest.raises(LedgerCorrupt):
            check(forged)


@pytest.mark.parametrize("what", sorted(CUTS))
def test_what_is_cut_or_no_export_is_refused(story: tuple[LedgerKey, list[str]], what: str) -> None:
    """Missing and surplus lines, fields of other types, other texts for the same values."""
    key, lines = story
    with pytest.raises((LedgerCorrupt, InputError)) as refused:
        check(CUTS[what](lines), key)
    assert re.search("line \\d+|first line", str(refused.value))


@pytest.mark.parametrize("first", ["", "\n", "{}\n", "[]\n", "null\n", "7\n", "x" * 1000, "[" * 100_000])
def test_files_of_other_kinds_are_named(first: str) -> None:
    """They are no exports."""
    with pytest.raises(DosimeterError, match="export"):
        check([first] if first else [])


# -- the published schema --------------------------------------------------------------------------------------------


def _schema() -> dict[str, Any]:
    text = resources.files("dosimeter.data").joinpath("ledger-export.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _fits(value: Any, form: dict[str, Any], root: dict[str, Any]) -> bool:
    """The part of JSON Schema that the published schema uses."""
    if "$ref" in form:
        return _fits(value, root["$defs"][form["$ref"].rpartition("/")[2]], root)
    if "oneOf" in form:
        return sum(_fits(value, option, root) for option in form["oneOf"]) == 1
    kinds = {"string": str, "integer": int, "object": dict, "null": type(None)}
    wanted = form.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    holds = not wanted or any(type(value) is kinds[name] for name in wanted)
    holds &= "const" not in form or value == form["const"]
    holds &= "enum" not in form or value in form["enum"]
    if "minimum" in form and holds:
        holds &= value >= form["minimum"]
    if "pattern" in form and holds:
        holds &= re.search(form["pattern"], value) is not None
    if "properties" in form and holds:
        names = form["properties"]
        holds &= set(form["required"]) <= set(value) and (form["additionalProperties"] or set(value) <= set(names))
        holds &= all(_fits(value[name], names[name], root) for name in value if name in names)
    return bool(holds)


def test_every_line_fits_the_published_schema(ledger: Ledger) -> None:
    """Of a ledger with every kind of record."""
    filled(ledger)
    schema = _schema()
    lines = [json.loads(line) for line in export(ledger.store)]
    assert {line["type"] for line in lines} == {"ledger", "record", "identity", "head", "end"}
    for line in lines:
        assert _fits(line, schema, schema), line
    kinds = {line["kind"] for line in lines if line["type"] == "record"}
    assert kinds == set(schema["$defs"]["record"]["properties"]["kind"]["enum"])
    for wrong in ({**lines[1], "seq": "1"}, {**lines[1], "more": 1}, {"type": "end"}):
        assert not _fits(wrong, schema, schema)


def test_the_schema_names_exactly_the_columns() -> None:
    """Of records and heads, as the store has them."""
    from dosimeter.ledger.record import Head, Kind, Record

    definitions = _schema()["$defs"]
    assert set(definitions["record"]["properties"]) == {"type", *Record._fields}
    assert set(definitions["head"]["properties"]) == {"type", *Head._fields}
    assert set(definitions["record"]["properties"]["kind"]["enum"]) == {str(kind) for kind in Kind}
    assert len(FILTER_KINDS) >= 5
    assert PEOPLE.name == "people"

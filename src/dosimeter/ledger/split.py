"""Rules that split a data set that grows into blocks, so that new rows bring a budget of their own.

A rule looks at one column of a row and nothing else, so every row lies in one block or in none, whatever the other rows
are; blocks are disjoint by construction. A block is named by its key, such as ``2026-01-31`` or ``north``. The rule is
public, fixed when the data set is opened, and says for each key which condition on rows selects exactly that block.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from dosimeter.errors import InputError
from dosimeter.exact import amount, show, text
from dosimeter.ledger import texts

Every: TypeAlias = Literal["day", "week", "month", "year"]
MAX_BLOCKS: Final = 1_000  # that one request may name


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """One block per day, week (from Monday), month or year of a date column; keys are ``2026-01-31`` (the day, or the
    week's Monday), ``2026-01``, ``2026``. Rows without a date lie in no block.

    Args:
        column: of type date or timestamp.
        every: the length of a window.
        start: the first day that belongs to a block; no block lies before it.
    """

    column: str
    every: Every
    start: datetime.date

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", texts.name(self.column, "the column of the blocks"))
        if self.every not in get_args(Every):
            raise InputError(f"every={show(self.every)} is not one of: {', '.join(get_args(Every))}")
        object.__setattr__(self, "start", read_day(self.start, "start"))

    def require(self, key: object) -> str:
        """The key, if it names a block of this rule; raises InputError."""
        first = self._first_day(key)
        if first is None or self.key_of(first) != key or self._days(str(key))[1] <= self.start:
            raise InputError(
                f"block {show(key)} does not exist; blocks are {self.every}s, the first of them is "
                f"{self.key_of(self.start)}"
            )
        return str(key)

    def key_of(self, day: datetime.date) -> str:
        """The key of the block that a day lies in."""
        match self.every:
            case "day":
                return day.isoformat()
            case "week":
                return (day - datetime.timedelta(days=day.weekday())).isoformat()
            case "month":
                return f"{day.year:04d}-{day.month:02d}"
            case _:
                return f"{day.year:04d}"

    def between(self, first: object, last: object) -> tuple[str, ...]:
        """The blocks that hold the days from `first` to `last`, both included, as far as the rule goes back."""
        day, end = max(read_day(first, "first"), self.start), read_day(last, "last")
        if end < day:
            raise InputError(f"no block lies between {show(first)} and {show(last)}; blocks begin with {self.start}")
        return tuple(itertools.islice(self._from(day, end), MAX_BLOCKS + 1))

    def last(self, days: int, today: object) -> tuple[str, ...]:
        """The blocks that hold the last so many days, today included."""
        if type(days) is not int or not 1 <= days <= 40_000:
            raise InputError(f"days={show(days)} is not a whole number of 1 to 40000")
        end = read_day(today, "today")
        return self.between(max(end - datetime.timedelta(days=days - 1), datetime.date(1900, 1, 1)), end)

    def condition(self, keys: Sequence[str]) -> str:
        """The condition, in a query's words, that holds for exactly the rows of these blocks."""
        column, spans = quoted(self.column), list[tuple[datetime.date, datetime.date]]()
        for first, after in sorted(self._days(self.require(key)) for key in set(keys)):
            if spans and spans[-1][1] == first:
                spans[-1] = (spans[-1][0], after)  # neighbouring windows read as one span
            else:
                spans.append((max(first, self.start), after))
        return " OR ".join(f"({column} >= '{first}' AND {column} < '{after}')" for first, after in spans)

    def to_json(self) -> dict[str, Any]:
        """The rule as JSON."""
        return {"kind": "time", "column": self.column, "every": self.every, "start": self.start.isoformat()}

    def _from(self, day: datetime.date, end: datetime.date) -> Iterator[str]:
        while day <= end:
            key = self.key_of(day)
            yield key
            day = self._days(key)[1]

    def _first_day(self, key: object) -> datetime.date | None:
        written = key if isinstance(key, str) and key.isascii() else ""
        try:
            match self.every:
                case "day" | "week":
                    return datetime.date.fromisoformat(written)
                case "month":
                    return datetime.date.fromisoformat(f"{written}-01")
                case _:
                    return datetime.date.fromisoformat(f"{written}-01-01")
        except ValueError:
            return None

    def _days(self, key: str) -> tuple[datetime.date, datetime.date]:
        """The first day of a block, and the first day after it."""
        first = self._first_day(key) or datetime.date.min
        match self.every:
            case "day":
                return first, first + datetime.timedelta(days=1)
            case "week":
                return first, first + datetime.timedelta(days=7)
            case "month":
                return first, (first.replace(day=28) + datetime.timedelta(days=4)).replace(day=1)
            case _:
                return first, first.replace(year=first.year + 1)


@dataclass(frozen=True, slots=True)
class Groups:
    """One block per declared value of a text column, such as a region or a cohort of users; the value is the key.

    Rows with any other value lie in no block. Values are never taken from the data: they would reveal who is in it.

    Args:
        column: of type text.
        keys: the values, 1 to 10,000 different ones.
    """

    column: str
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", texts.name(self.column, "the column of the blocks"))
        keys = tuple(texts.name(key, "the key of a block") for key in self.keys)
        if not 1 <= len(keys) <= 10_000 or len(set(keys)) != len(keys):
            raise InputError(f"blocks need 1 to 10000 different keys; got {len(keys)}, {len(set(keys))} different")
        object.__setattr__(self, "keys", keys)

    def require(self, key: object) -> str:
        """The key, if it names a block of this rule; raises InputError."""
        if not isinstance(key, str) or key not in self.keys:
            known = ", ".join(self.keys[:20]) + (", ..." if len(self.keys) > 20 else "")
            raise InputError(f"block {show(key)} does not exist; the blocks are: {known}")
        return key

    def condition(self, keys: Sequence[str]) -> str:
        """The condition, in a query's words, that holds for exactly the rows of these blocks."""
        values = ["'" + self.require(key).replace("'", "''") + "'" for key in keys]
        return f"{quoted(self.column)} IN ({', '.join(values)})"

    def to_json(self) -> dict[str, Any]:
        """The rule as JSON."""
        return {"kind": "groups", "column": self.column, "keys": list(self.keys)}


Rule: TypeAlias = TimeWindows | Groups


@dataclass(frozen=True, slots=True)
class Split:
    """How a data set is split, and what is known of how its people lie over the blocks.

    Args:
        rule: which block a row lies in.
        blocks_per_person: at most so many blocks hold rows of one person; None when nobody knows. It is a fact that the
            steward vouches for, such as 1 for groups of users. It changes no charge, only what the statement may say of
            a whole person.
        retire_below: a block in which less than this part of its budget is left retires: it is not offered any more.
    """

    rule: Rule
    blocks_per_person: int | None = None
    retire_below: str = "0.01"

    def __post_init__(self) -> None:
        most = self.blocks_per_person
        if most is not None and (type(most) is not int or not 1 <= most <= 10**6):
            raise InputError(f"blocks_per_person={show(most)} is not a whole number of 1 to 1000000")
        object.__setattr__(
            self, "retire_below", text(amount(self.retire_below, "retire_below", zero=True, below_one=True))
        )

    def require(self, keys: Sequence[object]) -> tuple[str, ...]:
        """The blocks that somebody named, each once, in order of key."""
        if isinstance(keys, str | bytes):
            raise InputError(f"blocks={show(keys)} is one text; give a list of keys")
        named = sorted({self.rule.require(key) for key in keys})
        if not 1 <= len(named) <= MAX_BLOCKS:
            raise InputError(f"a request names 1 to {MAX_BLOCKS} blocks; got {len(named)}")
        return tuple(named)

    def to_json(self) -> dict[str, Any]:
        """The split as JSON."""
        return {
            "rule": self.rule.to_json(),
            "blocks_per_person": self.blocks_per_person,
            "retire_below": self.retire_below,
        }


def split_from_json(data: Any) -> Split:
    """Read a split back; raises InputError for anything else."""
    try:
        rule, column = data["rule"], data["rule"]["column"]
        made: Rule
        if rule["kind"] == "time":
            made = TimeWindows(column, rule["every"], datetime.date.fromisoformat(rule["start"]))
        else:
            made = {"groups": Groups}[rule["kind"]](column, tuple(rule["keys"]))
        return Split(made, data["blocks_per_person"], data["retire_below"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("this is no rule that splits data into blocks, or one of another version") from None


def read_day(value: object, what: str) -> datetime.date:
    """A day, as a date or as the text 2026-01-31, from 1900 to 2999."""
    try:
        day = datetime.date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        day = None
    if type(day) is not datetime.date or not 1900 <= day.year <= 2999:
        raise InputError(f"{what}={show(value)} is not a day of the years 1900 to 2999, such as 2026-01-31")
    return day


def quoted(column: str) -> str:
    """A column's name as conditions write it."""
    return '"' + column.replace('"', '""') + '"'

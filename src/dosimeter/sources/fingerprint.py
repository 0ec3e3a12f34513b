"""What identifies the content of a data set, whatever file it came in.

Every row becomes one text, made of its cells in the order of the column names; the MD5 halves of these texts are added
up as whole numbers, and the sums are hashed together with the names. Addition forgets the order of the rows but not how
often a row occurs. Cells are written in one form, so that a CSV file, its compressed copy and a Parquet file made from
it agree: ``7``, ``7.0`` and ``07`` are one number, NaN and the empty text are missing, a date is its midnight. Two
different data sets that agree up to these spellings share a fingerprint, hence one account: that errs on the safe side.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from dosimeter.sources.terms import case, joined
from dosimeter.sources.typed import MOMENT, Stored, matches, not_nan, try_cast

if TYPE_CHECKING:
    from sqlglot import exp

_EXACT: Final = 2**53
_MISSING: Final = "\x1e"
_BETWEEN: Final = "\x1f"


def row_text(cells: Mapping[str, tuple[exp.Expr, Stored]]) -> exp.Expr:
    """The text of a row: its cells by name, each followed by a separator; a missing cell has a mark of its own."""
    from sqlglot import exp

    parts: list[exp.Expr] = []
    for name in sorted(cells):
        parts.append(exp.Coalesce(this=canonical(*cells[name]), expressions=[exp.Literal.string(_MISSING)]))
        parts.append(exp.Literal.string(_BETWEEN))
    return exp.Anonymous(this="CONCAT", expressions=parts)


def canonical(cell: exp.Expr, stored: Stored) -> exp.Expr:
    """A cell's content as text, or NULL where it is missing."""
    match stored:
        case Stored.WHOLE | Stored.BOOLEAN:
            return try_cast(cell, "TEXT")
        case Stored.REAL:
            return _number(try_cast(cell, "DOUBLE"))
        case Stored.DATE | Stored.TIMESTAMP:
            return try_cast(try_cast(cell, "TIMESTAMP"), "TEXT")
    return _spelled(cell if stored is Stored.TEXT else try_cast(cell, "TEXT"))


def _spelled(words: exp.Expr) -> exp.Expr:
    """A text: where it spells a number, a date or a truth value, as such a value; else as it is.

    What can be a number or a date starts with a character up to "9", so that other texts are not looked at closely.
    """
    from sqlglot import exp

    string = exp.Literal.string
    number, moment = try_cast(words, "DOUBLE"), try_cast(try_cast(words, "TIMESTAMP"), "TEXT")
    counted = case(
        (exp.EQ(this=words.copy(), expression=string("")), exp.null()),
        (exp.Not(this=exp.Is(this=number, expression=exp.null())), _spelled_number(words, number)),
        (matches(words, MOMENT), exp.Coalesce(this=moment, expressions=[words.copy()])),
        default=words.copy(),
    )
    word = exp.Lower(this=words.copy())
    named = case(
        (exp.EQ(this=word.copy(), expression=string("nan")), exp.null()),
        (exp.In(this=word.copy(), expressions=[string("inf"), string("infinity")]), string("inf")),
        (exp.In(this=word.copy(), expressions=[string("true"), string("false")]), word.copy()),
        default=words.copy(),
    )
    return case(
        (exp.LT(this=words.copy(), expression=string(":")), counted),
        (exp.LTE(this=exp.Length(this=words.copy()), expression=exp.Literal.number(8)), named),
        default=words.copy(),
    )


def _number(number: exp.Expr) -> exp.Expr:
    """A double: as a whole number where it is one below 2^53, else as the engine writes it; NULL for NaN."""
    from sqlglot import exp

    bound = exp.Literal.number(_EXACT)
    small = exp.LT(this=exp.Abs(this=number.copy()), expression=bound)
    whole = exp.EQ(this=number.copy(), expression=exp.Floor(this=number.copy()))
    as_whole = try_cast(try_cast(number, "BIGINT"), "TEXT")
    as_written = try_cast(not_nan(number), "TEXT")
    return case((joined(exp.And, [small, whole]), as_whole), default=as_written)


def _spelled_number(words: exp.Expr, number: exp.Expr) -> exp.Expr:
    """A number given as text: whole numbers beyond 2^53 keep their digits."""
    from sqlglot import exp

    digits = exp.RegexpLike(this=words.copy(), expression=exp.Literal.string("^-?[0-9]{16,38}$"))
    long = exp.GT(this=exp.Length(this=words.copy()), expression=exp.Literal.number(15))
    as_digits = exp.Coalesce(this=try_cast(try_cast(words, "DECIMAL(38, 0)"), "TEXT"), expressions=[words.copy()])
    return case((long, case((digits, as_digits), default=_number(number))), default=_number(number))


def digest_of_sums(names: tuple[str, ...], rows: int, low: int, high: int) -> str:
    """The fingerprint, from the column names, the number of rows and the sums of the halves of their MD5."""
    content = {
        "columns": sorted(names),
        "rows": str(rows),
        "low": str(low % 2**64),
        "high": str(high % 2**64),
    }
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(f"dosimeter content 1\n{plain}".encode()).hexdigest()

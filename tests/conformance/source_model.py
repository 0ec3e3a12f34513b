"""What a source should compute, in plain Python: the rules of a frame, one row at a time, with exact arithmetic.

This is the oracle of the conformance suite. It shares no code with the SQL that engines run.
"""

import hashlib
import math
from collections import defaultdict
from fractions import Fraction

from dosimeter.queries.condition import And, Arithmetic, Compare, In, IsMissing, Literal, Name, Not, Or
from dosimeter.queries.frame import COUNT, KeyAxis
from dosimeter.queries.schema import ColumnType


def aggregate(frame, rows):
    """The numbers of a frame over rows given as dicts of typed values (None for a missing one)."""
    kept = [entry for row in rows if (entry := _kept(frame, row)) is not None]
    if frame.user is not None:
        kept = _bounded(frame, kept)
    answers = []
    for measure in frame.measures:
        cells = [0] * frame.cells
        for _, cell, value in kept:
            cells[cell] += 1 if measure == COUNT else value
        answers.append(tuple(cells))
    return tuple(answers)


def _present(value):
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    return value


def _kept(frame, row):
    row = {name: _present(value) for name, value in row.items()}
    if frame.condition is not None and truth(frame.condition, row) is not True:
        return None
    cell = 0
    for axis in frame.axes:
        place = _place(axis, row[axis.column.name])
        if place is None:
            return None
        cell = cell * axis.size + place
    value = None
    if frame.value is not None:
        raw = row[frame.value.column.name]
        if raw is None and frame.value.column.nullable:
            return None
        value = _steps(frame.value.lattice, raw)
    user = None
    if frame.user is not None:
        user = row[frame.user.name]
        if user is None:
            return None
        user = str(user).lower() if isinstance(user, bool) else str(user)
    return user, cell, value


def _place(axis, value):
    if isinstance(axis, KeyAxis):
        keys = [
            str(key) if axis.column.type in {ColumnType.DATE, ColumnType.TIMESTAMP} and key else key
            for key in axis.keys
        ]
        shown = str(value) if axis.column.type in {ColumnType.DATE, ColumnType.TIMESTAMP} and value else value
        matches = [i for i, key in enumerate(keys) if type(key) is type(shown) and key == shown]
        return matches[0] if matches else None
    if value is None:
        return None
    for i in range(axis.size):
        low, high = axis.edges[i], axis.edges[i + 1]
        last = i == axis.size - 1
        number = Fraction(value) if math.isfinite(value) else value
        if number >= low and (number < high or (last and number == high)):
            return i
    return None


def _steps(lattice, value):
    if value is None:
        return lattice.lower - lattice.centre
    if math.isinf(value):
        return (lattice.upper if value > 0 else lattice.lower) - lattice.centre
    ratio = Fraction(value) / Fraction(lattice.step)
    rounded = math.floor(abs(ratio) + Fraction(1, 2)) * (1 if ratio >= 0 else -1)
    return min(max(rounded, lattice.lower), lattice.upper) - lattice.centre


def _bounded(frame, kept):
    caps = frame.contribution
    by_user = defaultdict(list)
    for entry in kept:
        by_user[entry[0]].append(entry)
    result = []
    for user, entries in by_user.items():

        def order(entry, user=user):
            _, cell, value = entry
            parts = [frame.salt, user, str(cell)] + ([] if frame.value is None else [str(value)])
            return (hashlib.md5("|".join(parts).encode()).hexdigest(), cell, value or 0)

        def cell_order(cell, user=user):
            return (hashlib.md5("|".join([frame.salt, user, str(cell)]).encode()).hexdigest(), cell)

        cells = sorted({entry[1] for entry in entries}, key=cell_order)[: caps.groups]
        if caps.rows < caps.groups * caps.rows_per_group and caps.groups == caps.rows:
            cells = sorted({entry[1] for entry in entries})  # the cap on rows bounds the cells
        chosen = []
        for cell in cells:
            own = sorted((entry for entry in entries if entry[1] == cell), key=order)
            chosen += own[: caps.rows_per_group]
        result += sorted(chosen, key=order)[: caps.rows]
    return result


def truth(condition, row):
    """True, False, or None for unknown."""
    match condition:
        case And(parts):
            found = [truth(part, row) for part in parts]
            return False if False in found else None if None in found else True
        case Or(parts):
            found = [truth(part, row) for part in parts]
            return True if True in found else None if None in found else False
        case Not(part):
            found = truth(part, row)
            return None if found is None else not found
        case IsMissing(operand):
            return _value(operand, row) is None
        case In(operand, values):
            value = _value(operand, row)
            return None if value is None else any(_equal(value, _value(each, row)) for each in values)
        case Compare(op, left, right):
            a, b = _value(left, row), _value(right, row)
            if a is None or b is None:
                return None
            a, b = _alike(a, b)
            return {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
    raise TypeError(condition)


def _equal(a, b):
    a, b = _alike(a, b)
    return a == b


def _alike(a, b):
    if hasattr(a, "isoformat") or hasattr(b, "isoformat"):
        return str(a), str(b)
    if isinstance(a, str):
        return a.encode(), b.encode()
    if isinstance(a, float) or isinstance(b, float):
        return float(a), float(b)
    return a, b


def _value(operand, row):
    match operand:
        case Name(name):
            return row[name]
        case Literal(value, kind):
            if isinstance(value, bool | str):
                return value
            return int(value) if kind is ColumnType.INTEGER else float(value)
        case Arithmetic(op, left, right):
            a, b = _value(left, row), _value(right, row)
            if a is None or b is None:
                return None
            a, b = float(a), float(b)
            number = a + b if op == "+" else a - b if op == "-" else a * b
            return None if math.isnan(number) else number
    raise TypeError(operand)

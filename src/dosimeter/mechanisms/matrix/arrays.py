"""Arrays of binary floats, and norms of them that are certainly not too small.

The matrices of this room are exact: an entry *is* the binary float that stands there. What floating-point arithmetic
then computes from them is off by a known amount, and every function below adds that amount on the stated side. The
unit is u = 2^-53; a sum of k products, in whatever order, is off by at most k u/(1 - k u) times the sum of their
absolute values (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, section 3.1).
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import Bound, amount, show

if TYPE_CHECKING:
    Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

UNIT: Final = 2.0**-53
MAX_ENTRIES: Final = 10**8
MAX_DENSE: Final = 4_096  # side of a matrix that has to be inverted or decomposed
LARGEST_ENTRY: Final = 1e100
SMALLEST_ENTRY: Final = 1e-100
_EXACT_SUM: Final = 1 << 20
_UP: Final = decimal.Context(prec=30, rounding=decimal.ROUND_CEILING)
_DOWN: Final = decimal.Context(prec=30, rounding=decimal.ROUND_FLOOR)


def read_array(value: object, name: str, dimensions: tuple[int, ...] = (2,)) -> Array:
    """A frozen copy of `value` as binary floats.

    Args:
        value: an array, a nested sequence, or anything that converts to one.
        name: what it is called in an error message.
        dimensions: how many axes it may have.

    Raises:
        InputError: not numbers, not finite, too large, empty, or of another shape.
    """
    try:
        _refuse_mask(value, name)
        raw = np.asarray(value)
        _check_size(raw, name)  # before anything is copied
        if raw.dtype.kind not in "iuf" or raw.dtype.itemsize > 8:
            raw = _numbers(raw, name)
        array = np.array(raw, dtype=np.float64, order="C")
    except InputError:
        raise
    except Exception:  # whatever a foreign object raises may quote what it holds
        raise InputError(f"{name} is not an array of numbers; give rows of equal length") from None
    if array.ndim not in dimensions:
        wanted = " or ".join(str(d) for d in dimensions)
        raise InputError(f"{name} has {array.ndim} axes; give {wanted}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds an entry that is not finite; give finite numbers")
    size = np.abs(array[array != 0])
    if size.size and not (size.min() >= SMALLEST_ENTRY and size.max() <= LARGEST_ENTRY):
        raise InputError(
            f"{name} holds an entry outside [{SMALLEST_ENTRY:g}, {LARGEST_ENTRY:g}] in size; change the unit"
        )
    array.flags.writeable = False
    return array


def _refuse_mask(value: object, name: str) -> None:
    """A masked array loses its mask on the way: what was hidden would be released."""
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array; fill what it hides, `.filled(0.0)`, and give the plain array")


def _check_size(array: Any, name: str) -> None:
    if not 1 <= array.size <= MAX_ENTRIES:
        raise InputError(f"{name} has {array.size} entries; it may have 1 to {MAX_ENTRIES}")


def read_private(value: object, name: str) -> Array:
    """Numbers that come from rows, as floats of any size or none at all (NaN); no message quotes one.

    Raises:
        InputError: a masked or complex array, or something that is not an array of numbers.
    """
    _refuse_mask(value, name)
    try:
        array = np.asarray(value)
        real = array.dtype.kind != "c"
        found = np.asarray(array.astype(np.float64) if real else array.real)
    except Exception:  # whatever a foreign object raises may quote what it holds
        raise InputError(f"{name} is not an array of numbers") from None
    if not real:
        raise InputError(f"{name} is complex; release real and imaginary parts as numbers of their own")
    return found


def _numbers(raw: Any, name: str) -> Any:
    if raw.dtype.kind != "O":
        raise InputError(f"{name} holds {raw.dtype} entries; give real numbers")
    flat = [float(entry) for entry in raw.ravel() if not isinstance(entry, bool | str | bytes)]
    if len(flat) != raw.size:
        raise InputError(f"{name} holds an entry that is not a number; give real numbers")
    return np.array(flat).reshape(raw.shape)


def read_float(value: object, name: str) -> float:
    """A positive finite number as the binary float it is nearest to."""
    array = read_array(value, name, (0,))
    if not array > 0:
        raise InputError(f"{name}={show(value)} is not above 0")
    return float(array)


def read_size(value: object, name: str, *, round_up: bool = True) -> Decimal:
    """A positive amount in the range that entries have: products with them neither overflow nor vanish."""
    read = amount(value, name, round_up=round_up)  # type: ignore[arg-type]
    if not SMALLEST_ENTRY <= read <= LARGEST_ENTRY:
        raise InputError(f"{name}={show(value)} is outside [{SMALLEST_ENTRY:g}, {LARGEST_ENTRY:g}]; change the unit")
    return read


def off(terms: int) -> float:
    """How far, relative to the sum of absolute values, a floating sum of `terms` products may be off; rounded up."""
    if terms > 1 << 40:
        raise InputError(f"a sum of {terms} terms is beyond what floating point can bound; split the release")
    return (terms + 2) * UNIT * (1 + (terms + 4) * UNIT * 2)


def norm(array: Array) -> tuple[float, float]:
    """Lower and upper bound of the Euclidean norm of all entries."""
    flat = np.abs(array).ravel()
    top = float(flat.max(initial=0.0))
    if top == 0.0:
        return 0.0, 0.0
    scale = 2.0 ** math.frexp(top)[1]  # a power of two: dividing by it is exact
    scaled = flat / scale
    squares = scaled * scaled  # what underflows here is below u^2 of the total
    if squares.size <= _EXACT_SUM:
        total, slack = math.fsum(squares.tolist()), 4 * UNIT
    else:
        total, slack = float(np.sum(squares)), off(squares.size)
    root = math.sqrt(total) * scale
    slack += squares.size * 2.0**-500 + 4 * UNIT
    return root * (1 - slack), root * (1 + slack)


def spectral_norm(matrix: Array) -> tuple[float, float]:
    """Lower and upper bound of the largest singular value of an explicit matrix.

    Guarantee: both certain. Upper: if the Cholesky factorisation of c I - G runs to its end, then c I - G + E is
    positive semidefinite for an E of norm at most `off(n+1)` times the trace (Higham, Theorem 10.3; any order of
    summation), so the largest eigenvalue of G is at most c plus that. Lower: the quotient |M x|/|x| at one vector.
    """
    if matrix.ndim != 2 or max(matrix.shape) > MAX_ENTRIES or min(matrix.shape) > MAX_DENSE:
        raise InputError(f"a matrix of shape {matrix.shape} is too large for its norm; at most {MAX_DENSE} on one side")
    top = float(np.abs(matrix).max())
    if top == 0.0:
        return 0.0, 0.0
    if 1 in matrix.shape:
        return norm(matrix)
    scale = 2.0 ** math.frexp(top)[1]
    scaled = matrix / scale
    if scaled.shape[0] < scaled.shape[1]:
        scaled = scaled.T
    rows, side = scaled.shape
    gram = scaled.T @ scaled
    values, vectors = np.linalg.eigh(gram)
    x = vectors[:, -1]
    image = scaled @ x
    wrong = off(rows + side) * float(np.linalg.norm(np.abs(scaled) @ np.abs(x))) * (1 + 1e-9)
    lower = max((norm(image)[0] - wrong) / norm(x)[1] * (1 - 4 * UNIT), 0.0)
    frobenius = norm(scaled)[1] ** 2 * (1 + 4 * UNIT)
    formed = off(rows) * frobenius  # the error of the products in `gram`, as a norm
    raise_by = 4 * side * UNIT
    for _ in range(60):
        c = float(values[-1]) * (1 + raise_by) + raise_by * 1e-3 * float(values[-1])
        shifted = c * np.eye(side) - gram
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            raise_by *= 2
            continue
        slack = off(side + 1) * float(np.trace(shifted)) * (1 + 1e-9) + 2 * UNIT * (c + float(values[-1])) * side
        upper = math.sqrt((c + slack + formed) * (1 + 8 * UNIT)) * (1 + 4 * UNIT)
        return lower * scale, min(upper, norm(scaled)[1]) * scale
    raise NoGuaranteeError("the norm of a matrix could not be certified")


def between(lower: float, upper: float) -> Bound:
    """Two floats as a bound of decimals that contains them."""
    return Bound(_DOWN.create_decimal(Decimal(lower)), _UP.create_decimal(Decimal(upper)))


def decimal_up(value: float) -> Decimal:
    """The float as a decimal of at most 30 digits, not below it."""
    return _UP.create_decimal(Decimal(value))


def float_down(value: Decimal) -> float:
    """The largest binary float that is not above the decimal."""
    nearest = float(value)
    return nearest if Decimal(nearest) <= value else math.nextafter(nearest, -math.inf)


def float_up(value: Decimal) -> float:
    """The smallest binary float that is not below the decimal."""
    nearest = float(value)
    return nearest if Decimal(nearest) >= value else math.nextafter(nearest, math.inf)

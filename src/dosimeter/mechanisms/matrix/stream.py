"""A stream released row by row, with rows and noise chosen as it goes, that pays for what has run and no more.

Row t measures sum_(s <= t) C_ts g_s with noise of standard deviation sigma_t. For a record in step s this is a Gaussian
release whose mean moves by at most |C_ts| clip_norm, whatever was chosen from the past. So that record's account after
t rows is S_s = clip_norm^2 sum_(r <= t) (C_rs/sigma_r)^2, a sum of squares that a Gaussian filter may stop at any time,
and the stream as a whole costs max_s S_s. Row t is charged the growth of that maximum: all charges together are it
itself, at every stopping time, and a row that only touches cheaper columns costs nothing. The proof is in
docs/concepts/matrix.md.

A stream holds private values (the steps so far) in memory; it never prints them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, cast

import numpy as np

from dosimeter.errors import InputError
from dosimeter.events import Gaussian
from dosimeter.exact import (
    ONE,
    ZERO,
    Number,
    add_up,
    amount,
    count,
    divide_up,
    multiply_up,
    show,
    sqrt_up,
    subtract_up,
)
from dosimeter.mechanisms.entropy import Entropy
from dosimeter.mechanisms.matrix.arrays import decimal_up, off, read_array, read_float, read_private
from dosimeter.mechanisms.matrix.covariance import IidNoise
from dosimeter.mechanisms.matrix.gaussian import GaussianMechanism
from dosimeter.mechanisms.matrix.release import MatrixRelease
from dosimeter.mechanisms.matrix.sensitivity import FrobeniusBall
from dosimeter.mechanisms.matrix.streams import MAX_STEPS, StreamStrategy

if TYPE_CHECKING:
    from dosimeter.mechanisms.matrix.arrays import Array

MAX_WIDTH = 10**7


@dataclass(frozen=True)
class ColumnCharges:
    """What a record in each step has been charged so far: S_s, and how the worst of them grows.

    Args:
        squares: one sum of squared GDP parameters per step that has arrived.
    """

    squares: tuple[Decimal, ...] = ()

    @property
    def worst(self) -> Decimal:
        """The squared GDP parameter of the stream so far."""
        return max(self.squares, default=ZERO)

    def after(self, moves: Sequence[Decimal]) -> ColumnCharges:
        """The charges after a row that moves a record in step s by `moves[s]` standard deviations.

        Raises:
            InputError: fewer moves than steps that have arrived, or one that is negative or no number.
        """
        given = cast("object", moves)
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) < len(self.squares):
            raise InputError(f"moves={show(given)} must be a list with one for each of {len(self.squares)} steps")
        moves = [amount(m, "a move", zero=True) for m in given]
        before = self.squares + (ZERO,) * (len(moves) - len(self.squares))
        return ColumnCharges(tuple(add_up(old, multiply_up(m, m)) for old, m in zip(before, moves, strict=True)))


class Stream:
    """Release a stream step by step with correlated noise.

    Guarantee: after any number of rows, chosen adaptively together with their noise, what has been released is
    mu-GDP with mu^2 = `charges.worst`, for neighbours that differ in one record which takes part in one step with a
    vector of norm at most `clip_norm`; lattice and floating point included. Charging every row's event before it is
    released keeps any Gaussian, zCDP or residue filter within its budget.

    Args:
        width: how many numbers arrive in each step.
        clip_norm: the largest norm of one record's contribution to one step; vouched for by the caller.
        entry_bound: a public bound on the numbers of one step; numbers beyond it are clipped.
        max_steps: the stream refuses to go on after so many: no row is ever used twice.

    Raises:
        InputError: a number outside its range.

    Reference: Smith, Thakurta, "Fully adaptive composition for Gaussian differential privacy" (2022), Theorem 4 for
    the filter; Denisov et al., "Improved differential privacy for SGD via optimal private linear operators on adaptive
    streams" (2022), for adaptively chosen inputs.
    """

    def __init__(
        self, width: int, *, clip_norm: Number, entry_bound: float = 1e6, max_steps: int, entropy: Entropy | None = None
    ) -> None:
        self._width = count(width, "width", largest=MAX_WIDTH)
        self._clip = amount(clip_norm, "clip_norm")
        self._bound = read_float(entry_bound, "entry_bound")
        self._steps = count(max_steps, "max_steps", largest=MAX_STEPS)
        self._entropy = entropy
        self._inputs: list[Array] = []
        self._rows: list[Array] = []
        self._measured: list[Array] = []
        self._charges = ColumnCharges()

    @property
    def charges(self) -> ColumnCharges:
        """What has been charged so far, column by column."""
        return self._charges

    @property
    def steps_left(self) -> int:
        """How many more steps the stream takes."""
        return self._steps - len(self._inputs)

    def quote(self, row: object, std: Number) -> tuple[ColumnCharges, Gaussian | None]:
        """What the next row would be charged: the charges after it, and its event (None if it costs nothing).

        Args:
            row: the coefficients C_t1, ..., C_tt for the steps so far and the one that comes next; the last above 0.
            std: of the row's noise, above 0.

        Raises:
            InputError: another number of coefficients, or the stream is over.
        """
        coefficients = self._read_row(row)
        release = self._release(coefficients, std)
        rounding = subtract_up(release.mu, release.mechanism.mu.upper)
        one = divide_up(self._clip, amount(std, "std", round_up=False))
        moves = [add_up(multiply_up(one, decimal_up(abs(c))), rounding) if c else ZERO for c in coefficients.tolist()]
        after = self._charges.after(moves)
        growth = subtract_up(after.worst, self._charges.worst)
        return after, Gaussian(ONE, sqrt_up(growth)) if growth > 0 else None

    def step(self, value: object, row: object, std: Number) -> Array:
        """Take in the next step and release its row. Charge the event that `quote` names first.

        Args:
            value: the step's numbers. They are private: no message quotes them; what is not a number counts as 0.
            row: as in `quote`.
            std: as in `quote`.

        Returns:
            The noisy measurement of the row.

        Raises:
            InputError: as `quote`, or a value of another width.
            EntropyError: the randomness failed; nothing was released and the step was not taken in.
        """
        after, _ = self.quote(row, std)
        coefficients = self._read_row(row)
        release = self._release(coefficients, std)
        arrived = np.clip(numbers(value, self._width), -self._bound, self._bound)
        total = np.zeros(self._width)
        for c, earlier in zip(coefficients.tolist(), [*self._inputs, arrived], strict=True):
            if c:  # a step that the row does not read cannot change one bit of the sum
                total = total + c * earlier
        measured = release.release(total, self._entropy)
        self._inputs.append(arrived)
        self._rows.append(coefficients)
        self._measured.append(measured)
        self._charges = after
        return measured

    def follow(self, value: object, strategy: StreamStrategy, std: Number) -> Array:
        """`step` with the strategy's own next row.

        Args:
            value: as in `step`.
            strategy: its row t is used in step t.
            std: as in `step`.

        Raises:
            InputError: as `step`, or the strategy has no row left.
            EntropyError: as `step`.
        """
        t = len(self._inputs)
        if not isinstance(cast("object", strategy), StreamStrategy):
            raise InputError(f"strategy={show(strategy)} is not a StreamStrategy")
        if t >= strategy.steps:
            raise InputError(f"the strategy has {strategy.steps} rows and all are used; no row serves twice")
        return self.step(value, strategy.matrix[t, : t + 1], std)

    def estimates(self) -> Array:
        """The steps' values from the released rows, C^-1 times the measurements: steps x width, post-processing."""
        found: list[Array] = []
        for coefficients, measured in zip(self._rows, self._measured, strict=True):
            rest = np.array(measured)
            for c, earlier in zip(coefficients[:-1].tolist(), found, strict=True):
                if c:
                    rest = rest - c * earlier
            found.append(rest / coefficients[-1])
        return np.array(found).reshape(len(found), self._width)

    def running_totals(self) -> Array:
        """The sum of the first t steps for every t so far: steps x width, post-processing."""
        return np.cumsum(self.estimates(), axis=0)

    def window_sums(self, length: int) -> Array:
        """The sums of the last `length` steps for every t so far: post-processing."""
        totals = self.running_totals()
        size = count(length, "length", largest=MAX_STEPS)
        late = totals.copy()
        late[size:] -= totals[:-size] if size < len(totals) else 0
        return late

    def _release(self, coefficients: Array, std: Number) -> MatrixRelease:
        """The release of one row; what floating point does to its weighted sum is in its price."""
        noise = IidNoise(amount(std, "std", round_up=False), (self._width, 1))
        reach = float(np.abs(coefficients).sum()) * self._bound * (1 + 1e-9)
        error = 2 * off(coefficients.size + 2) * reach
        return MatrixRelease(GaussianMechanism(noise, FrobeniusBall(self._clip)), reach, value_error=error)

    def _read_row(self, row: object) -> Array:
        t = len(self._inputs)
        if t >= self._steps:
            raise InputError(f"the stream of {self._steps} steps is over; open another one, under its own budget")
        coefficients = read_array(row, "row", (1,))
        if coefficients.size != t + 1:
            raise InputError(f"step {t + 1} needs a row of {t + 1} coefficients; got {coefficients.size}")
        if not coefficients[-1] > 0:
            raise InputError("the row's last coefficient must be above 0: it is the step that has just arrived")
        return coefficients


def numbers(value: object, width: int) -> Array:
    """One step's numbers; what is not a number counts as 0, so that no row decides whether a release succeeds."""
    array = read_private(value, "the step's value").reshape(-1)
    if array.size != width:
        raise InputError(f"the step has {array.size} numbers; the stream has width {width}")
    return np.nan_to_num(array, nan=0.0, posinf=0.0, neginf=0.0)

"""The online simulator of Gaussian differential privacy: why adaptivity costs nothing there.

One draw W_0 ~ N(b, 1) is all that depends on the secret b. From it, answers W_1, W_2, ... with signal strengths m_i
chosen one at a time, each from all earlier answers, come out exactly as independent N(b m_i, 1), as long as the squares
of the m_i add up to at most 1. So whatever an analyst does against Gaussian mechanisms within a budget mu is a
post-processing of a single N(0, 1) or N(mu, 1).

The simulator is a proof made executable: nothing is released through it. Noise is given by the caller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dosimeter.errors import InputError
from dosimeter.exact import Number, to_decimal


@final
@dataclass(frozen=True, slots=True)
class Simulator:
    """Where an interaction with the simulator stands.

    Guarantee:
        If `signal` is drawn from N(b, 1) and the noises are independent N(0, 1), the answers are distributed as
        independent N(b m_i, 1), for every choice of m_i from earlier answers with sum m_i^2 <= 1.

    Args:
        signal: W_0.
        spent: s, the sum of squares of the m_i so far, exact.
        weighted: T, the sum of m_i W_i so far.

    Reference:
        Smith, Thakurta 2022, "Fully Adaptive Composition for Gaussian Differential Privacy", simulator F*, with the
        square root in the last coefficient that the footnote there lacks, and the recursion that stays defined when
        the budget is exhausted.
    """

    signal: float
    spent: Fraction = Fraction(0)
    weighted: float = 0.0

    def answer(self, strength: Number, noise: float) -> tuple[float, Simulator]:
        """The next answer and the simulator after it; this one is not changed.

        W = m (W_0 - T)/(1 - s) + sqrt(1 - m^2/(1 - s)) V, and W = V when m = 0.

        Args:
            strength: m, of either sign, read exactly; chosen from earlier answers only.
            noise: V, a fresh standard normal draw.

        Raises:
            InputError: the squares of the strengths would add up to more than 1.
        """
        m = Fraction(to_decimal(strength, "strength"))
        after = self.spent + m * m
        if after > 1:
            raise InputError(f"strength={strength}: the squares would add up to {float(after)}, more than 1")
        if m:
            share = m / (1 - self.spent)
            own = math.sqrt(1 - m * share)
            answer = float(share) * (self.signal - self.weighted) + own * noise
        else:
            answer = noise
        return answer, Simulator(self.signal, after, self.weighted + float(m) * answer)


def noise_factor(strengths: Sequence[Number]) -> list[list[float]]:
    """The lower triangular L with L L^T = I - m m^T: what the simulator adds to m W_0, for fixed strengths.

    Guarantee: rows and columns follow the strengths; exact up to double rounding.

    Args:
        strengths: m_1 .. m_n with sum of squares at most 1, read exactly.

    Returns:
        L_ij = -m_i m_j / sqrt((1 - s_{j-1})(1 - s_j)) below the diagonal, L_ii = sqrt((1 - s_i)/(1 - s_{i-1})) on it,
        with 0/0 read as 1 on the diagonal and 0 below it (an exhausted budget).

    Raises:
        InputError: the squares add up to more than 1.

    Reference: Smith, Thakurta 2022, Cholesky form of F*, corrected.
    """
    m = [Fraction(to_decimal(strength, "strength")) for strength in strengths]
    left = [Fraction(1)]
    for own in m:
        left.append(left[-1] - own * own)
    if left[-1] < 0:
        raise InputError(f"the squares of the strengths add up to {float(1 - left[-1])}, more than 1")
    rows = []
    for i, own in enumerate(m):
        row = [float(-own * m[j]) / math.sqrt(left[j] * left[j + 1]) if own and m[j] else 0.0 for j in range(i)]
        diagonal = math.sqrt(left[i + 1] / left[i]) if left[i] else 1.0
        rows.append(row + [diagonal] + [0.0] * (len(m) - i - 1))
    return rows

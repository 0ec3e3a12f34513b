"""Why squares of mu add up under full adaptivity: one Gaussian observation can answer the whole run.

For a budget of mu the data needs to be looked at once, through W_0 ~ N(b mu, 1) with b = 0 or 1. Every later answer
N(b mu_i, 1), for mu_i chosen from all earlier answers, is then computed from W_0 and fresh noise alone, as long as
sum mu_i^2 <= mu^2. The transcript is a post-processing of W_0, hence mu-GDP. This file is that computation; a session
does not use it, tests and readers of the proof do.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from dosimeter.errors import InputError
from dosimeter.exact import ONE, ZERO, Number, show, to_decimal

_NEAREST = decimal.Context(prec=50, rounding=decimal.ROUND_HALF_EVEN)


@dataclass(frozen=True, slots=True)
class OneGaussian:
    """The state of the simulator: the one observation, and what has been asked of it.

    Args:
        observation: W_0, drawn from N(b, 1) in units of the budget (mu = 1).
        asked: s, the sum of the squares of the shares m_i = mu_i / mu answered so far; at most 1.
        told: T, the sum of m_i W_i.
    """

    observation: Decimal
    asked: Decimal = ZERO
    told: Decimal = ZERO

    def answer(self, share: Number, noise: Number) -> tuple[Decimal, OneGaussian]:
        """The next answer, distributed as N(b share, 1) given all earlier ones, and the next state.

        Guarantee:
            If the observation is N(b, 1) and the noises are independent N(0, 1), then for every choice of shares from
            earlier answers the answers are distributed as independent N(b m_i, 1). Computed to 50 digits, to nearest:
            a demonstration, not a sampler for releases.

        Args:
            share: m_i = mu_i / mu, any sign, with the sum of squares at most 1.
            noise: V_i, a fresh draw from N(0, 1).

        Raises:
            InputError: the squares of the shares exceed 1.

        Reference:
            Smith, Thakurta 2022, "Fully Adaptive Composition for Gaussian Differential Privacy": the simulator F*,
            written as a recursion, which stays defined when the budget is used up.
        """
        m, fresh = to_decimal(share, "share"), to_decimal(noise, "noise")
        with decimal.localcontext(_NEAREST):
            asked = self.asked + m * m
            if asked > ONE:
                raise InputError(
                    f"share={show(share)} asks for more than is left: squares of shares add up to {asked:.6g}"
                )
            if not m:
                return fresh, self
            left = ONE - self.asked
            value = m * (self.observation - self.told) / left + (ONE - m * m / left).sqrt() * fresh
            return value, OneGaussian(self.observation, asked, self.told + m * value)


def noise_factor(shares: Sequence[Number]) -> tuple[tuple[Decimal, ...], ...]:
    """L, lower triangular, with L L^T = I - m m^T: how the fresh noises enter the answers to fixed shares.

    Guarantee:
        L_ii = sqrt((1 - s_i) / (1 - s_{i-1})) and L_ij = -m_i m_j / sqrt((1 - s_{j-1}) (1 - s_j)) for j < i, to 50
        digits. The paper's footnote gives the last entry without the square root; that does not factor I - m m^T.

    Raises:
        InputError: squares of shares before the last exceed or use up the budget; then no factor is needed, see
            `OneGaussian.answer`.

    Reference:
        Smith, Thakurta 2022, construction of F*, corrected.
    """
    m = [to_decimal(share, "share") for share in shares]
    with decimal.localcontext(_NEAREST):
        left = [ONE]
        for each in m:
            left.append(left[-1] - each * each)
        if left[-1] < ZERO or any(value <= ZERO for value in left[:-1]):
            raise InputError("the squares of the shares use up the budget before the last of them")
        rows = []
        for i, each in enumerate(m):
            before = [-each * m[j] / (left[j] * left[j + 1]).sqrt() for j in range(i)]
            rows.append((*before, (left[i + 1] / left[i]).sqrt(), *[ZERO] * (len(m) - i - 1)))
        return tuple(rows)

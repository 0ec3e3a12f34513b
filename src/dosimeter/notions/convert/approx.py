"""What (epsilon, delta)-DP implies in the other notions.

All of it follows from one fact: such a mechanism is a post-processing of (epsilon, delta)-randomized response. The
converse direction to probabilistic DP costs a larger epsilon; at the same epsilon there is none, and the often printed
(2 epsilon, 2 delta / (epsilon e^epsilon)) is false.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import ONE, ZERO, Number
from dosimeter.notions.approx import ApproxDP
from dosimeter.notions.convert.pure import pure_to_gdp, pure_to_zcdp
from dosimeter.notions.gdp import GDP
from dosimeter.notions.probabilistic import ProbabilisticDP
from dosimeter.notions.profiles import randomized_response_delta
from dosimeter.notions.profiles.reading import read_target_epsilon
from dosimeter.notions.profiles.solving import at_most_one, nonnegative_up, probability_up
from dosimeter.notions.profiles.targets import at_target
from dosimeter.notions.pure import PureDP
from dosimeter.notions.zcdp import ZCDP

if TYPE_CHECKING:
    Ball: TypeAlias = Any


def approx_to_zcdp(guarantee: ApproxDP) -> ZCDP:
    """(epsilon, delta)-DP is delta-approximate (epsilon tanh(epsilon/2))-zCDP.

    Guarantee: rounded up; tight at delta 0.

    Reference: Kairouz, Oh, Viswanath (2015); Steinke (2022), Lemma 23 and Corollary 24: outside a failure of
        probability delta the pair is epsilon-DP.
    """
    return ZCDP(pure_to_zcdp(PureDP(guarantee.epsilon)).rho, guarantee.delta)


def approx_to_gdp(guarantee: ApproxDP) -> GDP:
    """(epsilon, delta)-DP is (mu, delta)-approximate GDP with mu = 2 PhiInv(e^epsilon / (1 + e^epsilon)).

    Guarantee: rounded up. With delta > 0 no finite mu holds without failures.

    Raises:
        InputError: mu is above 1e6.

    Reference: as `approx_to_zcdp`, then `pure_to_gdp`.
    """
    return GDP(pure_to_gdp(PureDP(guarantee.epsilon)).mu, guarantee.delta)


def approx_to_approx(
    guarantee: ApproxDP, *, target_epsilon: Number | None = None, target_delta: Number | None = None
) -> ApproxDP:
    """The same guarantee stated at another epsilon: the curve of (epsilon, delta)-randomized response.

    Guarantee: rounded up; tight. For instance (epsilon, delta)-DP is (0, delta + (1 - delta) tanh(epsilon/2))-DP.

    Args:
        target_epsilon: at or below the guarantee's epsilon something is traded for delta; above it delta stays.
        target_delta: at least the guarantee's delta.

    Raises:
        InputError: not exactly one target.
        NoGuaranteeError: target_delta is below the guarantee's delta, where epsilon is infinite.

    Reference: Kairouz, Oh, Viswanath (2015), Theorem 3.3.
    """
    e0, d0 = guarantee.epsilon, guarantee.delta

    def epsilon_at(delta: Decimal) -> Decimal:
        if delta < d0:
            raise NoGuaranteeError(
                f"target_delta={delta} is below the guarantee's own delta={d0}; no epsilon holds there"
            )
        share = (Fraction(delta) - Fraction(d0)) / (1 - Fraction(d0)) if d0 < ONE else Fraction(0)
        if not share:
            return e0
        if not e0:
            return ZERO
        # log(e^e0 - share (1 + e^e0)), with e^e0 taken out; where that is negative, epsilon 0 is enough
        return min(e0, nonnegative_up(lambda: _log_positive(ball(e0), ball(share))))

    return at_target(
        target_epsilon, target_delta, epsilon_at, lambda epsilon: randomized_response_delta(e0, d0, epsilon)
    )


def _log_positive(e0: Ball, share: Ball) -> Ball:
    inside = 1 - share * (1 + (-e0).exp())
    return -ball(1) if inside <= 0 else e0 + inside.log()


def approx_to_probabilistic(
    guarantee: ApproxDP, *, target_epsilon: Number | None = None, target_delta: Number | None = None
) -> ProbabilisticDP:
    """(epsilon, delta)-DP bounds the loss itself at every larger epsilon' > epsilon.

    Guarantee: rounded up; delta' = delta (1 + e^-epsilon') / (1 - e^(epsilon - epsilon')), both tails together. Both
    extremes are approached by one pair of three atoms. With delta 0 the loss is bounded by epsilon everywhere.

    Args:
        target_epsilon: epsilon', above the guarantee's epsilon.
        target_delta: delta', above the guarantee's delta; the answer is the least epsilon'.

    Raises:
        InputError: not exactly one target.
        NoGuaranteeError: the target is not above the guarantee's; at the same epsilon nothing can be said.

    Reference: on S = {L > epsilon'}, delta >= P(S) - e^epsilon Q(S) >= P(S)(1 - e^(epsilon - epsilon')), and likewise
        below; replaces the false converse printed in Whitehouse, Ramdas, Rogers, Wu (2023), Lemma 2.
    """
    e0, d0 = guarantee.epsilon, guarantee.delta

    def delta_at(epsilon: Decimal) -> Decimal:
        if epsilon < e0 or (d0 and epsilon == e0):
            raise NoGuaranteeError(
                f"target_epsilon={epsilon} must be above the guarantee's epsilon={e0}; "
                "at the same epsilon no bound on the loss follows from (epsilon, delta)-DP"
            )
        if not d0:
            return ZERO
        return probability_up(
            lambda: at_most_one(ball(d0) * (1 + (-ball(epsilon)).exp()) / -(ball(e0) - ball(epsilon)).expm1())
        )

    def epsilon_at(delta: Decimal) -> Decimal:
        if not d0:
            return e0
        if delta <= d0:
            raise NoGuaranteeError(f"target_delta={delta} must be above the guarantee's delta={d0}")
        return up(
            enclose(
                lambda: ball(e0) + (ball(delta) + ball(d0) * (-ball(e0)).exp()).log() - (ball(delta) - ball(d0)).log()
            )
        )

    found = at_target(target_epsilon, target_delta, epsilon_at, delta_at)
    return ProbabilisticDP(found.epsilon, found.delta)


def approx_to_tail_probability(guarantee: ApproxDP, *, loss: Number) -> Decimal:
    """How likely the loss is above `loss` > epsilon, one tail, under the data set it belongs to.

    Guarantee: rounded up; P(L > loss) <= delta / (1 - e^(epsilon - loss)).

    Args:
        loss: above the guarantee's epsilon, at most 1e12.

    Raises:
        NoGuaranteeError: the loss is not above the guarantee's epsilon.

    Reference: the first half of the proof of `approx_to_probabilistic`.
    """
    level = read_target_epsilon(loss, "loss")
    if level <= guarantee.epsilon:
        raise NoGuaranteeError(f"loss={level} must be above the guarantee's epsilon={guarantee.epsilon}")
    if not guarantee.delta:
        return ZERO
    return probability_up(lambda: at_most_one(ball(guarantee.delta) / -(ball(guarantee.epsilon) - ball(level)).expm1()))


def probabilistic_to_approx(guarantee: ProbabilisticDP) -> ApproxDP:
    """(epsilon, delta)-pDP is (epsilon, delta)-DP.

    Guarantee: tight; the converse is false.

    Reference: Kasiviswanathan, Smith (2014), Lemma 3.3.
    """
    return ApproxDP(guarantee.epsilon, guarantee.delta)

"""Every (epsilon, delta)-DP pair of outputs is a post-processed randomized response, constructively.

This is why optimal composition theorems look at randomized responses only. For a finite pair the reduction is carried
out in exact ratios: split off what exceeds e^e1 and e^e2, and read two halves of a randomized response off the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import ZERO, Number, amount, show, to_decimal

Masses: TypeAlias = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Decomposition:
    """P = (1 - failing) good_p + failing bad_p and Q = (1 - failing) good_q + failing bad_q.

    `ratio_p` = e^e1 and `ratio_q` = e^e2 are the levels at which the hockey-stick divergences reach delta, exactly;
    between good_p and good_q every ratio is at most max(ratio_p, ratio_q).
    """

    ratio_p: Fraction
    ratio_q: Fraction
    failing: Fraction
    good_p: Masses
    bad_p: Masses
    good_q: Masses
    bad_q: Masses

    @property
    def epsilon_p(self) -> Decimal:
        """e1 = log(ratio_p), rounded up."""
        return _log_up(self.ratio_p)

    @property
    def epsilon_q(self) -> Decimal:
        """e2 = log(ratio_q), rounded up."""
        return _log_up(self.ratio_q)


@dataclass(frozen=True, slots=True)
class Kernel:
    """What to output for each answer of a randomized response: it turns R(1) into P and R(0) into Q, exactly.

    With g = `ratio` >= e^epsilon, R answers truthfully with probability (1 - delta) g/(1 + g), lies with probability
    (1 - delta)/(1 + g), and reveals its input with probability delta. Rows sum to 1.
    """

    ratio: Fraction
    delta: Fraction
    on_one: Masses
    on_zero: Masses
    on_reveal_one: Masses
    on_reveal_zero: Masses

    def image(self) -> tuple[Masses, Masses]:
        """The output laws on the two inputs: P and Q."""
        truthful, lie = self.ratio / (1 + self.ratio), 1 / (1 + self.ratio)
        good, bad = 1 - self.delta, self.delta
        p = tuple(
            good * (truthful * a + lie * b) + bad * c
            for a, b, c in zip(self.on_one, self.on_zero, self.on_reveal_one, strict=True)
        )
        q = tuple(
            good * (truthful * b + lie * a) + bad * c
            for a, b, c in zip(self.on_one, self.on_zero, self.on_reveal_zero, strict=True)
        )
        return p, q


def hockey_stick_divergence(p: Sequence[Number], q: Sequence[Number], ratio: Number | Fraction) -> Fraction:
    """The hockey-stick divergence of a finite pair at `ratio`.

    Guarantee: sum (P - ratio Q)+, exactly.

    Args:
        p: masses of the outputs on one input, as exact numbers that sum to exactly 1.
        q: masses of the same outputs on the other.
        ratio: e^epsilon, 0 or more.

    Reference: Steinke 2022, "Composition of Differential Privacy & Privacy Amplification by Subsampling", Prop. 7.
    """
    return _hockey_stick(*_read_pair(p, q), _read_ratio(ratio))


def decompose(p: Sequence[Number], q: Sequence[Number], delta: Number) -> Decomposition:
    """Split a finite pair into a part with bounded ratios and a part of mass at most delta.

    Guarantee: if both divergences at e^epsilon are at most delta, then max(ratio_p, ratio_q) <= e^epsilon and the parts
    recompose P and Q exactly. `failing` is delta, or the total variation distance where that is smaller (then the good
    parts are equal).

    Args:
        p, q: masses of the outputs on the two inputs, as exact numbers; each sums to exactly 1.
        delta: 0 or in [1e-300, 1).

    Raises:
        InputError: the masses are not two distributions on the same outputs.
        NoGuaranteeError: no epsilon reaches delta (an output of mass above delta occurs on one input only).

    Reference: Kairouz, Oh and Viswanath 2015; Steinke 2022, Lemma 23.
    """
    masses_p, masses_q = _read_pair(p, q)
    allowed = Fraction(amount(delta, "delta", round_up=False, zero=True, below_one=True))
    distance = _hockey_stick(masses_p, masses_q, Fraction(1))
    if distance <= allowed:
        ratio_p = ratio_q = Fraction(1)
        failing = distance
    else:
        ratio_p, ratio_q = _level(masses_p, masses_q, allowed), _level(masses_q, masses_p, allowed)
        failing = allowed
    good_p, bad_p = _split(masses_p, masses_q, ratio_p, failing)
    good_q, bad_q = _split(masses_q, masses_p, ratio_q, failing)
    return Decomposition(ratio_p, ratio_q, failing, good_p, bad_p, good_q, bad_q)


def reduce_to_randomized_response(p: Sequence[Number], q: Sequence[Number], epsilon: Number, delta: Number) -> Kernel:
    """The post-processing that turns (epsilon, delta)-randomized response into a finite pair.

    Guarantee: applied to the answer of a randomized response with g = e^epsilon (taken as a ratio, rounded up) and
    delta, the kernel gives exactly P on input 1 and exactly Q on input 0.

    Args:
        p, q: masses of the outputs on the two inputs, as exact numbers; each sums to exactly 1.
        epsilon: above 0, in nats, at most 100.
        delta: 0 or in [1e-300, 1).

    Raises:
        NoGuaranteeError: the pair is not (epsilon, delta)-indistinguishable.

    Reference: Kairouz, Oh and Viswanath 2015; Steinke 2022, Corollary 24.
    """
    level = amount(epsilon, "epsilon", largest=Decimal(100))
    ratio = Fraction(up(enclose(lambda: ball(level).exp())))
    allowed = Fraction(amount(delta, "delta", round_up=False, zero=True, below_one=True))
    parts = decompose(p, q, delta)
    if max(parts.ratio_p, parts.ratio_q) > ratio:
        raise NoGuaranteeError(
            f"the pair is not ({level}, {delta})-indistinguishable; at this delta it needs epsilon "
            f"{max(parts.epsilon_p, parts.epsilon_q):.12g}"
        )
    one = tuple((ratio * a - b) / (ratio - 1) for a, b in zip(parts.good_p, parts.good_q, strict=True))
    zero = tuple((ratio * b - a) / (ratio - 1) for a, b in zip(parts.good_p, parts.good_q, strict=True))
    share = parts.failing / allowed if allowed else Fraction(0)
    reveal_one = _mix(share, parts.bad_p, parts.good_p)
    reveal_zero = _mix(share, parts.bad_q, parts.good_q)
    return Kernel(ratio, allowed, one, zero, reveal_one, reveal_zero)


def _read_pair(p: Sequence[Number], q: Sequence[Number]) -> tuple[Masses, Masses]:
    pair = []
    for name, masses in (("p", p), ("q", q)):
        exact = tuple(
            Fraction(mass) if isinstance(mass, Fraction) else Fraction(to_decimal(mass, f"a mass of {name}"))
            for mass in masses
        )
        if any(mass < 0 for mass in exact) or sum(exact) != 1:
            raise InputError(f"{name} is not a distribution: its masses must be 0 or more and sum to exactly 1")
        pair.append(exact)
    if len(pair[0]) != len(pair[1]):
        raise InputError(f"p has {len(pair[0])} outputs and q has {len(pair[1])}; list the same outputs for both")
    return pair[0], pair[1]


def _read_ratio(value: Number | Fraction) -> Fraction:
    ratio = value if isinstance(value, Fraction) else Fraction(to_decimal(value, "ratio"))
    if ratio < 0:
        raise InputError(f"ratio={show(value)} is negative; it is e^epsilon")
    return ratio


def _hockey_stick(p: Masses, q: Masses, ratio: Fraction) -> Fraction:
    return sum((max(a - ratio * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


def _level(p: Masses, q: Masses, delta: Fraction) -> Fraction:
    """The least ratio >= 1 with divergence at most delta: the divergence is linear between the outputs' own ratios."""
    above_p, above_q, least = Fraction(0), Fraction(0), Fraction(1)
    for a, b in sorted(zip(p, q, strict=True), key=lambda pair: (pair[1] > 0, -pair[0] / (pair[1] or 1))):
        above_p, above_q = above_p + a, above_q + b
        if above_q:
            least = max(least, (above_p - delta) / above_q)
        elif above_p > delta:
            raise NoGuaranteeError(f"outputs of mass above delta={float(delta):.6g} occur on one input only")
    return least


def _split(p: Masses, q: Masses, ratio: Fraction, failing: Fraction) -> tuple[Masses, Masses]:
    good = tuple(min(a, ratio * b) / (1 - failing) for a, b in zip(p, q, strict=True))
    if not failing:
        return good, good
    return good, tuple(max(a - ratio * b, Fraction(0)) / failing for a, b in zip(p, q, strict=True))


def _mix(share: Fraction, first: Masses, second: Masses) -> Masses:
    return tuple(share * a + (1 - share) * b for a, b in zip(first, second, strict=True))


def _log_up(ratio: Fraction) -> Decimal:
    return up(enclose(lambda: ball(ratio).log())) if ratio > 1 else ZERO

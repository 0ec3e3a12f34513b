"""Time-uniform boundaries: how large a privacy loss may have become by a given intrinsic time.

The intrinsic time is V = 2 (rho_1 + ... + rho_n), the sum over the rounds run so far, where a pure epsilon-DP round has
rho = epsilon tanh(epsilon/2) and a Gaussian one mu^2/2. For pure zCDP rounds chosen with full adaptivity the process
exp(t (L - V/2) - t^2 V/2) is a supermartingale for every t > 0. Each function below is a curve u(V) that such a loss
crosses with probability at most `delta`, at any time whatever, and nothing else is assumed: no horizon, no plan.

They differ in where they are tight: a line at one V, a mixture over a wide range, stitched lines in the long run.
None may be minimised over its own parameter after the fact; `sqrt(2 log(1/delta) V) + V/2`, the envelope of all
lines, is crossed far more often than `delta` allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dosimeter.adaptive.roots import root_from_above
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import InputError
from dosimeter.exact import LARGEST, ONE, Number, amount, count

if TYPE_CHECKING:
    from dosimeter.adaptive.roots import ValueAndSlope
    from dosimeter.enclosure import Ball

STITCH_RATIO: Final = Decimal(2)  # eta: an epoch ends where V has doubled
STITCH_POWER: Final = Decimal("1.4")  # s: the k-th epoch gets a share of delta proportional to (k+1)^-s
STITCH_ZETA: Final = Decimal("3.105547277977580399782927215688923792403")  # zeta(s), rounded up
INVERSE_E: Final = Decimal("0.36787944117144232159552377016146")  # 1/e, rounded down


def read_probability(value: Number, name: str = "delta") -> Decimal:
    """A probability of failure in [1e-300, 1); a ratio rounds down, which is the safe side."""
    return amount(value, name, round_up=False, below_one=True)


def read_time(value: Number) -> Decimal:
    """An intrinsic time: 0 or in [1e-300, 1e13]."""
    return amount(value, "intrinsic_time", zero=True, largest=LARGEST * 10)


def log_one_over(delta: Decimal) -> Ball:
    """log(1/delta) at the current precision."""
    return -ball(delta).log()


def line(intrinsic_time: Number, delta: Number, target: Number) -> Decimal:
    """The straight line that touches advanced composition at V = target.

    Guarantee: for pure zCDP rounds, P(the loss ever exceeds line(V)) <= delta, whatever `target` was fixed.

    Args:
        intrinsic_time: V, 0 or more.
        delta: crossing probability, in (0, 1).
        target: y > 0, the V at which the line is as low as advanced composition, fixed before the interaction.

    Returns:
        sqrt(2 log(1/delta)) / 2 (sqrt(y) + V / sqrt(y)) + V/2, rounded up.

    Raises:
        InputError: a parameter is outside its range.

    Reference: Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 4 (filter odometer).
    """
    time, share, y = read_time(intrinsic_time), read_probability(delta), amount(target, "target")

    def value() -> Ball:
        root = ball(y).sqrt()
        return (2 * log_one_over(share)).sqrt() / 2 * (root + ball(time) / root) + ball(time) / 2

    return up(enclose(value))


def mixture(intrinsic_time: Number, delta: Number, gamma: Number) -> Decimal:
    """The exact boundary of the one-sided normal mixture: the tightest of the mixture forms.

    Guarantee: for pure zCDP rounds, P(the loss ever exceeds mixture(V)) <= delta, for every gamma fixed beforehand.

    Args:
        intrinsic_time: V, 0 or more.
        delta: crossing probability, in (0, 1).
        gamma: width of the mixture, > 0; see `odometers.tuning.gamma_one_sided`.

    Returns:
        x sqrt(V + gamma) + V/2, rounded up, with x the root of log 2 + log(gamma/(V+gamma))/2 + x^2/2 + log Phi(x)
        = log(1/delta). The root is certified from above.

    Raises:
        InputError: a parameter is outside its range.

    Reference: Whitehouse et al. 2023 (mixture odometer); Howard, Ramdas, McAuliffe, Sekhon 2021, one-sided normal
    mixture, solved exactly instead of bounded.
    """
    time, share, width = read_time(intrinsic_time), read_probability(delta), amount(gamma, "gamma")

    def prepare() -> tuple[ValueAndSlope, Ball]:
        wealth, level = mixture_wealth(ball(time), ball(width)), log_one_over(share)

        def gap(x: Ball) -> tuple[Ball, Ball]:
            value, slope = wealth(x)
            return value - level, slope

        closed = (2 * ((1 + _mixture_ratio(time, share, width)) / 2).log()).sqrt()  # certainly at or above the root
        return gap, closed

    x = root_from_above(prepare)
    return up(enclose(lambda: x * (ball(time) + ball(width)).sqrt() + ball(time) / 2))


def mixture_wealth(time: Ball, width: Ball) -> ValueAndSlope:
    """Log of the one-sided mixture supermartingale as a function of x, L - V/2 = x sqrt(V + gamma), with its slope."""
    import flint

    fixed = flint.arb(2).log() + (width / (time + width)).log() / 2
    root_two, root_two_pi = flint.arb(2).sqrt(), (2 * flint.arb.pi()).sqrt()

    def evaluate(x: Ball) -> tuple[Ball, Ball]:
        log_below = (-(x / root_two).erfc() / 2).log1p()
        density = (-x * x / 2 - log_below).exp() / root_two_pi
        return fixed + x * x / 2 + log_below, x + density

    return evaluate


def _mixture_ratio(time: Decimal, delta: Decimal, gamma: Decimal) -> Ball:
    return ((ball(time) + ball(gamma)) / ball(gamma)).sqrt() / ball(delta)


def _closed_mixture(intrinsic_time: Number, delta: Number, gamma: Number, inside: Callable[[Ball], Ball]) -> Decimal:
    time, share, width = read_time(intrinsic_time), read_probability(delta), amount(gamma, "gamma")

    def value() -> Ball:
        grown = ball(time) + ball(width)
        return (2 * grown * inside(_mixture_ratio(time, share, width)).log()).sqrt() + ball(time) / 2

    return up(enclose(value))


def mixture_closed(intrinsic_time: Number, delta: Number, gamma: Number) -> Decimal:
    """A closed upper bound of `mixture`: sqrt(2 (V+gamma) log((1+r)/2)) + V/2, r = sqrt((V+gamma)/gamma)/delta.

    Guarantee: as `mixture`; never below it, because 1 - Phi(x) <= exp(-x^2/2)/2.

    Args: as `mixture`. Returns: epsilon, rounded up. Raises: InputError.

    Reference: as `mixture`, sharpened closed form.
    """
    return _closed_mixture(intrinsic_time, delta, gamma, lambda r: (1 + r) / 2)


def mixture_howard(intrinsic_time: Number, delta: Number, gamma: Number) -> Decimal:
    """The closed form with log(1 + r/2), as published for the one-sided normal mixture.

    Guarantee: as `mixture`; never below `mixture_closed`.

    Args: as `mixture`. Returns: epsilon, rounded up. Raises: InputError.

    Reference: Howard, Ramdas, McAuliffe, Sekhon 2021, one-sided normal mixture.
    """
    return _closed_mixture(intrinsic_time, delta, gamma, lambda r: 1 + r / 2)


def mixture_two_sided(intrinsic_time: Number, delta: Number, gamma: Number) -> Decimal:
    """The two-sided normal mixture: sqrt(2 (V+gamma) log r) + V/2; the loosest form, for comparison.

    Guarantee: as `mixture`; never below `mixture_closed`, since r >= 1.

    Args: as `mixture`. Returns: epsilon, rounded up. Raises: InputError.

    Reference: Whitehouse et al. 2023; de la Pena, Klass, Lai 2004.
    """
    return _closed_mixture(intrinsic_time, delta, gamma, lambda r: r)


def stitched_rounded(intrinsic_time: Number, delta: Number, start: Number) -> Decimal:
    """Stitched lines in the published form with rounded constants.

    Guarantee: for pure zCDP rounds, P(the loss ever exceeds it) <= delta. Below `start` the value at `start` is used
    for the martingale part, which the first line proves.

    Args:
        intrinsic_time: V, 0 or more.
        delta: crossing probability, in (0, 1).
        start: v0 > 0, the smallest intrinsic time that matters, fixed before the interaction.

    Returns:
        1.7 sqrt(U (log log(2U/v0) + 0.72 log(5.2/delta))) + V/2 with U = max(V, v0), rounded up.

    Raises:
        InputError: a parameter is outside its range.

    Reference: Whitehouse et al. 2023 (stitched odometer); Howard et al. 2021, Theorem 1 with eta = 2, s = 1.4.
    """
    time, share, v0 = read_time(intrinsic_time), read_probability(delta), amount(start, "start")
    late = max(time, v0)

    def value() -> Ball:
        law = (2 * ball(late) / ball(v0)).log().log()
        level = law + ball(Decimal("0.72")) * (ball(Decimal("5.2")) / ball(share)).log()
        return ball(Decimal("1.7")) * (ball(late) * level).sqrt() + ball(time) / 2

    return up(enclose(value))


def stitched_general(
    intrinsic_time: Number,
    delta: Number,
    start: Number,
    ratio: Number = STITCH_RATIO,
    power: Number = STITCH_POWER,
) -> Decimal:
    """Stitched lines with unrounded constants, for any epoch ratio and any power of the shares.

    Guarantee: for pure zCDP rounds, P(the loss ever exceeds it) <= delta.

    Args:
        intrinsic_time: V, 0 or more.
        delta: crossing probability, in (0, 1).
        start: v0 > 0, the smallest intrinsic time that matters, fixed before the interaction.
        ratio: eta > 1, how much V grows in one epoch.
        power: s > 1, epoch k has the share delta / ((k+1)^s zeta(s)).

    Returns:
        sqrt(k1^2 U l) + V/2 with k1^2 = (sqrt(eta) + 2 + 1/sqrt(eta))/2 and
        l = s log log(eta U/v0) + log(zeta(s)/log(eta)^s) + log(1/delta), rounded up.

    Raises:
        InputError: a parameter is outside its range.

    Reference: Howard et al. 2021, Theorem 1 (c = 0).
    """
    time, share, v0 = read_time(intrinsic_time), read_probability(delta), amount(start, "start")
    eta, s = amount(ratio, "ratio", largest=Decimal("1e6")), amount(power, "power", largest=Decimal("1e3"))
    if eta <= ONE or s <= ONE:
        raise InputError(f"ratio={eta} and power={s} must both be above 1")
    late = max(time, v0)

    def value() -> Ball:
        root, exponent = ball(eta).sqrt(), ball(s)
        spread = (root + 2 + 1 / root) / 2
        law = exponent * (ball(eta) * ball(late) / ball(v0)).log().log()
        level = law + exponent.zeta().log() - exponent * ball(eta).log().log() + log_one_over(share)
        return (spread * ball(late) * level).sqrt() + ball(time) / 2

    return up(enclose(value))


def stitched_envelope(intrinsic_time: Number, delta: Number, start: Number) -> Decimal:
    """The lower envelope of the stitching lines: never above the other stitched forms, at no cost.

    Guarantee: for pure zCDP rounds, P(the loss ever exceeds it) <= delta: line k has probability
    delta / ((k+1)^1.4 zeta(1.4)) of being crossed, these add up to delta, so all lines hold at once.

    Args: as `stitched_rounded`. Returns: the lowest line at V, rounded up. Raises: InputError.

    Reference: Howard et al. 2021, proof of Theorem 1; the minimum is taken over lines, not over their epochs.
    """
    time, share, v0 = read_time(intrinsic_time), read_probability(delta), amount(start, "start")
    epochs = lowest_epochs(time, share, v0)
    return min(up(enclose(lambda k=epoch: _stitching_line(k, time, share, v0))) for epoch in epochs)  # type: ignore[misc]


def stitching_line(epoch: int, delta: Decimal, start: Decimal) -> tuple[Ball, Ball, Ball]:
    """Line k of the stitched boundary as (tilt t, level log(1/delta_k), log of its share delta_k/delta)."""
    power = ball(STITCH_POWER)
    log_share = -power * ball(epoch + 1).log() - ball(STITCH_ZETA).log()
    level = log_one_over(delta) - log_share
    tangent = ball(start) * ball(STITCH_RATIO) ** (ball(2 * epoch + 1) / 2)
    return (2 * level / tangent).sqrt(), level, log_share


def _stitching_line(epoch: int, time: Decimal, delta: Decimal, start: Decimal) -> Ball:
    tilt, level, _ = stitching_line(epoch, delta, start)
    return level / tilt + tilt * ball(time) / 2 + ball(time) / 2


def lowest_epochs(time: Decimal, delta: Decimal, start: Decimal, keep: int = 3) -> list[int]:
    """The epochs whose lines are lowest at V, found in floating point; any choice gives a valid bound."""
    level, power = -_log(delta), float(STITCH_POWER)
    zeta = math.log(STITCH_ZETA)
    position = max(0.0, (_log(time) - _log(start)) / math.log(2)) if time else 0.0
    ranked = []
    for epoch in range(int(position) + 40):
        own = level + power * math.log(epoch + 1) + zeta
        away = (position - epoch - 0.5) * math.log(2) / 2 if time >= start else None
        if away is None:
            scale = float(time / start) / 2 ** (epoch + 0.5) if time else 0.0
            height = math.sqrt(own * 2 ** (epoch + 0.5)) * (1 + scale)
        else:
            height = math.sqrt(own) * 2 * math.cosh(min(700.0, abs(away)))
        ranked.append((height, epoch))
    return sorted(epoch for _, epoch in sorted(ranked)[:keep])


def _log(value: Decimal) -> float:
    return float(value.ln())


def rogers(intrinsic_time: Number, drift: Number, delta: Number, data_size: int) -> Decimal:
    """The first published odometer, for comparison: it needs the number of records to be public.

    Guarantee: for pure epsilon_m-DP rounds with V = sum epsilon_m^2 and drift = sum epsilon_m (e^epsilon_m - 1)/2,
    P(the loss ever exceeds it) <= delta.

    Args:
        intrinsic_time: V = sum epsilon_m^2 (not the tanh form).
        drift: sum epsilon_m (e^epsilon_m - 1)/2.
        delta: crossing probability, in (0, 1/e].
        data_size: the public number of records, at least 2.

    Returns:
        epsilon, rounded up.

    Raises:
        InputError: a parameter is outside its range.

    Reference: Rogers, Roth, Ullman, Vadhan 2016, as restated by Whitehouse et al. 2023, Lemma 3; the constants are
    re-proved by stitching (first branch) and by the mixture (second branch).
    """
    time, moved = read_time(intrinsic_time), amount(drift, "drift", zero=True)
    share = read_probability(delta)
    if share > INVERSE_E:
        raise InputError(f"delta={delta} is above 1/e, where this odometer is not proven; give a smaller one")
    size = Decimal(count(data_size, "data_size", smallest=2, largest=10**15))
    between = Fraction(time) * Fraction(size) ** 2 >= 1 and time <= 1

    def value() -> Ball:
        import flint

        level = (2 * ball(size).log() / flint.arb(2).log() / ball(share)).log()
        if between:
            part = ball(time) * (1 + flint.arb(3).log() / 2)
        else:
            part = (1 / ball(size) ** 2 + ball(time)) * (1 + (1 + ball(size) ** 2 * ball(time)).log() / 2)
        return ball(moved) + (2 * part * level).sqrt()

    return up(enclose(value))

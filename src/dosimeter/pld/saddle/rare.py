"""One rare run decides: ends for an epsilon where a sampled Gaussian is composed so that no line sees its tail.

With a tiny sampling rate most runs lose next to nothing, and one outcome far out loses more than all others together;
no single tilt suits both. Three facts need no such tilt. Write delta' and eps' for everything but the runs of one law.

*From below.* Let A say that the output of some of n runs is beyond a threshold t: P(A) = 1 - (1 - p)^n with
p = (1 - q) r + q P(N(mu, 1) > t), and Q(A) alike with r = P(N(0, 1) > t). Looking at A and the others only is
post-processing, so delta(eps) >= sup_S P(A) P'(S) - e^eps Q(A) Q'(S) = P(A) delta'(eps - log(P(A) / Q(A))), that is

    eps >= log(P(A) / Q(A)) + eps'(delta / P(A)),  where always eps'(x) >= log(1 - x).

*From above, few runs.* If one run is (u, d)-DP then n of them are (n u, n d)-DP: eps <= n u + eps'(delta - n d).

*From above, many runs.* Keep of every run the losses in a window that misses P-mass k, K in all runs together. With K*
the measure of all that is kept, and (1 - ab)_+ <= (1 - a)_+ + (1 - b)_+ for what exactly one run adds outside,

    delta(eps) <= delta_K*(eps) + K delta_K*(eps - u) + sum of n_i delta_i(u) + K^2 / 2:

nothing outside, one outside (its own loss above u, or all others above eps - u), and two or more. delta_K* is bounded
by Chernoff (for the second term without one run), delta_i is the closed form of one run.

Reference: basic composition; Chernoff's bound as in `inversion`; the window as in `quadrature`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

from dosimeter.enclosure import ball, down, enclose, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.exact import (
    ONE,
    SMALLEST,
    ZERO,
    Bound,
    divide_down,
    divide_up,
    multiply_down,
    multiply_up,
    subtract_down,
)
from dosimeter.pld.laws.gaussian import GaussianLaw
from dosimeter.pld.laws.law import Direction, Law
from dosimeter.pld.laws.sampled import FixedSizeSampledLaw, PoissonSampledLaw
from dosimeter.pld.saddle.closed import Closed, one_run
from dosimeter.pld.saddle.gaussian import log_tail
from dosimeter.pld.saddle.inversion import chernoff, prepare
from dosimeter.pld.saddle.line import on_line
from dosimeter.pld.saddle.plan import Mix, for_moment
from dosimeter.pld.saddle.target import Target, log_float, target
from dosimeter.pld.saddle.total import compose

if TYPE_CHECKING:
    Ball: TypeAlias = Any  # flint.arb, which ships no types

Sampled: TypeAlias = PoissonSampledLaw | FixedSizeSampledLaw

_RATIOS = (1.05, 1.3, 2.0, 4.0, 10.0, 100.0)  # of P(A) to delta
_SHARES = (Decimal("0.9"), Decimal("0.5"), Decimal("0.1"), Decimal("0.001"))  # of delta, for n d
_LITTLE = 0.035  # of delta, for either Chernoff bound of what is kept
_NOTHING = Bound(ZERO, ZERO)
_STRONGEST = 400  # mu^2
_LEAST_LOG = math.log(1e-300)


class Rest(Protocol):
    """What is composed besides one law."""

    @property
    def atom(self) -> Bound:
        """The infinite atom."""
        ...

    def epsilon(self, delta: Bound) -> tuple[float, float]:
        """Floats around the least epsilon >= 0 with this delta."""
        ...


def is_rare(law: Law, direction: Direction) -> TypeGuard[Sampled]:
    """Whether a law is a sampled Gaussian of moderate strength whose losses have no largest one."""
    if not isinstance(law, PoissonSampledLaw | FixedSizeSampledLaw) or law.rate == 1:
        return False
    poisson = isinstance(law, PoissonSampledLaw)
    if not isinstance(law.base, GaussianLaw) or law.base.delta or law.base.mu_squared > _STRONGEST:
        return False
    return direction is Direction.REMOVE or not poisson


def loudest(counts: Mapping[Law, int], direction: Direction, delta: Bound) -> Sampled | None:
    """The sampled Gaussian of which one run alone needs the largest epsilon; None if there is no sampled Gaussian."""

    def epsilon(law: Sampled) -> float:
        goal = log_float(delta.lower, upward=False) - math.log(counts[law])
        form = one_run(law, direction, Bound(ONE, ONE))
        return form.epsilon(Target(goal, goal))[0] if form is not None and goal > _LEAST_LOG else math.inf

    rare = [law for law in counts if is_rare(law, direction)]
    return rare[0] if len(rare) == 1 else max(rare, key=epsilon, default=None)


def far_event(law: Sampled, count: int, threshold: float) -> tuple[Decimal, Decimal, float]:
    """That some run's output is beyond a threshold: bounds of P(A), and log(P(A) / Q(A)) from below."""
    t, rate, square = Decimal(threshold), law.rate, Fraction(law.base.gaussian or 0)

    def one(shift: bool) -> Ball:
        import flint

        root = flint.arb(2).sqrt()
        own = (ball(t) / root).erfc() / 2
        return own + ball(rate) * (((ball(t) - ball(square).sqrt()) / root).erfc() / 2 - own) if shift else own

    def some(shift: bool) -> Ball:
        return -(ball(count) * (-one(shift)).log1p()).expm1()

    mass = enclose(lambda: some(True))
    gain = enclose(lambda: (some(True) / some(False)).log())
    return down(mass), min(up(mass), ONE), math.nextafter(float(down(gain)), -math.inf)


def by_one_run(law: Sampled, count: int, direction: Direction, delta: Bound, other: Rest) -> tuple[float, float]:
    """Certified ends of epsilon from the tail of one sampled Gaussian next to everything else."""
    low, high = 0.0, math.inf
    form = one_run(law, direction, Bound(ONE, ONE))
    for threshold in _thresholds(law, count, log_float(delta.upper, upward=True), form):
        found = far_event(law, count, threshold)
        if found[0] <= delta.upper:
            continue
        share = Bound(divide_down(delta.lower, found[1]), divide_up(delta.upper, found[0]))
        least = math.log1p(-float(share.upper) * (1 + 1e-15)) * (1 + 1e-15)
        beside = other.epsilon(share)[0] if share.upper > other.atom.upper else 0.0
        least = beside if beside > 0 else least  # a zero may stand for anything below it
        low = max(low, (found[2] + least) * (1 - 1e-15))
    for part in _SHARES if form is not None else ():
        mine = divide_down(multiply_down(delta.lower, part), count)
        rest = subtract_down(delta.lower, multiply_up(delta.lower, part))
        if form is not None and mine > SMALLEST and rest > other.atom.upper:
            one = form.epsilon(target(Bound(mine, mine), _NOTHING))[1]
            high = min(high, (count * one + other.epsilon(Bound(rest, rest))[1]) * (1 + 1e-15))
    return low, high


def by_one_jump(mix: Mix, variance: Fraction, atom: Bound, delta: Bound) -> float:
    """A certified upper end of epsilon when sampled Gaussians rarely lose much; infinite where it says nothing."""
    runs = sum(mix.counts.values())
    rare = {law: count for law, count in mix.counts.items() if is_rare(law, mix.direction)}
    if not rare or atom.upper:
        return math.inf
    goal = log_float(delta.lower, upward=False)
    lost = 0.2 * math.exp(goal / 2)  # K: half its square is a fiftieth of delta
    window = lost / runs
    rest = goal + math.log(_LITTLE)
    try:
        line = for_moment(mix, rest, window)
        total = compose(line, mix.direction, mix.counts)
        if any(on_line(law, mix.direction, line).cut for law in mix.counts if law not in rare):
            return math.inf
        inside = chernoff(prepare(total, variance), line.order, rest)
        line = for_moment(mix, rest - math.log(lost), window)
        total = compose(line, mix.direction, mix.counts)
        ones = [on_line(law, mix.direction, line).values for law in rare]
        least = min(0.0, *(one.log_moment - one.log_error for one in ones)) - 1e-9
        beside = chernoff(prepare(total, variance), line.order, rest - math.log(lost) + least)
    except NoGuaranteeError:
        return math.inf
    return max(inside, beside + _alone(rare, mix.direction, delta)) * (1 + 1e-15)


def _alone(rare: Mapping[Sampled, int], direction: Direction, delta: Bound) -> float:
    """A loss u that single runs exceed with sum of n_i delta_i(u) at most nine tenths of delta."""
    share = divide_down(multiply_down(delta.lower, Decimal("0.9")), sum(rare.values()))
    if share < SMALLEST:
        return math.inf
    ends = [one_run(law, direction, Bound(ONE, ONE)) for law in rare]
    return max(math.inf if form is None else form.epsilon(target(Bound(share, share), _NOTHING))[1] for form in ends)


def _thresholds(law: Sampled, count: int, log_delta: float, form: Closed | None) -> list[float]:
    """Thresholds worth a try: where P(A) is some multiple of delta, and where one run alone would put it."""
    found = [
        _threshold(law, log_delta + math.log(ratio) - math.log(count))
        for ratio in _RATIOS
        if ratio < math.exp(-log_delta) / 2
    ]
    goal = log_delta - math.log(count)
    if form is not None and goal > _LEAST_LOG:
        epsilon = form.epsilon(Target(goal, goal))[0]
        mu = math.sqrt(law.base.gaussian or 1)
        base = math.log1p(math.expm1(min(epsilon, 700.0)) / float(law.rate))
        found.append(base / mu + mu / 2)
    return [threshold for threshold in found if threshold is not None]


def _threshold(law: Sampled, log_mass: float) -> float | None:
    """A threshold beyond which one run's P-mass is about e^log_mass, right of where both densities are equal."""
    mu, log_rate = math.sqrt(law.base.gaussian or 0), math.log(law.rate)
    low, high = mu / 2, mu + 60.0

    def log_p(t: float) -> float:
        first, second = log_tail(t), log_rate + log_tail(t - mu)
        return max(first, second) + math.log1p(math.exp(-abs(first - second)))

    if not log_p(high) < log_mass < log_p(low):
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if log_p(middle) > log_mass else (low, middle)
    return low

"""The admission rule by another route: direct integrals in mpmath, sharing no code with the filters.

H(s) of a mechanism together with N(sqrt r, 1) is an average over the mechanism's own outputs of the Gaussian profile at
s minus the output's loss; here the average is a sum over outputs or an integral over densities, not a closed form.
"""

from collections.abc import Callable, Iterable
from typing import Any

import mpmath as mp

Outputs = Iterable[tuple[Any, Any]]  # probability under P, loss


def number(value: Any) -> Any:
    """An mpmath number from a Decimal, a text or a float."""
    return mp.mpf(str(value))


def gaussian(b: Any, s: Any) -> Any:
    """The profile of N(sqrt b, 1) against N(0, 1) at any real s."""
    if b == 0:
        return max(mp.mpf(0), 1 - mp.exp(s))
    mu = mp.sqrt(b)
    return mp.ncdf(mu / 2 - s / mu) - mp.exp(s) * mp.ncdf(-mu / 2 - s / mu)


def response(epsilon: Any) -> Outputs:
    """Randomized response: two outputs."""
    e = number(epsilon)
    p = 1 / (1 + mp.exp(-e))
    return [(p, e), (1 - p, -e)]


def discrete_laplace(scale: Any, shift: int) -> Outputs:
    """Discrete Laplace noise moved by `shift`: outputs below, in between (one by one) and above."""
    a = mp.exp(-1 / number(scale))
    norm = (1 - a) / (1 + a)
    between = [(norm * a ** (shift - x), mp.mpf(2 * x - shift) / number(scale)) for x in range(1, shift)]
    below, above = norm * a**shift / (1 - a), norm / (1 - a)
    return [(below, -shift / number(scale)), *between, (above, shift / number(scale))]


def poisson(q: Any, base: Outputs, *, remove: bool) -> Outputs:
    """A sampled pair from the outputs of a symmetric base."""
    q = number(q)
    pairs = [(p, p * mp.exp(-loss)) for p, loss in base]  # under P1 and under P0
    mixed = [((1 - q) * p0 + q * p1, p0) for p1, p0 in pairs]
    ordered = mixed if remove else [(p0, m) for m, p0 in mixed]
    return [(p, mp.log(p / other)) for p, other in ordered]


def together(outputs: Outputs, rest: Any) -> Callable[[Any], Any]:
    """The profile of a mechanism with finitely many outputs together with N(sqrt rest, 1)."""
    listed = list(outputs)
    return lambda s: mp.fsum(p * gaussian(rest, s - loss) for p, loss in listed)


def laplace_together(epsilon: Any, rest: Any) -> Callable[[Any], Any]:
    """The same for Laplace noise of scale 1/epsilon: its outputs are integrated over."""
    e = number(epsilon)

    def profile(s: Any) -> Any:
        # noise x + 1 under P against x under Q, both with density (e/2) exp(-e |x|)
        inside = mp.quad(
            lambda x: e / 2 * mp.exp(-e * (1 - x)) * gaussian(rest, s - e * (2 * x - 1)), [0, 0.5, 1], maxdegree=5
        )
        return inside + gaussian(rest, s - e) / 2 + mp.exp(-e) / 2 * gaussian(rest, s + e)

    return profile


def excess(profile: Callable[[Any], Any], b: Any, points: Iterable[Any]) -> Any:
    """By how much a profile exceeds that of N(sqrt b, 1) at most, at the given points; negative when it fits."""
    return max(profile(s) - gaussian(b, s) for s in points)


def around(b: Any, reach: int = 8, many: int = 33) -> list[Any]:
    """Points of both signs, as far out as the Gaussian pair of b has any mass worth naming, closer near zero."""
    width = reach * mp.sqrt(b) + b
    steps = [mp.mpf(k) / (many // 2) for k in range(-(many // 2), many // 2 + 1)]
    return [width * step * abs(step) for step in steps]

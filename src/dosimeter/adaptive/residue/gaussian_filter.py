"""The residue filter of the Gaussian family: the budget is one Gaussian pair, and whole profiles are paid from it."""

from __future__ import annotations

import decimal
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

from dosimeter.adaptive.filters.intrinsic import ClockedState
from dosimeter.adaptive.filters.sums import left
from dosimeter.adaptive.residue.clock import rho_of
from dosimeter.adaptive.residue.prices import RULE, gaussian_price, gaussian_proves, quantised
from dosimeter.adaptive.residue.profile_filter import QUERIES, ProfileFilter, read_queries, read_rule, read_slack
from dosimeter.enclosure import ball, down, enclose
from dosimeter.exact import ONE, ZERO, Number, add_up, amount, multiply_down, sqrt_down, sqrt_up, subtract_down
from dosimeter.notions import ApproxDP
from dosimeter.notions.profiles import gaussian_delta, gaussian_mu
from dosimeter.notions.residue import ResiduePrice, from_quanta, quanta_down, quanta_up

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Law

    Ball: TypeAlias = Any

_TWELVE_DOWN = decimal.Context(prec=12, rounding=decimal.ROUND_FLOOR)


@final
@dataclass(frozen=True, slots=True)
class ResidueState(ClockedState):
    """What the admitted queries took: of the Gaussian budget, of the slack, and their zCDP (for odometers)."""

    mu_squared: Decimal = ZERO
    delta: Decimal = ZERO
    rho: Decimal = ZERO


@final
@dataclass(frozen=True, slots=True)
class ResidueFilter(ProfileFilter[ResidueState]):
    """Admits a query while its charge fits: so much of the Gaussian budget that its whole profile is paid for.

    The budget is B, the largest square of a mu with h_mu(epsilon) + slack <= delta; h_mu is the profile of N(mu, 1)
    against N(0, 1). At b left, a query with dominating pair M may be charged c with slack eta when, in both directions
    and for all real s, H(s; M x N(sqrt(b - c))) <= h_b(s) + eta. Gaussian noise is charged exactly mu^2, without slack;
    a pure query about epsilon^2; everything with a dominating pair has a price.

    Guarantee:
        The whole interaction has delta <= h_B(e) + slack at every real e at once, under full adaptivity; so it is
        (epsilon, delta)-DP.

    Args:
        epsilon: in nats, in [1e-300, 1e12]; a ratio is rounded down.
        delta: in [1e-300, 1).
        slack: the part of delta kept for failures that queries declare and for tails that are cut off, 0 or below
            delta; a hundredth of delta if not given.
        queries: how many queries that need slack are planned; each may take so small a part of it.
        rule: the version of the rules that price queries.

    Reference:
        Regehr, Hu, Leeman, Manurangsi, Tholoniat, Lecuyer 2026, "Privacy Filters are Captured by Residues". Proof by
        backward induction: with b and a of the slack left, what follows satisfies H(s) <= h_b(s) + a. After one query
        with output law K it is at most E_K[h_(b-c)(s - L)] + a - eta, which is at most that of M in place of K (M
        dominates, and H is an average over the other coordinate), hence at most h_b(s) + a by the rule.
    """

    epsilon: Decimal
    delta: Decimal
    slack: Decimal = None  # type: ignore[assignment]  # filled in at once
    queries: Decimal = QUERIES
    rule: Decimal = RULE
    capacity: Decimal = field(init=False, compare=False)
    kind: ClassVar[str] = "residue"
    state_type: ClassVar[type[ResidueState]] = ResidueState

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon, "epsilon", round_up=False))
        object.__setattr__(self, "delta", amount(self.delta, "delta", round_up=False, below_one=True))
        object.__setattr__(self, "slack", read_slack(self.slack, self.delta))
        object.__setattr__(self, "queries", read_queries(self.queries))
        object.__setattr__(self, "rule", read_rule(self.rule))
        object.__setattr__(self, "capacity", largest_gaussian(self.epsilon, self.delta, self.slack))

    def price(self, law: Law, share: Decimal, count: int = 1) -> ResiduePrice:
        """What runs of a law cost, each at what is left then."""
        return gaussian_price(law, share, self.capacity).repeat(count)

    def proves(self, law: Law, count: int, stored: ResiduePrice) -> bool:
        """Whether every row of a stored list for `count` runs of a law satisfies the rule with the slack it takes."""
        if stored.counts != (Decimal(count),) or stored.rhos[0] < quantised(rho_of(law)):
            return False
        offers = stored.offers_of(0)
        return all(at == 0 and gaussian_proves(law, rows, stored.deltas[0]) for at, rows in offers)

    def start(self) -> ResidueState:
        """Nothing spent."""
        return ResidueState()

    def caps(self) -> dict[str, Decimal]:
        """The caps on the Gaussian budget and on the slack."""
        return {"mu_squared": self.capacity, "delta": self.slack}

    def sums(self, state: ResidueState) -> dict[str, Decimal]:
        """What was taken of each."""
        return {"mu_squared": state.mu_squared, "delta": state.delta}

    def rest(self, state: ResidueState) -> list[int]:
        """What is left of each component, in quanta."""
        return [quanta_down(self.capacity) - quanta_up(state.mu_squared)]

    def named(self, paid: list[int]) -> dict[str, Decimal]:
        """Charges by the names of the caps."""
        return {"mu_squared": from_quanta(paid[0])}

    def built(self, totals: dict[str, Decimal], rho: Decimal) -> ResidueState:
        """The state with these totals."""
        return ResidueState(totals["mu_squared"], totals["delta"], rho)

    def equivalents(self, state: ResidueState) -> dict[str, Decimal]:
        """One last query that fits: Gaussian noise of the largest mu, a pure query of the largest epsilon."""
        rest = left(self.sums(state), self.caps())["mu_squared"]
        return {"largest_mu": sqrt_down(rest), "largest_epsilon": largest_pure_query(rest)}

    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-DP for the whole interaction; `delta_at` knows every other epsilon."""
        return ApproxDP(self.epsilon, self.delta)

    def delta_at(self, epsilon: Number) -> Decimal:
        """The delta of the whole interaction at any epsilon, rounded up; true for all of them at once."""
        return min(ONE, add_up(gaussian_delta(sqrt_up(self.capacity), epsilon), self.slack))


def largest_gaussian(epsilon: Decimal, delta: Decimal, slack: Decimal) -> Decimal:
    """The largest square of a mu whose delta at epsilon, with the slack added, is at most delta; rounded down."""
    mu = gaussian_mu(epsilon, subtract_down(delta, slack))
    return from_quanta(quanta_down(multiply_down(mu, mu)))


def largest_pure_query(rest: Decimal) -> Decimal:
    """The largest epsilon of a pure query that takes at most `rest`, rounded down to 12 digits.

    Randomized response takes at most 8 erfinv(tanh(epsilon/2))^2, which is solved for epsilon.
    """

    def epsilon() -> Ball:
        root = (ball(rest) / 8).sqrt()
        return 2 * root.erf().atanh() if rest < 1 else (2 / root.erfc() - 1).log()

    if rest < Decimal("1e-30"):
        return ZERO
    return _TWELVE_DOWN.multiply(down(enclose(epsilon)), Decimal("0.99999999999"))

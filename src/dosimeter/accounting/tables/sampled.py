"""Events on a secret sample, in every notion. Each row is a theorem about one scheme; the least of several is taken.

In pure and approximate DP the amplification theorems speak. In Renyi DP the sampled pair's own divergence is used where
a pair is known, else sums over the base's divergences. In zCDP and GDP sampling helps only through a pure epsilon:
one rho, or one mu, for every level cannot show a gain that fades in the tail, so there the base's own loss is charged,
which is sound: a sampled pair is a mixture of the base's pairs and of pairs of equal laws, and hockey-stick
divergences and e^((a-1) D_a) are jointly convex.

Failures thin out as well. If the base's laws are (1-d) G1 + d B1 and (1-d) G0 + d B0, the sampled ones share the weight
q d on (B1, B0), and what is left is a mixture, with weight (1-d)/(1-qd), of the sampled good pair and of equal laws:
a failure of probability q d, and a good part no worse than the sampled good pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, Final, TypeAlias

from dosimeter.accounting.amplification import amplified_epsilon, thinned
from dosimeter.accounting.bases import Base, base_of, chance_of, flat
from dosimeter.accounting.groups import LARGEST_GROUP, for_group
from dosimeter.accounting.renyi_bounds import (
    between,
    convex_bound,
    fixed_size_renyi,
    fixed_size_renyi_of_pair,
    norm_bound,
    poisson_renyi,
    poisson_renyi_remove,
    response_excess,
)
from dosimeter.accounting.renyi_sampling import gaussian_divergence, gaussian_excess
from dosimeter.accounting.tables.allocated import with_hidden_steps
from dosimeter.accounting.tables.terms import Table, Terms, cannot
from dosimeter.enclosure import ball, enclose, up
from dosimeter.errors import NoGuaranteeError
from dosimeter.events import Event, FixedSizeSampled, PoissonSampled, RandomAllocation, WithReplacementSampled
from dosimeter.events.opening import open_event
from dosimeter.exact import SMALLEST, ZERO, add_up, fraction_up, text
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, Loss, PureDP
from dosimeter.notions.convert import approx_to_gdp, approx_to_zcdp, pure_to_rdp

MOST_WHOLE_ORDERS: Final = 256  # beyond, the bound by Minkowski's inequality is as good
Sampled: TypeAlias = PoissonSampled | FixedSizeSampled
Lookup: TypeAlias = Callable[[], Table]
_DRAWN: Final = "a record may be drawn several times, and in pure DP only a base with a pure epsilon covers groups"
_RARELY: Final = Decimal("1e-15")


def rows(notion: str, table: Lookup) -> Table:
    """The four rows of a notion; `table` gives the notion's whole table, for the inner event."""
    whole = _WHOLE[notion]

    def sampled(event: Any, terms: Terms) -> Loss:
        return whole(flat(event), terms, table())

    def allocated(event: Any, terms: Terms) -> Loss:
        """As if everyone knew the steps of a record: given those, the release is `selected` runs of the base.

        In Renyi DP less, where the pair of the hidden steps is known.
        """
        known = inner(event.event, table(), terms).repeat(event.selected)
        return with_hidden_steps(event, known) if notion == "rdp" else known

    def drawn(event: Any, terms: Terms) -> Loss:
        base = base_of(event)
        if base.pure is not None and not base.failure:
            return _through_pure(notion, ApproxDP(base.pure), terms)
        if notion == "pure":
            cannot(event, notion, _DRAWN, "sample without replacement, or use an account in zcdp, rdp or approx")
        return _drawn(notion, event, terms, table())

    return {
        PoissonSampled: sampled,
        FixedSizeSampled: sampled,
        RandomAllocation: allocated,
        WithReplacementSampled: drawn,
    }


def inner(event: Event, table: Table, terms: Terms) -> Any:
    """The loss of everything inside a sample, composed."""
    losses: list[Any] = [table[type(leaf)](leaf, terms).repeat(n) for leaf, n in open_event(event).items()]  # type: ignore[union-attr]
    return reduce(lambda a, b: a.compose(b), losses)


def stated(event: Any) -> ApproxDP | None:
    """The (epsilon, delta) of a sampled event without any conversion, if its base has one."""
    return base_of(event).stated


def _pure(event: Sampled, terms: Terms, table: Table) -> PureDP:
    """log(1 + q (e^epsilon - 1)). Balle, Barthe, Gaboardi 2018, Theorems 8 and 9."""
    base: PureDP = inner(event.event, table, terms)
    return PureDP(amplified_epsilon(sampling_probability=chance_of(event), epsilon=base.epsilon))


def _zcdp(event: Sampled, terms: Terms, table: Table) -> ZCDP:
    base: ZCDP = inner(event.event, table, terms)
    best = ZCDP(base.rho, thinned(base.delta, chance_of(event)))
    amplified = stated(event)
    return best if amplified is None else min(best, _as_zcdp(amplified, best.delta), key=lambda loss: loss.rho)


def _gdp(event: Sampled, terms: Terms, table: Table) -> GDP:
    base: GDP = inner(event.event, table, terms)
    best = GDP(base.mu, thinned(base.delta, chance_of(event)))
    amplified = stated(event)
    return best if amplified is None else min(best, _as_gdp(amplified, best.delta), key=lambda loss: loss.mu)


def _rdp(event: Sampled, terms: Terms, table: Table) -> RDP:
    """The Renyi curve of one sampled release: at every order the least of all bounds that apply."""
    base, q, orders = base_of(event.event), chance_of(event), terms.orders
    if base.gaussian is not None and isinstance(event, PoissonSampled):  # exact: nothing else can be smaller
        epsilons = tuple(gaussian_divergence(q, base.gaussian, order) for order in orders)
        return RDP(orders, epsilons, thinned(base.failure, q))
    known = _Known(event.event, table, orders)
    bounds = _poisson_bounds if isinstance(event, PoissonSampled) else _batch_bounds
    epsilons = tuple(min(bounds(q, base, known, order)) for order in orders)
    failure = max((known.failure(order) for order in orders), default=ZERO)
    return RDP(orders, epsilons, thinned(failure, q))


def _drawn(notion: str, event: WithReplacementSampled, terms: Terms, table: Table) -> Loss:
    """Draws with replacement on a base that is not pure: at most `most` hits, but for a rare failure.

    The number of hits J does not depend on the data. Given J <= most, the release is a mixture over J of batches that
    hold the record with probability q, on a base for J records; e^((a-1) D_a) averages, a rho or a mu is the largest.
    """
    from dosimeter.pld.laws.drawn import hit_chances

    if event.population == 1:
        return inner(for_group(event.event, size=_few(event, event.draws)), table, terms)  # type: ignore[no-any-return]
    reached = [Decimal(text(fraction_up(chance))) for chance in hit_chances(event.draws, event.population)]
    beyond = [*reached[1:], *([ZERO] if len(reached) == event.draws else [])]  # P(J > j), j = 1, 2, ...
    most = next((j for j, chance in enumerate(beyond, 1) if chance <= _RARELY), 0)
    if not most:
        cannot(event, notion, "a record is drawn too often", "sample without replacement, or draw less often")
    failure = beyond[most - 1]
    if notion != "rdp":
        whole = inner(for_group(event.event, size=most), table, terms)
        return replace(whole, delta=add_up(whole.delta, failure))  # type: ignore[no-any-return]
    return _drawn_curve(event, reached, most, failure, terms, table)


def _drawn_curve(
    event: WithReplacementSampled,
    reached: list[Decimal],
    most: int,
    failure: Decimal,
    terms: Terms,
    table: Table,
) -> RDP:
    share = Fraction(reached[0])
    groups = [for_group(event.event, size=j) for j in range(1, most + 1)]
    bases = [(base_of(group), _Known(group, table, terms.orders)) for group in groups]
    tails = [Fraction(chance) for chance in reached[:most]]
    weights = [(a - b) / share for a, b in zip(tails, [*tails[1:], Fraction(0)], strict=True)]
    curve = []
    for order in terms.orders:
        each = [min(_batch_bounds(share, base, known, order)) for base, known in bases]
        curve.append(_average(order, weights, each))
    lost = max((known.failure(order) for _, known in bases for order in terms.orders), default=ZERO)
    return RDP(terms.orders, tuple(curve), add_up(failure, thinned(lost, share)))


def _average(order: Decimal, weights: list[Fraction], divergences: list[Decimal]) -> Decimal:
    """log(sum_j w_j e^((a-1) D_j)) / (a-1), rounded up."""

    def value() -> Any:
        less = ball(order) - 1
        excess = sum((ball(w) * (less * ball(d)).expm1() for w, d in zip(weights, divergences, strict=True)), ball(0))
        return excess.log1p() / less

    return max(SMALLEST, up(enclose(value)))


def _few(event: WithReplacementSampled, count: int) -> int:
    if count > LARGEST_GROUP:
        raise NoGuaranteeError(f"{event.kind}: {count} draws of one record have no group form; use fewer draws")
    return count


class _Known:
    """The base's own divergences, each priced once."""

    def __init__(self, event: Event, table: Table, orders: tuple[Decimal, ...]) -> None:
        self._event, self._table = event, table
        self._most = max((n for n in map(_next_whole, orders) if n <= MOST_WHOLE_ORDERS), default=2)
        self._losses: dict[Decimal, RDP] = {}
        self._whole: tuple[Decimal, ...] = ()

    def __call__(self, order: Decimal) -> Decimal:
        return self._at(order).epsilons[0]

    def failure(self, order: Decimal) -> Decimal:
        """The probability of failure, the same at every order."""
        return self._at(order).delta

    def up_to(self, order: int) -> tuple[Decimal, ...] | None:
        """D_2 .. D_order, if they are all known and not too many."""
        if order > MOST_WHOLE_ORDERS:
            return None
        if order - 1 > len(self._whole):
            self._whole = self._priced(self._most) or self._priced(order) or ()
        return self._whole[: order - 1] if order - 1 <= len(self._whole) else None

    def _priced(self, order: int) -> tuple[Decimal, ...] | None:
        orders = tuple(Decimal(j) for j in range(2, order + 1))
        try:
            return inner(self._event, self._table, Terms(orders=orders)).epsilons  # type: ignore[no-any-return]
        except NoGuaranteeError:
            return None

    def _at(self, order: Decimal) -> RDP:
        if order not in self._losses:
            self._losses[order] = inner(self._event, self._table, Terms(orders=(order,)))
        return self._losses[order]


def _poisson_bounds(q: Fraction, base: Base, known: _Known, order: Decimal) -> Iterator[Decimal]:
    yield convex_bound(q, known(order), order)
    if base.pure is not None:
        yield response_excess(q, base.pure, order)
    if base.symmetric:
        yield norm_bound(q, known(order), order)
    theorem = poisson_renyi_remove if base.symmetric else poisson_renyi
    if (divergences := known.up_to(_next_whole(order))) is not None:
        yield between(order, lambda n: theorem(sampling_probability=q, divergences=divergences[: n - 1]))


def _batch_bounds(q: Fraction, base: Base, known: _Known, order: Decimal) -> Iterator[Decimal]:
    """Batches of fixed size, replace-one; twice the excess of the remove pair is `fixed_size_renyi_of_pair`."""
    yield convex_bound(q, known(order), order)
    if base.gaussian is not None:
        yield gaussian_excess(q, base.gaussian, order, 2)
    if base.pure is not None:
        yield response_excess(q, base.pure, order, 2)
        amplified = PureDP(amplified_epsilon(sampling_probability=q, epsilon=base.pure))
        yield pure_to_rdp(amplified, orders=(order,)).epsilons[0]
    if (divergences := known.up_to(_next_whole(order))) is None:
        return
    if base.dominated:
        yield between(order, lambda n: fixed_size_renyi_of_pair(sampling_share=q, divergences=divergences[: n - 1]))
    if not known.failure(order):
        yield between(order, lambda n: fixed_size_renyi(sampling_share=q, divergences=divergences[: n - 1]))


def _next_whole(order: Decimal) -> int:
    return int(order.to_integral_value("ROUND_CEILING"))


def _through_pure(notion: str, loss: ApproxDP, terms: Terms) -> Loss:
    if notion == "pure":
        return PureDP(loss.epsilon)
    if notion == "rdp":
        return pure_to_rdp(PureDP(loss.epsilon), orders=terms.orders)
    return _as_zcdp(loss, loss.delta) if notion == "zcdp" else _as_gdp(loss, loss.delta)


def _as_zcdp(loss: ApproxDP, failure: Decimal) -> ZCDP:
    return ZCDP(approx_to_zcdp(ApproxDP(loss.epsilon)).rho, max(loss.delta, failure))


def _as_gdp(loss: ApproxDP, failure: Decimal) -> GDP:
    return GDP(approx_to_gdp(ApproxDP(loss.epsilon)).mu, max(loss.delta, failure))


_WHOLE: Final[dict[str, Callable[[Any, Terms, Table], Loss]]] = {"pure": _pure, "zcdp": _zcdp, "gdp": _gdp, "rdp": _rdp}

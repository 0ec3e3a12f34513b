"""From a price, or a wanted accuracy, to a noise: public numbers in, public numbers out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from dosimeter.accounting import loss_for
from dosimeter.errors import InputError, NoGuaranteeError, QueryError
from dosimeter.events import Composed, Event
from dosimeter.exact import Number, divide_down, divide_up, multiply_up, sqrt_down, sqrt_up
from dosimeter.mechanisms.noise import (
    LARGEST_PARAMETER,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Noise,
    RoundedGaussianNoise,
)
from dosimeter.notions import GDP, RDP, ZCDP, ApproxDP, Loss, MenuPrice, PureDP, ResiduePrice
from dosimeter.queries.price import Price
from dosimeter.queries.sensitivity import Sensitivity

if TYPE_CHECKING:
    from dosimeter.adaptive.filter import Filter

LARGEST_SENSITIVITY: Final = 10**12
_GUARD: Final = Decimal(f"1.{39 * '0'}1")  # a margin above every rounding between a price and the loss it becomes


class TooFine(QueryError):
    """The noise needs more steps than a noise may have: a coarser lattice is needed."""


def event_of(noise: Noise, sensitivity: Sensitivity) -> Event:
    """What a release with this noise costs."""
    return noise.event(sensitivity.l1 if noise.norm == "l1" else sensitivity.l2)


def event_of_all(events: Sequence[Event]) -> Event:
    """One event for everything a plan releases."""
    return events[0] if len(events) == 1 else Composed(tuple(events))


def noise_for(price: Price, sensitivity: Sensitivity, parts: int = 1) -> Noise:
    """The least noise for which `parts` such releases together cost at most `price`.

    Each part gets the same share: epsilon / parts, rho / parts, mu / sqrt(parts).

    Guarantee: the events of the parts, composed, cost no more than the price, in the price's own notion.

    Reference: discrete Laplace epsilon = L1/scale; zCDP of the discrete Gaussian rho = L2^2/(2 sigma^2) (Canonne,
    Kamath, Steinke 2020, Theorem 4); GDP mu = L2/sigma; (epsilon, delta) by the exact profile of the Gaussian (Balle,
    Wang 2018).
    """
    if sensitivity.l1 > LARGEST_SENSITIVITY:
        raise TooFine(f"a sensitivity of {sensitivity.l1} steps is over {LARGEST_SENSITIVITY:g}; use a coarser step")
    l2 = sensitivity.l2
    if price.delta is not None and price.epsilon is not None:
        return _gaussian(multiply_up(_calibrated(price.epsilon, price.delta, l2), sqrt_up(Decimal(parts))))
    if price.epsilon is not None:
        scale = divide_up(Decimal(sensitivity.l1), divide_down(price.epsilon, parts))
        return DiscreteLaplaceNoise(_bounded(scale))
    if price.rho is not None:
        root = sqrt_down(divide_down(2 * price.rho, parts))
        return DiscreteGaussianNoise(_guarded(divide_up(l2, root)))
    if price.mu is None:
        raise QueryError("a price without a quantity; build it with Price(...)")
    return _gaussian(multiply_up(divide_up(l2, price.mu), sqrt_up(Decimal(parts))))


def cheapest_within(
    width: Callable[[type[Noise]], Noise],
    sensitivity: Sensitivity,
    filter: Filter[Any],  # noqa: A002
    parts: int = 1,
) -> Noise:
    """Of the noises that meet a wanted accuracy, the one that costs an account least.

    Args:
        width: gives the largest noise of a kind that meets the accuracy.
        sensitivity: of the release.
        filter: whose notion decides what "least" means.
        parts: how many such releases there are.

    Raises:
        QueryError: the account's notion can hold none of them.
    """
    if sensitivity.l1 > LARGEST_SENSITIVITY:
        raise TooFine(f"a sensitivity of {sensitivity.l1} steps is over {LARGEST_SENSITIVITY:g}; use a coarser step")
    offers: list[tuple[tuple[Decimal, ...], int, Noise]] = []
    reasons: list[str] = []
    for kind in (DiscreteGaussianNoise, DiscreteLaplaceNoise, RoundedGaussianNoise):
        noise = width(kind)
        try:
            loss = loss_of(event_of_all([event_of(noise, sensitivity)] * parts), filter, None)
        except (NoGuaranteeError, InputError) as error:
            reasons.append(f"{kind.kind}: {error}")
            continue
        offers.append((_cost(loss), len(offers), noise))
    if not offers:
        raise QueryError(f"no noise meets this accuracy under a {filter.kind} account: {'; '.join(reasons)}")
    return min(offers)[2]


def loss_of(event: Event, filter: Filter[Any], delta: Decimal | None) -> Loss:  # noqa: A002
    """The loss an account would take for an event."""
    return loss_for(event, filter, delta=delta)


def require_held(event: Event, filter: Filter[Any], price: Price) -> None:  # noqa: A002
    """Refuse a price whose noise the account's notion cannot hold.

    Raises:
        QueryError: names the reason and a form of price that the account can hold.
    """
    try:
        loss_of(event, filter, price.delta)
    except (NoGuaranteeError, InputError) as error:
        way_out = {
            "pure": "ask with Price(epsilon=...)",
            "approx": "ask with Price(epsilon=...) or Price(epsilon=..., delta=...)",
            "zcdp": "ask with Price(rho=...), Price(mu=...) or Price(epsilon=...)",
            "rdp": "ask with Price(rho=...), Price(mu=...) or Price(epsilon=...)",
            "gdp": "ask with Price(mu=...)",
            "menu": "ask with Price(epsilon=...) or Price(mu=...)",
        }.get(filter.notion, "ask with another form of price")
        raise QueryError(f"a price of {price} does not fit a {filter.kind} account: {error}; {way_out}") from None


def _cost(loss: Loss) -> tuple[Decimal, ...]:
    match loss:
        case PureDP(epsilon):
            return (epsilon,)
        case ApproxDP(epsilon, delta):
            return (epsilon, delta)
        case ZCDP(rho, delta):
            return (rho, delta)
        case GDP(mu, delta):
            return (mu, delta)
        case RDP(orders, epsilons, delta):
            return (max(divide_up(e, a) for a, e in zip(orders, epsilons, strict=True)), delta)
        case ResiduePrice():
            return (loss.cheapest, loss.delta)
        case MenuPrice(units, rho, delta):
            return (units, rho, delta)
    raise QueryError(f"a loss in the notion {loss.notion} has no order from cheap to expensive")


def _calibrated(epsilon: Decimal, delta: Decimal, l2_sensitivity: Number) -> Decimal:
    from dosimeter.accounting.calibration import gaussian_sigma

    return gaussian_sigma(epsilon=epsilon, delta=delta, l2_sensitivity=l2_sensitivity)


def _gaussian(sigma: Decimal) -> RoundedGaussianNoise:
    return RoundedGaussianNoise(_guarded(sigma))


def _guarded(sigma: Decimal) -> Decimal:
    return _bounded(multiply_up(sigma, _GUARD))


def _bounded(parameter: Decimal) -> Decimal:
    if parameter > LARGEST_PARAMETER:
        raise TooFine(
            f"this price needs noise of {parameter:.3g} steps, over {LARGEST_PARAMETER:g}; offer a higher price, "
            "or use a coarser step"
        )
    return parameter

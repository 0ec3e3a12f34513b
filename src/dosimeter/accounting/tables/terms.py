"""What the tables share: the terms on which an event is stated, and ratios rounded against the spender."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn, TypeAlias

from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Declared, DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from dosimeter.exact import LARGEST, brief_up, divide_up, multiply_down, multiply_up, visible
from dosimeter.notions import Loss


@dataclass(frozen=True, slots=True)
class Terms:
    """How a filter wants its losses stated.

    Args:
        orders: Renyi orders, for the notion that needs them.
        delta: the failure probability at which a mechanism without an (epsilon, delta) guarantee of its own is stated.
    """

    orders: tuple[Decimal, ...] = ()
    delta: Decimal | None = None


Row: TypeAlias = Callable[[Any, Terms], Loss]
Table: TypeAlias = Mapping[type, Row]


def cannot(event: object, notion: str, reason: str, way_out: str) -> NoReturn:
    """Refuse to charge an event in a notion, with the reason and what to do instead."""
    kind = getattr(event, "kind", type(event).__name__)
    raise NoGuaranteeError(f"{kind} cannot be charged in {notion}: {reason}; {way_out}")


def declared(event: Declared, terms: Terms, notion: str, rows: Table, way_out: str) -> Loss:
    """A declared loss enters another notion through a proven conversion only."""
    row = rows.get(type(event.loss))
    if row is None:
        cannot(event, notion, f"no theorem turns a {event.loss.notion} guarantee into one in {notion}", way_out)
    return row(event.loss, terms)


def ratio(event: Laplace | DiscreteLaplace) -> Decimal:
    """L1 sensitivity / scale, rounded up: the pure epsilon of Laplace noise."""
    return _affordable(event, divide_up(event.l1_sensitivity, event.scale))


def gaussian_mu(event: Gaussian) -> Decimal:
    """L2 sensitivity / sigma, rounded up."""
    return _affordable(event, divide_up(event.l2_sensitivity, event.sigma))


def gaussian_rho(event: Gaussian | DiscreteGaussian) -> Decimal:
    """L2 sensitivity^2 / (2 sigma^2), rounded up: the same for continuous and discrete Gaussian noise."""
    square = multiply_up(event.l2_sensitivity, event.l2_sensitivity)
    return _affordable(event, divide_up(square, multiply_down(multiply_down(event.sigma, event.sigma), 2)))


def _affordable(event: Gaussian | DiscreteGaussian | Laplace | DiscreteLaplace, loss: Decimal) -> Decimal:
    if loss > LARGEST:
        raise InputError(
            f"a {event.kind} release loses {brief_up(loss)}, beyond {LARGEST:g}: the noise is nothing beside the "
            "sensitivity; add noise, or bound the sensitivity"
        )
    return visible(loss)

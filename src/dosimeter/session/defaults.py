"""From a budget in a person's words to the filter and odometers of an account."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from dosimeter.errors import InputError
from dosimeter.exact import Number, multiply_up

ODOMETER_DELTA: Final = Decimal("1e-6")  # for accounts whose budget names no delta
TYPICAL_QUERIES: Final = (
    20  # where a budget has no intrinsic time of its own, the odometer is tuned for so many equal parts
)


def filter_for(
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    declared_delta: Number = 0,
) -> Any:
    """The filter for a budget: (epsilon, delta) -> approx, epsilon -> pure, rho -> zcdp, mu -> gdp.

    Raises:
        InputError: no budget, or two at once.
    """
    from dosimeter.adaptive.filters import ApproxFilter, GDPFilter, PureFilter, ZCDPFilter

    given = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise InputError(f"a budget is one of: epsilon with delta, epsilon, rho, mu (or filter=...); got {got}")
    share: Any = 0 if delta is None else delta
    if rho is not None:
        return ZCDPFilter(rho, share)  # type: ignore[arg-type]
    if mu is not None:
        return GDPFilter(mu, share)  # type: ignore[arg-type]
    if delta is None:
        return PureFilter(epsilon)  # type: ignore[arg-type]
    return ApproxFilter(epsilon, delta, declared_delta)  # type: ignore[arg-type]


def odometers_for(rule: Any) -> tuple[Any, ...]:
    """The odometer an account gets when its steward names none: the mixture, tuned where the budget runs out.

    Its crossing probability is the budget's own delta (1e-6 where the budget has none). For rounds that may fail it is
    read for stopped runs, since a bound on the loss itself would be false. Renyi filters get a mixture over orders.
    """
    from dosimeter.adaptive.odometers import MixtureOdometer, RDPMixtureOdometer, StoppedRunOdometer

    caps = {name: Decimal(value) for name, value in rule.budget().items()}
    declared = caps.get("delta", getattr(rule, "failures", Decimal(0)))
    delta = getattr(rule, "delta", None) or ODOMETER_DELTA
    crossing = delta - declared if delta > declared else ODOMETER_DELTA
    if rule.notion == "rdp":
        return (RDPMixtureOdometer(crossing, rule.orders),) if not declared else ()
    if (whole := getattr(rule, "whole_time", None)) is not None:  # a plan and a menu know what all of it would be
        end = whole
    elif "rho" in caps:
        end = multiply_up(caps["rho"], 2)
    elif "mu_squared" in caps:
        end = caps["mu_squared"]
    elif "sum_of_squares" in caps:
        end = caps["sum_of_squares"]
    else:
        end = caps["epsilon"] ** 2 / TYPICAL_QUERIES
    mixture = MixtureOdometer.tuned(delta=crossing, intrinsic_time=max(end, Decimal("1e-300")))
    return (StoppedRunOdometer(mixture, declared),) if declared else (mixture,)

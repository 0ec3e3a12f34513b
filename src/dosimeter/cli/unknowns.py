"""What `calibrate` finds: a number of the plan, or the epsilon or delta of all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dosimeter.errors import InputError
from dosimeter.exact import amount, text

if TYPE_CHECKING:
    from decimal import Decimal

    from dosimeter.interop.planfile import PlanFile

UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Question:
    """A plan as it was written, and the target; exactly one number is unknown.

    Args:
        data: the plan file's value, without its own delta.
        epsilon: the target, or None where it is to be found.
        delta: at which delta, or None where it is to be found.
    """

    data: Any
    epsilon: Decimal | None
    delta: Decimal | None

    @classmethod
    def read(cls, data: Any, epsilon: str, delta: str | None) -> Question:
        """The question that a plan file and two options mean.

        Raises:
            InputError: no delta is said anywhere, a number is outside its range, or both are unknown.
        """
        own = data.get("delta") if isinstance(data, dict) else None
        at = own if delta is None else delta
        if at is None:
            raise InputError("neither --delta nor the plan file says at which delta; add --delta 1e-6")
        if epsilon == at == UNKNOWN:
            raise InputError("epsilon and delta are both unknown; say one of them")
        if isinstance(data, dict):
            data = {key: value for key, value in data.items() if key != "delta"}
        return cls(
            data,
            None if epsilon == UNKNOWN else amount(epsilon, "epsilon", zero=True, round_up=False),
            None if at == UNKNOWN else amount(at, "delta", zero=True, round_up=False, below_one=True),
        )


def find(asked: Question, change: Callable[[PlanFile], PlanFile]) -> dict[str, Any]:
    """The answer as JSON.

    Args:
        asked: what is asked.
        change: what is done with every plan before it is priced.

    Raises:
        NoGuaranteeError: nothing meets the target.
        InputError: the plan has no unknown, or several.
    """
    from dosimeter.accounting.fixed_plans import composed, plan_price
    from dosimeter.accounting.parameters import find_parameter
    from dosimeter.interop.planfile import parse_plan
    from dosimeter.interop.template import parse_template, unknowns

    if asked.epsilon is not None and asked.delta is not None:
        template = parse_template(asked.data)
        limits = template.unknown
        found = find_parameter(
            lambda value: _parts(change(template.fill(value))),
            template.name,
            epsilon=asked.epsilon,
            delta=asked.delta,
            relation=_relation(asked.data),
            low=limits.low,
            high=limits.high,
        )
        rival = None if found.rival is None else text(found.rival)
        ends = {"lower": text(found.epsilon.lower), "upper": text(found.epsilon.upper)}
        filled = template.fill(found.value)
        return _said(template.name, found.value, ends, found.delta, rival, found.way, filled) | {
            "not_certified_fails": found.rival_fails
        }
    if others := unknowns(asked.data):
        raise InputError(f"the plan has an unknown too ({', '.join(sorted(others))}); leave one")
    plan = parse_plan(asked.data)
    parts = _parts(change(plan))
    if asked.delta is not None:
        price = plan_price(parts, asked.delta, relation=plan.relation)
        ends = {"lower": text(price.epsilon.lower), "upper": text(price.epsilon.upper)}
        return _said("epsilon", price.epsilon.upper, ends, asked.delta, ends["lower"], price.way, plan)
    level: Any = asked.epsilon
    bound = composed(parts, plan.relation).delta(level)
    ends = {"lower": text(level), "upper": text(level)}
    return _said("delta", bound.upper, ends, bound.upper, text(bound.lower), "privacy_loss_distribution", plan)


def _said(
    unknown: str, value: Decimal, epsilon: dict[str, str], delta: Decimal, rival: str | None, way: str, plan: PlanFile
) -> dict[str, Any]:
    return {
        "unknown": unknown,
        "value": text(value),
        "epsilon": epsilon,
        "delta": text(delta),
        "not_certified": rival,
        "way": way,
        "plan": plan.to_json(),
    }


def _relation(data: Any) -> Any:
    return data.get("relation") if isinstance(data, dict) else None


def _parts(plan: PlanFile) -> list[tuple[Any, int]]:
    return [(step.event, step.count) for step in plan.steps]

"""The JSON form of an odometer's configuration: its kind, then its fields, numbers as texts."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any

from dosimeter.errors import InputError
from dosimeter.exact import show, text


def configuration_to_json(odometer: Any) -> dict[str, Any]:
    """The kind and every field; nested odometers in their own form."""
    return {"kind": odometer.kind, **{f.name: _plain(getattr(odometer, f.name)) for f in fields(odometer)}}


def configuration_from_json(data: object, kinds: dict[str, Any], depth: int = 0) -> Any:
    """Build the odometer that `configuration_to_json` wrote.

    Raises:
        InputError: an unknown kind, a missing or unknown field, or nesting deeper than 4.
    """
    if depth > 4:
        raise InputError("an odometer is nested deeper than 4; flatten it")
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str) or data["kind"] not in kinds:
        got = show(data.get("kind")) if isinstance(data, dict) else type(data).__name__
        raise InputError(f"kind={got} is not an odometer; this version reads: {', '.join(kinds)}")
    built = kinds[data["kind"]]
    if hasattr(built, "from_json"):
        return built.from_json(data)
    names = [f.name for f in fields(built)]
    if set(data) != {"kind", *names}:
        raise InputError(f"{built.__name__} has exactly the fields: {', '.join(['kind', *names])}")
    stored = {"trusted": True} if getattr(built, "certified", False) else {}  # `verify` checks it where that matters
    return built(**{name: _value(data[name], name, kinds, depth) for name in names}, **stored)


def _value(value: object, name: str, kinds: dict[str, Any], depth: int) -> Any:
    if isinstance(value, dict):
        return configuration_from_json(value, kinds, depth + 1)
    if isinstance(value, list):
        return tuple(_value(item, name, kinds, depth) for item in value)
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InputError(f"{name}={show(value)} is not a text; numbers are stored as texts so that nothing is lost")


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return text(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.to_json() if hasattr(value, "to_json") else value

"""Filters in words: a kind with the budget's numbers, or a file that holds a filter as it is stored."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dosimeter.errors import InputError
from dosimeter.exact import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dosimeter.adaptive.filters import AnyFilter

NUMBERS: Final[tuple[str, ...]] = ("epsilon", "delta", "rho", "mu", "declared_delta")
SHARES: Final[tuple[str, ...]] = ("slack", "queries", "reserve")
MAX_BYTES: Final = 4_000_000


def filter_from_words(word: str, given: Mapping[str, str | None]) -> AnyFilter:
    """The filter that ``--filter WORD`` means.

    Args:
        word: a kind, such as "residue", or the path of a .json file that holds a filter.
        given: the numbers of the budget, and the plan's or menu's file, by option; None where one was left out.

    Raises:
        InputError: the kind is unknown, a number is missing or does not belong to it, or the file holds no filter.
    """
    from dosimeter.adaptive.filters import FILTERS

    numbers = {name: value for name, value in given.items() if value is not None}
    if word.lower().endswith(".json"):
        if numbers:
            raise InputError(f"{word} holds the whole budget; leave {_option(next(iter(numbers)))} out")
        return _from_file(Path(word))
    if word == "residue_plan":
        return _planned(numbers)
    if word == "menu":
        return _of_menu(numbers)
    if word not in FILTERS:
        raise InputError(f"--filter {show(word)} is unknown; use a .json file or one of: {', '.join(FILTERS)}")
    built: Any = FILTERS[word]
    own = [field for field in fields(built) if field.init]
    names = [field.name for field in own if field.name in NUMBERS + SHARES]
    if extra := [name for name in numbers if name not in names]:
        has = " and ".join(_option(name) for name in names)
        raise InputError(f"{_option(extra[0])} does not belong to a filter of kind {word}, which has {has}")
    try:
        filter_: AnyFilter = built(**numbers)
    except TypeError:
        missing = ", ".join(field.name for field in own if field.name not in numbers)
        raise InputError(
            f"a filter of kind {word} needs more than was given (of: {missing}); give the options it has, or a .json "
            "file that `dosimeter advise --save` wrote"
        ) from None
    return filter_


def words_of(filter_: AnyFilter) -> dict[str, str] | None:
    """The options that `filter_from_words` turns into this very filter; None where only a file can say it."""
    from dosimeter.exact import text

    own = {field.name for field in fields(filter_) if field.init}
    given = {name: text(getattr(filter_, name)) for name in NUMBERS if name in own and getattr(filter_, name)}
    try:
        same = filter_from_words(filter_.kind, given) == filter_
    except InputError:
        return None
    return given if same else None


def _planned(numbers: dict[str, str]) -> AnyFilter:
    """A plan's filter; its least epsilon where none was given."""
    from dosimeter.adaptive.filters import PlanResidueFilter
    from dosimeter.interop.planfile import load_plan

    if extra := sorted(set(numbers) - {"plan", "epsilon", "delta", *SHARES}):
        raise InputError(
            f"{_option(extra[0])} does not belong to a filter of kind residue_plan, which has --plan, --epsilon, "
            "--delta, --slack, --queries and --reserve"
        )
    if "plan" not in numbers or "delta" not in numbers:
        raise InputError("a filter of kind residue_plan needs --plan FILE and --delta; --epsilon is found if left out")
    plan = tuple((step.event, step.count) for step in load_plan(numbers.pop("plan")).steps)
    rest: dict[str, Any] = {name: value for name, value in numbers.items() if name != "epsilon"}
    own = {name: value for name, value in rest.items() if name != "queries"}
    epsilon = numbers.get("epsilon") or PlanResidueFilter.smallest_epsilon(plan, **own)
    return PlanResidueFilter(plan, epsilon, **rest)  # type: ignore[arg-type]


def _of_menu(numbers: dict[str, str]) -> AnyFilter:
    """The filter of a menu file, with the largest budget that keeps the promise where the file names none."""
    from dosimeter.adaptive.filters import MenuFilter
    from dosimeter.interop.menufile import load_menu

    if extra := sorted(set(numbers) - {"menu", "epsilon", "delta"}):
        raise InputError(
            f"{_option(extra[0])} does not belong to a filter of kind menu, which has --menu, --epsilon and --delta"
        )
    if len(numbers) < 3:
        raise InputError("a filter of kind menu needs --menu FILE, --epsilon and --delta")
    file = load_menu(numbers["menu"])
    return MenuFilter(numbers["epsilon"], numbers["delta"], file.menu, file.units)  # type: ignore[arg-type]


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _from_file(path: Path) -> AnyFilter:
    from dosimeter.adaptive.filters import filter_from_json

    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        data = json.loads(raw.decode("utf-8")) if len(raw) <= MAX_BYTES else None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or 'no reason given'}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not JSON; write it with `dosimeter advise --save {path}`") from None
    return filter_from_json(data)

"""What people expect to ask, in words: ``--pure 0.01x500 --gaussian 20x10 --sgd 0.01/1.0x2000``, or a plan file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dosimeter.errors import InputError
from dosimeter.exact import show, to_decimal

if TYPE_CHECKING:
    from dosimeter.accounting.advice import Sketch
    from dosimeter.events import Event


def sketch_from_words(
    plan: Path | None, words: Iterable[tuple[str, Iterable[str] | None]], relation: str | None
) -> Sketch:
    """The sketch that a plan file and the options mean.

    Args:
        plan: a plan file, if any; its steps come first.
        words: options with what was written after each of them.
        relation: the neighbouring relation, if it was given.

    Raises:
        InputError: nothing is expected, an option is not of its form, or the plan speaks of another relation.
    """
    from dosimeter.accounting.advice import Sketch
    from dosimeter.interop import load_plan

    parts: list[tuple[Event, int]] = []
    if plan is not None:
        read = load_plan(plan)
        if relation is not None and relation != read.relation:
            raise InputError(f"--relation {relation} is not the plan's, which speaks of {read.relation}; leave it out")
        relation = str(read.relation)
        parts += [(step.event, step.count) for step in read.steps]
    for option, written in words:
        parts += [_part(option, word) for word in written or ()]
    if not parts:
        raise InputError(
            "nothing is expected; say what will be asked, as in --pure 0.01x500 or --gaussian 20x10, or give a plan"
        )
    return Sketch.of(parts, relation or "add_remove")


def names_of(sketch: Sketch) -> list[str]:
    """One short name for each part, as it could be written after an option."""
    return [_name(event) for event, _ in sketch.parts]


def _name(event: Event) -> str:
    from dosimeter.events import Gaussian, PoissonSampled, RandomizedResponse
    from dosimeter.exact import brief_up

    if isinstance(event, Gaussian) and event.l2_sensitivity == 1:
        return f"gaussian {brief_up(event.sigma)}"
    if isinstance(event, RandomizedResponse) and not event.delta:
        return f"pure {brief_up(event.epsilon)}"
    if isinstance(event, PoissonSampled):
        return f"{brief_up(event.probability)} of {_name(event.event)}"
    return event.kind


def _part(option: str, word: str) -> tuple[Event, int]:
    what, cross, times = word.strip().rpartition("x")
    if not cross or not (times.isascii() and times.isdigit()) or len(times) > 12:
        raise InputError(f"--{option} {show(word)} is not of the form {_FORMS[option]}")
    return _EVENTS[option](what, _FORMS[option]), int(times)


def _pure(what: str, form: str) -> Event:  # noqa: ARG001
    from dosimeter.events import RandomizedResponse

    return RandomizedResponse(to_decimal(what, "epsilon"))


def _laplace(what: str, form: str) -> Event:  # noqa: ARG001
    from dosimeter.events import Laplace

    return Laplace(1, to_decimal(what, "epsilon"))  # type: ignore[arg-type]


def _gaussian(what: str, form: str) -> Event:  # noqa: ARG001
    from dosimeter.events import Gaussian

    return Gaussian(to_decimal(what, "noise_multiplier", round_up=False))


def _sgd(what: str, form: str) -> Event:
    from dosimeter.events import Gaussian, PoissonSampled

    probability, slash, noise = what.partition("/")
    if not slash:
        raise InputError(f"--sgd {show(what)} is not of the form {form}")
    return PoissonSampled(to_decimal(probability, "probability"), Gaussian(to_decimal(noise, "noise_multiplier")))


_EVENTS: Final[dict[str, Callable[[str, str], Event]]] = {
    "pure": _pure,
    "laplace": _laplace,
    "gaussian": _gaussian,
    "sgd": _sgd,
}
_FORMS: Final = {
    "pure": "EPSILONxCOUNT, as in 0.01x500",
    "laplace": "EPSILONxCOUNT, as in 0.01x500",
    "gaussian": "NOISE_MULTIPLIERxCOUNT, as in 20x10",
    "sgd": "PROBABILITY/NOISE_MULTIPLIERxCOUNT, as in 0.01/1.0x2000",
}

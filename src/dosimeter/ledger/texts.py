"""What may enter a ledger: names, reasons and JSON values, normalised and bounded before anything else sees them.

Names are compared letter by letter after Unicode normalisation (NFC), so two spellings that look alike because one
uses combining accents are the same name; capital and small letters differ.
"""

from __future__ import annotations

import json
import math
import unicodedata
from typing import Any, Final

from dosimeter.errors import InputError
from dosimeter.exact import show

MAX_NAME: Final = 200
MAX_PROSE: Final = 2_000
MAX_EVENT: Final = 1 << 20
MAX_TERMS: Final = 1 << 20
MAX_ANSWER: Final = 1 << 24
MAX_BODY: Final = 1 << 21  # of a record that holds no answer
MAX_DEPTH: Final = 32
_UNPRINTABLE: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
quote = json.encoder.encode_basestring  # one text as canonical JSON
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def name(value: object, what: str) -> str:
    """Read a name: 1 to 200 printable characters, no surrounding space, returned in NFC."""
    text = _text(value, what, MAX_NAME)
    if not text or text != text.strip():
        raise InputError(f"{what}={show(text)} is empty or has surrounding space; give 1 to {MAX_NAME} characters")
    if not text.isascii() or not text.isprintable():
        for character in text:
            if unicodedata.category(character) in _UNPRINTABLE:
                raise InputError(f"{what} holds the invisible character U+{ord(character):04X}; use printable ones")
    return text


def prose(value: object, what: str, *, empty: bool = False) -> str:
    """Read a sentence for people: at most 2000 characters; of the control characters only newline and tab."""
    text = _text(value, what, MAX_PROSE).strip()
    if not text and not empty:
        raise InputError(f"{what} is empty; write a sentence")
    if not text.isprintable():
        for character in text:
            if character not in "\n\t" and unicodedata.category(character) in {"Cc", "Cs"}:
                raise InputError(f"{what} holds the control character U+{ord(character):04X}; remove it")
    return text


def _text(value: object, what: str, longest: int) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} is a {type(value).__name__}; give a text")
    if len(value) <= longest:
        value = value if value.isascii() else unicodedata.normalize("NFC", value)
    if len(value) > longest:
        raise InputError(f"{what} has {len(value)} characters; at most {longest} fit")
    return value


def canonical(value: object) -> str:
    """The one JSON text of a value that `plain` accepts: sorted keys, no spaces, no NaN."""
    return _ENCODE(value)


def plain(value: object, what: str, *, largest: int) -> tuple[Any, str]:
    """Read a JSON value: a copy made of nothing but JSON's own types, and its canonical text.

    Raises:
        InputError: it holds something JSON cannot keep exactly (NaN, a key that is not a text, an object), is nested
            deeper than 32, or its text is longer than `largest` bytes.
    """
    copy = _copy(value, what, 0)
    try:
        text = canonical(copy)
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
    except (ValueError, RecursionError):  # a lone surrogate, an integer of thousands of digits
        raise InputError(f"{what} holds a text or number that JSON cannot keep") from None
    if size > largest:
        raise InputError(f"{what} takes {size} bytes as JSON; at most {largest} fit")
    return copy, text


def _copy(value: object, what: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise InputError(f"{what} is nested deeper than {MAX_DEPTH}; flatten it")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{what} holds {value}, which is not a number JSON can keep")
        return float(value)
    if isinstance(value, list | tuple):
        return [_copy(item, what, depth + 1) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"{what} has the key {show(key)}; keys are texts")
        return {str(key): _copy(item, what, depth + 1) for key, item in value.items()}
    raise InputError(f"{what} holds a {type(value).__name__}; use texts, numbers, lists and objects of JSON")


def parse(text: str) -> Any:
    """Read a stored JSON text back."""
    return json.loads(text)

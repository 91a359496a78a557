"""JSON as bytes into Python values, refusing what parsers disagree about.

Two keys of one name, NaN and infinities, numbers that no double holds, half surrogate pairs, byte order
marks, anything but UTF-8, depth without end: what other parsers might read differently gets no further.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import NoReturn, cast

from libs.errors import Malformed

DEPTH_MAX = 32
"""How deep arrays and objects may stand in one another."""
DIGITS_MAX = 400
"""Digits of one number; the largest double has 309."""
_SIGNIFICANT = re.compile("^[^eE]*[1-9]")
"""Finds a digit that counts in front of the exponent."""


def parse(content: bytes, depth_max: int = DEPTH_MAX) -> object:
    """The one JSON value in the bytes. ``Malformed`` says what is wrong with them."""
    try:
        text = content.decode("utf-8", "strict")
    except UnicodeDecodeError:
        raise Malformed("The JSON is not UTF-8.") from None
    try:
        value: object = _DECODER.decode(text)
    except json.JSONDecodeError as fault:
        raise Malformed(f"The JSON cannot be read: {fault.msg} (position {fault.pos}).") from None
    except RecursionError:
        raise _too_deep(depth_max) from None
    if content.count(b"[") + content.count(b"{") > depth_max or b"\\ud" in content or b"\\uD" in content:
        _inspect(value, depth_max)
    return value


def parse_object(content: bytes) -> dict[str, object]:
    """The one JSON object in the bytes."""
    value = parse(content)
    if not isinstance(value, dict):
        raise Malformed("The JSON must be an object.")
    return cast(dict[str, object], value)


def _inspect(value: object, depth_max: int) -> None:
    """Look for too much depth and for halves of surrogate pairs, without recursing."""
    level: list[object] = [value]
    for _ in range(depth_max):
        level = _below(level)
    if any(isinstance(each, dict | list) for each in level):
        raise _too_deep(depth_max)
    _below(level)


def _below(level: list[object]) -> list[object]:
    """What stands in the arrays and objects of a level. ``Malformed`` for half of a pair on it."""
    below: list[object] = []
    for each in level:
        if isinstance(each, dict):
            below += [*each.keys(), *each.values()]
        elif isinstance(each, list):
            below += each
        elif isinstance(each, str) and not _is_whole(each):
            raise Malformed("The JSON holds half of a surrogate pair.")
    return below


def _is_whole(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _object(pairs: list[tuple[str, object]]) -> Mapping[str, object]:
    built = dict(pairs)
    if len(built) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Malformed(f"The JSON has the key {_shown(twice)} twice in one object.")
    return built


def _shown(name: str) -> str:
    return json.dumps(name[:64])


def _integer(digits: str) -> int:
    if len(digits) > DIGITS_MAX:
        raise Malformed(f"A number has more than {DIGITS_MAX} digits.")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Malformed("A number is larger than any double.")
    if not value and _SIGNIFICANT.search(digits):
        raise Malformed("A number is smaller than any double.")
    return value


def _constant(name: str) -> NoReturn:
    raise Malformed(f"{name} is not JSON.")


def _too_deep(depth_max: int) -> Malformed:
    return Malformed(f"The JSON is more than {depth_max} levels deep.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant
)

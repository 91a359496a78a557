"""JSON's plain values into what protobuf's constructors take. Stricter than protobuf's own.

Each reader takes a value and returns another, or raises ``Wrong``; it does not know where the value stood.
"""

from __future__ import annotations

import base64
import binascii
import calendar
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast

Read = Callable[[object], object]

FLOAT_MAX = 3.4028234663852886e38
SAFE_INTEGER_MAX = 2**53
DURATION_SECONDS_MAX = 315_576_000_000
"""About 10,000 years, the most that `google.protobuf.Duration` holds."""
NANOS = 9
KEY_CHARS_MAX = 255
"""Of a key in an open object."""
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,19})", re.ASCII)
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)
DURATION = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]{1,9}))?s", re.ASCII)


class Wrong(Exception):
    """A value is not what its field takes. ``at`` grows on the way out, from the inside."""

    def __init__(self, description: str, rule: str, at: str = "") -> None:
        """Take what is wrong, as ``must be ...``, and a stable id of the rule."""
        super().__init__(description)
        self.description = description
        self.rule = rule
        self.at = at

    def within(self, step: str) -> Wrong:
        """The same, one step further out: ``.name`` or ``[index]``."""
        self.at = step + self.at
        return self


def wrong_type(expected: str) -> Wrong:
    """What is said of a value of another type."""
    return Wrong(f"must be {expected}", "json.type")


def text(value: object) -> str:
    """A string that can be kept: without NUL."""
    if not isinstance(value, str):
        raise wrong_type("a string")
    if "\0" in value:
        raise Wrong("must not contain NUL characters", "string.no_nul")
    return value


def boolean(value: object) -> bool:
    """``true`` or ``false``, and nothing that only looks like it."""
    if not isinstance(value, bool):
        raise wrong_type("true or false")
    return value


def integer(least: int, most: int) -> Read:
    """A whole number between two, both included. Ones beyond 2^53 also as strings of digits."""
    wide = most > SAFE_INTEGER_MAX

    def read(value: object) -> int:
        if isinstance(value, float):
            value = int(value) if value.is_integer() else None
        if wide and isinstance(value, str):
            value = int(value) if INTEGER.fullmatch(value) else None
        if not isinstance(value, int) or isinstance(value, bool):
            raise wrong_type("a whole number")
        if not least <= value <= most:
            raise Wrong(f"must be between {least} and {most}", "integer.range")
        return value

    return read


def real(most: float) -> Read:
    """A number whose size is at most this."""

    def read(value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise wrong_type("a number")
        if not -most <= value <= most:  # also NaN, and whole numbers that no double holds
            raise Wrong("is larger than any number of its type", "number.range")
        return float(value)

    return read


def binary(value: object) -> bytes:
    """Bytes in canonical standard base64, padded."""
    encoded = text(value).encode()
    try:
        content = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        content = b""
    if base64.b64encode(content) != encoded:
        raise Wrong("must be standard base64 with padding", "bytes.base64")
    return content


def timestamp(value: object) -> dict[str, int]:
    """RFC 3339 with an offset, within the years 1 to 9999, without leap seconds."""
    match = TIMESTAMP.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise _wrong_timestamp()
    day, time, fraction, offset = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{time}{offset.upper()}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise _wrong_timestamp() from None
    return {"seconds": calendar.timegm(moment.utctimetuple()), "nanos": _nanos(fraction)}


def duration(value: object) -> dict[str, int]:
    """Seconds with up to nine decimals and the letter s."""
    match = DURATION.fullmatch(value) if isinstance(value, str) else None
    if not match or int(match[2]) > DURATION_SECONDS_MAX:
        raise Wrong("must be a duration in seconds, such as 3.5s", "duration.format")
    sign = -1 if match[1] else 1
    return {"seconds": sign * int(match[2]), "nanos": sign * _nanos(match[3])}


def choice(numbers: dict[str, int], offered: str) -> Read:
    """One of an enum's names, in any case."""

    def read(value: object) -> int:
        number = numbers.get(value.lower()) if isinstance(value, str) else None
        if number is None:
            raise Wrong(f"must be one of {offered}", "enum.defined_only")
        return number

    return read


def structure(value: object) -> dict[str, object]:
    """Any JSON object with keys of 1 to 255 characters."""
    if not isinstance(value, dict):
        raise wrong_type("an object")
    entries = cast(dict[str, object], value)
    for name, each in entries.items():
        if not 0 < len(text(name)) <= KEY_CHARS_MAX:
            raise Wrong(f"must have keys of 1 to {KEY_CHARS_MAX} characters", "map.keys")
        try:
            _anything(each)
        except Wrong as wrong:
            raise wrong.within(f".{name}") from None
    return entries


def _anything(value: object) -> None:
    if isinstance(value, str):
        text(value)
    elif isinstance(value, dict):
        structure(cast(object, value))
    elif isinstance(value, list):
        for each in cast(list[object], value):
            _anything(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _double(value)


_double = real(math.nextafter(math.inf, 0))


def _nanos(fraction: str | None) -> int:
    return int(fraction.ljust(NANOS, "0")) if fraction else 0


def _wrong_timestamp() -> Wrong:
    return Wrong("must be an RFC 3339 time with an offset, such as 2026-01-31T12:00:00Z", "timestamp.format")

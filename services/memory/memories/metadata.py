"""What a caller attaches to an observation: a JSON object within limits."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from libs.errors import TooLarge, Violation, invalid
from libs.language.scrubbing import scrub

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

METADATA_BYTES_MAX = 16 * 1024
"""Of the canonical JSON, as UTF-8."""
DEPTH_MAX = 8
"""Objects and lists inside one another, the outermost counted."""
KEY_CHARS_MAX = 255
TOOL_KEYS = ("tool", "tool_name")
TOOL_CHARS_MAX = 200
INTEGER_MAX = 2**53
"""Above this a double no longer tells neighbouring whole numbers apart."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """A checked object, without secrets."""

    fields: Mapping[str, Json] = field(default_factory=dict[str, Json])
    secrets_removed: int = 0

    @property
    def tool(self) -> str:
        """The tool that it names; empty if none."""
        for key in TOOL_KEYS:
            name = self.fields.get(key)
            if isinstance(name, str) and name.strip():
                return name.strip()[:TOOL_CHARS_MAX]
        return ""

    def __bool__(self) -> bool:
        """Whether there is anything in it."""
        return bool(self.fields)


def canonical(value: Json) -> str:
    """The same text for the same value: keys in order, nothing superfluous."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def clean_metadata(path: str, fields: Mapping[str, Json]) -> Metadata:
    """Check an object and take the secrets out of its texts.

    Raises ``Invalid`` naming the field for depth, keys, numbers and characters, ``TooLarge`` for size.
    """
    _check(path, fields, 1)
    size = len(canonical(fields).encode())
    if size > METADATA_BYTES_MAX:
        description = f"must have at most {METADATA_BYTES_MAX} bytes as JSON, not {size}"
        raise TooLarge(f"{path}: {description}", violations=(Violation(path, description, "metadata.bytes"),))
    removed = 0

    def clean(key: str, text: str) -> str:
        nonlocal removed
        scrubbed, found = _scrub(key, text)
        removed += found
        return scrubbed

    return Metadata({key: _mapped(key, value, clean) for key, value in fields.items()}, removed)


def _check(field: str, value: Json, depth: int) -> None:
    match value:
        case str():
            _check_text(field, value)
        case float() if not math.isfinite(value):
            raise invalid(field, "must hold finite numbers only", "metadata.number")
        case Mapping() | list() | tuple():
            if depth > DEPTH_MAX:
                raise invalid(field, f"must be at most {DEPTH_MAX} levels deep", "metadata.depth")
            for key, part in value.items() if isinstance(value, Mapping) else enumerate(value):
                if isinstance(key, str):
                    _check_key(field, key)
                _check(field, part, depth + 1)
        case _:
            pass


def _check_key(field: str, key: str) -> None:
    if not 1 <= len(key) <= KEY_CHARS_MAX:
        raise invalid(field, f"must have keys of 1 to {KEY_CHARS_MAX} characters", "metadata.key")
    _check_text(field, key)


def _check_text(field: str, text: str) -> None:
    if "\0" in text:
        raise invalid(field, "must not hold the character U+0000", "string.characters")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise invalid(field, "must not hold half of a surrogate pair", "string.characters")


def _mapped(key: str, value: Json, clean: Callable[[str, str], str]) -> Json:
    """The value with every text in it cleaned; a text in a list goes under the list's key."""
    match value:
        case str():
            return clean(key, value)
        case Mapping():
            return {clean("", name): _mapped(name, part, clean) for name, part in value.items()}
        case list() | tuple():
            return [_mapped(key, part, clean) for part in value]
        case float() if value.is_integer() and abs(value) <= INTEGER_MAX:
            return int(value)
        case _:
            return value


def _scrub(key: str, text: str) -> tuple[str, int]:
    """A text without secrets. What its key calls a secret is one, though the value alone does not show it."""
    alone = scrub(text)
    if alone.found or not key:
        return alone.text, sum(alone.found.values())
    head = f"{key}="
    beside_key = scrub(head + text)
    if not beside_key.found or not beside_key.text.startswith(head):
        return text, 0
    return beside_key.text[len(head) :], sum(beside_key.found.values())

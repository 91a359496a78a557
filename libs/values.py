"""Values that callers hand over: how large they are, how bytes are written, what they say that they are."""

from __future__ import annotations

import base64
import binascii
import re

from libs.errors import TooLarge, Violation, invalid

CONTENT_TYPE_CHARS_MAX = 127
CONTENT_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*")
"""Type and subtype as in RFC 6838, 4.2, without parameters."""


def written_bytes(field: str, text: str, bytes_max: int) -> int:
    """UTF-8 bytes of a text as it is written. Raises ``TooLarge``."""
    size = len(text) if text.isascii() else len(text.encode())
    if size > bytes_max:
        raise too_large(field, size, bytes_max)
    return size


def too_large(field: str, size: int, bytes_max: int) -> TooLarge:
    """The problem of a value with so many bytes."""
    description = f"must have at most {bytes_max} bytes, not {size}"
    return TooLarge(
        f"{field}: {description}",
        metadata={"limit": str(bytes_max)},
        violations=(Violation(field, description, "string.max_bytes"),),
    )


def from_base64(field: str, text: str) -> bytes:
    """The bytes of canonical base64. Raises ``Invalid``.

    Two ways to write the same bytes are not taken for one another.
    """
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        decoded = None
    # Spare bits of the last group may be set, and are not taken for the same.
    if decoded is None or base64.b64encode(decoded) != text.encode():
        raise invalid(field, "must be base64: standard alphabet, padded, no blanks", f"{field}.base64")
    return decoded


def clean_content_type(text: str) -> str:
    """The content type itself. Raises ``Invalid``."""
    if len(text) > CONTENT_TYPE_CHARS_MAX or not CONTENT_TYPE.fullmatch(text):
        description = f"must be type/subtype of at most {CONTENT_TYPE_CHARS_MAX} characters"
        raise invalid("content_type", description, "string.content_type")
    return text

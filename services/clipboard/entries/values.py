"""Values: how they are written, how large they may be, what they may say that they are."""

from __future__ import annotations

import base64
import binascii
import re
from enum import StrEnum

from libs.errors import Invalid, TooLarge, Violation, invalid

VALUE_BYTES_MAX = 2_097_152
"""2 MiB as it is written: decoding only makes it smaller."""
CONTENT_TYPE_CHARS_MAX = 127
CONTENT_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*")
"""Type and subtype as in RFC 6838, 4.2, without parameters."""
HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")


class Encoding(StrEnum):
    """How a value is written."""

    UTF_8 = "utf-8"
    BASE64 = "base64"
    HEX = "hex"


def measured(value: str, encoding: Encoding) -> int:
    """UTF-8 bytes of a value that is written as it says.

    Raises ``TooLarge``, and ``Invalid`` for what is not exactly that encoding: two ways to write the same
    bytes are not taken for one another.
    """
    size = len(value) if value.isascii() else len(value.encode())
    if size > VALUE_BYTES_MAX:
        raise _too_large(size)
    if encoding is Encoding.BASE64 and not _is_base64(value):
        raise invalid("value", "must be base64: standard alphabet, padded, no blanks", "value.base64")
    if encoding is Encoding.HEX and not HEX.fullmatch(value):
        raise invalid("value", "must be hex: an even number of digits, nothing else", "value.hex")
    return size


def clean_content_type(text: str) -> str:
    """The content type itself. Raises ``Invalid``."""
    if len(text) > CONTENT_TYPE_CHARS_MAX or not CONTENT_TYPE.fullmatch(text):
        description = f"must be type/subtype of at most {CONTENT_TYPE_CHARS_MAX} characters"
        raise invalid("content_type", description, "string.content_type")
    return text


def _is_base64(value: str) -> bool:
    try:
        decoded = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    # Spare bits of the last group may be set, and are not taken for the same.
    return base64.b64encode(decoded) == value.encode()


def _too_large(size: int) -> Invalid:
    description = f"must have at most {VALUE_BYTES_MAX} bytes, not {size}"
    return TooLarge(
        f"value: {description}",
        metadata={"limit": str(VALUE_BYTES_MAX)},
        violations=(Violation("value", description, "string.max_bytes"),),
    )

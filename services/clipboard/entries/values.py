"""Values: how they are written, and how large they may be."""

from __future__ import annotations

import re
from enum import StrEnum

from libs.errors import invalid
from libs.values import from_base64, written_bytes

VALUE_BYTES_MAX = 2_097_152
"""2 MiB as it is written: decoding only makes it smaller."""
HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")


class Encoding(StrEnum):
    """How a value is written."""

    UTF_8 = "utf-8"
    BASE64 = "base64"
    HEX = "hex"


def measured(value: str, encoding: Encoding) -> int:
    """UTF-8 bytes of a value that is written as it says.

    Raises ``TooLarge``, and ``Invalid`` for what is not exactly that encoding.
    """
    size = written_bytes("value", value, VALUE_BYTES_MAX)
    if encoding is Encoding.BASE64:
        from_base64("value", value)
    if encoding is Encoding.HEX and not HEX.fullmatch(value):
        raise invalid("value", "must be hex: an even number of digits, nothing else", "value.hex")
    return size

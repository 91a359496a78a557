"""Content: how it is written, how large it may be."""

from __future__ import annotations

import base64
from enum import StrEnum

from libs.values import from_base64, written_bytes

CONTENT_BYTES_MAX = 2_097_152
"""2 MiB as it is written: decoding only makes it smaller."""
CONTENT_TYPE = "text/plain"


class Encoding(StrEnum):
    """How content is written."""

    UTF_8 = "utf-8"
    BASE64 = "base64"


def decoded(content: str, encoding: Encoding) -> bytes:
    """The bytes of a content. Raises ``TooLarge``, and ``Invalid`` for what is not exactly that encoding."""
    written_bytes("content", content, CONTENT_BYTES_MAX)
    return from_base64("content", content) if encoding is Encoding.BASE64 else content.encode()


def written(content: bytes, encoding: Encoding) -> str:
    """A content as it was written."""
    return base64.b64encode(content).decode() if encoding is Encoding.BASE64 else content.decode()

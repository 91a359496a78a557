"""What a text holds in an encoding: base64, base32, hex, binary, percent, entities, rot13; a part of it."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

RUNS_MAX = 8
"""Runs of one encoding that are decoded; the rest of a text is beyond doubt long before."""
_RUN_CHARS_MAX = 8_192
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,8192}={0,2}")
_BASE32 = re.compile(r"[A-Z2-7]{16,8192}={0,6}")
_HEX = re.compile(
    r"(?:[0-9A-Fa-f]{2}){8,4096}|(?:\\x[0-9A-Fa-f]{2}){8,4096}"
    r"|(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ ,:]){7,4096}(?:0x|\\x)?[0-9A-Fa-f]{2}"
)
"""Separated throughout or not at all, so that a number before a run is no part of it."""
_BINARY = re.compile(r"(?:[01]{8}[ ,]?){6,1024}")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}){4}")
_ENTITY = re.compile(r"&(?:#|[a-z]{2,8};)")
_ROT13 = re.compile(r"[Rr][Oo][Tt][ -]?13")
_LONG = re.compile(
    r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{16}|(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ ,:]?){8})"
    r"|\\x[0-9A-Fa-f]{2}"
)
_READABLE = 0.9
"""The part of a decoded run that must be printable, to be text at all."""


@dataclass(frozen=True, slots=True)
class View:
    """Another reading of a part of a text."""

    name: str
    text: str
    start: int
    end: int


def views(text: str) -> Iterator[View]:
    """Every reading that decodes to text."""
    if _LONG.search(text):
        for name, shape, decode in (
            ("binary", _BINARY, _from_binary),
            ("hex", _HEX, _from_hex),
            ("base32", _BASE32, _from_base32),
            ("base64", _BASE64, _from_base64),
        ):
            for at, run in enumerate(shape.finditer(text)):
                if at == RUNS_MAX:
                    break
                if decoded := _readable(decode(run[0])):
                    yield View(name, decoded, *run.span())
    whole = text[: _RUN_CHARS_MAX * 2]
    if "%" in whole and _PERCENT.search(whole):
        yield View("percent", urllib.parse.unquote(whole, errors="replace"), 0, len(whole))
    if "&" in whole and _ENTITY.search(whole):
        yield View("entities", html.unescape(whole), 0, len(whole))
    if _ROT13.search(whole):
        yield View("rot13", codecs.encode(whole, "rot13"), 0, len(whole))


def _readable(raw: bytes) -> str:
    """The text that the bytes are, or nothing."""
    text = raw.decode("utf-8", errors="ignore")
    if len(text) < 6 or len(text.encode()) < _READABLE * len(raw):
        return ""
    seen = sum(char.isprintable() or char in "\n\t" for char in text)
    return text if seen >= _READABLE * len(text) else ""


def _from_base64(run: str) -> bytes:
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    body = body[: len(body) - (len(body) % 4 == 1)]
    return _decoded(base64.b64decode, body + "=" * (-len(body) % 4))


def _from_base32(run: str) -> bytes:
    body = run.rstrip("=")
    body = body[: len(body) // 8 * 8]
    return _decoded(base64.b32decode, body)


def _from_hex(run: str) -> bytes:
    return _decoded(binascii.unhexlify, re.sub(r"0x|\\x|[ ,:]", "", run))


def _from_binary(run: str) -> bytes:
    bits = re.sub(r"[ ,]", "", run)
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))


def _decoded(decode: Callable[[str], bytes], run: str) -> bytes:
    try:
        return decode(run)
    except (binascii.Error, ValueError):
        return b""

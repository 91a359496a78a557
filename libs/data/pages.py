"""Page tokens: where a list goes on, told so that only we can read or make it.

A token is sealed for one profile, one rpc and one query, and holds for a day.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from libs.data.sealing import NONCE_BYTES, joined
from libs.errors import Invalid, Violation

FORMAT = b"\x01"
TOKEN_CHARS_MAX = 512
POSITION_PARTS_MAX = 8
LIFETIME = timedelta(hours=24)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Part = datetime | UUID | int | str
Position = tuple[Part, ...]
"""The sort key of the last row that was shown. Times keep their microseconds."""


class InvalidPageToken(Invalid):
    """The page token is not one of this list."""

    reason = "INVALID_PAGE_TOKEN"


class Pages:
    """Makes and reads the page tokens of one service."""

    def __init__(self, key: bytes) -> None:
        """Take 32 bytes that every replica of the service has."""
        self._aead = AESGCM(key)

    def seal(self, profile: UUID, rpc: str, query: bytes, position: Position, now: datetime) -> str:
        """A token that goes on after ``position``. ``query`` is what else the caller asked for, as bytes."""
        if len(position) > POSITION_PARTS_MAX:
            raise ValueError(f"a position has at most {POSITION_PARTS_MAX} parts")
        inside = orjson.dumps([_micros(now + LIFETIME), *(_out(part) for part in position)])
        nonce = os.urandom(NONCE_BYTES)
        sealed = FORMAT + nonce + self._aead.encrypt(nonce, inside, _place(profile, rpc, query))
        token = base64.urlsafe_b64encode(sealed).decode().rstrip("=")
        if len(token) > TOKEN_CHARS_MAX:
            raise ValueError(f"a page token of {len(token)} characters; the limit is {TOKEN_CHARS_MAX}")
        return token

    def open(self, profile: UUID, rpc: str, query: bytes, token: str, now: datetime) -> Position | None:
        """The position in a token, ``None`` for the first page; ``Invalid`` if it is not for this list."""
        if not token:
            return None
        expires, *parts = orjson.loads(self._opened(token, _place(profile, rpc, query)))
        if _micros(now) >= expires:
            raise _refused("has expired; start again from the first page")
        return tuple(_in(part) for part in parts)

    def _opened(self, token: str, place: bytes) -> bytes:
        if len(token) > TOKEN_CHARS_MAX:
            raise _not_ours()
        try:
            sealed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
            head, nonce, rest = sealed[:1], sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
            if head != FORMAT:
                raise _not_ours()
            return self._aead.decrypt(nonce, rest, place)
        except (binascii.Error, ValueError, InvalidTag):
            raise _not_ours() from None


def _not_ours() -> InvalidPageToken:
    return _refused("is not a token of this list; send back next_page_token as it is")


def _refused(why: str) -> InvalidPageToken:
    return InvalidPageToken(f"page_token: {why}", violations=[Violation("page_token", why, "page_token")])


def _place(profile: UUID, rpc: str, query: bytes) -> bytes:
    return joined(b"page v1", profile.bytes, rpc.encode(), sha256(query).digest())


def _micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def _out(part: Part) -> Sequence[str | int]:
    match part:
        case datetime():
            return ("t", _micros(part))
        case UUID():
            return ("u", part.hex)
        case int():
            return ("i", part)
        case str():
            return ("s", part)


def _in(part: Sequence[str | int]) -> Part:
    kind, value = part
    match kind:
        case "t":
            return EPOCH + timedelta(microseconds=int(value))
        case "u":
            return UUID(hex=str(value))
        case "i":
            return int(value)
        case _:
            return str(value)

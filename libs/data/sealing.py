"""One value sealed under one data key, so that it opens only where it was written.

A record is ``0x01 | key id (16) | nonce (12) | ciphertext | tag (16)``: AES-256-GCM with a random nonce.
The associated data binds profile, column, row and version, so that a record which is altered, moved
to another place, or put back after its row has moved on does not open.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT = b"\x01"
KEY_BYTES = 32
KEY_ID_BYTES = 16
NONCE_BYTES = 12
TAG_BYTES = 16
OVERHEAD_BYTES = len(FORMAT) + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES
HEADER_BYTES = OVERHEAD_BYTES - TAG_BYTES


class SealedRecordBroken(Exception):
    """A sealed record does not open: it is damaged, or stands where it was not written.

    Not a ``Problem``: the caller did nothing wrong, data is lost or somebody moved it.
    """


def joined(*parts: bytes) -> bytes:
    """Parts with their lengths before them, so that no two lists of parts give the same bytes."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def key_id_of(record: bytes) -> bytes:
    """The id of the data key that sealed a record; of damaged bytes, an id that no key has."""
    return record[len(FORMAT) : len(FORMAT) + KEY_ID_BYTES]


class Sealer:
    """Seals and opens the values of one profile under one data key."""

    __slots__ = ("_aead", "_head", "_key_id", "_nonce", "_profile")

    def __init__(
        self, profile: UUID, key_id: UUID, key: bytes, nonce: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._profile = profile.bytes
        self._key_id = key_id.bytes
        self._head = FORMAT + key_id.bytes
        self._aead = AESGCM(key)
        self._nonce = nonce

    def seal(self, column: str, row: UUID, version: int, plaintext: bytes) -> bytes:
        """Seal a value for its place. ``column`` is ``table.column``."""
        nonce = self._nonce(NONCE_BYTES)
        sealed = self._aead.encrypt(nonce, plaintext, self._place(column, row, version))
        return self._head + nonce + sealed

    def open(self, column: str, row: UUID, version: int, record: bytes) -> bytes:
        """The value, if it was sealed for this place; otherwise ``SealedRecordBroken``."""
        if len(record) < OVERHEAD_BYTES or record[: len(self._head)] != self._head:
            raise SealedRecordBroken(f"{column} of row {row} is not a record of its profile's key")
        nonce = record[len(self._head) : HEADER_BYTES]
        try:
            return self._aead.decrypt(nonce, record[HEADER_BYTES:], self._place(column, row, version))
        except InvalidTag:
            raise SealedRecordBroken(f"{column} of row {row} does not open at version {version}") from None

    def _place(self, column: str, row: UUID, version: int) -> bytes:
        return joined(
            b"v1", self._profile, column.encode(), row.bytes, version.to_bytes(8, "big"), self._key_id
        )

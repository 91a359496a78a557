"""A content that comes in chunks: cut into parts, counted, and compared with what was said of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from libs.errors import Invalid, Unavailable, invalid
from libs.values import too_large
from services.results.results.result import PART_BYTES
from services.results.runs.quota import Quota

STREAM_BYTES_MAX = 67_108_864
"""64 MiB."""
CHUNKS_MAX = 65_536
"""So many chunks of a KiB are a content of the largest size."""


class DigestMismatch(Invalid):
    """What was streamed is not what its header said: its size or its SHA-256 differs. Send it again."""

    reason = "DIGEST_MISMATCH"


class UploadGone(Unavailable):
    """The stream took so long that its parts were removed. Send it again."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Whose a stream is, the door that it came by, and how much its profile may hold."""

    profile: UUID
    source: int
    quota: Quota


class Incoming:
    """One stream. Hold no more of it than a part and a chunk."""

    def __init__(self, digest: str, size_bytes: int | None) -> None:
        """Take what the header says of the content."""
        self.digest = digest
        self._expected = size_bytes
        self._seen = sha256()
        self._rest = bytearray()
        self._chunks = 0
        self.size_bytes = 0

    def add(self, chunk: bytes) -> Iterator[bytes]:
        """Take a chunk; answer the parts that are complete.

        Raises ``TooLarge``, ``DigestMismatch``, and ``Invalid`` for too many chunks.
        """
        self._chunks += 1
        if self._chunks > CHUNKS_MAX:
            raise invalid("chunk", f"must come at most {CHUNKS_MAX} times in a stream", "stream.chunks")
        self.size_bytes += len(chunk)
        if self.size_bytes > STREAM_BYTES_MAX:
            raise too_large("chunk", self.size_bytes, STREAM_BYTES_MAX)
        if self._expected is not None and self.size_bytes > self._expected:
            raise DigestMismatch
        self._seen.update(chunk)
        self._rest += chunk
        # A part that is full is held back: it may be the last, and the last is what `rest` gives.
        while len(self._rest) > PART_BYTES:
            yield bytes(self._rest[:PART_BYTES])
            del self._rest[:PART_BYTES]

    def rest(self) -> bytes:
        """The last part, when the whole content was what its header said. Raises ``DigestMismatch``."""
        if self._expected not in (None, self.size_bytes) or self._seen.hexdigest() != self.digest:
            raise DigestMismatch
        return bytes(self._rest)

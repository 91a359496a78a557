"""A content that comes in chunks."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import pytest

from libs.errors import Invalid, TooLarge
from services.results.results.result import PART_BYTES
from services.results.results.streams import CHUNKS_MAX, STREAM_BYTES_MAX, DigestMismatch, Incoming


def digest(content: bytes) -> str:
    """As a header has it."""
    return sha256(content).hexdigest()


def received(incoming: Incoming, chunks: Iterable[bytes]) -> list[bytes]:
    """All parts."""
    parts = [part for chunk in chunks for part in incoming.add(chunk)]
    return [*parts, incoming.rest()]


@pytest.mark.parametrize(
    ("size", "parts"),
    [
        (0, [0]),
        (1, [1]),
        (PART_BYTES, [PART_BYTES]),
        (PART_BYTES + 1, [PART_BYTES, 1]),
        (2 * PART_BYTES, [PART_BYTES, PART_BYTES]),
        (2 * PART_BYTES + 5, [PART_BYTES, PART_BYTES, 5]),
    ],
)
@pytest.mark.parametrize("chunk", [1_000_003, PART_BYTES, 3 * PART_BYTES])
def test_parts_are_full_but_the_last(size: int, parts: list[int], chunk: int) -> None:
    """However it is cut by its sender; a last part that is full is the last."""
    content = (bytes(range(251)) * (size // 251 + 1))[:size]
    incoming = Incoming(digest(content), size)

    found = received(incoming, (content[at : at + chunk] for at in range(0, size, chunk)))

    assert [len(part) for part in found] == parts
    assert b"".join(found) == content
    assert incoming.size_bytes == size


@pytest.mark.parametrize(
    ("told", "size", "content"),
    [
        (digest(b"abc"), None, b"abd"),
        (digest(b"abc"), 4, b"abc"),
        (digest(b"abc"), 2, b"abc"),
        (digest(b""), None, b"a"),
        ("0" * 64, None, b""),
        (digest(b""), 1, b""),
    ],
)
def test_what_comes_is_what_was_told(told: str, size: int | None, content: bytes) -> None:
    """Another digest, more bytes or fewer: it is refused."""
    with pytest.raises(DigestMismatch):
        received(Incoming(told, size), [content] if content else [])


def test_more_than_was_told_is_refused_before_the_end() -> None:
    """With the chunk that has it."""
    incoming = Incoming(digest(b"abc"), 3)
    list(incoming.add(b"ab"))

    with pytest.raises(DigestMismatch):
        list(incoming.add(b"cd"))


def test_the_largest_content_is_taken_and_a_byte_more_is_not() -> None:
    """No more of it is held than a part and a chunk."""
    chunk = bytes(PART_BYTES)
    incoming = Incoming(digest(b""), None)
    for _ in range(STREAM_BYTES_MAX // PART_BYTES):
        list(incoming.add(chunk))

    assert incoming.size_bytes == STREAM_BYTES_MAX
    with pytest.raises(TooLarge) as refused:
        list(incoming.add(b"x"))
    assert [each.field for each in refused.value.violations] == ["chunk"]


def test_as_many_chunks_as_may_be() -> None:
    """One more is refused, however small they are."""
    incoming = Incoming(digest(b"x" * CHUNKS_MAX), None)
    for _ in range(CHUNKS_MAX):
        list(incoming.add(b"x"))

    assert incoming.rest() == b"x" * CHUNKS_MAX
    with pytest.raises(Invalid, match=str(CHUNKS_MAX)):
        list(incoming.add(b"x"))

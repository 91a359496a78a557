"""Everything that is kept, kind by kind and page by page, to be gone on with where a reader was cut off."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from libs.errors import Invalid, invalid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PARTS = 3
Found = TypeVar("Found")
Place = tuple[datetime, Any]
"""What one thing is sorted by: a moment and an id."""


@dataclass(frozen=True, slots=True)
class Walk(Generic[Found]):
    """How to read all things of one kind."""

    kind: str
    page: Callable[[Place | None, int], Awaitable[Sequence[Found]]]
    """At most so many after a place, in one lasting order; none once there are no more."""
    place: Callable[[Found], Place]
    read_id: Callable[[str], Any] = UUID
    size: int = 50
    """How many are read, and held, at once."""


async def walked(walks: Sequence[Walk[Any]], after: str) -> AsyncGenerator[tuple[str, str, Any]]:
    """Every thing of every kind, with its mark and its kind; from the start, or after a mark.

    Raises ``Invalid`` for what is no mark. What is added behind the reader while it reads is not seen.
    """
    kind, place = _read(after, walks) if after else ("", None)
    begun = not after
    for walk in walks:
        if not begun and walk.kind != kind:
            continue
        async for found in _all(walk, None if begun else place):
            yield _mark(walk.kind, *walk.place(found)), walk.kind, found
        begun = True


async def _all(walk: Walk[Found], place: Place | None) -> AsyncGenerator[Found]:
    while page := await walk.page(place, walk.size):
        for found in page:
            yield found
        place = walk.place(page[-1])


def _mark(kind: str, at: datetime, one: object) -> str:
    return f"{kind} {(at - EPOCH) // timedelta(microseconds=1)} {one}"


def _read(mark: str, walks: Sequence[Walk[Any]]) -> tuple[str, Place]:
    parts = mark.split(" ")
    walk = next((walk for walk in walks if walk.kind == parts[0]), None)
    if walk is None or len(parts) != PARTS:
        raise _no_mark()
    try:
        return walk.kind, (EPOCH + timedelta(microseconds=int(parts[1])), walk.read_id(parts[2]))
    except (ValueError, OverflowError):
        raise _no_mark() from None


def _no_mark() -> Invalid:
    return invalid("after", "must be what came with a record", "string.mark")

"""Everything kind by kind, and on from any mark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from libs.data.walking import Place, Walk, walked
from libs.errors import Invalid

NOW = datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
Thing = tuple[datetime, str]


def walk(kind: str, count: int, size: int) -> Walk[Any]:
    """So many things of a kind, the newest first, read so many at once."""
    things = [(NOW - timedelta(seconds=number // 2), str(9_999 - number)) for number in range(count)]

    async def page(after: Place | None, limit: int) -> Sequence[Thing]:
        return [thing for thing in things if after is None or thing < after][:limit]

    return Walk(kind, page, lambda thing: thing, read_id=str, size=size)


@given(some.lists(some.integers(0, 7), min_size=1, max_size=3), some.integers(1, 4))
async def test_after_every_mark_comes_the_rest(counts: list[int], size: int) -> None:
    """Each once, whatever the pages, also where a kind has none."""
    walks = [walk(f"kind{number}", count, size) for number, count in enumerate(counts)]
    everything = [each async for each in walked(walks, "")]

    assert len(everything) == sum(counts)
    for at, (mark, _, _) in enumerate(everything):
        assert [each async for each in walked(walks, mark)] == everything[at + 1 :]


@pytest.mark.parametrize(
    "mark", ["x", "kind0", "kind0 1", "kind0 x y", "other 1 2", "kind0 1 2 3", "kind0 9e9 2"]
)
async def test_what_is_no_mark_is_refused(mark: str) -> None:
    """By the field's name."""
    with pytest.raises(Invalid) as caught:
        [each async for each in walked([walk("kind0", 3, 2)], mark)]

    assert [violation.field for violation in caught.value.violations] == ["after"]

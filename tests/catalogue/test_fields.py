"""Every row whose fault lies in a field, through every door that can say it."""

from __future__ import annotations

import pytest

from tests.catalogue.names import NAMED
from tests.catalogue.place import Place
from tests.catalogue.rows import Row
from tests.catalogue.values import VALUES

CASES = [(door, row) for row in (*NAMED, *VALUES) for door in row.doors]


@pytest.fixture(scope="module")
async def held(place: Place) -> tuple[object, ...]:
    """What was there before the first row, and has to be after each."""
    return await place.holds()


@pytest.mark.parametrize(("door", "row"), CASES, ids=str)
async def test_a_wrong_field_is_named_and_nothing_is_written(
    place: Place, held: tuple[object, ...], door: str, row: Row
) -> None:
    """The exact code, reason and field; nothing is kept; the next call over the same connection works."""
    way = place.door(door, row.rpc)

    answer = await way.call(row.rpc, place.request(row.request))

    assert (answer.said, answer.reason, answer.fields) == (row.said(door), row.reason, row.fields)
    assert await place.holds() == held
    assert (await place.door(door, "GetStats").call("GetStats", {})).fine

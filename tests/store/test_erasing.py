"""A schema emptied of one profile, a bounded part at a time."""

from __future__ import annotations

from uuid import UUID, uuid4

from libs.data import migrations
from libs.data.erasing import COUNTED_MAX, ROWS_MAX, Erased, Eraser
from libs.data.keyring import Keyring
from libs.data.postgres import Database
from tests.rig.postgres import MASTER, ROOM

MANY = 2 * ROWS_MAX + 100


async def filled(dsn: str, profile: UUID, count: int) -> None:
    """So many things of a profile."""
    async with migrations.owner(dsn) as connection:
        await connection.execute(
            "INSERT INTO room.thing (profile_id, name) SELECT $1, n::text FROM generate_series(1, $2) n",
            profile,
            count,
        )


async def test_one_call_is_a_bounded_amount_of_work(room: Database, room_dsn: str) -> None:
    """Keys go with the first; each deletes so many and counts what is left, until nothing is."""
    keyring = Keyring(room, MASTER, ROOM.schema)
    profile, other = uuid4(), uuid4()
    for each in (profile, other):
        await keyring.of(each)
        await filled(room_dsn, each, MANY)
    eraser = Eraser(room, keyring, ROOM.schema)

    told = [await eraser.erase(profile) for _ in range(4)]

    assert told == [
        Erased(ROWS_MAX, 1, COUNTED_MAX),
        Erased(ROWS_MAX, 0, 100),
        Erased(100, 0, 0),
        Erased(0, 0, 0),
    ]
    assert await keyring.find(profile) is None
    async with room.as_profile(other) as connection:
        assert await connection.fetchval("SELECT count(*) FROM room.thing") == MANY


async def test_a_new_table_is_emptied_unasked(room: Database, room_dsn: str) -> None:
    """Also one whose rows point at others, which are emptied after it."""
    profile = uuid4()
    async with migrations.owner(room_dsn) as connection:
        await connection.execute(
            "CREATE TABLE room.a_part"
            " (profile_id uuid, thing uuid, FOREIGN KEY (profile_id, thing) REFERENCES room.thing);"
            "GRANT SELECT, INSERT, UPDATE, DELETE ON room.a_part TO treering_room"
        )
    await filled(room_dsn, profile, 3)
    async with migrations.owner(room_dsn) as connection:
        await connection.execute(
            "INSERT INTO room.a_part SELECT profile_id, id FROM room.thing WHERE profile_id = $1", profile
        )

    erased = await Eraser(room, Keyring(room, MASTER, ROOM.schema), ROOM.schema).erase(profile)

    assert erased == Erased(6, 0, 0)

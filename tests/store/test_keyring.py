"""Data keys of profiles, in a real database."""

import asyncio
from uuid import uuid4

import pytest

from libs.data import keyring, migrations
from libs.data.keyring import Keyring, WrongMasterKey
from libs.data.master_key import MasterKey
from libs.data.postgres import Database, connect
from libs.data.sealing import SealedRecordBroken
from tests.rig.postgres import MASTER, ROOM

ROW = uuid4()


@pytest.fixture
def keys(room: Database) -> Keyring:
    """The room's keyring."""
    return Keyring(room, MASTER, ROOM.schema)


async def test_what_one_process_seals_another_opens(room: Database, keys: Keyring) -> None:
    """The key is made once and kept; blind indexes agree."""
    profile = uuid4()
    ours = await keys.of(profile)
    theirs = await Keyring(room, MASTER, ROOM.schema).of(profile)

    assert theirs.open("thing.name", ROW, 1, ours.seal("thing.name", ROW, 1, b"lamp")) == b"lamp"
    assert theirs.blind("name", "lamp") == ours.blind("name", "lamp")
    assert theirs.term("lamp") == ours.term("lamp")


async def test_profiles_have_keys_of_their_own(keys: Keyring) -> None:
    """Nothing of one profile opens, or looks alike, under another's keys."""
    ours, theirs = await keys.of(uuid4()), await keys.of(uuid4())

    with pytest.raises(SealedRecordBroken):
        theirs.open("thing.name", ROW, 1, ours.seal("thing.name", ROW, 1, b"lamp"))
    assert ours.blind("name", "lamp") != theirs.blind("name", "lamp")


async def test_a_race_makes_one_key(room: Database, room_dsn: str) -> None:
    """Many replicas that meet a new profile at once agree on its key."""
    profile = uuid4()
    rings = [Keyring(room, MASTER, ROOM.schema) for _ in range(20)]

    found = await asyncio.gather(*(ring.of(profile) for ring in rings))

    assert len({one.blind("name", "lamp") for one in found}) == 1
    async with migrations.owner(room_dsn) as connection:
        assert await connection.fetchval("SELECT count(*) FROM room.data_key") == 1


async def test_many_that_ask_at_once_cause_one_look(room_dsn: str) -> None:
    """A hundred callers fit through one connection, and one that goes away takes nothing along."""
    async with connect(room_dsn, size=1) as database:
        ring = Keyring(database, MASTER, ROOM.schema)
        profile = uuid4()
        impatient = asyncio.create_task(ring.of(profile))
        await asyncio.sleep(0)
        asked = [asyncio.create_task(ring.of(profile)) for _ in range(100)]
        impatient.cancel()

        found = await asyncio.gather(*asked)

        assert all(one is found[0] for one in found)
        assert await ring.of(profile) is found[0]


async def test_a_failed_look_is_not_remembered(room_dsn: str) -> None:
    """After the database was away the next call finds the key."""
    async with connect(room_dsn) as database:
        ring = Keyring(database, MASTER, ROOM.schema)
        async with migrations.owner(room_dsn) as connection:
            await connection.execute("ALTER TABLE room.data_key RENAME TO away")
            profile = uuid4()
            with pytest.raises(Exception, match="42P01"):
                await ring.of(profile)
            await connection.execute("ALTER TABLE room.away RENAME TO data_key")

        assert await ring.of(profile)


async def test_a_destroyed_key_opens_nothing(room: Database, keys: Keyring) -> None:
    """What was sealed for the profile is gone for good; other profiles' stays."""
    profile, other = uuid4(), uuid4()
    record = (await keys.of(profile)).seal("thing.name", ROW, 1, b"lamp")
    kept = (await keys.of(other)).seal("thing.name", ROW, 1, b"chair")

    await keys.destroy(profile)

    with pytest.raises(SealedRecordBroken):
        (await keys.of(profile)).open("thing.name", ROW, 1, record)
    fresh = Keyring(room, MASTER, ROOM.schema)
    assert (await fresh.of(other)).open("thing.name", ROW, 1, kept) == b"chair"


async def test_another_master_key_does_not_unwrap(room: Database, keys: Keyring) -> None:
    """A process with the wrong master key is told so, and makes no second key for the profile."""
    profile = uuid4()
    await keys.of(profile)

    with pytest.raises(WrongMasterKey):
        await Keyring(room, MasterKey(bytes(32)), ROOM.schema).of(profile)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE room.data_key SET wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1)",
        "UPDATE room.data_key SET id = gen_random_uuid()",
        "UPDATE room.data_key SET profile_id = $1",
        "UPDATE room.data_key SET wrapped = ''",
    ],
)
async def test_a_wrapped_key_opens_only_in_its_row(room: Database, room_dsn: str, change: str) -> None:
    """Altered, renamed, or handed to another profile, it does not unwrap."""
    profile, other = uuid4(), uuid4()
    await Keyring(room, MASTER, ROOM.schema).of(profile)
    async with migrations.owner(room_dsn) as connection:
        await connection.execute(change, *([other] if "$1" in change else []))

    with pytest.raises(SealedRecordBroken):
        await Keyring(room, MASTER, ROOM.schema).of(other if "$1" in change else profile)


async def test_no_key_stands_in_the_database(
    room: Database, room_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of a data key is longer than the key and does not contain it."""
    made = bytes(range(100, 132))

    def predictable(count: int) -> bytes:
        return made[:count]

    monkeypatch.setattr(keyring.os, "urandom", predictable)
    await Keyring(room, MASTER, ROOM.schema).of(uuid4())

    async with migrations.owner(room_dsn) as connection:
        wrapped = bytes(await connection.fetchval("SELECT wrapped FROM room.data_key") or b"")
    assert made not in wrapped
    assert len(wrapped) == 12 + 32 + 16

"""Queries under row-level security, and what becomes of errors."""

import asyncio
import os
import signal
from uuid import UUID, uuid4

import numpy as np
import pytest

from libs import errors
from libs.data import migrations, pool, postgres
from libs.data.codecs import halfvecs_out
from libs.data.embedded import EmbeddedPostgres
from libs.data.faults import Away, Busy, DatabaseFault
from libs.data.postgres import Database, connect
from tests.rig.postgres import MASTER, ROOM, state_directory

ADD = "INSERT INTO room.thing (profile_id, name) VALUES ($1, $2)"
NAMES = "SELECT name FROM room.thing ORDER BY name"


async def names(database: Database, profile: UUID) -> list[str]:
    """What a profile sees."""
    async with database.as_profile(profile) as connection:
        return [row["name"] for row in await connection.fetch(NAMES)]


async def add(database: Database, profile: UUID, name: str) -> None:
    """A row of a profile."""
    async with database.as_profile(profile) as connection:
        await connection.execute(ADD, profile, name)


async def test_a_profile_sees_its_own_rows_only(room: Database) -> None:
    """Two profiles write the same name; each sees one row."""
    ours, theirs = uuid4(), uuid4()
    await add(room, ours, "lamp")
    await add(room, theirs, "lamp")
    await add(room, theirs, "chair")

    assert await names(room, ours) == ["lamp"]
    assert await names(room, theirs) == ["chair", "lamp"]
    assert await names(room, uuid4()) == []


async def test_without_a_profile_nothing_is_seen_or_written(room: Database) -> None:
    """Also on a connection that has just served a profile: the setting ends with its transaction."""
    ours = uuid4()
    await add(room, ours, "lamp")

    for _ in range(postgres.POOL_SIZE):
        assert await room.fetch(NAMES) == []
    async with room.transaction() as connection:
        assert await connection.fetch(NAMES) == []
    with pytest.raises(DatabaseFault, match="42501"):
        await room.execute(ADD, ours, "chair")


async def test_no_row_goes_to_another_profile(room: Database) -> None:
    """Inserting for, or handing a row to, another profile is stopped and told as a bug, with no value."""
    ours, theirs = uuid4(), uuid4()
    await add(room, ours, "lamp")

    async def write(statement: str, *args: object) -> None:
        async with room.as_profile(ours) as connection:
            await connection.execute(statement, *args)

    for statement in (ADD, "UPDATE room.thing SET profile_id = $1 WHERE name <> $2"):
        with pytest.raises(DatabaseFault) as fault:
            await write(statement, theirs, "secret")
        assert fault.value.sqlstate == "42501"
        assert "secret" not in str(fault.value)
    assert await names(room, theirs) == []


async def test_a_function_sets_its_profile_itself(room: Database) -> None:
    """A write of one round trip needs no transaction of ours and leaves no profile behind."""
    ours = uuid4()

    assert isinstance(await room.fetchval("SELECT room.put($1, $2)", ours, "lamp"), UUID)

    assert await names(room, ours) == ["lamp"]
    assert await room.fetch(NAMES) == []


async def test_an_error_or_a_cancellation_undoes_the_transaction(room: Database) -> None:
    """Whatever ends the block but its own end, nothing of it stays, and the pool serves on."""
    ours = uuid4()

    async def fail_with(end: BaseException | None) -> None:
        async with room.as_profile(ours) as connection:
            await connection.execute(ADD, ours, "lamp")
            if end is None:
                await connection.execute("SELECT pg_sleep(30)")
            else:
                raise end

    with pytest.raises(errors.Missing):
        await fail_with(errors.Missing())
    for _ in range(postgres.POOL_SIZE + 1):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await fail_with(None)

    assert await names(room, ours) == []


async def test_a_swallowed_error_is_not_taken_for_a_commit(room: Database) -> None:
    """After an error inside it a transaction cannot commit; its end says so instead of nodding."""
    ours = uuid4()

    async def swallow() -> None:
        async with room.as_profile(ours) as connection:
            await connection.execute(ADD, ours, "lamp")
            with pytest.raises(errors.Conflict):
                await connection.execute(ADD, ours, "lamp")

    with pytest.raises(DatabaseFault, match="25P02"):
        await swallow()
    assert await names(room, ours) == []


@pytest.mark.parametrize(
    ("query", "args", "kind"),
    [
        ("SELECT $1::text", ["a\0b"], errors.Invalid),
        ("SELECT 1 / 0", [], errors.Invalid),
        ("SELECT room.put($1, '')", [uuid4()], errors.Invalid),
        ("SELECT pg_terminate_backend(pg_backend_pid())", [], errors.Unavailable),
        ("SELECT no_such_thing", [], DatabaseFault),
        ("SELECT $1::int", ["secret"], errors.Invalid),
        ("SELECT $1::int", [], DatabaseFault),
    ],
)
async def test_errors_arrive_in_our_words(
    room: Database, query: str, args: list[object], kind: type[Exception]
) -> None:
    """Real ones, from the server and from the client, told by kind; the next call works."""
    with pytest.raises(kind) as problem:
        await room.fetchval(query, *args)

    assert "secret" not in str(problem.value)
    assert await room.fetchval("SELECT 1") == 1


async def test_values_keep_their_types(room: Database) -> None:
    """jsonb as Python values, ids as UUIDs, halfvec as float32 arrays, also in arrays."""
    ours = uuid4()
    about = {"öl": [1, 2.5, None, True], "nested": {"a": "b"}}
    vector = np.array([1, -2, 0.5], dtype=np.float32)
    async with room.as_profile(ours) as connection:
        row = await connection.fetchrow(
            "INSERT INTO room.thing (profile_id, name, about, embedding) VALUES ($1, 'lamp', $2, $3)"
            " RETURNING profile_id, about, embedding, embedding::text AS told",
            ours,
            about,
            vector,
        )
        batch = await connection.fetch(
            "SELECT v FROM unnest($1::halfvec[], $2::jsonb[]) AS t (v, j)",
            halfvecs_out([vector, vector * 2]),
            [about, {}],
        )

    assert row is not None
    assert (row["profile_id"], row["about"], row["told"]) == (ours, about, "[1,-2,0.5]")
    assert row["embedding"].dtype == np.float32
    assert [one["v"].tolist() for one in batch] == [[1, -2, 0.5], [2, -4, 1]]


async def test_the_pool_is_bounded_and_says_so(room_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every connection in use a caller waits a little and is then asked to come back."""
    monkeypatch.setattr(pool, "WAIT_SECONDS", 0.1)
    async with connect(room_dsn, size=1) as database:
        async with database.transaction():
            with pytest.raises(Busy) as problem:
                await database.fetchval("SELECT 1")
        assert problem.value.retry_after
        assert await database.fetchval("SELECT 1") == 1


async def test_a_transaction_left_open_goes_to_nobody(room_dsn: str) -> None:
    """A statement that opens a transaction by itself costs its connection, not the next caller's privacy."""
    async with connect(room_dsn, size=1) as database:
        first = await database.fetchval("SELECT pg_backend_pid()")
        await database.execute("BEGIN")

        assert await database.fetchval("SELECT pg_backend_pid()") != first


async def test_a_connection_is_used_again_after_a_cancellation(room_dsn: str) -> None:
    """A caller that goes away stops its query on the server; the connection serves the next at once."""
    async with connect(room_dsn, size=1) as database:
        first = await database.fetchval("SELECT pg_backend_pid()")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await database.execute("SELECT pg_sleep(30)")

        async with asyncio.timeout(5):
            assert await database.fetchval("SELECT pg_backend_pid()") == first


async def test_a_deadlock_is_tried_again(room: Database, room_dsn: str) -> None:
    """Two statements lock each other out; Postgres undoes one, which then succeeds as if nothing were."""
    async with migrations.owner(room_dsn) as connection:
        await connection.execute("CREATE TABLE room.pair AS SELECT generate_series(1, 2) AS id, 0 AS n")
        await connection.execute(f"GRANT ALL ON room.pair TO {ROOM.role}")
    update = (
        "DO $$ BEGIN UPDATE room.pair SET n = n + 1 WHERE id = {}; PERFORM pg_sleep(0.2);"
        " UPDATE room.pair SET n = n + 1 WHERE id = {}; END $$"
    )

    await asyncio.gather(room.execute(update.format(1, 2)), room.execute(update.format(2, 1)))

    assert [row["n"] for row in await room.fetch("SELECT n FROM room.pair")] == [2, 2]


async def test_a_role_that_is_refused_is_told_apart(room_dsn: str) -> None:
    """A wrong password is a mistake of the installation, not of a caller."""
    with pytest.raises(DatabaseFault, match="28P01"):
        async with connect(room_dsn, role=ROOM.role, password="wrong"):
            pass


async def test_nobody_there_is_away() -> None:
    """A server that does not answer is ``Unavailable``."""
    with pytest.raises(Away):
        async with connect("postgresql://postgres@127.0.0.1:1/postgres"):
            pass


async def test_the_pool_heals_after_the_server_was_killed() -> None:
    """kill -9 under load: callers hear ``Unavailable`` and nothing else, and nothing answered is lost."""
    with state_directory() as directory, EmbeddedPostgres(directory / "home") as house:
        async with connect(house.dsn) as database:
            await database.execute("CREATE TABLE kept (n int PRIMARY KEY)")
            kept: list[int] = []
            heard: set[type[Exception]] = set()

            async def write(first: int) -> None:
                for number in range(first, 1_000_000, 8):
                    try:
                        await database.execute("INSERT INTO kept VALUES ($1)", number)
                        kept.append(number)
                    except Exception as problem:
                        heard.add(type(problem))
                        return

            writers = [asyncio.create_task(write(first)) for first in range(8)]
            await asyncio.sleep(0.3)
            assert house.pid is not None
            os.kill(house.pid, signal.SIGKILL)
            await asyncio.wait_for(asyncio.gather(*writers), 20)
            assert heard
            assert {kind for kind in heard if not issubclass(kind, errors.Unavailable)} == set()

            for _ in range(200):
                house.revive()
                try:
                    await database.ping()
                    break
                except errors.Unavailable:
                    await asyncio.sleep(0.1)
            found = {row["n"] for row in await database.fetch("SELECT n FROM kept")}
            assert kept
            assert found >= set(kept)
            await asyncio.gather(*(database.ping() for _ in range(postgres.POOL_SIZE)))


async def test_the_room_role_is_nobody_special(room: Database) -> None:
    """Guards the tests above: they run under the role that a service has."""
    assert await room.fetchval("SELECT current_user::text") == ROOM.role
    assert MASTER.password(ROOM.role)

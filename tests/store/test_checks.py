"""What keeps a house from opening, each fault made once."""

import pytest

from libs.data import checks, migrations
from libs.data.checks import Finding, examine, isolation_self_test
from libs.data.master_key import MasterKey
from libs.data.postgres import Database, connect
from libs.refusal import Refused
from tests.rig.postgres import MASTER, ROOM

LOSSY = "durability"
"""The session's server is a forgetful one, which is found out."""


async def findings(dsn: str, master: MasterKey = MASTER) -> dict[str, Finding]:
    """By name."""
    async with migrations.owner(dsn) as connection:
        return {finding.name: finding for finding in await examine(connection, master, [ROOM])}


async def change(dsn: str, statement: str) -> None:
    """As the owner."""
    async with migrations.owner(dsn) as connection:
        await connection.execute(statement)


async def test_a_good_database_has_no_faults(room_dsn: str) -> None:
    """All is well but the durability that tests give up; what is well needs no remedy."""
    found = await findings(room_dsn)

    assert [name for name, finding in found.items() if not finding.ok] == [LOSSY]
    assert "fsync" in found[LOSSY].detail
    assert all(bool(finding.remedy) != finding.ok for finding in found.values())


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("ALTER TABLE room.thing NO FORCE ROW LEVEL SECURITY", "room: row-level security"),
        ("ALTER TABLE room.thing DISABLE ROW LEVEL SECURITY", "room: row-level security"),
        ("DROP POLICY own_profile ON room.thing", "room: row-level security"),
        ("CREATE TABLE room.bare (profile_id uuid)", "room: row-level security"),
        ("ALTER TABLE room.thing OWNER TO treering_room", "room: role"),
        ("REVOKE INSERT ON room.thing FROM treering_room", "room: privileges"),
        ("REVOKE USAGE ON SCHEMA room FROM treering_room", "room: privileges"),
        ("DELETE FROM room.schema_migration WHERE version = 1", "room: migrations"),
        ("UPDATE room.schema_migration SET sha256 = '' WHERE version = 1", "room: migrations"),
        ("DELETE FROM treering.installation", "master key"),
        ("DROP EXTENSION vector CASCADE", "pgvector"),
    ],
)
async def test_a_fault_is_found_by_name(room_dsn: str, statement: str, name: str) -> None:
    """Break one thing: its check fails and says what to do."""
    await change(room_dsn, statement)

    found = await findings(room_dsn)

    assert not found[name].ok
    assert found[name].remedy


async def test_a_mighty_role_is_found(room_dsn: str) -> None:
    """A role that passes row-level security would undo it all."""
    try:
        await change(room_dsn, "ALTER ROLE treering_room BYPASSRLS")
        assert not (await findings(room_dsn))["room: role"].ok
    finally:
        await change(room_dsn, "ALTER ROLE treering_room NOBYPASSRLS")


async def test_another_master_key_is_found(room_dsn: str) -> None:
    """The check fails with both ids."""
    found = (await findings(room_dsn, MasterKey(bytes(32))))["master key"]

    assert not found.ok
    assert str(MASTER.id) in found.detail


async def test_an_empty_database_is_told_as_such(empty_database: str) -> None:
    """Nothing is set up, and every check answers all the same."""
    found = await findings(empty_database)

    assert not found["master key"].ok
    assert not found["pgvector"].ok
    assert not found["room: migrations"].ok


@pytest.mark.parametrize(
    ("version", "ok"), [("0.8.3", False), ("0.8.4", True), ("0.10.0", True), ("1.0", True)]
)
async def test_pgvector_is_new_enough(room_dsn: str, version: str, ok: bool) -> None:
    """Versions are compared as numbers."""
    await change(room_dsn, f"UPDATE pg_extension SET extversion = '{version}'")  # noqa: S608 -- versions of ours

    assert (await findings(room_dsn))["pgvector"].ok is ok


async def test_walls_that_hold_let_the_house_open(room: Database) -> None:
    """M8: under the service's role every table of profiles passes, and the test leaves no row."""
    tables = await checks.profile_tables(room, ROOM.schema)

    assert tables == ["room.data_key", "room.thing"]
    await isolation_self_test(room, tables)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE room.thing DISABLE ROW LEVEL SECURITY",
        "CREATE POLICY too_wide ON room.thing USING (true)",
        "CREATE POLICY too_wide ON room.thing FOR INSERT WITH CHECK (true)",
    ],
)
async def test_a_wall_that_is_down_keeps_it_closed(room: Database, room_dsn: str, statement: str) -> None:
    """Rows that show, or could be put in, without a profile are a reason not to serve."""
    await room.fetchval("SELECT room.put(gen_random_uuid(), 'lamp')")
    await change(room_dsn, statement)

    with pytest.raises(Refused, match=r"'room\.thing'"):
        await isolation_self_test(room, ["room.data_key", "room.thing"])


async def test_a_superuser_does_not_pass(room_dsn: str) -> None:
    """The proof must be under the role that serves: one that bypasses the walls is refused."""
    async with connect(room_dsn) as database:
        with pytest.raises(Refused):
            await isolation_self_test(database, ["room.thing"])

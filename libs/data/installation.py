"""What is true of a database as a whole: its extension, and the one master key that it goes with."""

from __future__ import annotations

import asyncpg

from libs.data import migrations, sql
from libs.data.master_key import MasterKey
from libs.data.postgres import Raw, Reader
from libs.refusal import Refused

SCHEMA = "treering"
PACKAGE = "libs.data"


async def prepare(dsn: str, master: MasterKey) -> None:
    """Lay what all services stand on, and refuse a database that was founded with another master key."""
    async with migrations.owner(dsn) as connection:
        await _ensure_vector(connection)
    await migrations.apply(dsn, SCHEMA, PACKAGE)
    async with migrations.owner(dsn) as connection:
        await connection.execute(sql.load(PACKAGE).found_installation, master.id)
        await check_master_key(connection, master)


async def check_master_key(connection: Reader, master: MasterKey) -> None:
    """Refuse to go on with a master key that does not open what is kept here."""
    queries = sql.load(PACKAGE)
    is_set_up = await connection.fetchval(queries.is_set_up)
    founded_with = await connection.fetchval(queries.installation) if is_set_up else None
    if founded_with is None:
        raise Refused("This database is not set up yet. Run: treering migrate")
    if founded_with != master.id:
        raise Refused(
            f"This database goes with the master key {founded_with}, but the key given is {master.id}. "
            "Nothing was written. Put the right key in place, or use another database."
        )


async def _ensure_vector(connection: Raw) -> None:
    try:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except asyncpg.InsufficientPrivilegeError:
        raise Refused(
            "The extension 'vector' is missing and this user may not create it. "
            "As a superuser of that database, run: CREATE EXTENSION vector"
        ) from None
    except (asyncpg.UndefinedFileError, asyncpg.FeatureNotSupportedError):
        raise Refused(
            "The server has no extension 'vector'. Install pgvector 0.8.4 or newer on it."
        ) from None

"""What must be true of a database before it is given anybody's memories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from libs.data import migrations, sql
from libs.data.faults import DatabaseFault
from libs.data.installation import check_master_key
from libs.data.master_key import MasterKey
from libs.data.postgres import Connection, Database, Reader, Row
from libs.refusal import Refused

SERVER_MIN = 16
VECTOR_MIN = (0, 8, 4)
"""Earlier ones can corrupt an HNSW index (0.8.3 and 0.8.4 of pgvector's changelog)."""
DURABLE_COMMITS = ("on", "remote_apply")
NOT_ALLOWED = "42501"

QUERIES = "checks.sql"


@dataclass(frozen=True, slots=True)
class ServiceSchema:
    """What one service keeps its rows in."""

    schema: str
    package: str
    role: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    """What to do about it; empty if it is well."""


async def examine(
    connection: Reader, master: MasterKey, services: Sequence[ServiceSchema], *, server_min: int = SERVER_MIN
) -> list[Finding]:
    """Look at everything. Changes nothing; the connection may read the catalogs."""
    queries = sql.load("libs.data", QUERIES)
    [server] = await connection.fetch(queries.server)
    findings = [*_of_server(server, server_min), await _of_master_key(connection, master)]
    for service in services:
        pending = await _of_migrations(connection, service)
        findings.append(pending)
        roles = await connection.fetch(queries.role, service.role, service.schema)
        findings.append(_of_role(service, roles))
        if roles and pending.ok:
            usable = await connection.fetchval(queries.privileges, service.role, service.schema)
            findings.append(_of_privileges(service, usable is True))
        findings.append(_of_tables(service, await connection.fetch(queries.profile_tables, service.schema)))
    return findings


async def profile_tables(connection: Reader, schema: str) -> list[str]:
    """Names of the tables of a schema that hold rows of profiles."""
    rows = await connection.fetch(sql.load("libs.data", QUERIES).profile_tables, schema)
    return [row["name"] for row in rows]


async def isolation_self_test(database: Database, tables: Sequence[str]) -> None:
    """Prove, as the role that will serve, that without a profile nothing is seen or written.

    Raises ``Refused`` otherwise: a house whose rooms have no walls does not open.
    """
    for table in tables:
        async with database.transaction() as connection:
            if await connection.fetchval(f"SELECT true FROM {table} LIMIT 1"):  # noqa: S608 -- a name from the catalog
                raise Refused(f"Rows of '{table}' are seen without a profile. {_WALLS}")
        refused_with = await _sqlstate_of_insert(database, table)
        if refused_with != NOT_ALLOWED:
            raise Refused(f"A row can be put into '{table}' without a profile ({refused_with}). {_WALLS}")


_WALLS = "Row-level security does not hold: run 'treering doctor'. Not serving."


class _Undone(Exception):
    """Ends a transaction that must leave nothing."""


async def _sqlstate_of_insert(database: Database, table: str) -> str:
    """Postgres asks the policy before it asks for the other columns, so that one column is enough."""
    try:
        async with database.transaction() as connection:
            await _insert_for_nobody(connection, table)
            raise _Undone
    except _Undone:
        return "it was accepted"
    except DatabaseFault as fault:
        return fault.sqlstate


async def _insert_for_nobody(connection: Connection, table: str) -> None:
    await connection.execute(f"INSERT INTO {table} (profile_id) VALUES (gen_random_uuid())")  # noqa: S608 -- a name from the catalog


def _of_server(server: Row, server_min: int) -> list[Finding]:
    vector = server["vector"]
    lossy = [name for name in ("fsync", "full_page_writes") if server[name] != "on"]
    if server["synchronous_commit"] not in DURABLE_COMMITS:
        lossy.append("synchronous_commit")
    return [
        _finding(
            "server",
            server["number"] >= server_min * 10_000,
            f"PostgreSQL {server['version']}",
            f"Upgrade the server to {server_min} or newer.",
        ),
        _finding(
            "pgvector",
            vector is not None and _numbers(vector) >= VECTOR_MIN,
            f"pgvector {vector or 'missing'}",
            "Install pgvector 0.8.4 or newer, then: ALTER EXTENSION vector UPDATE",
        ),
        _finding(
            "durability",
            not lossy,
            f"off: {', '.join(lossy)}" if lossy else "commits are durable",
            "Set these to 'on': what was answered could be lost.",
        ),
        _finding(
            "checksums",
            server["data_checksums"] == "on",
            f"data_checksums {server['data_checksums']}",
            "Stop the server and run: pg_checksums --enable",
        ),
    ]


async def _of_master_key(connection: Reader, master: MasterKey) -> Finding:
    try:
        await check_master_key(connection, master)
    except Refused as refusal:
        return Finding(
            "master key", False, str(refusal), "Put the right key in place, or run: treering migrate"
        )
    return Finding("master key", True, f"the database goes with {master.id}")


async def _of_migrations(connection: Reader, service: ServiceSchema) -> Finding:
    name = f"{service.schema}: migrations"
    try:
        pending = await migrations.pending(connection, service.schema, service.package)
    except Refused as refusal:
        return Finding(name, False, str(refusal), "Run the version that fits this database.")
    detail = f"pending: {', '.join(pending)}" if pending else "up to date"
    return _finding(name, not pending, detail, "Run: treering migrate")


def _of_role(service: ServiceSchema, roles: Sequence[Row]) -> Finding:
    name = f"{service.schema}: role"
    if not roles:
        return Finding(name, False, f"there is no role {service.role}", "Run: treering migrate")
    harmless = not roles[0]["mighty"] and not roles[0]["owner"]
    detail = f"{service.role} {'can do its work only' if harmless else 'can pass row-level security'}"
    return _finding(
        name,
        harmless,
        detail,
        f"Make {service.role} NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB NOREPLICATION, not an owner.",
    )


def _of_privileges(service: ServiceSchema, usable: bool) -> Finding:
    detail = "every table can be used" if usable else f"{service.role} cannot use every table"
    return _finding(f"{service.schema}: privileges", usable, detail, "Run: treering migrate")


def _of_tables(service: ServiceSchema, tables: Sequence[Row]) -> Finding:
    bare = [row["name"] for row in tables if not row["guarded"]]
    detail = f"unguarded: {', '.join(bare)}" if bare else f"{len(tables)} tables are guarded"
    return _finding(
        f"{service.schema}: row-level security",
        not bare,
        detail,
        "ALTER TABLE … ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY, and restore the policy.",
    )


def _finding(name: str, ok: bool, detail: str, remedy: str) -> Finding:
    return Finding(name, ok, detail, "" if ok else remedy)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))

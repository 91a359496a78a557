"""Everything that a service keeps of a profile, deleted: first its data keys, then row by row.

Which tables these are, and in what order their rows can go, is read from the database's catalog, so that a
new table is emptied without a line of code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from libs.data import sql
from libs.data.keyring import Keyring
from libs.data.postgres import Connection, Database

ROWS_MAX = 5_000
"""Deleted by one call."""
COUNTED_MAX = 1_000
"""Rows of one table that are counted as remaining."""
PACKAGE = "libs.data"
QUERIES = "erasing.sql"


@dataclass(frozen=True, slots=True)
class Table:
    """A table that holds rows of profiles."""

    name: str
    points_at: frozenset[str]
    """Tables whose rows it needs for as long as it has its own."""
    cascades: bool
    """Whether deleting from it deletes elsewhere, which is cheap only once there is nothing."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What one call has deleted."""

    rows: int
    """Without those of data keys."""
    keys: int
    remaining: int
    """Rows that are still there, as far as they were counted; 0 means none."""


class Eraser:
    """Erases profiles from the schema of one service."""

    def __init__(self, database: Database, keyring: Keyring, schema: str) -> None:
        self._database = database
        self._keyring = keyring
        self._schema = schema
        self._queries = sql.load(PACKAGE, QUERIES)
        self._names: tuple[str, ...] = ()

    async def erase(self, profile: UUID) -> Erased:
        """Destroy a profile's data keys and delete at most ``ROWS_MAX`` rows. Repeat until none remain.

        Keys go first and on their own: a call that is cut short has made everything unreadable already.
        """
        keys = await self._keyring.destroy(profile)
        names = self._names = self._names or await self._tables()
        async with self._database.as_profile(profile) as connection:
            await connection.execute(self._queries.by_keys_only)
            rows = await self._delete(connection, names, profile)
            count = self._queries.count_some
            counts = [await connection.fetchval(_of(count, name), profile, COUNTED_MAX) for name in names]
        return Erased(rows, keys, sum(counts))

    async def _tables(self) -> tuple[str, ...]:
        found = await self._database.fetch(self._queries.profile_tables, self._schema)
        tables = [Table(row["name"], frozenset(row["points_at"]), row["cascades"]) for row in found]
        return tuple(table.name for table in in_order(tables))

    async def _delete(self, connection: Connection, names: Sequence[str], profile: UUID) -> int:
        left = ROWS_MAX
        for name in names:
            told = await connection.execute(_of(self._queries.delete_some, name), profile, left)
            left -= int(told.rpartition(" ")[2])
            if not left:
                break
        return ROWS_MAX - left


def in_order(tables: Sequence[Table]) -> list[Table]:
    """Tables in an order in which they can be emptied: none before what points at it, cascading ones late.

    ``ValueError`` for tables that point at one another in a circle.
    """
    left = list(tables)
    ordered: list[Table] = []
    while left:
        needed = frozenset[str]().union(*(table.points_at for table in left))
        free = [table for table in left if table.name not in needed]
        if not free:
            raise ValueError(f"rows point at one another: {', '.join(table.name for table in left)}")
        ordered.append(min(free, key=lambda table: (table.cascades, table.name)))
        left.remove(ordered[-1])
    return ordered


def _of(query: str, table: str) -> str:
    """A query for a table, by its name in the catalog."""
    return query.replace("{table}", table)

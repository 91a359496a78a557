"""Clipboards in Postgres. Each call is one round trip and one commit."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import astuple
from datetime import datetime
from uuid import UUID, uuid4

from libs.data import sql
from libs.data.keyring import Keyring, ProfileKeys
from libs.data.postgres import Database, Row
from services.clipboard.entries import rows
from services.clipboard.entries.drafts import Draft, KeyReused
from services.clipboard.entries.entry import Entry, EntryNotFound, Member
from services.clipboard.entries.quota import Quota, Usage
from services.clipboard.entries.stack import (
    KEY_KEPT,
    POPPED_KEPT,
    POPPED_KEPT_MAX,
    Cleared,
    Stacked,
    StackEmpty,
)

PACKAGE = "services.clipboard.entries"
LISTED_VALUE_BYTES_MAX = 4_096
"""Longer values are left out of lists."""
VERSION_BITS = 63
"""So many that no number comes twice by chance, as a ``bigint`` holds them."""


class Store:
    """What is kept of clipboards, by profile."""

    def __init__(self, database: Database, keyring: Keyring, new_id: Callable[[], UUID] = uuid4) -> None:
        self._database = database
        self._keyring = keyring
        self._new_id = new_id
        self._queries = sql.load(PACKAGE)

    async def put(self, member: Member, draft: Draft, quota: Quota, now: datetime) -> Entry:
        """Put an entry under its name, or replace the one that is there. Raises ``QuotaExceeded``."""
        keys = await self._keyring.of(member.profile)
        item = self._item(keys, member, draft)
        row = await self._one(self._queries.put, member.profile, item, astuple(quota), now)
        quota.check(row["verdict"])
        return rows.kept(draft, row["id"], row["created_at"], row["updated_at"], row["expires_at"])

    async def push(self, member: Member, draft: Draft, key: str, quota: Quota, now: datetime) -> Stacked:
        """Put an entry on the stack, or answer what a call with this key did; an empty key is none.

        Raises ``QuotaExceeded``, ``KeyReused``.
        """
        keys = await self._keyring.of(member.profile)
        row = await self._one(
            self._queries.push,
            member.profile,
            self._item(keys, member, draft),
            *_blind_call(keys, key, "push", draft.signature if key else ""),
            KEY_KEPT,
            astuple(quota),
            now,
        )
        quota.check(row["verdict"])
        made = row["created_at"]
        entry = rows.kept(draft, row["id"], made, made, row["expires_at"], row["position"])
        return Stacked(entry, row["stack_version"])

    async def pop(self, member: Member, key: str, now: datetime) -> Stacked:
        """Take the newest entry off the stack, or answer what a call with this key took.

        Raises ``StackEmpty``, ``KeyReused``; ``EntryNotFound`` when what was taken then is kept no longer.
        """
        keys = await self._keyring.of(member.profile)
        row = await self._one(
            self._queries.pop,
            member.profile,
            *_blind_call(keys, key, "pop", ""),
            KEY_KEPT,
            POPPED_KEPT_MAX,
            now,
        )
        return Stacked(rows.entry_of(keys, row["entry"], 0), row["stack_version"])

    async def get(self, reader: Member, profile: UUID, name: str, now: datetime) -> Entry:
        """The entry of a name in a profile's clipboard. Raises ``EntryNotFound``, also for what is hidden."""
        keys = await self._keys(reader, profile)
        if keys is None:
            raise EntryNotFound
        mac = rows.blind_name(keys, name)
        row = await self._database.fetchrow(
            self._queries.get, reader.profile, reader.workspace, profile, mac, now
        )
        if row is None:
            raise EntryNotFound
        return rows.entry_of(keys, row, None)

    async def peek(self, reader: Member, profile: UUID, depth: int, now: datetime) -> Stacked:
        """The entry at a depth of what the reader may read of a stack. Raises ``EntryNotFound``."""
        keys = await self._keys(reader, profile)
        if keys is None:
            raise EntryNotFound
        row = await self._database.fetchrow(
            self._queries.peek, reader.profile, reader.workspace, profile, depth, now
        )
        if row is None:
            raise EntryNotFound
        return Stacked(rows.entry_of(keys, row["entry"], depth), row["stack_version"] or 0)

    async def newest(
        self,
        reader: Member,
        profile: UUID,
        limit: int,
        after: tuple[datetime, UUID] | None,
        now: datetime,
    ) -> list[Entry]:
        """Entries of a profile that the reader may read, the newest first, without long values."""
        keys = await self._keys(reader, profile)
        if keys is None:
            return []
        created_at, last_id = after or (None, None)
        found = await self._database.fetch(
            self._queries.newest,
            *(reader.profile, reader.workspace, profile),
            *(created_at, last_id, limit, LISTED_VALUE_BYTES_MAX, now),
        )
        return [rows.entry_of(keys, row, row["depth"]) for row in found]

    async def whole(self, profile: UUID, listed: Entry, now: datetime) -> Entry | None:
        """An entry of a list with its value, unless it is gone since."""
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            row = await connection.fetchrow(self._queries.entry, profile, listed.id, now)
        return rows.entry_of(keys, row, listed.depth) if row else None

    async def delete(self, profile: UUID, name: str, now: datetime) -> None:
        """Remove the entry of a name. Raises ``EntryNotFound``."""
        keys = await self._keyring.of(profile)
        if not await self._database.fetchval(self._queries.remove, profile, rows.blind_name(keys, name), now):
            raise EntryNotFound

    async def clear(self, profile: UUID, now: datetime) -> Cleared:
        """Remove everything."""
        row = await self._one(self._queries.clear, profile, now)
        return Cleared(row["cleared"], row["stack_version"])

    async def usage(self, profile: UUID, now: datetime) -> Usage:
        """What there is on a profile's clipboard."""
        row = await self._one(self._queries.usage, profile, now)
        return Usage(row["entries"], row["bytes"])

    async def sweep(self, limit: int, now: datetime) -> int:
        """Delete some of what nobody can be answered with any more, of any profile. Answers how much."""
        return await self._database.fetchval(self._queries.sweep, limit, POPPED_KEPT, now)

    def _item(self, keys: ProfileKeys, member: Member, draft: Draft) -> rows.Item:
        version = secrets.randbits(VERSION_BITS)
        return rows.item_of(keys, member.workspace, draft, self._new_id(), version)

    async def _keys(self, reader: Member, profile: UUID) -> ProfileKeys | None:
        """A profile's keys; of another's than the reader, only if there are any."""
        if profile == reader.profile:
            return await self._keyring.of(profile)
        return await self._keyring.find(profile)

    async def _one(self, query: str, *args: object) -> Row:
        [row] = await self._database.fetch(query, *args)
        match row.get("verdict"):
            case "key_reused":
                raise KeyReused
            case "empty":
                raise StackEmpty.at(row["stack_version"])
            case "gone":
                raise EntryNotFound("What this call popped has expired or was popped too long ago.")
            case _:
                return row


def _blind_call(keys: ProfileKeys, key: str, call: str, request: str) -> tuple[bytes | None, bytes | None]:
    """What a call is known again by, and what it has to have alike."""
    if not key:
        return None, None
    return keys.blind("idempotency key", key), keys.blind("request", f"{call} {request}")

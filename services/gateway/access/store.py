"""Owners, workspaces, profiles and keys in Postgres. Every method is one round trip."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import astuple
from datetime import datetime
from uuid import UUID, uuid4

from libs.data import sql
from libs.data.checks import ServiceSchema
from libs.data.keyring import ProfileKeys
from libs.data.master_key import MasterKey
from libs.data.pages import Position
from libs.data.postgres import POOL_SIZE, Database, Row, connect
from libs.quota import Quota
from services.gateway.access.keys import Grant, Key, KeyNotFound, KeysFull
from services.gateway.access.profiles import Names, Profile, ProfileNotFound

SCHEMA = ServiceSchema(schema="access", package="services.gateway.access", role="treering_access")

OWNER_NAME = "owner.name"
WORKSPACE_NAME = "workspace.name"
PROFILE_NAME = "profile.name"
KEY_NAME = "api_key.name"
PATH = (OWNER_NAME, WORKSPACE_NAME, PROFILE_NAME)
VERSION = 1
"""Names are written once."""


class Store:
    """The access schema. ``keys`` seal and find names; they are the installation's."""

    def __init__(self, database: Database, keys: ProfileKeys) -> None:
        self._database = database
        self._keys = keys
        self._queries = sql.load(SCHEMA.package)

    async def create_profile(self, names: Names, now: datetime) -> Profile:
        """The profile of these names: the one that is there, or a new one."""
        ids = [uuid4() for _ in PATH]
        macs = [self._keys.blind(column, path) for column, path in zip(PATH, names.paths, strict=True)]
        sealed = [self._seal(*place_and_text) for place_and_text in zip(PATH, ids, names, strict=True)]
        [row] = await self._database.fetch(self._queries.create_profile, ids, macs, sealed, now)
        return self._profile(row)

    async def find_profile(self, profile_id: UUID) -> Profile:
        """One profile, or ``ProfileNotFound``."""
        row = await self._database.fetchrow(self._queries.find_profile, profile_id)
        if row is None:
            raise ProfileNotFound
        return self._profile(row)

    async def list_profiles(self, after: Position | None, limit: int) -> list[Profile]:
        """Profiles, the newest first."""
        rows = await self._database.fetch(self._queries.list_profiles, *(after or (None, None)), limit)
        return [self._profile(row) for row in rows]

    async def quota(self, profile_id: UUID) -> Quota:
        """What was set for a profile, or ``ProfileNotFound``."""
        row = await self._database.fetchrow(self._queries.quota, profile_id)
        if row is None:
            raise ProfileNotFound
        return Quota(*row)

    async def set_quota(self, profile_id: UUID, quota: Quota) -> None:
        """Set it as a whole, or ``ProfileNotFound``."""
        if await self._database.fetchval(self._queries.set_quota, profile_id, *astuple(quota)) is None:
            raise ProfileNotFound

    async def add_key(self, key: Key, digest: bytes, keys_max: int | None) -> None:
        """Keep a new key. ``keys_max`` live ones are enough where the profile's quota does not say.

        Raises ``ProfileNotFound``, ``KeysFull``.
        """
        kept = (*self._kept(key, digest), key.expires_at)
        [row] = await self._database.fetch(self._queries.add_key, *kept, keys_max)
        match row["verdict"]:
            case "profile_not_found":
                raise ProfileNotFound
            case "quota_exceeded":
                raise KeysFull.at(row["keys_max"])
            case _:
                return

    async def add_first_key(self, key: Key, digest: bytes) -> bool:
        """Keep a key if no admin key was ever made, and answer whether it was kept."""
        return await self._database.fetchval(self._queries.add_first_key, *self._kept(key, digest))

    async def has_admin_key(self) -> bool:
        """Whether an admin key was ever made, be it revoked since."""
        return await self._database.fetchval(self._queries.has_admin_key)

    async def list_keys(self, profile_id: UUID | None, after: Position | None, limit: int) -> list[Key]:
        """Keys of one profile or of all, the newest first."""
        page = (*(after or (None, None)), limit)
        if profile_id is None:
            rows = await self._database.fetch(self._queries.list_keys, *page)
        else:
            rows = await self._database.fetch(self._queries.list_keys_of, *page, profile_id)
        return [self._key(row) for row in rows]

    async def revoke_key(self, key_id: str, now: datetime) -> Key:
        """The key, revoked now or before; ``KeyNotFound`` if there is none."""
        row = await self._database.fetchrow(self._queries.revoke_key, key_id, now)
        if row is None:
            raise KeyNotFound
        return self._key(row)

    async def find_grant(self, key_id: str) -> Grant | None:
        """What is kept to judge a secret by, if there is such a key."""
        row = await self._database.fetchrow(self._queries.find_grant, key_id)
        if row is None:
            return None
        key, owner, workspace, profile, scopes, expires_at, revoked_at, erasing_since, digest, *limits = row
        times = expires_at, revoked_at, erasing_since
        return Grant(key, owner, workspace, profile, tuple(scopes), *times, digest, Quota(*limits))

    async def ping(self) -> None:
        """Return if the database answers; otherwise ``Unavailable``."""
        await self._database.ping()

    def _kept(self, key: Key, digest: bytes) -> Sequence[object]:
        name = self._seal(KEY_NAME, _row_of(key.id), key.name)
        return key.id, key.profile_id, name, digest, list(key.scopes), key.created_at

    def _profile(self, row: Row) -> Profile:
        names = Names(
            self._open(OWNER_NAME, row["owner_id"], row["owner_sealed"]),
            self._open(WORKSPACE_NAME, row["workspace_id"], row["workspace_sealed"]),
            self._open(PROFILE_NAME, row["id"], row["profile_sealed"]),
        )
        return Profile(row["id"], row["owner_id"], row["workspace_id"], names, row["created_at"])

    def _key(self, row: Row) -> Key:
        name = self._open(KEY_NAME, _row_of(row["id"]), row["name_sealed"])
        scopes = tuple(row["scopes"])
        return Key(
            row["id"], row["profile"], name, scopes, row["created_at"], row["expires_at"], row["revoked_at"]
        )

    def _seal(self, column: str, row: UUID, text: str) -> bytes:
        return self._keys.seal(column, row, VERSION, text.encode())

    def _open(self, column: str, row: UUID, sealed: bytes) -> str:
        return self._keys.open(column, row, VERSION, sealed).decode()


@asynccontextmanager
async def opened(dsn: str, master: MasterKey, *, size: int = POOL_SIZE) -> AsyncGenerator[Store]:
    """A store with a pool of its own, under the role that its schema is for."""
    async with connect(dsn, role=SCHEMA.role, password=master.password(SCHEMA.role), size=size) as database:
        yield Store(database, ProfileKeys.installation(master, SCHEMA.schema))


def _row_of(key_id: str) -> UUID:
    """A key's id, 12 characters, as the 16 bytes that a sealed name is bound to."""
    return UUID(bytes=key_id.encode().rjust(16, b"\0"))

"""The data keys of profiles: made when first needed, kept wrapped, unwrapped in memory for minutes."""

from __future__ import annotations

import asyncio
import hmac
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from uuid import UUID, uuid4

from cachetools import TTLCache
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from libs.data import sql
from libs.data.master_key import MasterKey
from libs.data.postgres import Database, Row
from libs.data.sealing import KEY_BYTES, NONCE_BYTES, SealedRecordBroken, Sealer, joined, key_id_of

PROFILES_MAX = 10_000
KEPT_SECONDS = 300
BLIND_BYTES = 16
TERM_BYTES = 8
NO_PROFILE = UUID(int=0)


class WrongMasterKey(Exception):
    """A data key was wrapped under another master key than the one this process holds."""


class ProfileKeys:
    """Seals, opens and blinds what one profile wrote. Everything is derived once, when it is made.

    The newest data key seals; each opens what it sealed. Blind indexes are made by the first one,
    which is kept as long as the profile, so that they stay the same when keys are renewed.
    """

    __slots__ = ("_blinds", "_first", "_sealers", "_terms", "_writer")

    def __init__(self, profile: UUID, keys: Mapping[UUID, bytes]) -> None:
        """Take the profile's data keys by id, oldest first; there is at least one."""
        secrets = list(keys.values())
        self._sealers = {
            key_id.bytes: Sealer(profile, key_id, _expand(secret, "content"))
            for key_id, secret in keys.items()
        }
        self._writer = list(self._sealers.values())[-1]
        self._first = secrets[0]
        self._terms = hmac.new(_expand(self._first, "terms"), digestmod=sha256)
        self._blinds: dict[str, hmac.HMAC] = {}

    @classmethod
    def installation(cls, master: MasterKey, label: str) -> ProfileKeys:
        """Keys for what belongs to no profile, as the names of owners and profiles do."""
        key_id = UUID(bytes=master.derive(f"installation id {label}")[:16])
        return cls(NO_PROFILE, {key_id: master.derive(f"installation {label}")})

    def seal(self, column: str, row: UUID, version: int, plaintext: bytes) -> bytes:
        """Seal a value for one place. ``column`` is ``table.column``; ``version`` the row's."""
        return self._writer.seal(column, row, version, plaintext)

    def open(self, column: str, row: UUID, version: int, sealed: bytes) -> bytes:
        """The value that was sealed for this place; ``SealedRecordBroken`` if this is not it."""
        sealer = self._sealers.get(key_id_of(sealed))
        if sealer is None:
            raise SealedRecordBroken(f"{column} of row {row} is under no key of its profile")
        return sealer.open(column, row, version, sealed)

    def blind(self, label: str, text: str) -> bytes:
        """16 bytes to find a text by without keeping it: equal for equal texts under one label."""
        mac = self._blinds.get(label)
        if mac is None:
            # Labels are written in our code, a handful of them, so that this stays small.
            mac = self._blinds[label] = hmac.new(_expand(self._first, f"blind {label}"), digestmod=sha256)
        return _digest(mac, text)[:BLIND_BYTES]

    def term(self, stem: str) -> int:
        """A stem as a signed 64-bit number that only this profile's key can make."""
        return int.from_bytes(_digest(self._terms, stem)[:TERM_BYTES], "big", signed=True)


class Keyring:
    """The keys of the profiles of one service, out of its own schema.

    Ask for keys before opening a transaction: a first look takes a connection of its own.
    """

    def __init__(self, database: Database, master: MasterKey, schema: str) -> None:
        self._database = database
        self._wrapping = AESGCM(master.derive("data key wrapping"))
        self._master_id = master.id
        self._queries = sql.load("libs.data", schema=schema)
        self._known: TTLCache[UUID, ProfileKeys] = TTLCache(PROFILES_MAX, KEPT_SECONDS)
        self._looking: dict[UUID, asyncio.Task[ProfileKeys]] = {}

    async def of(self, profile: UUID) -> ProfileKeys:
        """A profile's keys, made on first use. Many that ask at once cause one look."""
        known = self._known.get(profile)
        if known is not None:
            return known
        looking = self._looking.get(profile)
        if looking is None:
            looking = self._looking[profile] = asyncio.create_task(self._look(profile))
            looking.add_done_callback(lambda task: self._looked(profile, task))
        # Shielded: one caller that goes away takes nothing from the others.
        return await asyncio.shield(looking)

    async def find(self, profile: UUID) -> ProfileKeys | None:
        """A profile's keys if it has any. For what others ask about it: no question of theirs makes one."""
        known = self._known.get(profile)
        if known is not None:
            return known
        async with self._database.as_profile(profile) as connection:
            rows = await connection.fetch(self._queries.data_keys)
        if not rows:
            return None
        found = self._known[profile] = self._unwrapped(profile, rows)
        return found

    async def destroy(self, profile: UUID) -> int:
        """Make what was sealed for a profile unreadable: here at once, elsewhere in ``KEPT_SECONDS``.

        Answers how many keys there were.
        """
        async with self._database.as_profile(profile) as connection:
            destroyed = await connection.fetch(self._queries.destroy_data_keys)
        self._known.pop(profile, None)
        return len(destroyed)

    def _looked(self, profile: UUID, task: asyncio.Task[ProfileKeys]) -> None:
        del self._looking[profile]
        if not task.cancelled() and task.exception() is None:
            self._known[profile] = task.result()

    async def _look(self, profile: UUID) -> ProfileKeys:
        async with self._database.as_profile(profile) as connection:
            rows = await connection.fetch(self._queries.data_keys)
            if not rows:
                key_id = uuid4()
                wrapped = self._wrap(profile, key_id, os.urandom(KEY_BYTES))
                await connection.execute(
                    self._queries.add_first_data_key, profile, key_id, self._master_id, wrapped
                )
                rows = await connection.fetch(self._queries.data_keys)
        return self._unwrapped(profile, rows)

    def _unwrapped(self, profile: UUID, rows: Sequence[Row]) -> ProfileKeys:
        keys = {
            row["id"]: self._unwrap(profile, row["id"], row["master_key_id"], row["wrapped"]) for row in rows
        }
        return ProfileKeys(profile, keys)

    def _wrap(self, profile: UUID, key_id: UUID, key: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._wrapping.encrypt(nonce, key, self._place(profile, key_id))

    def _unwrap(self, profile: UUID, key_id: UUID, master_id: UUID, wrapped: bytes) -> bytes:
        if master_id != self._master_id:
            raise WrongMasterKey(f"data key {key_id} is wrapped under the master key {master_id}")
        try:
            return self._wrapping.decrypt(
                wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], self._place(profile, key_id)
            )
        except (InvalidTag, ValueError):
            raise SealedRecordBroken(f"data key {key_id} does not unwrap") from None

    def _place(self, profile: UUID, key_id: UUID) -> bytes:
        return joined(b"kek", self._master_id.bytes, profile.bytes, key_id.bytes)


def _expand(secret: bytes, label: str) -> bytes:
    return HKDFExpand(SHA256(), KEY_BYTES, info=label.encode()).derive(secret)


def _digest(mac: hmac.HMAC, text: str) -> bytes:
    copy = mac.copy()
    copy.update(text.encode())
    return copy.digest()

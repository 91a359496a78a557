"""Keys: what lets a program call as a profile.

A secret is ``tr_<id>_<256 random bits><checksum>``. The checksum lets scanners of leaked secrets, and us,
tell one from other text without asking a database.
"""

from __future__ import annotations

import base64
import hmac
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from libs import errors
from libs.errors import invalid
from libs.quota import NOTHING_SET, Quota, QuotaExceeded
from services.gateway.access.profiles import ProfileNotFound

ID_CHARS = 12
ID_RANDOM_BYTES = 8
SECRET_RANDOM_BYTES = 32
RANDOM_BYTES = ID_RANDOM_BYTES + SECRET_RANDOM_BYTES

SECRET = re.compile(r"(tr_([a-z2-7]{12})_[A-Za-z0-9_-]{43})([0-9a-f]{8})")
"""The part that is checked, with the id in it, and its CRC-32: 64 characters after ``tr_``."""
NO_DIGEST = bytes(32)

EVERYTHING = "*"
"""Every scope but ``admin``. Kept and told as it is, so that the scopes of later services are among them."""
ADMIN = "admin"
INTERNAL = "internal"
"""The scope of calls between services. No key has it."""


class KeyNotFound(errors.Missing):
    """There is no key with this id."""

    reason = "KEY_NOT_FOUND"


class KeysFull(QuotaExceeded):
    """The profile has as many keys as it may. Revoke one, or set a larger quota."""

    @classmethod
    def at(cls, limit: int) -> KeysFull:
        """At so many keys that are neither revoked nor expired."""
        message = f"The profile may have {limit} live keys. Revoke one, or set a larger quota."
        return cls(message, metadata={"quota": "keys", "limit": str(limit)})


@dataclass(frozen=True, slots=True)
class Draft:
    """What a key is to be."""

    profile_id: UUID
    name: str
    scopes: tuple[str, ...]
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret."""

    id: str
    profile_id: UUID
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Minted:
    """A new secret, to be shown once; its digest is what is kept."""

    id: str
    secret: str = field(repr=False)
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Presented:
    """A secret that somebody sent: which key it claims to be, and its digest."""

    id: str
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """What is kept of a key to judge a secret by, and whom it stands for."""

    key_id: str
    owner_id: UUID
    workspace_id: UUID
    profile_id: UUID
    scopes: tuple[str, ...]
    expires_at: datetime | None
    revoked_at: datetime | None
    erasing_since: datetime | None
    """Since when its profile is being erased."""
    secret_sha256: bytes = field(repr=False)
    quota: Quota = NOTHING_SET
    """Of the profile."""


def mint(random: bytes) -> Minted:
    """Make a secret of ``RANDOM_BYTES`` random bytes."""
    if len(random) != RANDOM_BYTES:
        raise ValueError(f"a secret is made of {RANDOM_BYTES} random bytes, not {len(random)}")
    key_id = base64.b32encode(random[:ID_RANDOM_BYTES]).decode().lower()[:ID_CHARS]
    body = f"tr_{key_id}_{base64.urlsafe_b64encode(random[ID_RANDOM_BYTES:]).decode().rstrip('=')}"
    secret = body + _checksum(body)
    return Minted(key_id, secret, _digest(secret))


def parse(secret: str) -> Presented:
    """Read a secret. What cannot be one is ``Unauthenticated``, before anything is looked up."""
    shape = SECRET.fullmatch(secret)
    if shape is None or _checksum(shape[1]) != shape[3]:
        raise errors.Unauthenticated
    return Presented(shape[2], _digest(secret))


def verify(presented: Presented, found: Grant | None, now: datetime) -> Grant:
    """What a secret stands for. An unknown, wrong, expired or revoked one is ``Unauthenticated`` alike.

    ``ProfileNotFound`` for one that is good, but whose profile is being erased.
    """
    # Compared even with nothing, so that the time it takes does not tell which ids there are.
    matches = hmac.compare_digest(presented.digest, found.secret_sha256 if found else NO_DIGEST)
    if found is None or not matches or not is_live(found, now):
        raise errors.Unauthenticated
    if found.erasing_since is not None:
        raise ProfileNotFound
    return found


def is_live(key: Key | Grant, now: datetime) -> bool:
    """Whether a key works. It stops at the very moment that it expires."""
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def issue(draft: Draft, known: frozenset[str], now: datetime, random: bytes) -> tuple[Key, Minted]:
    """A new key and its secret, or ``Invalid``. ``known`` are the scopes that methods ask for."""
    if draft.expires_at is not None and draft.expires_at <= now:
        raise invalid("expires_at", "must be in the future", "timestamp.gt_now")
    scopes = granted(draft.scopes, known)
    minted = mint(random)
    return Key(minted.id, draft.profile_id, draft.name, scopes, now, draft.expires_at), minted


def granted(asked: Sequence[str], known: frozenset[str]) -> tuple[str, ...]:
    """The scopes to keep, sorted, each once. Nothing asked: ``*``."""
    grantable = (known - {INTERNAL}) | {EVERYTHING}
    for at, scope in enumerate(asked):
        if scope not in grantable:
            raise invalid(f"scopes[{at}]", f"must be one of: {', '.join(sorted(grantable))}", "string.in")
    kept = set(asked) or {EVERYTHING}
    if EVERYTHING in kept:
        kept &= {EVERYTHING, ADMIN}
    return tuple(sorted(kept))


def _digest(secret: str) -> bytes:
    # 256 random bits cannot be guessed, so that a slow hash would protect nothing.
    return sha256(secret.encode()).digest()


def _checksum(body: str) -> str:
    return f"{zlib.crc32(body.encode()):08x}"

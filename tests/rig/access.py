"""What tests of access share: a moment, the scopes that there are, names, and a key."""

import os
from datetime import UTC, datetime

from services.gateway.access.keys import (
    ADMIN,
    RANDOM_BYTES,
    Draft,
    Key,
    Minted,
    issue,
)
from services.gateway.access.profiles import Names
from services.gateway.access.store import Store

NOW = datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
KNOWN = frozenset({"memory:read", "memory:write", ADMIN, "internal"})
NAMES = Names("Wilhelmina Krüger", "Night shift", "Robot")


async def add_key(store: Store, name: str = "laptop", *scopes: str) -> tuple[Key, Minted]:
    """A key of a profile."""
    profile = await store.create_profile(NAMES, NOW)
    key, minted = issue(Draft(profile.id, name, scopes, None), KNOWN, NOW, os.urandom(RANDOM_BYTES))
    await store.add_key(key, minted.digest, None)
    return key, minted

"""The key that a new house makes for whoever runs it."""

import asyncio
import os
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from libs.errors import Unauthenticated
from libs.refusal import Refused
from services.gateway.access.first_key import ensure_first_key
from services.gateway.access.keys import (
    ADMIN,
    RANDOM_BYTES,
    mint,
    parse,
    verify,
)
from services.gateway.access.store import Store
from tests.rig.access import NOW


async def works(store: Store, content: str) -> bool:
    """Whether the key in a file is an admin's here."""
    presented = parse(content.strip())
    try:
        return ADMIN in verify(presented, await store.find_grant(presented.id), NOW).scopes
    except Unauthenticated:
        return False


async def begin(store: Store, home: Path) -> list[str]:
    """Start a house; the events that it logs."""
    with capture_logs() as logs:
        await ensure_first_key(store, home, NOW, os.urandom(RANDOM_BYTES))
    return [entry["event"] for entry in logs]


async def test_a_new_house_leaves_its_key_for_its_owner(store: Store, tmp_path: Path) -> None:
    """One key with every scope, in a file that only its owner can read; the next start changes nothing."""
    file = tmp_path / "house" / "api-key"

    assert await begin(store, file.parent) == ["first_key.made"]
    content = file.read_bytes()
    assert await begin(store, file.parent) == []

    assert await works(store, file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_bytes() == content
    assert [path.name for path in file.parent.iterdir()] == ["api-key"]
    [key] = await store.list_keys(None, None, 10)
    assert (key.name, key.scopes) == ("first key", ("*", "admin"))
    profile = await store.find_profile(key.profile_id)
    assert profile.names == ("local", "default", "default")


async def test_a_lost_file_is_not_made_up_for(store: Store, tmp_path: Path) -> None:
    """No second admin key unasked; the log says what to do."""
    await begin(store, tmp_path)
    (tmp_path / "api-key").unlink()

    assert await begin(store, tmp_path) == ["first_key.no_file"]

    assert not (tmp_path / "api-key").exists()
    assert len(await store.list_keys(None, None, 10)) == 1


async def test_a_revoked_first_key_does_not_come_back(store: Store, tmp_path: Path) -> None:
    """A start with the file still there leaves it revoked, and says so."""
    await begin(store, tmp_path)
    [key] = await store.list_keys(None, None, 10)
    await store.revoke_key(key.id, NOW)

    assert await begin(store, tmp_path) == ["first_key.not_valid_here"]

    assert not await works(store, (tmp_path / "api-key").read_text())


async def test_a_start_that_was_cut_short_is_completed(store: Store, tmp_path: Path) -> None:
    """The file is there and the database knows nothing: the file's key becomes the first."""
    secret = mint(os.urandom(RANDOM_BYTES)).secret
    (tmp_path / "api-key").write_text(secret + "\n")

    assert await begin(store, tmp_path) == ["first_key.made"]

    assert (tmp_path / "api-key").read_text().strip() == secret
    assert await works(store, (tmp_path / "api-key").read_text())


async def test_a_file_without_a_key_refuses_to_start(store: Store, tmp_path: Path) -> None:
    """On a new database, with what to do about it, and nothing is written."""
    (tmp_path / "api-key").write_text("hello")

    with pytest.raises(Refused, match="Remove it"):
        await begin(store, tmp_path)

    assert (tmp_path / "api-key").read_text() == "hello"
    assert await store.list_keys(None, None, 10) == []


async def test_houses_that_start_at_once_agree_on_one_first_key(store: Store, tmp_path: Path) -> None:
    """Eight houses, a database: one key, in one house's file; one state directory, eight starts: one key."""
    homes = [tmp_path / str(number) for number in range(8)]

    await asyncio.gather(*(ensure_first_key(store, home, NOW, os.urandom(RANDOM_BYTES)) for home in homes))

    [file] = [home / "api-key" for home in homes if (home / "api-key").exists()]
    assert await works(store, file.read_text())
    assert len(await store.list_keys(None, None, 10)) == 1


async def test_one_home_that_starts_twice_at_once_has_one_key(store: Store, tmp_path: Path) -> None:
    """Both read the file that one of them wrote, and it works."""
    await asyncio.gather(
        *(ensure_first_key(store, tmp_path, NOW, os.urandom(RANDOM_BYTES)) for _ in range(8))
    )

    assert await works(store, (tmp_path / "api-key").read_text())
    assert len(await store.list_keys(None, None, 10)) == 1

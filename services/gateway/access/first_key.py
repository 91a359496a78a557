"""The first key: a new house makes one, with every scope, so that somebody can call it.

The file is written first and the database second, and what is kept is the file's key: a start that is cut
short in between is completed by the next. For the same reason a state directory that meets an empty database
goes on with the key it has. Once an admin key was made in a database, none is ever made there unasked, also
when its profile was erased since.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import structlog

from libs.data.home import make_home, write_once
from libs.errors import Unauthenticated
from libs.refusal import Refused
from services.gateway.access.keys import ADMIN, EVERYTHING, Key, Presented, mint, parse, verify
from services.gateway.access.profiles import Names, ProfileNotFound
from services.gateway.access.store import Store

FILE_NAME = "api-key"
FILE_BYTES_MAX = 1024
NAMES = Names("local", "default", "default")
KEY_NAME = "first key"
SCOPES = (EVERYTHING, ADMIN)
REMEDY = "treering key create --admin"

log: structlog.stdlib.BoundLogger = structlog.get_logger()


async def ensure_first_key(store: Store, home: Path, now: datetime, random: bytes) -> None:
    """Make the first key of a new database and leave its secret in ``home``, for the owner's eyes only.

    Otherwise change nothing, and log what to do if the file is missing or its key does not work here.
    """
    path = home / FILE_NAME
    if await store.has_admin_key():
        await _tell_of(path, store, now)
        return
    minted = mint(random)
    presented = _written(path, minted.secret)
    profile = await store.create_profile(NAMES, now)
    key = Key(presented.id, profile.id, KEY_NAME, SCOPES, now)
    if await store.add_first_key(key, presented.digest):
        log.info("first_key.made", key=key.id, file=str(path))
        return
    # Another start was first on this database. If it was not with this file, what we wrote is of no use.
    if presented.id == minted.id and await store.find_grant(presented.id) is None:
        path.unlink(missing_ok=True)
    await _tell_of(path, store, now)


async def _tell_of(path: Path, store: Store, now: datetime) -> None:
    try:
        secret = _read(path)
        if not secret:
            log.info("first_key.no_file", file=str(path), remedy=REMEDY)
            return
        presented = parse(secret)
        verify(presented, await store.find_grant(presented.id), now)
    except (Unauthenticated, ProfileNotFound, Refused):
        log.warning("first_key.not_valid_here", file=str(path), remedy=REMEDY)


def _written(path: Path, secret: str) -> Presented:
    """The key in the file: this one, unless there was one before."""
    make_home(path.parent)
    write_once(path, f"{secret}\n".encode())
    try:
        return parse(_read(path))
    except Unauthenticated:
        raise Refused(f"{path} does not hold a key. Remove it; the next start writes a new one.") from None


def _read(path: Path) -> str:
    """What the file holds; nothing if it is missing."""
    try:
        with path.open("rb") as opened:
            return opened.read(FILE_BYTES_MAX).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from None

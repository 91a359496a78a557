"""``treering key create | list | revoke``: keys by whoever has the machine, be the house running or not."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from libs.clock import Clock
from libs.data import migrations
from libs.data.installation import check_master_key
from libs.data.master_key import MasterKey
from libs.errors import Problem
from libs.language.names import clean_name
from services.gateway.access.first_key import NAMES
from services.gateway.access.keys import ADMIN, EVERYTHING, RANDOM_BYTES, Draft, Key, granted, is_live, issue
from services.gateway.access.profiles import NAME_CHARS_MAX, Names
from services.gateway.access.store import Store, opened

KEY_ID_CHARS_MAX = 64
SHOWN = 50
SHOWN_MAX = 1000
LIFETIME = re.compile(r"([1-9][0-9]{0,4})([mhd])", re.ASCII)
UNITS = {"m": "minutes", "h": "hours", "d": "days"}
HEADINGS = ("ID", "STATE", "NAME", "SCOPES", "CREATED", "EXPIRES", "PROFILE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the verbs of ``treering key``."""
    verbs = parser.add_subparsers(dest="key_verb", required=True, metavar="create|list|revoke")

    create = verbs.add_parser("create", help="make a key; its secret is printed once, alone on stdout")
    create.add_argument("--name", default="command line", help="a name to know it by")
    create.add_argument("--owner", default=NAMES.owner, help="made if missing (default: %(default)s)")
    create.add_argument("--workspace", default=NAMES.workspace, help="made if missing (default: %(default)s)")
    create.add_argument("--profile", default=NAMES.profile, help="made if missing (default: %(default)s)")
    create.add_argument(
        "--scope", action="append", default=[], help="may be repeated (default: everything but admin)"
    )
    create.add_argument("--admin", action="store_true", help="also allow to make and revoke keys")
    create.add_argument("--expires", type=lifetime, metavar="30d", help="30m, 12h, 30d (default: never)")

    listing = verbs.add_parser("list", help="show keys, the newest first, without their secrets")
    listing.add_argument(
        "--limit", type=_limit, default=SHOWN, help=f"at most {SHOWN_MAX} (default: {SHOWN})"
    )

    revoke = verbs.add_parser("revoke", help="make a key useless, for good")
    revoke.add_argument("id", help="as `treering key list` shows it")


async def run(
    args: argparse.Namespace, dsn: str, master: MasterKey, clock: Clock, scopes: frozenset[str]
) -> int:
    """Do what the arguments say and answer the exit code: 0, or 1 for what cannot be done.

    ``scopes`` are those that methods ask for. ``Refused`` if the database is not one of this master key.
    """
    return await attempt("key", dsn, master, lambda store: _do(args, store, clock(), scopes))


async def attempt(verb: str, dsn: str, master: MasterKey, work: Callable[[Store], Awaitable[None]]) -> int:
    """Do what a verb asks of the store and answer its exit code, as ``run`` does."""
    async with migrations.owner(dsn) as connection:
        await check_master_key(connection, master)
    try:
        async with opened(dsn, master, size=1) as store:
            await work(store)
    except Problem as problem:
        print(f"treering {verb}: {problem.message}", file=sys.stderr)
        return 1
    return 0


def lifetime(text: str) -> timedelta:
    """Read ``30m``, ``12h`` or ``30d``."""
    shape = LIFETIME.fullmatch(text)
    if shape is None:
        raise argparse.ArgumentTypeError(f"write a number and m, h or d, as 30d, not {text!r}")
    return timedelta(**{UNITS[shape[2]]: int(shape[1])})


def table(keys: Sequence[Key], now: datetime) -> str:
    """Keys as lines under headings."""
    rows = [HEADINGS, *(_cells(key, now) for key in keys)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


async def _do(args: argparse.Namespace, store: Store, now: datetime, scopes: frozenset[str]) -> None:
    match args.key_verb:
        case "create":
            await _create(args, store, now, scopes)
        case "list":
            await _list(args.limit, store, now)
        case _:
            key = await store.revoke_key(clean_name("id", args.id, KEY_ID_CHARS_MAX), now)
            print(f"Revoked {key.id} ({key.name}).")


async def _create(args: argparse.Namespace, store: Store, now: datetime, scopes: frozenset[str]) -> None:
    names = Names.clean(args.owner, args.workspace, args.profile)
    name = clean_name("name", args.name, NAME_CHARS_MAX)
    asked = granted((*(args.scope or [EVERYTHING]), *([ADMIN] if args.admin else [])), scopes)
    expires_at = now + args.expires if args.expires else None
    profile = await store.create_profile(names, now)
    key, minted = issue(Draft(profile.id, name, asked, expires_at), scopes, now, os.urandom(RANDOM_BYTES))
    await store.add_key(key, minted.digest, keys_max=None)
    about = f"Key {key.id} for {'/'.join(names)} may {', '.join(key.scopes)}; expires: {_moment(expires_at)}."
    print(f"{about}\nKeep the secret: it is not shown again.", file=sys.stderr)
    print(minted.secret)


async def _list(limit: int, store: Store, now: datetime) -> None:
    keys = await store.list_keys(None, None, limit + 1)
    print(table(keys[:limit], now))
    if len(keys) > limit:
        print(f"There are more than these {limit}; see --limit.", file=sys.stderr)


def _cells(key: Key, now: datetime) -> tuple[str, ...]:
    state = "revoked" if key.revoked_at else "live" if is_live(key, now) else "expired"
    times = (_moment(key.created_at), _moment(key.expires_at))
    return key.id, state, key.name, ",".join(key.scopes), *times, str(key.profile_id)


def _moment(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else "never"


def _limit(text: str) -> int:
    limit = int(text)
    if not 1 <= limit <= SHOWN_MAX:
        raise argparse.ArgumentTypeError(f"must be 1 to {SHOWN_MAX}")
    return limit

"""``treering quota show | set``: how much a profile may keep, by whoever has the machine."""

from __future__ import annotations

import argparse
from dataclasses import asdict, fields

from libs.data.master_key import MasterKey
from libs.messages import to_id
from libs.quota import LIMIT_MAX, Quota
from services.gateway.access.cli import attempt
from services.gateway.access.store import Store

LIMITS = tuple(field.name for field in fields(Quota))
DEFAULT = "the house's default"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the verbs of ``treering quota``."""
    verbs = parser.add_subparsers(dest="quota_verb", required=True, metavar="show|set")
    show = verbs.add_parser("show", help="show what was set for a profile")
    change = verbs.add_parser("set", help="set all limits of a profile; what is left out is by default")
    for verb in (show, change):
        verb.add_argument("profile", metavar="PROFILE_ID", help="as `treering key list` shows it")
    for name in LIMITS:
        change.add_argument(f"--{name.replace('_', '-')}", type=_limit, metavar="N", help="0 or more")


async def run(args: argparse.Namespace, dsn: str, master: MasterKey) -> int:
    """Do what the arguments say and answer the exit code, as ``treering key`` does."""

    async def work(store: Store) -> None:
        profile_id = to_id("PROFILE_ID", args.profile)
        if args.quota_verb == "set":
            await store.set_quota(profile_id, Quota(**{name: getattr(args, name) for name in LIMITS}))
        print(table(await store.quota(profile_id)))

    return await attempt("quota", dsn, master, work)


def table(quota: Quota) -> str:
    """A line for each limit."""
    width = max(map(len, LIMITS))
    return "\n".join(
        f"{name.ljust(width)}  {DEFAULT if limit is None else limit}" for name, limit in asdict(quota).items()
    )


def _limit(text: str) -> int:
    limit = int(text)
    if not 0 <= limit <= LIMIT_MAX:
        raise argparse.ArgumentTypeError(f"must be 0 to {LIMIT_MAX}")
    return limit

"""The command `treering`."""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import asyncpg
import orjson
import uvloop

from libs.clock import system_clock
from libs.data import checks
from libs.refusal import Refused
from libs.settings import example
from services import errand, house
from services.decay import cli as ageing
from services.gateway import catalog, openapi
from services.gateway.access import cli as keys
from services.gateway.access import profile_cli as profiles
from services.gateway.access import quota_cli as quotas
from services.gateway.access.first_key import FILE_NAME as FIRST_KEY
from services.roster import ROLES

Verb = Callable[[argparse.Namespace, Mapping[str, str]], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. 0: done, 1: it found something wrong, 2: it refused."""
    parsed = _parser().parse_args(arguments)
    verb: Verb = parsed.verb
    try:
        return verb(parsed, os.environ)
    except Refused as refused:
        print(f"treering: {refused}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def serve(arguments: argparse.Namespace, env: Mapping[str, str]) -> int:
    """Serve roles until told to stop."""
    settings = house.settle(env)
    roles = list(dict.fromkeys(arguments.role)) or list(ROLES)
    if unknown := [role for role in roles if role not in ROLES]:
        raise Refused(f"There is no role {unknown[0]}. Roles: {', '.join(ROLES)}.")
    with house.sole(settings), house.database(settings) as (dsn, embedded):
        uvloop.run(house.run(settings, env, dsn, roles, embedded))
    return 0


def migrate(_: argparse.Namespace, env: Mapping[str, str]) -> int:
    """Bring the database up to date."""
    settings = house.settle(env)
    with house.reached(settings) as dsn:
        applied = asyncio.run(house.migrate(dsn, house.master_key(settings), list(ROLES)))
    print("\n".join(applied) or "Nothing to do: the database is up to date.")
    return 0


def doctor(_: argparse.Namespace, env: Mapping[str, str]) -> int:
    """Look at everything that serving depends on."""
    settings = house.settle(env)

    async def examine(dsn: str) -> list[checks.Finding]:
        connection = await asyncpg.connect(dsn)
        try:
            schemas = [entry.schema for entry in ROLES.values()]
            return await checks.examine(connection, house.master_key(settings), schemas)
        finally:
            await connection.close()

    with house.reached(settings) as dsn:
        findings = asyncio.run(examine(dsn))
    for finding in findings:
        print(f"{'ok  ' if finding.ok else 'BAD '} {finding.name}: {finding.detail}")
        if not finding.ok:
            print(f"     {finding.remedy}")
    return 0 if all(finding.ok for finding in findings) else 1


def key(arguments: argparse.Namespace, env: Mapping[str, str]) -> int:
    """Make, list or revoke keys on the machine itself, whether or not the house is open."""
    settings = house.settle(env)
    scopes = frozenset(method.scope for method in catalog.load().methods)
    with house.reached(settings) as dsn:
        return asyncio.run(keys.run(arguments, dsn, house.master_key(settings), system_clock, scopes))


def quota(arguments: argparse.Namespace, env: Mapping[str, str]) -> int:
    """Show or set how much a profile may keep, whether or not the house is open."""
    settings = house.settle(env)
    with house.reached(settings) as dsn:
        return asyncio.run(quotas.run(arguments, dsn, house.master_key(settings)))


def erase(arguments: argparse.Namespace, env: Mapping[str, str]) -> int:
    """Erase a profile with all that is kept of it, for good."""
    return errand.run(env, partial(profiles.erase, arguments))


def export(arguments: argparse.Namespace, env: Mapping[str, str]) -> int:
    """Print all that is kept of a profile, readable, a JSON object a line."""
    return errand.run(env, partial(profiles.export, arguments))


def decay(arguments: argparse.Namespace, env: Mapping[str, str]) -> int:
    """Draw what will be forgotten in the coming year, or sweep now."""
    settings = house.settle(env)
    first_key = Path(settings.home) / FIRST_KEY
    return asyncio.run(ageing.run(arguments, house.grpc_address(settings), first_key, system_clock()))


def print_openapi(_: argparse.Namespace, __: Mapping[str, str]) -> int:
    """Print the OpenAPI document."""
    document = openapi.document(catalog.load(), importlib.metadata.version("treering"))
    print(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
    return 0


def print_env(_: argparse.Namespace, __: Mapping[str, str]) -> int:
    """Print every setting with its default."""
    print(example(house.all_settings()), end="")
    return 0


def tell(_: argparse.Namespace, env: Mapping[str, str]) -> int:
    """Tell the story of a session in a house of its own."""
    from services import demo

    demo.run(env)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("treering", description="Memory for AI agents, as gRPC services.")
    parser.add_argument("--version", action="version", version=importlib.metadata.version("treering"))
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    parsers = {name: verbs.add_parser(name, help=_first_line(verb)) for name, verb in VERBS.items()}
    for name, verb in VERBS.items():
        parsers[name].set_defaults(verb=verb)
    parsers["serve"].add_argument(
        "role", nargs="*", metavar="ROLE", help=f"{', '.join(ROLES)}; all if none is named"
    )
    keys.add_arguments(parsers["key"])
    quotas.add_arguments(parsers["quota"])
    profiles.add_erase_arguments(parsers["erase"])
    profiles.add_export_arguments(parsers["export"])
    ageing.add_arguments(parsers["decay"])
    return parser


def _first_line(verb: Verb) -> str:
    return (verb.__doc__ or "").splitlines()[0]


VERBS: dict[str, Verb] = {
    "serve": serve,
    "migrate": migrate,
    "key": key,
    "quota": quota,
    "erase": erase,
    "export": export,
    "decay": decay,
    "doctor": doctor,
    "demo": tell,
    "openapi": print_openapi,
    "env": print_env,
}


if __name__ == "__main__":
    sys.exit(main())

"""Work for the gateway by whoever has the machine, be the house open or not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import uvloop

from libs.clock import system_clock
from libs.refusal import Refused
from libs.rpc import telemetry
from libs.rpc.caller import Signer
from libs.rpc.channels import Remote
from libs.rpc.telemetry import Telemetry
from libs.settings import load
from services import house
from services.gateway.service import ACCESS
from services.roster import ROLES

QUIET = {"TREERING_LOG_LEVEL": "error"}
"""A house that is opened for an errand tells of nothing else, unless it is asked to."""

Work = Callable[[Remote], Awaitable[int]]
"""Calls the gateway and answers an exit code."""


def run(env: Mapping[str, str], work: Work) -> int:
    """Do the work at the open house; if there is none, at one that is opened for as long as it takes."""
    env = QUIET | dict(env)
    settings = house.settle(env)
    done = uvloop.run(_at_open_house(settings, env, work))
    if done is not None:
        return done
    if settings.gateway_address:
        raise Refused(f"The gateway at {settings.gateway_address} does not answer.")
    with house.sole(settings), house.database(settings) as (dsn, _):
        return uvloop.run(_at_own_house(settings, env, dsn, work))


async def _at_open_house(settings: house.Settings, env: Mapping[str, str], work: Work) -> int | None:
    """What the work came to; ``None`` if no house is open."""
    async with _gateway(settings, env) as gateway:
        return await work(gateway) if await gateway.serves(ACCESS) else None


async def _at_own_house(settings: house.Settings, env: Mapping[str, str], dsn: str, work: Work) -> int:
    await house.migrate(dsn, house.master_key(settings), list(ROLES))
    await house.prove(dsn, house.master_key(settings), list(ROLES))
    async with house.opened(settings, env, dsn, list(ROLES)), _gateway(settings, env) as gateway:
        return await work(gateway)


@asynccontextmanager
async def _gateway(settings: house.Settings, env: Mapping[str, str]) -> AsyncGenerator[Remote]:
    signer = Signer(house.master_key(settings).derive, system_clock)
    seen = Telemetry(load(telemetry.Settings, env))
    remote = Remote(house.gateway_address(settings), signer, seen)
    try:
        yield remote
    finally:
        await remote.close()
        seen.close()

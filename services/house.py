"""One process: its ground, its roles, and its way from start to drain."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

import structlog
from treering.access.v1 import verification_service_pb2 as verification

from libs.clock import system_clock
from libs.data import checks, installation, migrations
from libs.data.embedded import EmbeddedPostgres, running
from libs.data.home import make_home
from libs.data.master_key import MasterKey, load_master_key
from libs.data.postgres import connect
from libs.data.state_lock import StateLock
from libs.loops import Loop, every
from libs.refusal import Refused
from libs.rpc import rates, server, telemetry, web
from libs.rpc.caller import Signer, service_caller
from libs.rpc.chain import Chain
from libs.rpc.channels import Remote
from libs.rpc.rates import Rates
from libs.rpc.telemetry import Telemetry
from libs.rpc.verification import VERIFY_SECONDS, Verifier
from libs.settings import load, refuse_unknown
from libs.site import Site
from services.gateway.access.first_key import FILE_NAME as FIRST_KEY
from services.roster import ROLES

VERIFY_KEY = "/treering.access.v1.VerificationService/VerifyKey"
REVIVE_SECONDS = 0.5

log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the house stands."""

    PREFIX: ClassVar[str] = "TREERING_"

    home: str = ".treering"
    """The state directory: the master key, the first API key, and the embedded Postgres."""
    host: str = "127.0.0.1"
    """The address to listen on. Other machines reach it only if it is not a loopback address."""
    grpc_port: int = 7600
    """The port for gRPC."""
    http_port: int = 7680
    """The port for REST, MCP, docs, health and metrics."""
    database_url: str = ""
    """An existing Postgres with pgvector, as its owner. Empty: the embedded one."""
    postgres_bin: str = ""
    """The folder with the programs of the embedded Postgres. Empty: those of the installed package."""
    master_key: str = ""
    """The master key as base64 of 32 bytes. Better: in a file."""
    master_key_file: str = ""
    """The file with the master key. Empty: master-key in the state directory, made on first start."""
    gateway_address: str = ""
    """Where services find the gateway by gRPC. Empty: in this process."""
    memory_address: str = ""
    """Where the gateway and decay find memory by gRPC. Empty: in this process."""
    decay_address: str = ""
    """Where the gateway finds decay by gRPC. Empty: in this process."""
    clipboard_address: str = ""
    """Where the gateway finds the clipboard by gRPC. Empty: in this process."""
    results_address: str = ""
    """Where the gateway finds results by gRPC. Empty: in this process."""


def gateway_address(settings: Settings) -> str:
    """Where the gateway is found by gRPC."""
    return settings.gateway_address or _address(settings.host, settings.grpc_port)


def all_settings() -> list[type]:
    """Every settings class that the environment may speak of."""
    listed = [Settings, telemetry.Settings, rates.Settings]
    listed += [kind for entry in ROLES.values() for kind in entry.settings]
    return list(dict.fromkeys(listed))


def settle(env: Mapping[str, str]) -> Settings:
    """Read the settings of the process, and refuse names that nobody reads."""
    refuse_unknown(all_settings(), env)
    telemetry.configure_logging(load(telemetry.Settings, env))
    return load(Settings, env)


def master_key(settings: Settings) -> MasterKey:
    """The master key, made on first start."""
    return load_master_key(Path(settings.home), text=settings.master_key, file=settings.master_key_file)


@contextmanager
def database(settings: Settings) -> Generator[tuple[str, EmbeddedPostgres | None]]:
    """The database's DSN, with the embedded Postgres running for as long as the block if it is used."""
    if settings.database_url:
        yield settings.database_url, None
        return
    with EmbeddedPostgres(Path(settings.home), own_binaries=settings.postgres_bin) as embedded:
        yield embedded.dsn, embedded


@contextmanager
def reached(settings: Settings) -> Generator[str]:
    """The database's DSN for a command, be the house open or not."""
    if not settings.database_url and (open_already := running(Path(settings.home).absolute())):
        yield open_already
        return
    with database(settings) as (dsn, _):
        yield dsn


@contextmanager
def sole(settings: Settings) -> Generator[None]:
    """Refuse a second house on the same state directory."""
    home = Path(settings.home)
    make_home(home)
    lock = StateLock(home.absolute() / "house.lock")
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


async def migrate(dsn: str, master: MasterKey, roles: Sequence[str]) -> list[str]:
    """Bring the schemas of these roles up to date."""
    await installation.prepare(dsn, master)
    applied: list[str] = []
    for name in roles:
        kept = ROLES[name].schema
        password = master.password(kept.role)
        labels = await migrations.apply(dsn, kept.schema, kept.package, role=kept.role, password=password)
        applied += [f"{kept.schema}/{label}" for label in labels]
    return applied


async def prove(dsn: str, master: MasterKey, roles: Sequence[str]) -> None:
    """Refuse to serve what is not migrated, or where one profile could see another."""
    for name in roles:
        kept = ROLES[name].schema
        async with connect(dsn, role=kept.role, password=master.password(kept.role), size=2) as under_role:
            await installation.check_master_key(under_role, master)
            if waiting := await migrations.pending(under_role, kept.schema, kept.package):
                raise Refused(f"The database lacks {', '.join(waiting)}. Run: treering migrate")
            tables = await checks.profile_tables(under_role, kept.schema)
            await checks.isolation_self_test(under_role, tables)


@asynccontextmanager
async def opened(
    settings: Settings, env: Mapping[str, str], dsn: str, roles: Sequence[str]
) -> AsyncGenerator[None]:
    """Build the roles and serve them while the block runs."""
    async with AsyncExitStack() as stack:
        site = await _ground(stack, settings, env, dsn)
        built = [await ROLES[name].build(stack, site) for name in roles]
        chain = Chain(site.telemetry, site.signer, site.verify, Rates(load(rates.Settings, env)))
        services = [service for role in built for service in role.services]
        address = _address(settings.host, settings.grpc_port)
        await stack.enter_async_context(server.serve(address, services, chain, site.telemetry))
        for role in built:
            if role.application:
                await stack.enter_async_context(
                    web.serve(role.application, settings.host, settings.http_port)
                )
        yield


async def run(
    settings: Settings,
    env: Mapping[str, str],
    dsn: str,
    roles: Sequence[str],
    embedded: EmbeddedPostgres | None,
) -> None:
    """Serve until told to stop."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    master = master_key(settings)
    if set(roles) == set(ROLES):
        await migrate(dsn, master, roles)
    await prove(dsn, master, roles)
    async with opened(settings, env, dsn, roles):
        # What was built stays until the end: from now on the collector looks only at what calls make.
        gc.collect()
        gc.freeze()
        log.info("house.open", roles=list(roles), **_doors(settings, roles))
        async with asyncio.TaskGroup() as tasks:
            watch = tasks.create_task(_revived(embedded).run()) if embedded else None
            await stop.wait()
            log.info("house.closing")
            if watch:
                watch.cancel()
    log.info("house.closed")


async def _ground(stack: AsyncExitStack, settings: Settings, env: Mapping[str, str], dsn: str) -> Site:
    master = master_key(settings)
    seen = Telemetry(load(telemetry.Settings, env))
    stack.push_async_callback(asyncio.to_thread, seen.close)  # it waits for the collector
    signer = Signer(master.derive, system_clock)
    here = _address(settings.host, settings.grpc_port)
    # Channels open when they are first used, and must outlive the servers that were opened before.
    channels = await stack.enter_async_context(AsyncExitStack())
    elsewhere = {
        "access": settings.gateway_address,
        "memory": settings.memory_address,
        "decay": settings.decay_address,
        "clipboard": settings.clipboard_address,
        "results": settings.results_address,
    }

    @cache
    def remote(audience: str) -> Remote:
        made = Remote(elsewhere.get(audience) or here, signer, seen)
        channels.push_async_callback(made.close)
        return made

    async def ask(request: verification.VerifyKeyRequest) -> verification.VerifyKeyResponse:
        answer = await remote("access").call(
            VERIFY_KEY,
            request,
            verification.VerifyKeyResponse.FromString,
            caller=service_caller("verifier"),
            request_id=uuid4().hex,
            timeout=VERIFY_SECONDS,
            patient=True,
        )
        assert isinstance(answer, verification.VerifyKeyResponse)  # noqa: S101 -- what FromString makes
        return answer

    return Site(
        env=env,
        clock=system_clock,
        home=Path(settings.home),
        dsn=dsn,
        master=master,
        signer=signer,
        telemetry=seen,
        verify=Verifier(ask),
        remote=remote,
    )


def _doors(settings: Settings, roles: Sequence[str]) -> dict[str, str]:
    """Where to call, and where the first key is: what whoever starts the house wants to know."""
    doors = {"grpc": _address(settings.host, settings.grpc_port)}
    if "gateway" in roles:
        doors["http"] = f"http://{_address(settings.host, settings.http_port)}"
        doors["first_key"] = str(Path(settings.home) / FIRST_KEY)
    return doors


def _revived(embedded: EmbeddedPostgres) -> Loop:
    async def job() -> None:
        embedded.revive()

    return every(REVIVE_SECONDS, job, name="postgres")


def grpc_address(settings: Settings) -> str:
    """Where the house listens for gRPC."""
    return _address(settings.host, settings.grpc_port)


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

"""The results role: settings, and the one place that builds it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import ClassVar

from treering.results.v1 import journal_service_pb2_grpc as journal_rpc
from treering.results.v1 import profile_data_service_pb2_grpc as profile_data_rpc
from treering.results.v1 import results_service_pb2_grpc as results_rpc
from treering.results.v1 import run_service_pb2_grpc as run_rpc

from libs.data.bell import bell
from libs.data.checks import ServiceSchema
from libs.data.erasing import Eraser
from libs.data.keyring import Keyring
from libs.data.pages import Pages
from libs.data.postgres import connect
from libs.language.lexing import Lexing
from libs.loops import Loop, every
from libs.rpc.lists import Lists
from libs.rpc.server import Service
from libs.settings import load
from libs.site import Role, Site
from services.results.journal.servicer import JournalServicer
from services.results.journal.store import JournalStore
from services.results.profile_data.export import Export
from services.results.profile_data.servicer import ProfileDataServicer
from services.results.results.servicer import ResultsServicer
from services.results.results.store import Store
from services.results.results.turns_store import TurnStore
from services.results.runs.quota import Quota
from services.results.runs.servicer import RunServicer
from services.results.runs.store import RunStore
from services.results.waiting import Waiters

SCHEMA = ServiceSchema("results", "services.results", "treering_results")
RESULTS = "treering.results.v1.ResultsService"
RUNS = "treering.results.v1.RunService"
JOURNAL = "treering.results.v1.JournalService"
PROFILE_DATA = "treering.results.v1.ProfileDataService"
CHANNEL = "treering_results"
SWEPT_MAX = 200
"""Of each kind in one transaction."""
SWEEPS_MAX = 20
"""Transactions in one turn of the loop."""
LOOK_SECONDS = 2.0
"""How often all that wait are looked up together, for what no bell told them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How results are kept."""

    PREFIX: ClassVar[str] = "TREERING_RESULTS_"

    connections: int = 10
    """Connections to the database at most, and one more for the bell."""
    runs_max: int = 100_000
    """Runs that one profile may have, where its quota does not say."""
    results_max: int = 1_000_000
    """Results and turns that one profile may have in all its runs, where its quota does not say."""
    bytes_max: int = 1_073_741_824
    """Bytes of all results and turns that one profile may have, where its quota does not say."""
    ttl_seconds: int = 2_592_000
    """How long a run and its results are kept where its start says nothing."""
    known_seconds: int = 604_800
    """How long it is remembered of a run that it has expired. Nothing else of it is."""
    sweep_seconds: float = 30
    """How often what has expired is deleted. It is gone from every answer before that."""


SETTINGS = (Settings,)


async def build(stack: AsyncExitStack, site: Site) -> Role:
    """Wire results: pool, keys, bell, stores, servicers, loops."""
    settings = load(Settings, site.env)
    password = site.master.password(SCHEMA.role)
    database = await stack.enter_async_context(
        connect(site.dsn, role=SCHEMA.role, password=password, size=settings.connections)
    )
    ringing = bell(site.dsn, role=SCHEMA.role, password=password, channel=CHANNEL)
    waiters = Waiters(ringing.ring)
    await stack.enter_async_context(ringing.running(waiters.heard, waiters.wake_all))

    keyring = Keyring(database, site.master, SCHEMA.schema)
    quota = Quota(settings.runs_max, settings.results_max, settings.bytes_max)
    ttl, known = timedelta(seconds=settings.ttl_seconds), timedelta(seconds=settings.known_seconds)
    lexing = Lexing()
    runs = RunStore(database, keyring, lexing, waiters.changed)
    results = Store(database, keyring, ttl, known, waiters.changed)
    turns = TurnStore(database, keyring, ttl, known)
    lists = Lists(Pages(site.master.derive("pages/results")), site.clock)
    of_results = ResultsServicer(results, turns, waiters, lists, site.clock, quota)
    of_runs = RunServicer(runs, ttl, lists, site.clock, quota)
    of_journal = JournalServicer(JournalStore(database, keyring, lexing))
    profile_data = ProfileDataServicer(
        Eraser(database, keyring, SCHEMA.schema), Export(database, keyring, site.clock)
    )
    return Role(
        (
            Service(
                RESULTS,
                partial(results_rpc.add_ResultsServiceServicer_to_server, of_results),
                database.ping,
                (_sweeper(settings, site, runs), _lookout(site, results, waiters)),
            ),
            Service(RUNS, partial(run_rpc.add_RunServiceServicer_to_server, of_runs), database.ping),
            Service(
                JOURNAL, partial(journal_rpc.add_JournalServiceServicer_to_server, of_journal), database.ping
            ),
            Service(
                PROFILE_DATA,
                partial(profile_data_rpc.add_ProfileDataServiceServicer_to_server, profile_data),
                database.ping,
                internal=True,
            ),
        )
    )


def _sweeper(settings: Settings, site: Site, runs: RunStore) -> Loop:
    known = timedelta(seconds=settings.known_seconds)

    async def sweep() -> None:
        for _ in range(SWEEPS_MAX):
            if not await runs.sweep(SWEPT_MAX, known, site.clock()):
                return

    return every(settings.sweep_seconds, sweep, name="sweep")


def _lookout(site: Site, results: Store, waiters: Waiters) -> Loop:
    async def look() -> None:
        if waiting := waiters.all():
            for waiter in await results.arrived(waiting, site.clock()):
                waiters.wake(waiter)

    return every(LOOK_SECONDS, look, name="lookout")

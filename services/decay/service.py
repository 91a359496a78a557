"""The decay role: settings, and the one place that builds it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from treering.decay.v1 import decay_service_pb2_grpc as rpc
from treering.decay.v1 import profile_data_service_pb2_grpc as profile_data_rpc

from libs.data.checks import ServiceSchema
from libs.data.erasing import Eraser
from libs.data.keyring import Keyring
from libs.data.pages import Pages
from libs.data.postgres import connect
from libs.loops import Loop, every
from libs.rpc.server import Service
from libs.settings import load
from libs.site import Role, Site
from services.decay.ageing.lifecycle import Lifecycle
from services.decay.ageing.oracle import Oracle
from services.decay.ageing.servicer import DecayServicer
from services.decay.ageing.store import Store
from services.decay.ageing.sweeper import Sweeper
from services.decay.profile_data.export import Export
from services.decay.profile_data.servicer import ProfileDataServicer

SCHEMA = ServiceSchema("decay", "services.decay", "treering_decay")
NAME = "treering.decay.v1.DecayService"
PROFILE_DATA = "treering.decay.v1.ProfileDataService"
SWEEP_SECONDS_MAX = 600.0
"""Then a turn of the loop is ended; what it had leased is free again two minutes later."""
FORGOTTEN_SWEEPS_MAX = 10_000
"""Sweeps that one turn of the loop forgets."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How memories age."""

    PREFIX: ClassVar[str] = "TREERING_DECAY_"

    connections: int = 5
    """Connections to the database at most."""
    sweep_seconds: float = 60
    """How often memories that are due are moved."""
    forget_sweeps_seconds: float = 3600
    """How often sweeps of more than 90 days ago are forgotten."""


SETTINGS = (Settings,)


async def build(stack: AsyncExitStack, site: Site) -> Role:
    """Wire decay: pool, store, the way to memory, sweeper, servicer."""
    settings = load(Settings, site.env)
    database = await stack.enter_async_context(
        connect(
            site.dsn, role=SCHEMA.role, password=site.master.password(SCHEMA.role), size=settings.connections
        )
    )
    store = Store(database)
    lifecycle = Lifecycle(site.remote("memory"))
    sweeper = Sweeper(lifecycle, store)
    servicer = DecayServicer(
        store, sweeper, Oracle(lifecycle, store), Pages(site.master.derive("pages/decay")), site.clock
    )
    eraser = Eraser(database, Keyring(database, site.master, SCHEMA.schema), SCHEMA.schema)
    profile_data = ProfileDataServicer(eraser, Export(store))
    return Role(
        (
            Service(
                NAME,
                partial(rpc.add_DecayServiceServicer_to_server, servicer),
                database.ping,
                _loops(settings, store, sweeper),
            ),
            Service(
                PROFILE_DATA,
                partial(profile_data_rpc.add_ProfileDataServiceServicer_to_server, profile_data),
                database.ping,
                internal=True,
            ),
        )
    )


def _loops(settings: Settings, store: Store, sweeper: Sweeper) -> tuple[Loop, ...]:
    forget = partial(store.forget_sweeps, FORGOTTEN_SWEEPS_MAX)
    return (
        every(settings.sweep_seconds, sweeper.sweep_all, name="sweep", limit_seconds=SWEEP_SECONDS_MAX),
        every(settings.forget_sweeps_seconds, forget, name="forget_sweeps"),
    )

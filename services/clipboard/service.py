"""The clipboard role: settings, and the one place that builds it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from treering.clipboard.v1 import clipboard_service_pb2_grpc as rpc
from treering.clipboard.v1 import profile_data_service_pb2_grpc as profile_data_rpc

from libs.data.checks import ServiceSchema
from libs.data.erasing import Eraser
from libs.data.keyring import Keyring
from libs.data.pages import Pages
from libs.data.postgres import connect
from libs.loops import Loop, every
from libs.rpc.server import Service
from libs.settings import load
from libs.site import Role, Site
from services.clipboard.entries.quota import Quota
from services.clipboard.entries.servicer import ClipboardServicer
from services.clipboard.entries.store import Store
from services.clipboard.profile_data.export import Export
from services.clipboard.profile_data.servicer import ProfileDataServicer

SCHEMA = ServiceSchema("clipboard", "services.clipboard", "treering_clipboard")
NAME = "treering.clipboard.v1.ClipboardService"
PROFILE_DATA = "treering.clipboard.v1.ProfileDataService"
SWEPT_MAX = 500
"""Of each kind in one transaction."""
SWEEPS_MAX = 20
"""Transactions in one turn of the loop."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How clipboards work."""

    PREFIX: ClassVar[str] = "TREERING_CLIPBOARD_"

    connections: int = 10
    """Connections to the database at most."""
    entries_max: int = 10_000
    """Entries that one profile may hold, where its quota does not say."""
    bytes_max: int = 268_435_456
    """Bytes of all values that one profile may hold, where its quota does not say."""
    sweep_seconds: float = 30
    """How often what has expired is deleted. It is gone from every answer before that."""


SETTINGS = (Settings,)


async def build(stack: AsyncExitStack, site: Site) -> Role:
    """Wire the clipboard: pool, keys, store, servicer, sweeper."""
    settings = load(Settings, site.env)
    database = await stack.enter_async_context(
        connect(
            site.dsn, role=SCHEMA.role, password=site.master.password(SCHEMA.role), size=settings.connections
        )
    )
    keyring = Keyring(database, site.master, SCHEMA.schema)
    store = Store(database, keyring)
    quota = Quota(settings.entries_max, settings.bytes_max)
    servicer = ClipboardServicer(store, Pages(site.master.derive("pages/clipboard")), site.clock, quota)
    profile_data = ProfileDataServicer(Eraser(database, keyring, SCHEMA.schema), Export(store, site.clock))
    return Role(
        (
            Service(
                NAME,
                partial(rpc.add_ClipboardServiceServicer_to_server, servicer),
                database.ping,
                (_sweeper(settings, site, store),),
            ),
            Service(
                PROFILE_DATA,
                partial(profile_data_rpc.add_ProfileDataServiceServicer_to_server, profile_data),
                database.ping,
                internal=True,
            ),
        )
    )


def _sweeper(settings: Settings, site: Site, store: Store) -> Loop:
    async def sweep() -> None:
        for _ in range(SWEEPS_MAX):
            if await store.sweep(SWEPT_MAX, site.clock()) < SWEPT_MAX:
                return

    return every(settings.sweep_seconds, sweep, name="sweep")

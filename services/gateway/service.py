"""The gateway role: settings, and the one place that builds it."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import ClassVar

from treering.access.v1 import access_service_pb2_grpc as access_rpc
from treering.access.v1 import verification_service_pb2_grpc as verification_rpc

from libs.data.keyring import ProfileKeys
from libs.data.pages import Pages
from libs.data.postgres import connect
from libs.loops import every
from libs.rpc.methods import audience_of
from libs.rpc.server import Service
from libs.settings import load
from libs.site import Application, Role, Site
from services.gateway import catalog
from services.gateway.access.eraser import Eraser
from services.gateway.access.erasure_store import ErasureStore
from services.gateway.access.exporter import Exporter
from services.gateway.access.first_key import ensure_first_key
from services.gateway.access.keepers import keepers
from services.gateway.access.keys import RANDOM_BYTES
from services.gateway.access.servicer import AccessServicer
from services.gateway.access.store import SCHEMA as SCHEMA
from services.gateway.access.store import Store
from services.gateway.access.verification_servicer import VerificationServicer
from services.gateway.http import application
from services.gateway.places import Places
from services.gateway.reach import Reach

ACCESS = "treering.access.v1.AccessService"
VERIFICATION = "treering.access.v1.VerificationService"
ERASE_SECONDS = 1.0
"""How often erasures are gone on with."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the doors behave."""

    PREFIX: ClassVar[str] = "TREERING_GATEWAY_"

    connections: int = 5
    """Connections to the database at most."""
    keys_max: int = 1_000
    """Live keys that a profile may have, where its quota does not say."""
    allowed_hosts: str = ""
    """Names by which `/mcp` may be called besides this machine's own, separated by commas."""
    allowed_origins: str = ""
    """Web pages that may call `/mcp`, as https://example.com, separated by commas."""
    erase_settle_seconds: float = 65
    """How long calls from before an erasure may be under way. Then everything is looked through again."""


SETTINGS = (Settings,)


async def build(stack: AsyncExitStack, site: Site) -> Role:
    """Wire the gateway: pool, first key, access, doors."""
    settings = load(Settings, site.env)
    database = await stack.enter_async_context(
        connect(
            site.dsn, role=SCHEMA.role, password=site.master.password(SCHEMA.role), size=settings.connections
        )
    )
    store = Store(database, ProfileKeys.installation(site.master, SCHEMA.schema))
    await ensure_first_key(store, site.home, site.clock(), os.urandom(RANDOM_BYTES))
    known = catalog.load()
    pages = Pages(site.master.derive("pages/access"))
    scopes = frozenset(method.scope for method in known.methods)
    erasures = ErasureStore(database)
    services = keepers(known, site.remote)
    exporter = Exporter(store, services, pages, site.clock)
    access = AccessServicer(store, erasures, exporter, site.clock, pages, scopes, settings.keys_max)
    settle = timedelta(seconds=settings.erase_settle_seconds)
    return Role(
        services=_services(store, access, Eraser(erasures, services, settle, site.clock), site),
        application=_doors(known, settings, site),
    )


def _services(store: Store, access: AccessServicer, eraser: Eraser, site: Site) -> tuple[Service, ...]:
    verification = VerificationServicer(store, site.clock)
    return (
        Service(
            ACCESS,
            partial(access_rpc.add_AccessServiceServicer_to_server, access),
            store.ping,
            (every(ERASE_SECONDS, eraser.turn, name="erase"),),
        ),
        Service(
            VERIFICATION,
            partial(verification_rpc.add_VerificationServiceServicer_to_server, verification),
            store.ping,
            internal=True,
        ),
    )


def _doors(known: catalog.Catalog, settings: Settings, site: Site) -> Application:
    behind = sorted({method.service for method in known.methods})

    async def readiness() -> Mapping[str, bool]:
        well = await asyncio.gather(*(site.remote(audience_of(name)).serves(name) for name in behind))
        return dict(zip(behind, well, strict=True))

    return application(
        known,
        Reach(site.remote),
        site.verify,
        readiness,
        site.telemetry,
        Places(_listed(settings.allowed_hosts), _listed(settings.allowed_origins)),
        importlib.metadata.version("treering"),
    )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part for part in (part.strip() for part in text.split(",")) if part)

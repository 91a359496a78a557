"""The memory role: settings, and the one place that builds it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import ClassVar

from treering.memory.v1 import lifecycle_service_pb2_grpc as lifecycle_rpc
from treering.memory.v1 import memory_service_pb2_grpc as rpc
from treering.memory.v1 import profile_data_service_pb2_grpc as profile_data_rpc

from libs.data.checks import ServiceSchema
from libs.data.erasing import Eraser
from libs.data.keyring import Keyring
from libs.data.pages import Pages
from libs.data.postgres import Database, connect
from libs.language import providers, writers
from libs.language.embeddings import RoutedEmbedder
from libs.language.model import Language
from libs.language.tokens import TokenCounter
from libs.loops import Loop, every
from libs.rpc.lists import Lists
from libs.rpc.server import Service
from libs.settings import load
from libs.site import Role, Site
from services.memory.brief.brief import Briefer
from services.memory.brief.store import BriefStore
from services.memory.curation.curate import Curator
from services.memory.curation.store import CurationStore
from services.memory.lifecycle.compressor import Compressor
from services.memory.lifecycle.forms import Shorter
from services.memory.lifecycle.restage import Restager
from services.memory.lifecycle.servicer import LifecycleServicer
from services.memory.lifecycle.store import LifecycleStore
from services.memory.lifecycle.writer import Writer
from services.memory.memories.embed_pending import embed_pending
from services.memory.memories.keeping import Keeping
from services.memory.memories.observe import Observer
from services.memory.memories.pending_store import PendingStore
from services.memory.memories.servicer import MemoryServicer
from services.memory.memories.store import Store
from services.memory.memories.touches import Touches
from services.memory.profile_data.export import Export
from services.memory.profile_data.servicer import ProfileDataServicer
from services.memory.repetition.repeat import Repetition
from services.memory.repetition.store import RepetitionStore
from services.memory.rings.changes import Changes
from services.memory.rings.store import RingStore
from services.memory.search.find import Finder
from services.memory.search.store import SearchStore
from services.memory.sessions.reporter import Reporter
from services.memory.sessions.store import SessionStore

SCHEMA = ServiceSchema("memory", "services.memory", "treering_memory")
NAME = "treering.memory.v1.MemoryService"
PROFILE_DATA = "treering.memory.v1.ProfileDataService"
FORGOTTEN_KEYS_MAX = 10_000
"""Idempotency keys that one turn of the loop forgets."""
PURGED_MAX = 10_000
"""Deleted memories that one turn of the loop purges."""
LIFECYCLE = "treering.memory.v1.LifecycleService"
FORGOTTEN_TOMBSTONES_MAX = 10_000
"""Tombstones that one turn of the loop forgets."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How memory works."""

    PREFIX: ClassVar[str] = "TREERING_MEMORY_"

    connections: int = 10
    """Connections to the database at most."""
    memories_max: int = 1_000_000
    """Memories that one profile may keep, where its quota does not say."""
    embed_pending_seconds: float = 5
    """How often memories that wait for an embedder are tried again."""
    curate_seconds: float = 0.5
    """How often memories that were just observed are put into their rings."""
    touch_seconds: float = 1
    """How often counted reads are written."""
    session_idle_hours: float = 24
    """A session that nobody used for so long is ended, with its report."""
    close_idle_seconds: float = 60
    """How often such sessions are looked for."""
    forget_keys_seconds: float = 300
    """How often idempotency keys older than 24 hours are forgotten."""
    undo_hours: float = 24
    """How long a deleted memory can be brought back; 0: it is gone at once."""
    purge_seconds: float = 60
    """How often deleted memories that can no longer be brought back are deleted for good."""
    forget_tombstones_seconds: float = 3600
    """How often tombstones older than 30 days are forgotten."""


SETTINGS = (Settings, providers.Settings, writers.Settings)


async def build(stack: AsyncExitStack, site: Site) -> Role:
    """Wire memory: pool, keys, embedders, stores, servicer, loops."""
    settings = load(Settings, site.env)
    database = await stack.enter_async_context(
        connect(
            site.dsn, role=SCHEMA.role, password=site.master.password(SCHEMA.role), size=settings.connections
        )
    )
    counter = TokenCounter()
    embedder, language = await _models(stack, site, counter)
    keyring = Keyring(database, site.master, SCHEMA.schema)
    store = Store(database, keyring)
    rings = RingStore(database, keyring)
    pending = PendingStore(database, keyring)
    touches = Touches(store, site.clock)
    stack.push_async_callback(touches.flush)
    repetitions = RepetitionStore(database, keyring)
    repetition = Repetition(repetitions, embedder, language, site.clock)
    curator = Curator(CurationStore(database, keyring), repetition, embedder, language, site.clock)
    sessions, observer = SessionStore(database, keyring), Observer(store, embedder, counter)
    reporter = Reporter(sessions, observer, counter, language, site.clock, settings.memories_max)
    finder = Finder(SearchStore(database, keyring), pending, embedder, counter, site.clock)
    servicer = MemoryServicer(
        store,
        sessions,
        reporter,
        rings,
        Changes(store, rings, observer),
        repetitions,
        observer,
        finder,
        Briefer(BriefStore(database, keyring), finder, counter),
        touches,
        _keeping(settings, site),
    )
    return Role(
        (
            Service(
                NAME,
                partial(rpc.add_MemoryServiceServicer_to_server, servicer),
                database.ping,
                _loops(settings, site, store, rings, pending, embedder, touches, curator, reporter),
            ),
            _profile_data(database, keyring, Export(store, sessions)),
            _lifecycle(settings, database, keyring, _shorter(embedder, language, counter)),
        )
    )


def _keeping(settings: Settings, site: Site) -> Keeping:
    return Keeping(
        site.clock,
        Lists(Pages(site.master.derive("pages/memory")), site.clock),
        settings.memories_max,
        timedelta(hours=settings.undo_hours),
    )


async def _models(
    stack: AsyncExitStack, site: Site, counter: TokenCounter
) -> tuple[RoutedEmbedder, Language | None]:
    wanted = load(providers.Settings, site.env)
    embedder = await stack.enter_async_context(providers.embedder_from(wanted, counter, site.clock))
    await embedder.check()
    writer = load(writers.Settings, site.env)
    return embedder, await stack.enter_async_context(writers.language_from(writer, counter, site.clock))


def _profile_data(database: Database, keyring: Keyring, export: Export) -> Service:
    servicer = ProfileDataServicer(Eraser(database, keyring, SCHEMA.schema), export)
    return Service(
        PROFILE_DATA,
        partial(profile_data_rpc.add_ProfileDataServiceServicer_to_server, servicer),
        database.ping,
        internal=True,
    )


def _shorter(
    embedder: RoutedEmbedder, language: Language | None, counter: TokenCounter
) -> Callable[[], Shorter]:
    compressor = Compressor(embedder, counter)
    return Writer(language, compressor.shorter, counter).begin if language else compressor.begin


def _lifecycle(
    settings: Settings, database: Database, keyring: Keyring, begin: Callable[[], Shorter]
) -> Service:
    store = LifecycleStore(database, keyring)
    servicer = LifecycleServicer(store, Restager(store, begin))
    return Service(
        LIFECYCLE,
        partial(lifecycle_rpc.add_LifecycleServiceServicer_to_server, servicer),
        database.ping,
        (
            every(
                settings.forget_tombstones_seconds,
                partial(store.forget_tombstones, FORGOTTEN_TOMBSTONES_MAX),
                name="forget_tombstones",
            ),
        ),
        internal=True,
    )


def _loops(
    settings: Settings,
    site: Site,
    store: Store,
    rings: RingStore,
    pending: PendingStore,
    embedder: RoutedEmbedder,
    touches: Touches,
    curator: Curator,
    reporter: Reporter,
) -> tuple[Loop, ...]:
    async def forget_keys() -> None:
        await store.forget_keys(FORGOTTEN_KEYS_MAX, site.clock())

    async def purge() -> None:
        await rings.purge(PURGED_MAX, site.clock())

    idle = timedelta(hours=settings.session_idle_hours)
    return (
        every(
            settings.embed_pending_seconds,
            partial(embed_pending, pending, embedder, site.clock),
            name="embed_pending",
        ),
        every(settings.curate_seconds, curator.curate, name="curate"),
        every(settings.touch_seconds, touches.flush, name="touches"),
        every(settings.close_idle_seconds, partial(reporter.end_idle, idle), name="close_idle"),
        every(settings.forget_keys_seconds, forget_keys, name="forget_keys"),
        every(settings.purge_seconds, purge, name="purge_deleted"),
    )

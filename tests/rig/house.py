"""The whole house in this process, on free ports, and callers with profiles of their own."""

from __future__ import annotations

import base64
import itertools
import os
import random
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import grpc
import httpx2
import pytest
from treering.access.v1 import access_service_pb2 as access_pb
from treering.access.v1 import access_service_pb2_grpc as access_rpc
from treering.clipboard.v1 import clipboard_service_pb2_grpc as clipboard_rpc
from treering.decay.v1 import decay_service_pb2_grpc as decay_rpc
from treering.memory.v1 import memory_service_pb2_grpc as memory_rpc
from treering.results.v1 import journal_service_pb2_grpc as journal_rpc
from treering.results.v1 import results_service_pb2_grpc as results_rpc
from treering.results.v1 import run_service_pb2_grpc as run_rpc

from libs.data.home import write_once
from services import house as process
from services.roster import ROLES
from tests.rig.postgres import MASTER, MASTER_SECRET, Cluster, state_directory

T = TypeVar("T")
Stub = Callable[[grpc.aio.Channel], T]
MESSAGE_BYTES_MAX = 8 * 1024 * 1024
"""More than the server takes, so that it is the server that refuses."""

numbers = itertools.count(1)


class _Bearer:
    """Shows a key with every call."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def shown(self, details: grpc.aio.ClientCallDetails) -> grpc.aio.ClientCallDetails:
        """A call's details with the key, unless there is one."""
        metadata = grpc.aio.Metadata(*(details.metadata or ()))
        if "authorization" not in metadata:
            metadata.add("authorization", f"Bearer {self._secret}")
        return grpc.aio.ClientCallDetails(
            details.method, details.timeout, metadata, details.credentials, details.wait_for_ready
        )


Continue = Callable[[grpc.aio.ClientCallDetails, Any], Any]


class _OneAnswer(_Bearer, grpc.aio.UnaryUnaryClientInterceptor):
    """For calls with one answer."""

    async def intercept_unary_unary(
        self, continuation: Continue, client_call_details: grpc.aio.ClientCallDetails, request: Any
    ) -> Any:
        return await continuation(self.shown(client_call_details), request)


class _ManyAnswers(_Bearer, grpc.aio.UnaryStreamClientInterceptor):
    """For calls that are answered with a stream."""

    async def intercept_unary_stream(
        self, continuation: Continue, client_call_details: grpc.aio.ClientCallDetails, request: Any
    ) -> Any:
        return await continuation(self.shown(client_call_details), request)


PORTS = range(20_000, 32_000)
PORTS_OF_ONE = 1_500
"""Of each process that runs tests; eight may."""


@dataclass
class Caller:
    """One profile with a key, and the ways to call with it."""

    house: House
    profile_id: str
    key_id: str
    secret: str
    channel: grpc.aio.Channel
    http: httpx2.AsyncClient

    def stub(self, stub: Stub[T]) -> T:
        """A stub that shows this caller's key."""
        return stub(self.channel)

    @property
    def memory(self) -> memory_rpc.MemoryServiceStub:
        """MemoryService."""
        return self.stub(memory_rpc.MemoryServiceStub)

    @property
    def clipboard(self) -> clipboard_rpc.ClipboardServiceStub:
        """ClipboardService."""
        return self.stub(clipboard_rpc.ClipboardServiceStub)

    @property
    def results(self) -> results_rpc.ResultsServiceStub:
        """ResultsService."""
        return self.stub(results_rpc.ResultsServiceStub)

    @property
    def journal(self) -> journal_rpc.JournalServiceStub:
        """JournalService."""
        return self.stub(journal_rpc.JournalServiceStub)

    @property
    def runs(self) -> run_rpc.RunServiceStub:
        """RunService."""
        return self.stub(run_rpc.RunServiceStub)

    @property
    def decay(self) -> decay_rpc.DecayServiceStub:
        """DecayService."""
        return self.stub(decay_rpc.DecayServiceStub)

    @property
    def access(self) -> access_rpc.AccessServiceStub:
        """AccessService; only the admin may call it."""
        return self.stub(access_rpc.AccessServiceStub)


@dataclass
class House:
    """The running house."""

    grpc: str
    http: str
    home: Path
    dsn: str
    key: str
    """The first key: everything, admin included."""
    stack: AsyncExitStack
    admin: Caller = field(init=False)

    def open(self, profile_id: str, key_id: str, secret: str) -> Caller:
        """The ways to call with a key."""
        channel = grpc.aio.insecure_channel(
            self.grpc,
            options=[
                ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
                ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
            ],
            interceptors=[_OneAnswer(secret), _ManyAnswers(secret)],
        )
        self.stack.push_async_callback(channel.close)
        client = httpx2.AsyncClient(
            base_url=self.http, headers={"authorization": f"Bearer {secret}"}, timeout=30
        )
        self.stack.push_async_callback(client.aclose)
        return Caller(self, profile_id, key_id, secret, channel, client)

    async def caller(
        self, *, owner: str = "", workspace: str = "", profile: str = "", scopes: Sequence[str] = ()
    ) -> Caller:
        """A new profile, or the named one, with a new key."""
        number = next(numbers)
        access = self.admin.access
        made = await access.CreateProfile(
            access_pb.CreateProfileRequest(
                owner=owner or f"owner-{number}",
                workspace=workspace or f"workspace-{number}",
                profile=profile or f"profile-{number}",
            )
        )
        key = await access.CreateKey(
            access_pb.CreateKeyRequest(profile_id=made.profile.id, name=f"key-{number}", scopes=scopes)
        )
        return self.open(made.profile.id, key.key.id, key.secret)


@asynccontextmanager
async def opened_house(cluster: Cluster, **settings: str) -> AsyncGenerator[House]:
    """A house with a fresh database and these settings. Nothing limits how often it may be called."""
    async with AsyncExitStack() as stack:
        home = stack.enter_context(state_directory()) / "house"
        home.mkdir()
        write_once(home / "master-key", base64.b64encode(MASTER_SECRET))
        dsn = await stack.enter_async_context(cluster.fresh())
        env = {
            "TREERING_HOME": str(home),
            "TREERING_GRPC_PORT": str(free_port()),
            "TREERING_HTTP_PORT": str(free_port()),
            "TREERING_DATABASE_URL": dsn,
            # What is asserted about a memory does not change while a test looks, unless it asks for that.
            "TREERING_MEMORY_CURATE_SECONDS": "3600",
            "TREERING_RATE_READ": "0",
            "TREERING_RATE_WRITE": "0",
            "TREERING_RATE_ADMIN": "0",
            **settings,
        }
        read = process.settle(env)
        await process.migrate(dsn, MASTER, list(ROLES))
        await process.prove(dsn, MASTER, list(ROLES))
        await stack.enter_async_context(process.opened(read, env, dsn, list(ROLES)))
        running = House(
            grpc=f"127.0.0.1:{read.grpc_port}",
            http=f"http://127.0.0.1:{read.http_port}",
            home=home,
            dsn=dsn,
            key=(home / "api-key").read_text().strip(),
            stack=stack,
        )
        running.admin = running.open("", "", running.key)
        yield running


@asynccontextmanager
async def replica_of(first: House) -> AsyncGenerator[House]:
    """A second house on the same database and master key."""
    async with AsyncExitStack() as stack:
        env = {
            "TREERING_HOME": str(first.home),
            "TREERING_GRPC_PORT": str(free_port()),
            "TREERING_HTTP_PORT": str(free_port()),
            "TREERING_DATABASE_URL": first.dsn,
        }
        read = process.settle(env)
        await stack.enter_async_context(process.opened(read, env, first.dsn, list(ROLES)))
        address, http = f"127.0.0.1:{read.grpc_port}", f"http://127.0.0.1:{read.http_port}"
        running = House(address, http, first.home, first.dsn, first.key, stack)
        running.admin = running.open("", "", running.key)
        yield running


@pytest.fixture(scope="session")
async def house_site(cluster: Cluster) -> AsyncGenerator[House]:
    """One house for the whole session; each test gets callers of its own."""
    async with opened_house(cluster) as running:
        yield running


@pytest.fixture
async def house(house_site: House) -> Caller:
    """A caller with a fresh profile of its own."""
    return await house_site.caller()


@pytest.fixture
async def neighbor(house_site: House) -> Caller:
    """Another one, who must never notice the first."""
    return await house_site.caller()


def free_port() -> int:
    """A port that nobody listens on, and that no other process of the tests is given.

    Below those that the kernel gives to connections: a house that is down for a moment finds its port again.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = PORTS.start + worker * PORTS_OF_ONE
    for port in random.sample(range(first, first + PORTS_OF_ONE), PORTS_OF_ONE):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def unknown_id() -> str:
    """An id that nothing has."""
    return str(uuid4())

"""The story of one session, told by a house of its own that leaves nothing behind."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import httpx2
import uvloop
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from treering.access.v1 import access_service_pb2 as access
from treering.access.v1 import access_service_pb2_grpc as access_rpc
from treering.memory.v1 import memory_pb2 as memory
from treering.memory.v1 import memory_service_pb2 as pb
from treering.memory.v1 import memory_service_pb2_grpc as memory_rpc

from services import house
from services.roster import ROLES

PASSABLE = 0o711
SEEN = (
    (
        memory.OBSERVATION_TYPE_DECISION,
        memory.OUTCOME_UNSPECIFIED,
        "We chose PostgreSQL over MySQL because the reports need window functions.",
    ),
    (
        memory.OBSERVATION_TYPE_TOOL_RESULT,
        memory.OUTCOME_FAILURE,
        "The deploy failed: the health check timed out after 30 s, the pod had too little memory.",
    ),
    (
        memory.OBSERVATION_TYPE_SUCCESS_PATTERN,
        memory.OUTCOME_SUCCESS,
        "Raising the memory limit to 512 MiB fixed the deploy.",
    ),
    (
        memory.OBSERVATION_TYPE_USER_PREFERENCE,
        memory.OUTCOME_UNSPECIFIED,
        "Mara prefers short answers with the command first.",
    ),
    (
        memory.OBSERVATION_TYPE_INSIGHT,
        memory.OUTCOME_SUCCESS,
        "Staging is reached with postgres://app:hunter2-but-longer@staging.internal/app",
    ),
)


def run(env: Mapping[str, str]) -> None:
    """Open a house in a folder of its own, tell the story, and remove everything."""
    home = Path(tempfile.mkdtemp(prefix="treering-demo-"))
    home.chmod(PASSABLE)
    ours = {"TREERING_HOME": str(home), "TREERING_LOG_LEVEL": "error"} | {
        name: str(_free_port()) for name in ("TREERING_GRPC_PORT", "TREERING_HTTP_PORT")
    }
    kept = {name: value for name, value in env.items() if not name.startswith("TREERING_")}
    try:
        _say("Opening a house of its own: embedded Postgres, local embedder, nothing downloaded.")
        settings = house.settle(kept | ours)
        with house.database(settings) as (dsn, _):
            uvloop.run(_story(settings, kept | ours, dsn))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    _say("The house is closed and its folder is gone.")


async def _story(settings: house.Settings, env: Mapping[str, str], dsn: str) -> None:
    await house.migrate(dsn, house.master_key(settings), list(ROLES))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(house.opened(settings, env, dsn, list(ROLES)))
        channel = await stack.enter_async_context(
            grpc.aio.insecure_channel(f"{settings.host}:{settings.grpc_port}")
        )
        url = f"http://{settings.host}:{settings.http_port}"
        key = (Path(settings.home) / "api-key").read_text().strip()
        session = await _observe(channel, key)
        await _find_by_rest(url, key)
        await _find_by_mcp(url, key)
        await _stay_apart(channel, url, key)
        await _end(channel, key, session)


async def _observe(channel: grpc.aio.Channel, key: str) -> str:
    _say("1. An agent starts a session and observes five things (gRPC).")
    stub = memory_rpc.MemoryServiceStub(channel)
    metadata = _bearer(key)
    started = await stub.StartSession(
        pb.StartSessionRequest(content_session_id="deploy-friday", agent_id="deployer"), metadata=metadata
    )
    observations = [pb.Observation(type=kind, outcome=outcome, content=text) for kind, outcome, text in SEEN]
    kept = await stub.ObserveBatch(
        pb.ObserveBatchRequest(session_id=started.session.id, observations=observations), metadata=metadata
    )
    for each in kept.memories:
        _show(
            f"{each.content}"
            + (f"   ({each.secrets_removed} secret removed)" if each.secrets_removed else "")
        )
    _say("   The same thing again is not kept twice:")
    again = await stub.Observe(
        pb.ObserveRequest(
            session_id=started.session.id, type=SEEN[2][0], outcome=SEEN[2][1], content=SEEN[2][2]
        ),
        metadata=metadata,
    )
    _show(f"reinforced={again.reinforced}, seen again {again.memory.reinforcement_count} time(s)")
    return started.session.id


async def _find_by_rest(url: str, key: str) -> None:
    _say("2. Later it asks in other words (REST).")
    async with httpx2.AsyncClient(base_url=url, headers=dict(_bearer(key))) as client:
        for query, extra in (
            ("why did the release not come up?", {"limit": 2}),
            ("how does Mara like to be answered?", {"limit": 1}),
            ("which database did we pick?", {"precision": "strict"}),
            ("who won the cup in 1998?", {"precision": "strict"}),
        ):
            answer = await client.post("/v1/memories:search", json={"query": query, **extra})
            hits = answer.json()["hits"]
            _show(f"{query}  {'[strict]' if 'precision' in extra else ''}")
            for hit in hits:
                _show(f"    {hit['score']:.2f}  {hit['text']}")
            if not hits:
                _show("    nothing that clearly answers it")


async def _find_by_mcp(url: str, key: str) -> None:
    _say("3. Another agent finds the same over MCP.")
    async with (
        httpx2.AsyncClient(headers=dict(_bearer(key))) as client,
        Client(streamable_http_client(f"{url}/mcp", http_client=client)) as agent,
    ):
        tools = (await agent.list_tools()).tools
        _show(f"{len(tools)} tools: {', '.join(sorted(tool.name for tool in tools))}")
        found = await agent.call_tool("memory_search", {"query": "memory limit of the pod", "limit": 1})
        for hit in (found.structured_content or {})["hits"]:
            _show(f"memory_search: {hit['score']:.2f}  {hit['text']}")


async def _stay_apart(channel: grpc.aio.Channel, url: str, key: str) -> None:
    _say("4. Another profile sees nothing of it.")
    stub = access_rpc.AccessServiceStub(channel)
    other = await stub.CreateProfile(
        access.CreateProfileRequest(owner="acme", workspace="web", profile="nosy"), metadata=_bearer(key)
    )
    secret = await stub.CreateKey(
        access.CreateKeyRequest(profile_id=other.profile.id, name="nosy"), metadata=_bearer(key)
    )
    async with httpx2.AsyncClient(base_url=url, headers=dict(_bearer(secret.secret))) as client:
        answer = await client.post("/v1/memories:search", json={"query": "which database did we pick?"})
        _show(f"hits: {answer.json()['hits']}")


async def _end(channel: grpc.aio.Channel, key: str, session: str) -> None:
    _say("5. The session ends with its Z-report.")
    stub = memory_rpc.MemoryServiceStub(channel)
    ended = await stub.EndSession(pb.EndSessionRequest(session_id=session), metadata=_bearer(key))
    for line in ended.z_report.summary.splitlines():
        _show(line)
    _show(f"success rate {ended.z_report.success_rate:.2f} from recorded outcomes")


def _bearer(key: str) -> Sequence[tuple[str, str]]:
    return [("authorization", f"Bearer {key}")]


def _say(text: str) -> None:
    print(f"\n{text}", flush=True)


def _show(text: str) -> None:
    print(f"   {text}", flush=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

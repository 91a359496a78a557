"""Spans go where the settings say, and hang together across services."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as otlp
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as otlp_rpc

from tests.rig.house import free_port, opened_house
from tests.rig.postgres import Cluster

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
CANARY = "quokka-canary"


class Collector(otlp_rpc.TraceServiceServicer):
    """Keeps what is exported, as a collector would."""

    def __init__(self) -> None:
        self.exported: list[Any] = []

    async def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 -- grpc's name
        """Keep spans."""
        self.exported.append(request)
        return otlp.ExportTraceServiceResponse()

    @property
    def spans(self) -> list[Any]:
        """Every span so far."""
        scopes = [scope for one in self.exported for part in one.resource_spans for scope in part.scope_spans]
        return [span for scope in scopes for span in scope.spans]


@asynccontextmanager
async def collecting(port: int) -> AsyncGenerator[Collector]:
    """A collector on a port."""
    collector, server = Collector(), grpc.aio.server()
    otlp_rpc.add_TraceServiceServicer_to_server(collector, server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    try:
        yield collector
    finally:
        await server.stop(1)


async def search_in_a_trace(cluster: Cluster, endpoint: str) -> None:
    """Search by REST within a trace of our own; the house sends its spans when it closes."""
    async with opened_house(cluster, TREERING_OTLP_ENDPOINT=endpoint) as running:
        caller = await running.caller()
        answer = await caller.http.post(
            "/v1/memories:search",
            json={"query": CANARY},
            headers={"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"},
        )
        assert answer.status_code == 200


async def test_a_call_is_one_trace_through_door_and_service(cluster: Cluster) -> None:
    """The caller's trace goes on: HTTP request, our call of memory, memory's own; nothing holds content."""
    port = free_port()
    async with collecting(port) as collector:
        await search_in_a_trace(cluster, f"http://127.0.0.1:{port}")

    ours = [span for span in collector.spans if span.trace_id.hex() == TRACE_ID]
    names = [span.name for span in ours]
    assert names.count("/treering.memory.v1.MemoryService/Search") == 2
    assert names.count("POST /v1/memories:search") == 1
    assert CANARY not in str(collector.exported)
    parents = {span.span_id: span.parent_span_id for span in ours}
    roots = [span_id for span_id, parent in parents.items() if parent not in parents]
    assert len(roots) == 1

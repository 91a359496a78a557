"""What holds for every method, shown on a few."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from treering.access.v1 import access_service_pb2 as access
from treering.memory.v1 import memory_pb2 as memory
from treering.memory.v1 import memory_service_pb2 as pb

from libs.rpc.caller import CONTEXT_KEY
from tests.catalogue.doors import Mcp, door, encoded, tool_call
from tests.rig.house import Caller, unknown_id

GET_STATS = "/treering.memory.v1.MemoryService/GetStats"
SEARCH = "/treering.memory.v1.MemoryService/Search"


async def refused(call: Any) -> tuple[grpc.StatusCode, str, dict[str, Any]]:
    """The code, the reason and the details with which a call is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    trailers = dict(caught.value.trailing_metadata() or ())
    status = status_pb2.Status.FromString(cast(bytes, trailers["grpc-status-details-bin"]))
    details: dict[str, Any] = {}
    for packed in status.details:
        for kind in (
            error_details_pb2.ErrorInfo,
            error_details_pb2.BadRequest,
            error_details_pb2.RequestInfo,
            error_details_pb2.RetryInfo,
        ):
            if packed.TypeName() == kind.DESCRIPTOR.full_name:
                packed.Unpack(found := kind())
                details[kind.__name__] = found
    return caught.value.code(), details["ErrorInfo"].reason, details


def raw(caller: Caller, path: str, content: bytes, metadata: list[tuple[str, Any]] | None = None) -> Any:
    """A call whose request is these bytes, with only this metadata."""
    channel = grpc.aio.insecure_channel(caller.house.grpc)
    method = channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)
    return method(content, metadata=metadata, timeout=10)


def observed(content: str) -> pb.Observation:
    """An insight of this content."""
    return pb.Observation(content=content, type=memory.OBSERVATION_TYPE_INSIGHT)


def bearer(secret: str) -> tuple[str, str]:
    """The metadata that shows a key."""
    return ("authorization", f"Bearer {secret}")


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        [("authorization", "Bearer ")],
        [("authorization", "Basic abc")],
        [bearer("tr_garbage")],
        [bearer("tr_" + "a" * 64)],
        [bearer("x" * 513)],
    ],
    ids=["none", "empty", "basic", "garbage", "well shaped", "too long"],
)
async def test_nobody_is_answered_alike(house: Caller, metadata: list[tuple[str, str]]) -> None:
    """No key, or a wrong one of any kind: the same code, reason and words."""
    code, reason, _ = await refused(raw(house, GET_STATS, b"", metadata))

    assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")


async def test_two_keys_are_none(house: Caller) -> None:
    """Two authorization headers could be read differently by two readers."""
    code, *_ = await refused(raw(house, GET_STATS, b"", [bearer(house.secret), bearer(house.secret)]))

    assert code == grpc.StatusCode.UNAUTHENTICATED


async def test_forged_context_counts_for_nothing(house: Caller) -> None:
    """A context that nobody of ours signed neither helps nor hurts."""
    forged = (CONTEXT_KEY, b"\0" * 120)

    answer = await raw(house, GET_STATS, b"", [forged, bearer(house.secret)])
    code, *_ = await refused(raw(house, GET_STATS, b"", [forged]))

    assert pb.GetStatsResponse.FromString(answer).memory_count == 0
    assert code == grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize(
    "content",
    [b"\xff\xff\xff", b"\x0a\x05ab", b"\x0a\x02\xff\xfe", b"\x0a\x02\xc0\x80", b"\x0a\x03\xed\xa0\x80"],
    ids=["truncated tag", "truncated string", "not utf-8", "overlong", "surrogate"],
)
async def test_unreadable_bytes_are_the_callers_fault(house: Caller, content: bytes) -> None:
    """Bytes that are not the message are INVALID_ARGUMENT, and the next call on the house works."""
    code, reason, details = await refused(raw(house, SEARCH, content, [bearer(house.secret)]))

    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_REQUEST")
    assert details["RequestInfo"].request_id
    assert (await house.memory.GetStats(pb.GetStatsRequest())).memory_count == 0


async def test_every_broken_field_is_named(house: Caller) -> None:
    """One answer names each field that breaks a rule, with the rule."""
    request = pb.SearchRequest(query="", session_id="x", min_score=2, tags=["ok", ""])

    code, reason, details = await refused(house.memory.Search(request))

    named = {each.field for each in details["BadRequest"].field_violations}
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert named == {"query", "session_id", "min_score", "tags[1]"}


async def test_nul_is_refused_wherever_it_stands(house: Caller) -> None:
    """Protobuf takes a NUL; we name the field that has one."""
    request = pb.ObserveBatchRequest(
        session_id=unknown_id(),
        observations=[observed("fine"), observed("a\0b")],
    )

    code, _, details = await refused(house.memory.ObserveBatch(request))

    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert details["BadRequest"].field_violations[0].field == "observations[1].content"


async def test_scope_missing_is_named(house: Caller) -> None:
    """A key that lacks a scope is told which."""
    reader = await house.house.caller(scopes=["memory:read"])

    code, reason, details = await refused(
        reader.memory.StartSession(pb.StartSessionRequest(content_session_id="s"))
    )

    assert (code, reason) == (grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")
    assert details["ErrorInfo"].metadata["scope"] == "memory:write"


async def test_what_is_inside_is_not_for_keys(house: Caller) -> None:
    """Not even the first key may call what services call."""
    path = "/treering.access.v1.VerificationService/VerifyKey"

    code, *_ = await refused(raw(house, path, b"\x0a\x01a", [bearer(house.house.key)]))

    assert code == grpc.StatusCode.PERMISSION_DENIED


async def test_deadline_in_the_past_runs_nothing(house: Caller) -> None:
    """A call that nobody waits for any more is not served."""
    request = pb.StartSessionRequest(content_session_id="late")

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await house.memory.StartSession(request, timeout=0)

    listed = await house.memory.ListSessions(pb.ListSessionsRequest())
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert not listed.sessions


async def test_request_id_comes_back(house: Caller) -> None:
    """A request id that was sent is kept; one that could forge a log line is replaced."""
    kept = house.memory.GetStats(pb.GetStatsRequest(), metadata=(("x-request-id", "abc-123"),))
    replaced = house.memory.GetStats(pb.GetStatsRequest(), metadata=(("x-request-id", "a b{}"),))

    assert dict(await kept.trailing_metadata())["x-request-id"] == "abc-123"
    assert len(dict(await replaced.trailing_metadata())["x-request-id"]) == 32


async def test_revoked_key_ends_within_a_second(house: Caller) -> None:
    """A second after RevokeKey has answered, no call with the key succeeds over any door."""

    async def refusals() -> list[str]:
        answers = [await door(way, house).call("GetStats", {}) for way in ("grpc", "rest")]
        tool = await Mcp(house).post(encoded(tool_call("GetStats", {})))
        return [*(answer.reason for answer in answers), tool.json().get("reason", "")]

    before = await refusals()
    await house.house.admin.access.RevokeKey(access.RevokeKeyRequest(key_id=house.key_id))
    await asyncio.sleep(1)
    after = [await refusals() for _ in range(20)]

    assert before == ["", "", ""]
    assert after == [["UNAUTHENTICATED"] * 3] * 20


async def test_health_is_told_for_each_service(house: Caller) -> None:
    """Check needs no key; Watch answers at once; an unknown service is NOT_FOUND."""
    async with grpc.aio.insecure_channel(house.house.grpc) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        for service in ("", "treering.memory.v1.MemoryService", "treering.access.v1.AccessService"):
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        watch = stub.Watch(health_pb2.HealthCheckRequest(service="treering.memory.v1.MemoryService"))
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        watch.cancel()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(health_pb2.HealthCheckRequest(service="treering.nothing.v1.No"))
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
async def test_reflection_lists_what_may_be_called(house: Caller, version: str) -> None:
    """Both names of reflection work; what is inside only is not shown."""
    async with grpc.aio.insecure_channel(house.house.grpc) as channel:
        method = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        call = method(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
        answer = cast(reflection_pb2.ServerReflectionResponse, await call.read())

    names = {service.name for service in answer.list_services_response.service}
    assert {"treering.memory.v1.MemoryService", "treering.access.v1.AccessService"} <= names
    assert "treering.access.v1.VerificationService" not in names

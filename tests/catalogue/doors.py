"""The three doors, asked alike: a request as JSON would have it, and an answer that can be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast
from urllib.parse import quote

import grpc
import httpx2
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from services.gateway import catalog
from services.gateway.catalog import Binding, Method
from tests.rig.house import Caller

GRPC: Final = "grpc"
REST: Final = "rest"
MCP: Final = "mcp"
METHODS: Final[Mapping[str, Method]] = {method.name: method for method in catalog.load().methods}
"""By name. Of what several services have, which is inside only, the last one stands here."""
ACCESS: Final = frozenset(
    name for name, method in METHODS.items() if method.service.endswith(".AccessService")
)
STREAMS: Final = frozenset(name for name, method in METHODS.items() if method.streams)
"""Methods that answer with a stream; only how it begins, or how it is refused, is looked at here."""
TOOLS: Final[Mapping[str, str]] = {name: method.tool.name for name, method in METHODS.items() if method.tool}
JSON_HEADERS: Final = {"content-type": "application/json"}
MCP_HEADERS: Final = JSON_HEADERS | {"accept": "application/json, text/event-stream"}
IS_ERROR: Final = "isError"
CODES: Final = {"RESULT_NOT_READY": "not_ready"}
"""Of problem documents, where they are not the reason in lower case."""
BAD_PARAMS: Final = -32602

Request = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a door said."""

    said: str | int
    """The gRPC code, the HTTP status, or over MCP ``OK``, ``isError`` or the number of a JSON-RPC error."""
    reason: str = ""
    fields: tuple[str, ...] = ()
    """Those that the violations name, each once."""
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What was answered when it went well; empty when not."""
    message: str = ""

    @property
    def fine(self) -> bool:
        """Whether it was done."""
        return self.said in ("OK", 200)


class Door(Protocol):
    """One way to call the house, as one caller and over one connection."""

    name: str

    async def call(self, rpc: str, request: Request) -> Answer:
        """Call a method."""
        ...


def door(name: str, caller: Caller) -> Door:
    """The door of that name."""
    return {GRPC: Grpc, REST: Rest, MCP: Mcp}[name](caller)


class Grpc:
    """gRPC."""

    name = GRPC

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def call(self, rpc: str, request: Request) -> Answer:
        """Call a method with the message that the request means."""
        method, channel = METHODS[rpc], self._caller.channel
        made: Any = channel.unary_stream if method.streams else channel.unary_unary
        call = made(method.path, method.request.SerializeToString, method.response.FromString)(
            message(rpc, request)
        )
        try:
            answer: Message = await (call.read() if method.streams else call)
        except grpc.aio.AioRpcError as error:
            return of_error(error)
        return Answer("OK", body=json_format.MessageToDict(answer, preserving_proto_field_name=True))


class Rest:
    """REST."""

    name = REST

    def __init__(self, caller: Caller) -> None:
        self._http = caller.http

    async def call(self, rpc: str, request: Request) -> Answer:
        """Send the request to the method's path: in the path, in the query or as the body."""
        binding = bound(rpc, request)
        names = binding.template.fields
        path = binding.template.text.format(**{name: quote(str(request[name]), safe="") for name in names})
        rest = {name: value for name, value in request.items() if name not in names}
        if binding.body:
            response = await self._http.request(
                binding.verb, path, content=encoded(rest), headers=JSON_HEADERS
            )
        else:
            accept = {"accept": "text/event-stream"} if rpc in STREAMS else {}
            response = await self._http.request(binding.verb, path, params=rest, headers=accept)
        return of_response(response)


class Mcp:
    """MCP."""

    name = MCP

    def __init__(self, caller: Caller) -> None:
        self._http = caller.http

    async def call(self, rpc: str, request: Request) -> Answer:
        """Call the method's tool."""
        return of_tool(await self.post(encoded(tool_call(rpc, request))))

    async def post(self, body: bytes, headers: Mapping[str, str] | None = None) -> httpx2.Response:
        """Send a body as it is."""
        return await self._http.post("/mcp", content=body, headers={**MCP_HEADERS, **(headers or {})})


def bound(rpc: str, request: Request) -> Binding:
    """The first path of a method whose fields are all in the request."""
    return next(
        binding
        for binding in METHODS[rpc].bindings
        if all(request.get(each, "") != "" for each in binding.template.fields)
    )


def tool_call(rpc: str, request: Request) -> dict[str, Any]:
    """The JSON-RPC message that calls a method's tool."""
    params = {"name": TOOLS[rpc], "arguments": request}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def encoded(value: object) -> bytes:
    """JSON, with escapes where a text has none of its own; also what JSON does not allow, such as NaN."""
    return json.dumps(value).encode()


def message(rpc: str, request: Request) -> Message:
    """The message that a request means. Values that JSON does not know are taken as they are."""
    return METHODS[rpc].request(**_fields(METHODS[rpc].takes, request))


def of_error(error: grpc.aio.AioRpcError) -> Answer:
    """What a status says."""
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    status = rpc_status.from_call(cast(Any, error))
    for packed in status.details if status else ():
        packed.Unpack(info)
        packed.Unpack(bad)
    fields = tuple(dict.fromkeys(each.field for each in bad.field_violations))
    return Answer(error.code().name, info.reason, fields, message=error.details() or "")


def of_response(response: httpx2.Response) -> Answer:
    """What an HTTP answer says; a problem document must be whole."""
    if response.status_code == 200:
        streamed = response.headers["content-type"].startswith("text/event-stream")
        return Answer(200, body={} if streamed else response.json())
    problem = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["status"] == response.status_code
    assert problem["code"] == CODES.get(problem["reason"], problem["reason"].lower())
    assert problem["request_id"] == response.headers["x-request-id"]
    return _told(response.status_code, problem, problem["detail"])


def of_tool(response: httpx2.Response) -> Answer:
    """What a tool says: its result, or the JSON-RPC error."""
    said = response.json()
    if "error" in said:
        error = said["error"]
        return _told(error["code"], error.get("data", {}), error["message"])
    result = said["result"]
    assert response.status_code == 200
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    if result["isError"]:
        return _told(IS_ERROR, result["structuredContent"], result["structuredContent"]["message"])
    return Answer("OK", body=result["structuredContent"])


def _told(said: str | int, facts: Mapping[str, Any], message: str) -> Answer:
    fields = tuple(dict.fromkeys(each["field"] for each in facts.get("violations", ())))
    return Answer(said, facts.get("reason", ""), fields, message=message)


def _fields(described: Descriptor, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by the fields' own names; camelCase is taken too."""
    meant: dict[str, Any] = {}
    for name, value in values.items():
        by_name = described.fields_by_name
        field = by_name[name] if name in by_name else described.fields_by_camelcase_name[name]
        meant[field.name] = _meant(field, value)
    return meant


def _meant(described: FieldDescriptor, value: Any) -> Any:
    if isinstance(value, list):
        return [_meant(described, each) for each in cast(list[Any], value)]
    if described.enum_type and isinstance(value, str):
        prefix = described.enum_type.values[0].name.removesuffix("UNSPECIFIED")
        return described.enum_type.values_by_name[prefix + value.upper()].number
    if not described.message_type or isinstance(value, Message):
        return value
    if described.message_type.full_name == Timestamp.DESCRIPTOR.full_name:
        (stamp := Timestamp()).FromJsonString(value)
        return stamp
    if described.message_type.full_name == Duration.DESCRIPTOR.full_name:
        (duration := Duration()).FromJsonString(value)
        return duration
    if described.message_type.full_name == Struct.DESCRIPTOR.full_name:
        (struct := Struct()).update(value)
        return struct
    return _fields(described.message_type, value)

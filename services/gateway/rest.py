"""REST, derived: each method with a `google.api.http` rule is a route, made once when the house starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import orjson
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from treering.options.v1 import options_pb2

from libs.rpc.caller import Caller, Source
from services.gateway import sse
from services.gateway.bodies import (
    BODY_BYTES_MAX,
    JSON,
    read_body,
    require_accepted,
    require_json,
    room_for,
)
from services.gateway.calls import Authenticate, Calls, visit, while_connected
from services.gateway.catalog import WHOLE, Binding, Catalog, Method, answered
from services.gateway.options import said
from services.gateway.paths import Found, Router
from services.gateway.problems import NotServed
from services.gateway.transcoding.query import Parameter, assign, parameters, read_query
from services.gateway.transcoding.reading import Reader, named, reader
from services.gateway.transcoding.scalars import Wrong
from services.gateway.transcoding.strict_json import parse_object
from services.gateway.transcoding.writing import WriteObject, writer


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method at one path."""

    method: Method
    binding: Binding
    path: Mapping[str, Parameter]
    query: Mapping[str, Parameter]
    body: Reader | None
    body_bytes_max: int
    write: WriteObject

    def request(self, values: Mapping[str, str], query: bytes, body: bytes) -> Message:
        """The method's request. ``Invalid`` names the field that is wrong."""
        try:
            fields = self._body(body)
            for name, text in values.items():
                assign(fields, self.path[name].steps, _within(name, self.path[name].read, text))
            read_query(query, self.query, fields)
        except Wrong as wrong:
            raise named(wrong) from None
        return self.method.request(**fields)

    def _body(self, body: bytes) -> dict[str, object]:
        if self.body is None or (not body and self.binding.body == WHOLE):
            return {}
        read = self.body(parse_object(body))
        return read if self.binding.body == WHOLE else {self.binding.body: read}


def endpoint(method: Method, binding: Binding) -> Endpoint:
    """Put together what serving a method at a path needs."""
    request = method.takes
    bound = frozenset(binding.template.fields)
    everything = parameters(request)
    return Endpoint(
        method=method,
        binding=binding,
        path={name: everything[name] for name in bound},
        query={} if binding.body == WHOLE else parameters(request, bound | {binding.body}),
        body=_body_reader(method, binding),
        body_bytes_max=room_for(_value_bytes_max(request)) if binding.body else BODY_BYTES_MAX,
        write=_body_writer(method, binding),
    )


class Rest:
    """Serves every route of the catalog, as an ASGI application."""

    def __init__(self, catalog: Catalog, calls: Calls, authenticate: Authenticate) -> None:
        """Build the routes. Raises ``ValueError`` for methods that cannot be served."""
        self._calls = calls
        self._authenticate = authenticate
        self._router = Router(
            (binding.verb, binding.template, endpoint(method, binding))
            for method in catalog.methods
            for binding in method.bindings
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request = Request(scope, receive)
        there, values = self._endpoint(request)
        who = replace(await self._authenticate(request.headers.getlist("authorization")), source=Source.SDK)
        require_accepted(request.headers, sse.MEDIA_TYPE if there.method.streams else JSON)
        body = await read_body(request.headers, receive, there.body_bytes_max)
        if there.body and body:
            require_json(request.headers)
        message = there.request(values, scope["query_string"], body)
        serve = self._stream if there.method.streams else self._answer
        await while_connected(receive, serve(there, message, who, scope, send))

    def _endpoint(self, request: Request) -> tuple[Endpoint, Mapping[str, str]]:
        found = self._router.find(_raw_path(request.scope))
        if found is None:
            raise NotServed(404, "UNKNOWN_METHOD", "There is no such path.")
        visit(request.scope).route = found.template.text
        there = found.verbs.get("GET" if request.method == "HEAD" else request.method)
        if there is None:
            allowed = {"Allow": ", ".join(_allowed(found))}
            raise NotServed(405, "UNKNOWN_METHOD", "There is no such method on this path.", allowed)
        return there, found.values

    async def _answer(self, there: Endpoint, message: Message, who: Caller, scope: Scope, send: Send) -> None:
        request_id = visit(scope).request_id
        answer = await self._calls(there.method, message, caller=who, request_id=request_id)
        response = Response(orjson.dumps(there.write(answer)), media_type=JSON)
        await response(scope, _read_already, send)

    async def _stream(self, there: Endpoint, message: Message, who: Caller, scope: Scope, send: Send) -> None:
        request_id = visit(scope).request_id
        answers = self._calls.stream(there.method, message, caller=who, request_id=request_id)
        await sse.send_events(answers, there.write, request_id, send)


def _within(name: str, read: Callable[[str], object], text: str) -> object:
    try:
        return read(text)
    except Wrong as wrong:
        raise wrong.within(name) from None


def _body_reader(method: Method, binding: Binding) -> Reader | None:
    if not binding.body:
        return None
    request = method.takes
    if binding.body != WHOLE:
        return reader(cast(Descriptor, request.fields_by_name[binding.body].message_type))
    bound = {f"{request.full_name}.{name}" for name in binding.template.fields}

    def skip(field: FieldDescriptor) -> bool:
        return field.full_name in bound

    return reader(request, skip)


def _body_writer(method: Method, binding: Binding) -> WriteObject:
    write, name = writer(answered(method, binding)), binding.response_body
    if not name:
        return write
    return lambda message: write(getattr(message, name))


def _value_bytes_max(request: Descriptor) -> int:
    """Bytes of all long values of a request together."""
    return sum(said(field.GetOptions(), options_pb2.value_bytes_max) or 0 for field in request.fields)


def _raw_path(scope: Scope) -> str:
    raw: bytes = scope["raw_path"]
    return raw.partition(b"?")[0].decode("latin-1")


def _allowed(found: Found[Endpoint]) -> list[str]:
    return sorted({*found.verbs, *(["HEAD"] if "GET" in found.verbs else [])})


async def _read_already() -> dict[str, str]:
    raise RuntimeError("the request was read before it was answered")

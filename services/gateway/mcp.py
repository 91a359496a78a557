"""Tools for agents over MCP's streamable HTTP: stateless, in the current revision and the one before."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Final, cast

import orjson
from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from libs.errors import Malformed, Problem
from libs.rpc.caller import Caller, Source
from services.gateway.bodies import BODY_BYTES_MAX, JSON, read_body, require_json
from services.gateway.calls import Authenticate, Calls, visit, while_connected
from services.gateway.catalog import Catalog
from services.gateway.places import Places
from services.gateway.problems import NotServed, Refusal, refusal, told
from services.gateway.tools import tools
from services.gateway.transcoding.reading import named
from services.gateway.transcoding.scalars import Wrong
from services.gateway.transcoding.strict_json import DEPTH_MAX, parse

PATH: Final = "/mcp"
CALLER: Final = "treering.caller"
"""Where a request's caller stands in its ASGI scope."""
ENVELOPE_DEPTH: Final = 3
"""How deep JSON-RPC puts a tool's arguments."""
TOOLS_TTL_MS: Final = 60_000
"""How long a client may remember which tools its key has."""
INSTRUCTIONS: Final = """\
Memory for agents. Start a session, observe what happens, search for what is known,
and read in full only what matters. Hand data to other tools through the clipboard.
Put what a task came to as a result of its run, wait for what others came to,
and search what earlier runs came to."""

Context = ServerRequestContext[Any, Any]


class Mcp:
    """Serves the tools, as an ASGI application."""

    def __init__(
        self, catalog: Catalog, calls: Calls, authenticate: Authenticate, places: Places, version: str
    ) -> None:
        """Derive the tools. Raises ``ValueError`` for methods that cannot be one."""
        self._authenticate = authenticate
        self._calls = calls
        self._places = places
        self._tools = {tool.shown.name: tool for tool in tools(catalog)}
        server: Server[Any] = Server(
            "treering",
            version=version,
            title="Treering",
            instructions=INSTRUCTIONS,
            cache_hints={"tools/list": CacheHint(TOOLS_TTL_MS, "private")},
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        server.middleware.clear()  # it would make spans of its own beside ours
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=BODY_BYTES_MAX
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """What must be entered while requests are served. It can be entered once."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        visit(scope).route = PATH
        headers = Headers(scope=scope)
        self._places.admit(headers)
        who = await self._authenticate(headers.getlist("authorization"))
        scope[CALLER] = replace(who, source=Source.MCP)
        if scope["method"] != "POST":
            raise NotServed(405, "UNKNOWN_METHOD", "There is no such method on this path.", {"Allow": "POST"})
        require_json(headers)
        body = await read_body(headers, receive)
        if refused := _refused(body):
            await refused(scope, receive, send)
            return
        await while_connected(receive, self._manager.handle_request(scope, _replay(body), send))

    async def _list_tools(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        who = _caller(context)
        allowed = [tool.shown for tool in self._tools.values() if who.may(tool.method.scope)]
        return types.ListToolsResult(tools=allowed)

    async def _call_tool(self, context: Context, called: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(called.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, "There is no such tool.")
        request_id = visit(_scope(context)).request_id
        try:
            request = tool.request(called.arguments or {})
        except Wrong as wrong:
            raise _wrong_arguments(named(wrong), request_id) from None
        try:
            answer = await self._calls(tool.method, request, caller=_caller(context), request_id=request_id)
            return _result(tool.write(answer))
        except Exception as error:
            return _result(_facts(told(error), request_id), is_error=True)

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        tool = self._tools.get(name)
        return tool.shown.input_schema if tool else None


def _scope(context: Context) -> Scope:
    request: Request | None = context.request
    if request is None:
        raise RuntimeError("tools are served over HTTP only")
    return request.scope


def _caller(context: Context) -> Caller:
    who: Caller = _scope(context)[CALLER]
    return who


def _result(answer: dict[str, object], *, is_error: bool = False) -> types.CallToolResult:
    text = types.TextContent(type="text", text=orjson.dumps(answer).decode())
    return types.CallToolResult(content=[text], structured_content=answer, is_error=is_error)


def _wrong_arguments(problem: Problem, request_id: str) -> MCPError:
    refused = refusal(problem)
    return MCPError(types.INVALID_PARAMS, refused.detail, _facts(refused, request_id))


def _facts(refused: Refusal, request_id: str) -> dict[str, object]:
    """A refusal as an agent reads it."""
    document = refused.document(request_id)
    return {"message": refused.detail} | {
        name: document[name]
        for name in ("reason", "code", "violations", "metadata", "retry_after", "request_id")
        if name in document
    }


def _refused(body: bytes) -> Response | None:
    """The answer to what is not one JSON-RPC message. The SDK's own parser takes more than ours."""
    try:
        value = parse(body, DEPTH_MAX + ENVELOPE_DEPTH)
    except Malformed as malformed:
        return _error(types.PARSE_ERROR, malformed.message)
    try:
        message = types.jsonrpc_message_adapter.validate_python(value)
    except ValueError:  # the SDK would answer with its validator's own words
        return _error(types.INVALID_REQUEST, "The body must be a single JSON-RPC message.")
    if isinstance(message, types.JSONRPCNotification) and "id" in cast(dict[str, object], value):
        return _error(types.INVALID_REQUEST, "The id must be a string or a whole number.")
    return None


def _error(code: int, message: str) -> Response:
    content = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return Response(orjson.dumps(content), 400, media_type=JSON)


def _replay(body: bytes) -> Receive:
    """Receives the body again, then nothing more: that the client left is seen elsewhere."""
    messages: deque[Message] = deque([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        if messages:
            return messages.popleft()
        await asyncio.Event().wait()
        raise AssertionError

    return receive

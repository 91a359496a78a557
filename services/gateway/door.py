"""What every request meets first and last: its id, its answer's headers, its problem, one line in the log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import structlog
from opentelemetry.trace import Span, SpanKind
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from libs.rpc.request_id import request_id
from libs.rpc.telemetry import TRACEPARENT, Telemetry, trace_id
from services.gateway.calls import VISIT, ClientGone, Closing, Visit
from services.gateway.problems import CLIENT_GONE, INTERNAL, NotServed, told

REQUEST_ID_HEADER: Final = "X-Request-Id"
HEADER_BYTES_MAX: Final = 16 * 1024
"""What all headers of a request may have together, as for gRPC."""
VERBS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER_VERB: Final = "_OTHER"
"""As OpenTelemetry names what is none of these: a verb may be any word."""
ANSWER_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Door:
    """Stands around the application, as ASGI middleware."""

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        """Take what is behind the door, and where spans go."""
        self._app = app
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, and see it out."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        seen = scope[VISIT] = Visit(request_id(headers.get(REQUEST_ID_HEADER)))
        answer = Answer(send, seen.request_id)
        verb = scope["method"] if scope["method"] in VERBS else OTHER_VERB
        with self._seen(verb, seen, answer, headers.get(TRACEPARENT)):
            try:
                _admit(headers)
                await self._app(scope, receive, answer.send)
            except ClientGone:
                answer.status = CLIENT_GONE
            except asyncio.CancelledError:  # the house closes, and has waited as long as it does
                if answer.started:
                    raise
                await _tell(Closing(), seen, answer, scope, receive)
            except Exception as error:
                await _tell(error, seen, answer, scope, receive)

    @contextmanager
    def _seen(self, verb: str, seen: Visit, answer: Answer, traceparent: str | None) -> Generator[None]:
        """A span and one log line. Never a path, a query or a body: they may hold anything."""
        started = time.perf_counter()
        with (
            self._telemetry.span(f"http {verb}", SpanKind.SERVER, traceparent) as span,
            structlog.contextvars.bound_contextvars(request_id=seen.request_id, trace_id=trace_id(span)),
        ):
            try:
                yield
            finally:
                _mark(span, verb, seen, answer)
                elapsed = round((time.perf_counter() - started) * 1000, 2)
                log.info("http.done", method=verb, route=seen.route, status=answer.status, ms=elapsed)


class Answer:
    """Sends an answer with the headers that each has, and knows what was sent."""

    def __init__(self, send: Send, request_id: str) -> None:
        """Take where it goes and what it answers."""
        self._send = send
        self._headers = {**ANSWER_HEADERS, REQUEST_ID_HEADER: request_id}
        self.status = INTERNAL.status
        self.started = False

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self.started = True
            self.status = int(message["status"])
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
        await self._send(message)


async def _tell(error: Exception, seen: Visit, answer: Answer, scope: Scope, receive: Receive) -> None:
    """Answer with the problem that an error is."""
    said = told(error)
    if answer.started:
        raise error  # too late to say anything: the server cuts the connection
    await said.response(seen.request_id)(scope, receive, answer.send)


def _admit(headers: Headers) -> None:
    if sum(len(name) + len(value) for name, value in headers.raw) > HEADER_BYTES_MAX:
        limit = {"limit": str(HEADER_BYTES_MAX)}
        raise NotServed(431, "VALUE_TOO_LARGE", "The headers have more than 16 KiB.", metadata=limit)


def _mark(span: Span, verb: str, seen: Visit, answer: Answer) -> None:
    span.update_name(f"{verb} {seen.route}")
    span.set_attribute("http.response.status_code", answer.status)

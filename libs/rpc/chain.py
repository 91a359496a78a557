"""The chain around every method, outermost first:

1. seen      span, log line and counters; outermost, so that they know the final code
2. problems  a ``Problem`` becomes a status; anything else is a fault of ours, and is told as nothing more
3. deadline  nothing runs for longer than its caller waits, or than its method may take
4. caller    whose call it is, and whether the key's scopes allow the method
5. rate      how often that key may call
6. checking  the request keeps the rules of its proto, and so does each message of a stream

``problems`` encloses all that may raise one, so a bad key and a bad field are answered alike. The chain is
put around a method once, when it is first called, not rebuilt for each call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import grpc
import structlog
from google.protobuf.message import Message
from opentelemetry.trace import SpanKind

from libs.errors import Denied, Problem, TimedOut, Unauthenticated
from libs.rpc import problems
from libs.rpc.caller import CONTEXT_KEY, Caller, Signer, serving
from libs.rpc.checking import check, check_each, tolerant
from libs.rpc.methods import Method, method
from libs.rpc.rates import Rates
from libs.rpc.request_id import request_id
from libs.rpc.telemetry import TRACEPARENT, Telemetry, trace_id

CALL_SECONDS_MIN = 0.001
"""With less left nothing is begun. A deadline that had passed when it was sent arrives as up to this much."""
PARTING_SECONDS = 1.0
"""A write to a caller who has just gone fails, a moment before grpc cancels the call. Else it is a fault."""
NUMBERED: dict[object, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

log: structlog.stdlib.BoundLogger = structlog.get_logger()

if TYPE_CHECKING:  # grpc's classes take parameters in its type stubs only
    Context = grpc.aio.ServicerContext[Any, Any]
    Handler = grpc.RpcMethodHandler[Any, Any]
else:
    Context = grpc.aio.ServicerContext
    Handler = grpc.RpcMethodHandler


class ScopeMissing(Denied):
    """The key lacks the scope that this method asks for."""

    reason = "SCOPE_MISSING"


class Verify(Protocol):
    """Turns ``Authorization`` headers into a caller."""

    async def __call__(self, authorization: Sequence[str]) -> Caller:
        """The caller, by gRPC, or ``Unauthenticated``."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One call while it is served."""

    method: Method
    context: Context
    request_id: str
    metadata: dict[str, list[str | bytes]]

    def texts(self, key: str) -> list[str]:
        """The values of a metadata key that are text."""
        return [value for value in self.metadata.get(key, ()) if isinstance(value, str)]


class Chain(grpc.aio.ServerInterceptor):
    """Puts the chain around each method of a server."""

    def __init__(self, telemetry: Telemetry, signer: Signer, verify: Verify, rates: Rates) -> None:
        """Take what the links need."""
        self._telemetry = telemetry
        self._signer = signer
        self._verify = verify
        self._rates = rates
        self._handlers: dict[str, Handler] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Answer the method's handler with the chain around it; called by grpc for each call."""
        path = handler_call_details.method
        if known := self._handlers.get(path):
            return known
        handler = await continuation(handler_call_details)
        if handler is None:  # unknown
            return handler
        served = method(path)
        if handler.response_streaming and not served.scope:  # watching health, and reflection, have no end
            return handler
        # Only methods that exist are kept, so that callers cannot make this grow.
        self._handlers[path] = self._around(handler, served)
        return self._handlers[path]

    def _around(self, handler: Handler, served: Method) -> Handler:
        read = tolerant(cast(Callable[[bytes], Message], handler.request_deserializer))
        write = handler.response_serializer
        checked = check_each if handler.request_streaming else check
        if handler.response_streaming:
            streams = self._streaming(handler.stream_stream or handler.unary_stream, served, checked)
            if handler.request_streaming:
                return grpc.stream_stream_rpc_method_handler(streams, read, write)
            return grpc.unary_stream_rpc_method_handler(streams, read, write)
        answers = self._answering(handler.stream_unary or handler.unary_unary, served, checked)
        if handler.request_streaming:
            return grpc.stream_unary_rpc_method_handler(answers, read, write)
        return grpc.unary_unary_rpc_method_handler(answers, read, write)

    def _answering(self, behavior: Any, served: Method, checked: Callable[[Any], Any]) -> Any:
        """Around a method that gives one answer."""

        async def answer(request: Any, context: Context) -> Message:
            async with self._links(_call(served, context)):
                return await behavior(checked(request), context)
            raise AssertionError  # a link that swallows an error has aborted the call

        return answer

    def _streaming(self, behavior: Any, served: Method, checked: Callable[[Any], Any]) -> Any:
        """Around a method that answers with a stream.

        It writes the answers itself. Were it a generator, grpc would leave it to the collector when a caller
        goes away, and its links would end some time later, in another task.
        """

        async def stream(request: Any, context: Context) -> None:
            async with (
                self._links(_call(served, context)),
                aclosing(behavior(checked(request), context)) as responses,
            ):
                async for response in responses:
                    await _write(context, response)

        return stream

    @asynccontextmanager
    async def _links(self, call: Call) -> AsyncGenerator[None]:
        with self._seen(call):
            async with _problems(call), _timeout(call):
                if not call.method.scope:
                    yield
                    return
                who = await self._caller(call)
                structlog.contextvars.bind_contextvars(key=who.key, profile=str(who.profile))
                await self._rates.admit(who.key, call.method.rate_class)
                with serving(who):
                    yield

    @contextmanager
    def _seen(self, call: Call) -> Generator[None]:
        started = time.perf_counter()
        traceparent = next(iter(call.texts(TRACEPARENT)), None)
        with self._telemetry.span(call.method.path, SpanKind.SERVER, traceparent) as span:
            structlog.contextvars.bind_contextvars(request_id=call.request_id, trace_id=trace_id(span))
            code = None
            try:
                yield
            except asyncio.CancelledError:
                code = grpc.StatusCode.CANCELLED
                raise
            finally:
                seconds = time.perf_counter() - started
                code = code or _code(call.context)
                span.set_attribute("rpc.grpc.status_code", problems.NUMBERS[code])
                # Told when the answer is on its way: grpc sends it before the loop comes to this.
                asyncio.get_running_loop().call_soon(self._tell, call.method, code, seconds)
                structlog.contextvars.clear_contextvars()

    def _tell(self, served: Method, code: grpc.StatusCode, seconds: float) -> None:
        """Count a call and log it, in the context of the call."""
        self._telemetry.calls.labels(served.path, code.name).inc()
        self._telemetry.seconds.labels(served.path).observe(seconds)
        if served.scope:  # health is asked every second; nobody reads that
            log.info("rpc.done", method=served.path, code=code.name, ms=round(seconds * 1000, 2))

    async def _caller(self, call: Call) -> Caller:
        who = self._signed(call) or await self._verify(call.texts("authorization"))
        if not who.may(call.method.scope):
            raise ScopeMissing(metadata={"scope": call.method.scope})
        return who

    def _signed(self, call: Call) -> Caller | None:
        """Who calls, by a context that one of ours signed. A forged one counts as none."""
        signed = call.metadata.get(CONTEXT_KEY)
        if not signed:
            return None
        if len(signed) == 1 and isinstance(signed[0], bytes):
            who = self._signer.read(signed[0], call.method.audience)
            if who:
                return who
        self._telemetry.refused_contexts.inc()
        if "authorization" not in call.metadata:
            raise Unauthenticated
        return None


@asynccontextmanager
async def _problems(call: Call) -> AsyncGenerator[None]:
    try:
        yield
    except Problem as problem:
        refused = problems.refusal(problem, call.request_id)
    except TimeoutError:
        refused = problems.refusal(TimedOut(), call.request_id)
    except (asyncio.CancelledError, grpc.aio.AbortError, GeneratorExit):
        raise
    except Exception:
        log.exception("rpc.fault", method=call.method.path)
        refused = problems.internal(call.request_id)
    else:
        call.context.set_trailing_metadata(((problems.REQUEST_ID_KEY, call.request_id),))
        return
    await call.context.abort(refused.code, refused.message, refused.trailers)


async def _write(context: Context, response: Message) -> None:
    try:
        await context.write(response)
    except grpc.aio.InternalError:
        await asyncio.sleep(PARTING_SECONDS)
        raise


def _timeout(call: Call) -> asyncio.Timeout:
    remaining = cast(float | None, call.context.time_remaining())
    deadline = call.method.deadline
    seconds = deadline.usual if remaining is None else min(remaining, deadline.latest)
    if seconds < CALL_SECONDS_MIN:
        raise TimedOut
    return asyncio.timeout(seconds)


def _call(served: Method, context: Context) -> Call:
    metadata: dict[str, list[str | bytes]] = {}
    for key, value in context.invocation_metadata() or ():
        metadata.setdefault(key, []).append(value)
    sent = metadata.get(problems.REQUEST_ID_KEY, [""])[0]
    return Call(served, context, request_id(sent), metadata)


def _code(context: Context) -> grpc.StatusCode:
    """The code that the call ends with: grpc has a number, a ``StatusCode``, or nothing while it is OK."""
    if context.cancelled():
        return grpc.StatusCode.CANCELLED
    code = cast(object, context.code())
    if isinstance(code, grpc.StatusCode):
        return code
    return NUMBERED.get(code, grpc.StatusCode.OK)

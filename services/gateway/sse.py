"""Streams as server-sent events.

Each answer is the `data` of one. The last event is `end`, or `error` with the problem: what is closed without
either was cut on the way, and clients that reconnect by themselves know when not to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import orjson
from google.protobuf.message import Message
from starlette.types import Send

from services.gateway.calls import Closing
from services.gateway.problems import told
from services.gateway.transcoding.writing import WriteObject

MEDIA_TYPE: Final = "text/event-stream"
SILENCE_SECONDS: Final = 15.0
"""After so long without an answer a comment is sent: what is in between closes connections that seem idle."""
KEEP_ALIVE: Final = b": keep-alive\n\n"
END: Final = b"event: end\ndata: {}\n\n"


async def send_events(
    answers: AsyncGenerator[Message],
    write: WriteObject,
    request_id: str,
    send: Send,
    silence_seconds: float = SILENCE_SECONDS,
) -> None:
    """Stream the answers to the client. Raises what goes wrong before the first event."""
    async with aclosing(_events(answers, write, silence_seconds)) as events:
        first = await anext(events)
        headers = [(b"content-type", MEDIA_TYPE.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": first, "more_body": True})
        async with aclosing(_to_the_end(events, request_id)) as rest:
            async for event in rest:
                await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _events(
    answers: AsyncGenerator[Message], write: WriteObject, silence_seconds: float
) -> AsyncGenerator[bytes]:
    """An event for each answer and for the end, and a comment for each silence."""
    async with aclosing(answers):
        coming = asyncio.create_task(_next(answers))
        try:
            while True:
                heard, _ = await asyncio.wait((coming,), timeout=silence_seconds)
                if not heard:
                    yield KEEP_ALIVE
                elif answer := coming.result():
                    yield _data(write(answer))
                    coming = asyncio.create_task(_next(answers))
                else:
                    yield END
                    return
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)


async def _to_the_end(events: AsyncGenerator[bytes], request_id: str) -> AsyncGenerator[bytes]:
    """The events, and the problem that ends them, if one does."""
    try:
        async for event in events:
            yield event
    except asyncio.CancelledError:  # the house closes, or the client has gone and hears nothing
        yield _error(Closing(), request_id)
        raise
    except Exception as error:
        yield _error(error, request_id)


async def _next(answers: AsyncGenerator[Message]) -> Message | None:
    return await anext(answers, None)


def _error(error: Exception, request_id: str) -> bytes:
    return b"event: error\n" + _data(told(error).document(request_id))


def _data(value: dict[str, object]) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"

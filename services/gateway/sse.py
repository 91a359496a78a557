"""Streams as server-sent events: each answer as `data`, an error as a last `event: error`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

import orjson
from google.protobuf.message import Message
from starlette.types import Send

from services.gateway.problems import told
from services.gateway.transcoding.writing import Writer

MEDIA_TYPE: Final = "text/event-stream"


async def send_events(answers: AsyncIterator[Message], write: Writer, request_id: str, send: Send) -> None:
    """Stream the answers to the client. Raises what goes wrong before the first of them."""
    first = await anext(answers, None)
    headers = [(b"content-type", MEDIA_TYPE.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    async for event in _events(first, answers, write, request_id):
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _events(
    first: Message | None, answers: AsyncIterator[Message], write: Writer, request_id: str
) -> AsyncGenerator[bytes]:
    try:
        if first is not None:
            yield _data(write(first))
        async for answer in answers:
            yield _data(write(answer))
    except Exception as error:
        yield b"event: error\n" + _data(told(error).document(request_id))


def _data(value: dict[str, object]) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"

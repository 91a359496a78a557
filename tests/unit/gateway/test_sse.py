"""Answers as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import orjson
import pytest
from google.protobuf.message import Message as Answer
from starlette.types import Message

from libs.errors import Missing
from services.gateway.sse import END, KEEP_ALIVE, send_events
from services.gateway.transcoding.writing import writer
from tests.rig.specimen import descriptor, message

SILENCE_SECONDS = 0.01


class Client:
    """What has been sent to a client."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.status = 0
        self.events: list[bytes] = []
        self.waited = asyncio.Event()

    async def take(self, sent: Message) -> None:
        """Take what is sent."""
        self.status = sent.get("status", self.status)
        if event := sent.get("body"):
            self.events.append(event)
        if self.events.count(KEEP_ALIVE) >= 2:
            self.waited.set()


async def stream(client: Client, answers: AsyncGenerator[Answer]) -> None:
    """Send the answers to the client."""
    await send_events(answers, writer(descriptor("Leaf")), "r1", client.take, SILENCE_SECONDS)


def leaf(name: str) -> Any:
    """An answer."""
    return message("Leaf")(name=name)


@pytest.mark.parametrize("before", [[], ["oak"]], ids=["before the first answer", "between two"])
async def test_silence_is_broken(before: list[str]) -> None:
    """By comments, which start the answer too; then the stream goes on as if nothing had been."""
    client = Client()

    async def answers() -> AsyncGenerator[Answer]:
        for name in before:
            yield leaf(name)
        await client.waited.wait()
        yield leaf("elm")

    await asyncio.wait_for(stream(client, answers()), 5)

    *heard, end = [event for event in client.events if event != KEEP_ALIVE]
    assert [orjson.loads(event.removeprefix(b"data: "))["name"] for event in heard] == [*before, "elm"]
    assert (client.status, end) == (200, END)
    assert client.events.count(KEEP_ALIVE) >= 2


async def test_nothing_is_a_stream_too() -> None:
    """It ends as any other does."""
    client = Client()

    async def answers() -> AsyncGenerator[Answer]:
        for name in ():
            yield leaf(name)

    await stream(client, answers())

    assert client.events == [END]


async def test_a_problem_before_the_first_event_is_not_an_event() -> None:
    """Nothing has been sent: the answer can still be the problem itself."""
    client = Client()

    async def answers() -> AsyncGenerator[Answer]:
        raise Missing
        yield leaf("never")

    with pytest.raises(Missing):
        await stream(client, answers())

    assert (client.status, client.events) == (0, [])


async def test_answers_are_let_go_when_the_client_leaves() -> None:
    """The call behind them ends at once, though it was waiting."""
    client, let_go = Client(), asyncio.Event()

    async def answers() -> AsyncGenerator[Answer]:
        try:
            await asyncio.Event().wait()
            yield leaf("never")
        finally:
            let_go.set()

    streaming = asyncio.create_task(stream(client, answers()))
    await asyncio.wait_for(client.waited.wait(), 5)
    streaming.cancel()
    await asyncio.gather(streaming, return_exceptions=True)

    assert let_go.is_set()

"""Bytes to a port, where a client would not send them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

ANSWER_SECONDS_MAX = 10
QUIET_SECONDS = 0.3
"""After so long without another word, an answer that was begun is at its end."""
PART_BYTES = 65_536


async def spoken(address: str, content: bytes, more: Iterable[bytes] = ()) -> bytes:
    """What a port says to these bytes until it hangs up or has said all, read while it is told more."""
    host, _, port = address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    speaking = asyncio.create_task(_speak(writer, [content], more))
    said = b""
    try:
        while part := await asyncio.wait_for(reader.read(PART_BYTES), _patience(said)):
            said += part
    except ConnectionError:
        pass  # hung up
    except TimeoutError:
        if not said:
            raise
    finally:
        writer.close()
        await asyncio.wait([speaking], timeout=ANSWER_SECONDS_MAX)
    return said


async def _speak(writer: asyncio.StreamWriter, *parts: Iterable[bytes]) -> None:
    for some in parts:
        for part in some:
            writer.write(part)
            try:
                await writer.drain()
            except ConnectionError:
                return


def _patience(said: bytes) -> float:
    return QUIET_SECONDS if said else ANSWER_SECONDS_MAX

"""Results of many parts, through the front door."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any

import pytest
from treering.results.v1 import result_pb2
from treering.results.v1 import results_service_pb2 as pb

from services.results.results.streams import CHUNKS_MAX, STREAM_BYTES_MAX
from tests.rig.house import Caller
from tests.rig.refusals import refused
from tests.rig.results import (
    CONFLICT,
    NOT_READY,
    got,
    put,
)


async def streamed(
    house: Caller, content: bytes, digest: str = "", chunk: int = 700_001, **fields: Any
) -> result_pb2.Step:
    """What is kept of a stream into the run `w`."""
    known = digest or sha256(content).hexdigest()
    header = pb.PutResultStreamHeader(workflow_id="w", task_id="big", sha256=known, **fields)

    async def requests() -> AsyncIterator[pb.PutResultStreamRequest]:
        yield pb.PutResultStreamRequest(header=header)
        for at in range(0, len(content), chunk):
            yield pb.PutResultStreamRequest(chunk=content[at : at + chunk])

    metadata = (("authorization", f"Bearer {house.secret}"),)
    return (await house.results.PutResultStream(requests(), metadata=metadata)).step


@pytest.mark.parametrize("size", [0, 1, 1_048_576, 1_048_577, 5_000_000])
async def test_a_stream_is_read_back_in_parts(house: Caller, size: int) -> None:
    """Byte for byte, with digest and size; the same again is the same; another conflicts."""
    content = (bytes(range(251)) * (size // 251 + 1))[:size]
    step = await streamed(house, content, content_type="application/pdf", size_bytes=size)
    parts = [await got(house, "big", part=part) for part in range(step.parts)]

    assert b"".join(base64.b64decode(part.content) for part in parts) == content
    assert {part.sha256 for part in parts} == {sha256(content).hexdigest()}
    assert (step.size_bytes, step.content_type) == (size, "application/pdf")
    assert await streamed(house, content, content_type="application/pdf") == step
    assert await refused(streamed(house, content + b"!", content_type="application/pdf")) == CONFLICT
    assert await refused(got(house, "big", part=step.parts)) == (
        "INVALID_ARGUMENT",
        "INVALID_FIELD",
        ["part"],
    )


async def test_a_wrong_stream_leaves_nothing(house: Caller) -> None:
    """Wrong digest, wrong size, no header, more than 64 MiB: refused, and nobody sees any of it."""
    mismatch = ("INVALID_ARGUMENT", "DIGEST_MISMATCH", [])
    content = b"x" * 3_000_000
    await put(house)

    assert await refused(streamed(house, content, "0" * 64)) == mismatch
    assert await refused(streamed(house, content, size_bytes=2_999_999)) == mismatch
    assert await refused(streamed(house, content, size_bytes=3_000_001)) == mismatch
    assert (await refused(streamed(house, content, chunk=1_048_577)))[:2] == (
        "INVALID_ARGUMENT",
        "INVALID_FIELD",
    )
    assert await refused(got(house, "big")) == NOT_READY


async def test_a_stream_has_at_most_so_many_bytes(house: Caller) -> None:
    """64 MiB are kept and read in parts; a byte more is refused, and what was there stays."""
    content = bytes(STREAM_BYTES_MAX)
    large = await streamed(house, content, chunk=1_048_576)

    assert (large.size_bytes, large.parts) == (STREAM_BYTES_MAX, 64)
    assert len(base64.b64decode((await got(house, "big", part=63)).content)) == 1_048_576
    one_more = streamed(house, content + b"x", chunk=1_048_576, attempt=2)
    assert await refused(one_more) == ("INVALID_ARGUMENT", "VALUE_TOO_LARGE", ["chunk"])
    assert (await got(house, "big")).attempt == 1


async def test_a_stream_has_at_most_so_many_chunks(house: Caller) -> None:
    """However small they are: 65,536, and not one more."""
    too_many = streamed(house, bytes(CHUNKS_MAX + 1), chunk=1)

    assert await refused(too_many) == ("INVALID_ARGUMENT", "INVALID_FIELD", ["chunk"])

"""Bad input for runs, results and the journal, over every door: by name, without a trace, and all goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

import grpc
import pytest
from treering.results.v1 import results_service_pb2 as pb
from treering.results.v1 import run_pb2
from treering.results.v1 import run_service_pb2 as run

from tests.catalogue.doors import GRPC, MCP, REST, TOOLS, Answer, Request, door, of_error, of_response
from tests.catalogue.results_rows import EPISODE, GOOD, OF_RESULTS, ROWS, RUN
from tests.catalogue.rows import Row
from tests.rig.house import Caller, House

CASES: Final = [(way, row) for row in ROWS for way in row.doors]
DIGEST: Final = sha256(b"c").hexdigest()
HEADER: Final[Request] = {"workflow_id": "kept", "task_id": "never put", "sha256": DIGEST}
Piece = pb.PutResultStreamRequest


@dataclass(frozen=True, slots=True)
class Place:
    """A run with a result and a turn, and one that has ended, which no row changes."""

    caller: Caller
    run_id: str
    episode: str
    held: Sequence[bytes] = ()
    """Everything that a call could have changed, as it was at first."""

    def request(self, template: Request) -> dict[str, Any]:
        """A request with the ids of the runs in it."""
        ids = {RUN: self.run_id, EPISODE: self.episode}
        return {
            name: ids.get(value, value) if isinstance(value, str) else value
            for name, value in template.items()
        }

    async def holds(self) -> list[bytes]:
        """The same as it is now."""
        results, runs = self.caller.results, self.caller.runs
        answers = (
            await runs.ListRuns(run.ListRunsRequest()),
            await runs.GetRunStatus(run.GetRunStatusRequest(run_id=self.run_id)),
            await results.ListSteps(pb.ListStepsRequest(workflow_id="kept")),
        )
        return [answer.SerializeToString(deterministic=True) for answer in answers]


@pytest.fixture(scope="module")
async def place(house_site: House) -> Place:
    """One for all rows."""
    settled = await settle(await house_site.caller())
    return replace(settled, held=await settled.holds())


async def settle(caller: Caller) -> Place:
    """A new place."""
    ended = await caller.runs.StartRun(run.StartRunRequest(workflow_id="ended"))
    finish = run.FinishRunRequest(run_id=ended.run.id, status=run_pb2.STATUS_SUCCEEDED)
    await caller.runs.FinishRun(finish)
    started = await caller.runs.StartRun(run.StartRunRequest(workflow_id="kept"))
    await caller.results.PutResult(pb.PutResultRequest(workflow_id="kept", task_id="t", content="c"))
    await caller.results.AppendTurn(pb.AppendTurnRequest(workflow_id="kept", role="user", content="hi"))
    return Place(caller, started.run.id, ended.run.id)


@pytest.mark.parametrize(("way", "row"), CASES, ids=str)
async def test_a_wrong_field_is_named_and_nothing_is_written(place: Place, way: str, row: Row) -> None:
    """The exact code, reason and field; nothing is kept or ended; the next call works."""
    answer = await door(way, place.caller).call(row.rpc, place.request(row.request))

    assert (answer.said, answer.reason, answer.fields) == (row.said(way), row.reason, row.fields), answer
    assert await place.holds() == place.held
    assert (await door(way, place.caller).call("GetResult", GOOD["GetResult"])).fine


def test_every_field_is_tried() -> None:
    """Of every method, by its kind or by rows of its own."""
    tried = {
        (row.rpc, name)
        for row in ROWS
        for name in row.request
        if row.request[name] != GOOD[row.rpc].get(name)
    }
    there = {(rpc, field.name) for rpc, method in OF_RESULTS.items() for field in method.takes.fields}

    assert there <= tried, there - tried


@pytest.mark.parametrize(
    ("rpc", "way"),
    [(rpc, way) for rpc in OF_RESULTS for way in (GRPC, REST, MCP) if way != MCP or rpc in TOOLS],
)
async def test_the_requests_that_the_rows_change_are_fine(house: Caller, rpc: str, way: str) -> None:
    """So that a refusal is for what a row says, and nothing else."""
    own = await settle(house)

    assert (await door(way, house).call(rpc, own.request(GOOD[rpc]))).fine


@pytest.mark.parametrize("rpc", [rpc for rpc in OF_RESULTS if rpc != "ListRuns"])
@pytest.mark.parametrize(
    "content", [b"\x0a\x02\xff\xfe", b"\x0a\x02\xc0\x80", b"\x0a\x03\xed\xa0\x80"], ids=repr
)
async def test_grpc_refuses_text_that_is_not_utf_8(place: Place, rpc: str, content: bytes) -> None:
    """Rows 4 and 5, in the first field of every request."""
    method, channel = OF_RESULTS[rpc], place.caller.channel
    made: Any = channel.unary_stream if method.streams else channel.unary_unary
    call = made(method.path, None, None)(content)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await (call.read() if method.streams else call)

    answer = of_error(caught.value)
    assert (answer.said, answer.reason) == ("INVALID_ARGUMENT", "MALFORMED_REQUEST")


@pytest.mark.parametrize(
    "path", ["workflows/results/%FF/t", "workflows/results/kept/%C0%80", "runs/%ED%A0%80"]
)
async def test_rest_refuses_paths_that_are_not_utf_8(place: Place, path: str) -> None:
    """Rows 4 and 5."""
    answer = of_response(await place.caller.http.get(f"/v1/{path}"))

    assert (answer.said, answer.reason) == (400, "MALFORMED_REQUEST")


def header(**changed: Any) -> Piece:
    """A header with something changed."""
    return Piece(header=pb.PutResultStreamHeader(**{**HEADER, **changed}))


CHUNK: Final = Piece(chunk=b"c")
STREAMS: Final = {
    "header.workflow_id": [
        [header(workflow_id=name), CHUNK] for name in ("", "x" * 129, "a/b", "a\0b", "../etc")
    ],
    "workflow_id": [[header(workflow_id=name), CHUNK] for name in (" \t", "a\u200bb")],
    "header.task_id": [[header(task_id=name), CHUNK] for name in ("", "x" * 129, "a/b", "a\0b")],
    "task_id": [[header(task_id=name), CHUNK] for name in (" \t", "a\u202eb")],
    "header.content_type": [[header(content_type=name), CHUNK] for name in ("", "text", "x/" + "y" * 126)],
    "header.status": [[header(status=number), CHUNK] for number in (77, -1)],
    "header.error": [[header(error="x" * 10_001, status=2), CHUNK], [header(error="a\0b", status=2), CHUNK]],
    "error": [[header(error="x"), CHUNK], [header(error=" ", status=2), CHUNK]],
    "header.attempt": [[header(attempt=number), CHUNK] for number in (0, 1_000_001)],
    "header.size_bytes": [[header(size_bytes=67_108_865), CHUNK]],
    "header.sha256": [[header(sha256=text), CHUNK] for text in ("", "0" * 63, DIGEST.upper(), DIGEST + "\n")],
    "header": [[], [CHUNK], [header(), header()], [header(), CHUNK, header()]],
    "chunk": [[header(), Piece(chunk=b"")], [header(), Piece(chunk=b"x" * 1_048_577)]],
    "piece": [[Piece()], [header(), Piece()]],
}
"""Streams by the field that is wrong with them."""


@pytest.mark.parametrize(
    ("field", "pieces"), [(field, each) for field, streams in STREAMS.items() for each in streams]
)
async def test_a_wrong_stream_is_refused_by_name(place: Place, field: str, pieces: list[Piece]) -> None:
    """Nothing of it is kept; the next call works."""
    answer = await streamed(place.caller, pieces)

    assert (answer.said, answer.reason, answer.fields) == ("INVALID_ARGUMENT", "INVALID_FIELD", (field,))
    assert await place.holds() == place.held


def test_every_field_of_a_header_is_tried() -> None:
    """Each by the name that a refusal gives it."""
    fields = pb.PutResultStreamHeader.DESCRIPTOR.fields

    assert {f"header.{field.name}" for field in fields} <= set(STREAMS)


async def streamed(caller: Caller, pieces: list[Piece]) -> Answer:
    """What is said to a stream."""

    async def requests() -> AsyncIterator[Piece]:
        for piece in pieces:
            yield piece

    metadata = (("authorization", f"Bearer {caller.secret}"),)
    try:
        await caller.results.PutResultStream(requests(), metadata=metadata)
    except grpc.aio.AioRpcError as error:
        return of_error(error)
    return Answer("OK")


FINE: Final[tuple[tuple[int, str, Request], ...]] = (
    (63, "PutResult", {"task_id": "x" * 128}),
    (63, "PutResult", {"task_id": "__proto__"}),
    (6, "PutResult", {"task_id": "👩‍👩‍👧‍👦"}),
    (58, "PutResult", {"task_id": "..%2f:get"}),
    (13, "PutResult", {"content": ""}),
    (28, "PutResult", {"content_type": "image/png"}),
    (14, "PutResult", {"status": "failed", "error": "x" * 10_000}),
    (85, "PutResult", {"attempt": 1_000_000}),
    (14, "AppendTurn", {"content": "x" * 50_000, "role": "r" * 64}),
    (14, "StartRun", {"goal": "x" * 10_000, "memory_owner": "m" * 255}),
    (41, "StartRun", {"ttl_seconds": 31_536_000}),
    (14, "FinishRun", {"outcome": "x" * 50_000}),
    (46, "ListRuns", {"page_size": 2**32 - 1}),
    (46, "ListSteps", {"page_size": 0}),
    (85, "WatchResults", {"after": 2**63 - 1}),
    (85, "SearchRuns", {"limit": 2**32 - 1}),
    (85, "SearchRuns", {"limit": 0, "order": "unspecified", "kinds": ["mission"] * 5}),
    (14, "SearchRuns", {"query": "x " * 10_000}),
    (12, "SearchRuns", {"query": "\x1b[31m \u202e' OR 1=1; --"}),
)


@pytest.mark.parametrize(
    ("way", "rpc", "changed"),
    [
        (way, rpc, changed)
        for _, rpc, changed in FINE
        for way in (GRPC, REST, MCP)
        if way != MCP or rpc in TOOLS
    ],
)
async def test_what_looks_bad_and_is_fine(house: Caller, way: str, rpc: str, changed: Request) -> None:
    """The limits themselves, and names that are only names."""
    own = await settle(house)
    request = own.request({**GOOD[rpc], **changed})
    if rpc == "WatchResults":
        finish = run.FinishRunRequest(run_id=own.run_id, status=run_pb2.STATUS_SUCCEEDED)
        await house.runs.FinishRun(finish)

    assert (await door(way, house).call(rpc, request)).fine
    if rpc == "PutResult":
        got = await door(way, house).call("GetResult", {"workflow_id": "kept", "task_id": request["task_id"]})
        assert got.fine


async def test_composed_or_not_it_is_one_task(house: Caller) -> None:
    """Row 10: the same content is the same result, whichever way its name is written."""
    steps = [
        await door(way, house).call("PutResult", {**GOOD["PutResult"], "task_id": name})
        for name, way in (("Zoe\u0308", GRPC), ("Zo\u00eb", REST), (" Zoe\u0308 ", MCP))
    ]
    listed = await house.results.ListSteps(pb.ListStepsRequest(workflow_id="kept"))

    assert all(step.fine for step in steps)
    assert [step.task_id for step in listed.steps] == ["Zo\u00eb"]

"""The stack is linearizable for any number of callers, whatever happens to their connections.

Every answer carries the version that it made of the stack, which is the order that the house claims. Put in
that order, the answers have to be those of a plain list; and what had ended before another began comes first.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from treering.clipboard.v1 import clipboard_service_pb2 as pb

from libs.data import migrations
from services.clipboard.service import SCHEMA
from tests.rig.house import Caller

POPPERS = 32
PUSHERS = 8
PUSHES = int(os.environ.get("SOAK_PUSHES", "60"))
"""Of each pusher; `make soak` asks for many more."""
CUT_SECONDS = 0.15
"""Between two cuts, on average."""
RETRY_SECONDS = 0.05
TRIES_MAX = 200


@dataclass(frozen=True, slots=True)
class Done:
    """One call, from when it was first sent to when it was answered."""

    kind: str
    """``push``, ``pop``, or ``empty`` for a pop that found nothing."""
    value: str
    version: int
    began: float
    ended: float


@dataclass
class Run:
    """Everything that was answered, and how many calls were cut off."""

    done: list[Done] = field(default_factory=list[Done])
    cut: int = 0
    pushing: int = PUSHERS


async def test_pops_are_linearizable_while_connections_are_cut(house: Caller) -> None:
    """Nothing lost, nothing twice, no order but the one that was told; lost replies are repeated by key."""
    run = Run()
    cutting = asyncio.create_task(cut(house.house.dsn))
    try:
        await asyncio.gather(
            *(push(house, run, number) for number in range(PUSHERS)),
            *(pop(house, run, number) for number in range(POPPERS)),
        )
    finally:
        cutting.cancel()
        await asyncio.gather(cutting, return_exceptions=True)

    assert run.cut > 0
    check(run.done)
    values = Counter(each.value for each in run.done if each.kind == "pop")
    assert values == {f"{number} {at}": 1 for number in range(PUSHERS) for at in range(PUSHES)}


FINE = (
    Done("push", "a", 1, 0, 1),
    Done("push", "b", 2, 0, 3),
    Done("pop", "b", 3, 2, 4),
    Done("pop", "a", 4, 5, 6),
    Done("empty", "", 4, 5, 7),
)


@pytest.mark.parametrize(
    ("at", "wrong"),
    [
        (2, Done("pop", "a", 3, 2, 4)),
        (3, Done("pop", "b", 4, 5, 6)),
        (3, Done("pop", "a", 5, 5, 6)),
        (3, Done("pop", "a", 3, 5, 6)),
        (4, Done("empty", "", 3, 5, 7)),
        (1, Done("push", "b", 2, 4.5, 5)),
    ],
    ids=["not the newest", "twice", "a version lost", "a version twice", "not empty", "against the clock"],
)
def test_the_check_finds_what_is_wrong(at: int, wrong: Done) -> None:
    """A run that is fine passes, one with a single fault does not."""
    check(list(FINE))
    with pytest.raises(AssertionError):
        check([*FINE[:at], wrong, *FINE[at + 1 :]])


async def push(house: Caller, run: Run, number: int) -> None:
    """Push so many, each until it is answered."""
    for at in range(PUSHES):
        value = f"{number} {at}"
        began = time.monotonic()
        request = pb.PushRequest(value=value, idempotency_key=f"push {value}")
        answer: pb.PushResponse = await insist(house.clipboard.Push, request, run)
        run.done.append(Done("push", value, answer.stack_version, began, time.monotonic()))
    run.pushing -= 1


async def pop(house: Caller, run: Run, number: int) -> None:
    """Pop until all pushers have ended and the stack is empty."""
    at = 0
    while True:
        last = run.pushing == 0
        at += 1
        began = time.monotonic()
        request = pb.PopRequest(idempotency_key=f"pop {number} {at}")
        try:
            answer: pb.PopResponse = await insist(house.clipboard.Pop, request, run)
        except grpc.aio.AioRpcError as refused:
            run.done.append(Done("empty", "", empty_at(refused), began, time.monotonic()))
            if last:
                return
            await asyncio.sleep(RETRY_SECONDS)
            continue
        run.done.append(Done("pop", answer.entry.value, answer.stack_version, began, time.monotonic()))


async def insist(method: Any, request: object, run: Run) -> Any:
    """Send a call again until it is answered, whatever happens to its connection."""
    for _ in range(TRIES_MAX):
        try:
            return await method(request)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
        run.cut += 1
        await asyncio.sleep(random.uniform(0, RETRY_SECONDS))  # noqa: S311 -- no secret
    raise AssertionError("a call was never answered")


def empty_at(refused: grpc.aio.AioRpcError) -> int:
    """The version of the stack that was found empty; anything else fails."""
    status, info = rpc_status.from_call(cast(Any, refused)), error_details_pb2.ErrorInfo()
    assert status
    for packed in status.details:
        packed.Unpack(info)
    assert info.reason == "STACK_EMPTY", refused
    return int(info.metadata["stack_version"])


async def cut(dsn: str) -> None:
    """Cut connections of the clipboard's role, one at a time, at random, for ever."""
    async with migrations.owner(dsn) as connection:
        while True:
            await asyncio.sleep(random.uniform(0, 2 * CUT_SECONDS))  # noqa: S311 -- no secret
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE usename = $1 AND datname = current_database() ORDER BY random() LIMIT 1",
                SCHEMA.role,
            )


def check(done: list[Done]) -> None:
    """Replay in the order of versions against a list, and compare that order with the clock."""
    # A pop that finds nothing changes nothing: it comes after the change whose version it saw.
    ordered = sorted(done, key=lambda each: (each.version, each.kind == "empty"))
    changes = [each.version for each in ordered if each.kind != "empty"]
    assert changes == list(range(1, len(changes) + 1))
    stack: list[str] = []
    for each in ordered:
        if each.kind == "push":
            stack.append(each.value)
        elif each.kind == "pop":
            assert stack.pop() == each.value, each
        else:
            assert not stack, each
    latest_start = 0.0
    for each in ordered:
        assert each.ended >= latest_start, each
        latest_start = max(latest_start, each.began)

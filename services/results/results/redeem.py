"""Redeeming: a task's result, or the final one of a run, which is put together from what the run holds."""

from __future__ import annotations

from hashlib import sha256
from uuid import UUID

from treering.results.v1 import result_pb2
from treering.results.v1 import results_service_pb2 as pb

from libs.clock import Clock
from libs.rpc.lists import Lists
from services.results.results import turns, wire
from services.results.results.result import Final, Key, Labels, Result, Step, require_part
from services.results.results.store import Store
from services.results.results.turns_store import TurnStore
from services.results.results.values import CONTENT_TYPE, Encoding
from services.results.runs.run import State, Status

THREAD_TURNS_MAX = 10_000
"""Turns that are looked at for one thread."""


class Redeemer:
    """Answers results as messages."""

    def __init__(self, store: Store, turn_store: TurnStore, lists: Lists, clock: Clock) -> None:
        self._store = store
        self._turns = turn_store
        self._lists = lists
        self._clock = clock

    async def result(self, profile: UUID, key: Key, part: int = 0) -> result_pb2.Result:
        """A task's result; without a task, the final one with the run's first steps."""
        if key.task_id:
            return wire.of_result(await self._store.get(profile, key, part, self._clock()))
        final = await self._store.final(profile, key.workflow_id, part, self._clock())
        found = wire.of_result(final.result or await self._of_run(profile, final, part))
        steps = await self.steps(profile, pb.ListStepsRequest(workflow_id=key.workflow_id))
        found.steps.extend(steps.steps)
        found.steps_next_page_token = steps.next_page_token
        return found

    async def steps(self, profile: UUID, request: pb.ListStepsRequest) -> pb.ListStepsResponse:
        """A page of a run's steps."""
        page = self._lists.page(profile, "ListSteps", request)
        [after] = page.after or (0,)
        found = await self._store.steps(profile, request.workflow_id, page.limit, after, self._clock())
        shown, token = self._lists.cut(page, found, wire.of_step, lambda last: (last.position,))
        return pb.ListStepsResponse(steps=shown, next_page_token=token)

    async def _of_run(self, profile: UUID, final: Final, part: int) -> Result:
        """The result of a run that is no task's: its thread, or its outcome."""
        require_part(part, 1)
        if not final.turns:
            return _whole(final, CONTENT_TYPE, final.outcome.encode())
        return _whole(final, turns.THREAD_TYPE, await self._thread(profile, final))

    async def _thread(self, profile: UUID, final: Final) -> bytes:
        found = await self._turns.after(
            profile, final.workflow_id, 0, THREAD_TURNS_MAX, turns.THREAD_BYTES_MAX, self._clock()
        )
        texts = turns.shown(found)
        token = ""
        if texts and len(texts) < max(final.turns, len(found)):
            page = self._lists.page(profile, "ListTurns", pb.ListTurnsRequest(workflow_id=final.workflow_id))
            token = self._lists.token(page, (found[len(texts) - 1].number,))
        return turns.thread(texts, token)


def _whole(final: Final, content_type: str, content: bytes) -> Result:
    """A content of the run itself."""
    step = Step(
        workflow_id=final.workflow_id,
        run_id=final.run_id,
        labels=Labels("", content_type, sha256(content).hexdigest(), ""),
        status=Status.FAILED if final.state is State.FAILED else Status.SUCCEEDED,
        attempt=1,
        position=0,
        size_bytes=len(content),
        parts=1,
        created_at=final.created_at,
        expires_at=final.expires_at,
    )
    return Result(step, content, Encoding.UTF_8)

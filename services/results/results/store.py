"""Results in Postgres. Each call is one round trip and one commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from libs.data import sql
from libs.data.keyring import Keyring, ProfileKeys
from libs.data.postgres import Database
from libs.messages import MESSAGE_BYTES_MAX
from services.results.results import rows, verdicts
from services.results.results.drafts import Draft
from services.results.results.result import Arrival, Final, Key, Result, Several, Step, require_part
from services.results.runs.drafts import begun
from services.results.runs.quota import Quota
from services.results.runs.rows import blind_task, blind_workflow, item_of, outcome_of
from services.results.runs.run import State
from services.results.runs.store import Changed
from services.results.waiting import Waiter

PACKAGE = "services.results.results"
UPLOAD_KEPT = timedelta(minutes=10)
"""How long the parts of a stream are kept after the last of them came."""


class Store:
    """What is kept of results, by profile."""

    def __init__(
        self,
        database: Database,
        keyring: Keyring,
        ttl: timedelta,
        known: timedelta,
        changed: Changed,
        new_id: Callable[[], UUID] = uuid4,
    ) -> None:
        """``ttl`` is that of runs that a result begins; an expired run is ``known`` for so long."""
        self._database = database
        self._keyring = keyring
        self._ttl = ttl
        self._known = known
        self._changed = changed
        self._new_id = new_id
        self._queries = sql.load(PACKAGE)

    async def put(self, profile: UUID, draft: Draft, content: bytes, quota: Quota, now: datetime) -> Step:
        """Keep a result. Raises ``ResultConflict``, ``RunCancelled``, ``QuotaExceeded``."""
        keys = await self._keyring.of(profile)
        item = rows.item_of(keys, draft, self._new_id(), 1, content)
        return await self._put(self._queries.put, profile, keys, draft, item, 1, quota, now)

    async def keep_part(
        self, profile: UUID, result_id: UUID, number: int, content: bytes, quota: Quota, now: datetime
    ) -> None:
        """Keep a part of a stream, which nobody sees yet. Raises ``QuotaExceeded``."""
        keys = await self._keyring.of(profile)
        sealed = rows.sealed_part(keys, result_id, number, content)
        verdict = await self._database.fetchval(
            self._queries.upload,
            *(profile, result_id, number, len(content), sealed, UPLOAD_KEPT, quota.limits, now),
        )
        quota.check(verdict)

    async def put_uploaded(
        self, profile: UUID, draft: Draft, result_id: UUID, parts: int, quota: Quota, now: datetime
    ) -> Step:
        """Keep a result whose parts have come. Raises as ``put`` does, and ``UploadGone``."""
        keys = await self._keyring.of(profile)
        item = rows.item_of(keys, draft, result_id, parts, None)
        return await self._put(self._queries.put_uploaded, profile, keys, draft, item, parts, quota, now)

    async def get(self, profile: UUID, key: Key, part: int, now: datetime) -> Result:
        """What a task came to.

        Raises ``ResultNotReady``, ``ResultExpired``, ``ResultUnknown``, ``RunCancelled``; ``Invalid`` for a
        part that there is not.
        """
        keys = await self._keyring.of(profile)
        workflow = blind_workflow(keys, key.workflow_id)
        task = blind_task(keys, key.workflow_id, key.task_id)
        [row] = await self._database.fetch(self._queries.get, profile, workflow, task, part, self._known, now)
        found = verdicts.read(row)
        require_part(part, found["result"]["parts"])
        return rows.result_of(keys, key.workflow_id, found["result"], part, found["part_sealed"])

    async def final(self, profile: UUID, workflow_id: str, part: int, now: datetime) -> Final:
        """What a run came to. Raises as ``get`` does."""
        keys = await self._keyring.of(profile)
        workflow = blind_workflow(keys, workflow_id)
        [row] = await self._database.fetch(self._queries.final, profile, workflow, part, self._known, now)
        found = verdicts.read(row)
        result = None
        if found["verdict"] == "found":
            require_part(part, found["result"]["parts"])
            result = rows.result_of(keys, workflow_id, found["result"], part, found["part_sealed"])
        return Final(
            workflow_id=workflow_id,
            run_id=found["run_id"],
            state=State(found["state"]),
            result=result,
            turns=found["turns"] if found["verdict"] == "thread" else 0,
            outcome=outcome_of(keys, found["run_id"], found["outcome_sealed"]),
            created_at=found["created_at"],
            expires_at=found["expires_at"],
        )

    async def steps(
        self, profile: UUID, workflow_id: str, limit: int, after: int, now: datetime
    ) -> list[Step]:
        """Steps of a run after a position, in order. Raises ``ResultExpired``, ``ResultUnknown``."""
        keys = await self._keyring.of(profile)
        workflow = blind_workflow(keys, workflow_id)
        found = await self._database.fetch(
            self._queries.steps, profile, workflow, after, limit, self._known, now
        )
        verdicts.read(found[0])
        return [rows.step_of(keys, workflow_id, row) for row in found if row["id"]]

    async def several(
        self, profile: UUID, workflow_id: str, task_ids: Sequence[str] | None, now: datetime
    ) -> Several:
        """Results of these tasks, or the one put last. Raises ``ResultExpired``, ``ResultUnknown``."""
        keys = await self._keyring.of(profile)
        workflow = blind_workflow(keys, workflow_id)
        tasks = None if task_ids is None else [blind_task(keys, workflow_id, each) for each in task_ids]
        found = await self._database.fetch(
            self._queries.several, profile, workflow, tasks, MESSAGE_BYTES_MAX, self._known, now
        )
        verdicts.read(found[0])
        there = [row for row in found if row["id"]]
        left_out = [row for row in there if row["content_sealed"] is None]
        done = {row["task_mac"] for row in there}
        return Several(
            results=[rows.result_of(keys, workflow_id, row) for row in there if row["content_sealed"]],
            not_ready=[
                each for each, mac in zip(task_ids or (), tasks or (), strict=True) if mac not in done
            ],
            left_out=[rows.step_of(keys, workflow_id, row).labels.task_id for row in left_out],
        )

    async def next(self, profile: UUID, workflow_id: str, after: int, now: datetime) -> Arrival:
        """The next result of a run after a position. Raises ``ResultExpired``, ``ResultUnknown``."""
        keys = await self._keyring.of(profile)
        workflow = blind_workflow(keys, workflow_id)
        [row] = await self._database.fetch(self._queries.next, profile, workflow, after, self._known, now)
        found = verdicts.read(row)
        kept = found["result"]
        result = None if kept is None else rows.result_of(keys, workflow_id, kept, 0, found["part_sealed"])
        return Arrival(result, State(found["state"]))

    async def place(self, profile: UUID, key: Key) -> tuple[bytes, bytes | None]:
        """What those that wait are told apart by: workflow and task; no task for the final result."""
        keys = await self._keyring.of(profile)
        task = blind_task(keys, key.workflow_id, key.task_id) if key.task_id else None
        return blind_workflow(keys, key.workflow_id), task

    async def arrived(self, waiters: Sequence[Waiter], now: datetime) -> list[Waiter]:
        """Those of whoever waits that have something to look at. One query for all."""
        found = await self._database.fetch(
            self._queries.arrived,
            [each.profile for each in waiters],
            [each.workflow for each in waiters],
            [each.task for each in waiters],
            [each.after for each in waiters],
            now,
        )
        return [waiters[row["arrived"] - 1] for row in found]

    async def _put(
        self,
        query: str,
        profile: UUID,
        keys: ProfileKeys,
        draft: Draft,
        item: rows.Item,
        parts: int,
        quota: Quota,
        now: datetime,
    ) -> Step:
        run = item_of(keys, begun(self._new_id(), draft.key.workflow_id, self._ttl))
        [row] = await self._database.fetch(query, profile, run, item, quota.limits, now)
        step = rows.kept(draft, parts, verdicts.put(row, quota))
        self._changed(profile, *await self.place(profile, draft.key))
        return step

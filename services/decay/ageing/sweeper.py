"""Sweeps: take what is due, have memory move it, remember what was done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID, uuid4

import structlog
from google.protobuf.timestamp_pb2 import Timestamp

from libs.rpc.caller import NOBODY
from services.decay.ageing.lifecycle import Due, Lifecycle, Step
from services.decay.ageing.policy import DEFAULT, Policy, next_stage
from services.decay.ageing.store import Store
from services.decay.ageing.sweep import Result, Sweep, Tally, Trigger

BATCH = 100
"""Memories in one step."""
BATCHES_MAX = 20
"""Steps of a sweep that somebody waits for."""
TURN_BATCHES_MAX = 100
"""Steps in one turn of the loop; the next turn goes on from there."""
WORKSPACES = 99
"""Of which due memories are looked for at once, besides those of no workspace."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Sweeper:
    """Moves what is due. Any number of them may work at once: memory gives each of them others."""

    def __init__(self, lifecycle: Lifecycle, store: Store, new_id: Callable[[], UUID] = uuid4) -> None:
        self._lifecycle = lifecycle
        self._store = store
        self._new_id = new_id
        self._after = NOBODY
        """The workspace that the last turn ended with."""

    async def sweep(self, workspace: UUID, profile: UUID) -> Sweep:
        """Move those memories of a profile that are due now."""
        policies = {NOBODY: DEFAULT} | await self._store.policies([workspace])
        sweep_id = self._new_id()
        await self._store.note(sweep_id, Trigger.REQUEST, {str(profile): Tally()})
        steps = await self._drain(sweep_id, Trigger.REQUEST, policies, profile, BATCHES_MAX)
        if steps < BATCHES_MAX:
            await self._store.note(sweep_id, Trigger.REQUEST, {str(profile): Tally()}, complete=True)
        return await self._store.sweep(profile, sweep_id)

    async def sweep_all(self) -> None:
        """Move what is due of all workspaces, one turn's worth, from where the last turn ended."""
        sweep_id, left = self._new_id(), TURN_BATCHES_MAX
        while left > 0:
            workspaces = await self._lifecycle.workspaces(self._after, WORKSPACES)
            policies = await self._store.policies(workspaces)
            if self._after == NOBODY:
                policies[NOBODY] = DEFAULT
            left -= await self._drain(sweep_id, Trigger.SCHEDULE, policies, None, left)
            if left <= 0:
                return
            self._after = workspaces[-1] if len(workspaces) == WORKSPACES else NOBODY
            if self._after == NOBODY:
                return

    async def _drain(
        self,
        sweep_id: UUID,
        trigger: Trigger,
        policies: Mapping[UUID, Policy],
        profile: UUID | None,
        batches_max: int,
    ) -> int:
        """Move what was due when this began, and answer in how many steps; all of them: there may be more."""
        as_of: Timestamp | None = None
        for batch in range(batches_max):
            lease = await self._lifecycle.take_due(policies, profile, BATCH, as_of)
            as_of = lease.as_of
            if lease.due:
                steps = [_step(each, policies[each.workspace]) for each in lease.due]
                came = await self._lifecycle.restage(lease.token, steps)
                tallies = _tallies(steps, came)
                # What is on schedule goes on by itself.
                await self._store.note(sweep_id, trigger, tallies, complete=trigger is Trigger.SCHEDULE)
                log.info("decay.swept", sweep=str(sweep_id), due=len(steps), profiles=len(tallies))
            if len(lease.due) < BATCH:
                return batch
        return batches_max


def _step(due: Due, policy: Policy) -> Step:
    stage = next_stage(due.stage, fresh=due.fresh)
    return Step(due, stage, policy.tokens(stage), policy.keep_originals)


def _tallies(steps: Sequence[Step], came: Sequence[tuple[Result, int]]) -> dict[str, Tally]:
    tallies: dict[str, Tally] = defaultdict(Tally)
    for step, (result, freed) in zip(steps, came, strict=True):
        if result is not Result.SKIPPED:
            tallies[step.due.profile_id].add(step.stage, result, freed)
    return dict(tallies)

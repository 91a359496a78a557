"""MemoryService against a model of itself: the same steps, in any order, leave the same behind."""

from __future__ import annotations

import asyncio
import copy
from contextlib import closing
from itertools import count
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from hypothesis import HealthCheck, settings
from hypothesis import strategies as some
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from treering.access.v1 import access_service_pb2 as access_pb
from treering.access.v1 import quota_pb2
from treering.memory.v1 import memory_pb2, session_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.rig.agents import Agent
from tests.rig.house import House, unknown_id
from tests.rig.memory_model import FAILURE, SHOCK, SUCCESS, Model, Remembered, Seen, Session

EXAMPLES = 40
STEPS = 30
NAMES = ("chat", "work")
TEXTS = tuple(
    f"The {what} is {how}." for what in ("build", "deploy", "crane") for how in ("red", "late", "new")
)
OUTCOMES = (0, 1, 1, 2, 3)
MEMORIES_MAX = 7
"""Few enough to be reached; deleting gives room back."""
KEYS = ("", "", "", "a", "b", "c", "d", "e")
profiles = count()


def shown(memory: memory_pb2.Memory, content: str = "") -> tuple[object, ...]:
    """The same of a memory that the service shows."""
    score = memory.success_score if memory.HasField("success_score") else None
    text = memory.content or content
    return (
        memory.id,
        memory.session_id,
        text,
        memory.position,
        memory.outcome,
        memory.reinforcement_count,
        score,
        memory.ring,
        memory.version,
        memory.superseded_by,
    )


observations = some.builds(
    Seen, some.sampled_from(TEXTS), some.sampled_from(OUTCOMES), some.sampled_from(KEYS)
)


class Machine(RuleBasedStateMachine):
    """Does a step with the service and with the model, and compares."""

    address: str
    admin: Any
    sessions = Bundle[str]("sessions")

    def __init__(self) -> None:
        super().__init__()
        made = self.admin.CreateProfile(
            access_pb.CreateProfileRequest(owner="machine", workspace="machine", profile=str(next(profiles)))
        )
        quota = quota_pb2.Quota(memories_max=MEMORIES_MAX)
        self.admin.SetQuota(access_pb.SetQuotaRequest(profile_id=made.profile.id, quota=quota))
        key = self.admin.CreateKey(access_pb.CreateKeyRequest(profile_id=made.profile.id, name="machine"))
        self.agent = Agent(self.address, key.secret)
        self.memory: Any = self.agent.memory
        self.model = Model(MEMORIES_MAX)

    def teardown(self) -> None:
        """Let go of the connection."""
        self.agent.close()

    @rule(target=sessions, name=some.sampled_from(NAMES))
    def start(self, name: str) -> str:
        """Start a session: the open one of this name, or a new one."""
        told: str = self.memory.StartSession(pb.StartSessionRequest(content_session_id=name)).session.id
        there = [one.id for one in self.model.sessions.values() if one.open and one.name == name]
        if there:
            assert [told] == there
        else:
            assert told not in self.model.sessions
            self.model.sessions[told] = Session(told, name)
        return told

    @rule(session=sessions)
    def end(self, session: str) -> None:
        """End a session: once for all."""
        told: pb.EndSessionResponse = self.memory.EndSession(pb.EndSessionRequest(session_id=session))
        known = self.model.sessions[session]
        mine = [one for one in self.model.memories if one.session == session]
        if known.report is None:
            assert told.z_report.observation_count == sum(1 + one.reinforced - one.helped for one in mine)
            assert told.z_report.success_count == sum(one.successes for one in mine)
            assert told.z_report.failure_count == sum(one.failures for one in mine)
            known.open, known.report = False, told
            self.model.promoted(session, told.z_report)
        assert told.z_report == self.model.report(session)
        read = self.memory.GetZReport(pb.GetZReportRequest(session_id=session)).z_report
        assert read == told.z_report

    @rule(session=sessions, seen=observations)
    def observe(self, session: str, seen: Seen) -> None:
        """Observe one thing."""
        after = copy.deepcopy(self.model)
        expected = after.observe(session, [seen])
        request = pb.ObserveRequest(session_id=session)
        request.MergeFromString(seen.message().SerializeToString())
        told = self._called(self.memory.Observe, request, expected)
        if told is not None:
            self._took(after, session, [seen], [told.memory])
            used = after.keys[seen.key].reinforced if seen.key else told.memory.reinforcement_count > 0
            assert told.reinforced == used

    @rule(data=some.data(), seen=some.lists(observations, max_size=2))
    def repeat(self, data: some.DataObject, seen: list[Seen]) -> None:
        """Send again what was sent with a key, perhaps with something new, perhaps after it was deleted."""
        if self.model.keys:
            used = self.model.keys[data.draw(some.sampled_from(sorted(self.model.keys)))]
            self.observe_batch(used.session, [*seen, used.seen])

    @rule(session=sessions, seen=some.lists(observations, min_size=1, max_size=5))
    def observe_batch(self, session: str, seen: list[Seen]) -> None:
        """Observe several things, all or none."""
        after = copy.deepcopy(self.model)
        expected = after.observe(session, seen)
        request = pb.ObserveBatchRequest(session_id=session, observations=[one.message() for one in seen])
        told = self._called(self.memory.ObserveBatch, request, expected)
        if told is not None:
            self._took(after, session, seen, list(told.memories))

    @rule(data=some.data())
    def delete(self, data: some.DataObject) -> None:
        """Delete a memory; twice is once too often."""
        if not self.model.memories:
            return
        gone = data.draw(some.sampled_from(self.model.memories))
        request = pb.DeleteMemoryRequest(memory_id=gone.id)
        self.memory.DeleteMemory(request)
        self._called(self.memory.DeleteMemory, request, "MEMORY_NOT_FOUND")
        self.model.delete(gone)

    @rule(data=some.data())
    def undelete(self, data: some.DataObject) -> None:
        """Bring back what was deleted, unless its content was kept anew."""
        if self.model.deleted:
            back = data.draw(some.sampled_from(self.model.deleted))
            expected = self.model.undelete(back)
            told = self._called(
                self.memory.UndeleteMemory, pb.UndeleteMemoryRequest(memory_id=back.id), expected
            )
            assert told is None or shown(told.memory) == back.shown

    @rule(data=some.data(), outcome=some.sampled_from((1, 2, 2, 3)))
    def reinforce(self, data: some.DataObject, outcome: int) -> None:
        """Record how a memory did."""
        if not self.model.memories:
            return
        one = data.draw(some.sampled_from(self.model.memories))
        grew = outcome != FAILURE
        one.reinforced += grew
        one.helped += grew
        one.successes += outcome == SUCCESS
        one.failures += outcome == FAILURE
        one.settle(grew=grew)
        request = pb.ReinforceRequest(memory_id=one.id, outcome=memory_pb2.Outcome.Name(outcome))
        assert shown(self.memory.Reinforce(request).memory) == one.shown

    @rule(data=some.data(), ring=some.integers(1, 5), confirmed=some.booleans())
    def promote(self, data: some.DataObject, ring: int, confirmed: bool) -> None:
        """Put a memory into a ring, if it may stand there and may leave where it is."""
        if not self.model.memories:
            return
        one = data.draw(some.sampled_from(self.model.memories))
        expected = self.model.promote(one, ring, confirmed=confirmed)
        request = pb.PromoteRequest(
            memory_id=one.id,
            ring=memory_pb2.Ring.Name(ring),
            reason="So it is." if confirmed else "",
            demote_shock=confirmed,
        )
        told = self._called(self.memory.Promote, request, expected)
        assert told is None or shown(told.memory) == one.shown

    @rule(data=some.data(), content=some.sampled_from(TEXTS))
    def revise(self, data: some.DataObject, content: str) -> None:
        """Give a memory new content; what it said stays readable."""
        if not self.model.memories:
            return
        one = data.draw(some.sampled_from(self.model.memories))
        expected = self.model.revise(one, content)
        told = self._called(self.memory.Revise, pb.ReviseRequest(memory_id=one.id, content=content), expected)
        assert told is None or shown(told.memory) == one.shown
        versions = self.memory.ListVersions(pb.ListVersionsRequest(memory_id=one.id)).versions
        assert [each.content for each in versions] == [*one.versions, one.content][::-1]

    @rule(data=some.data(), content=some.sampled_from(TEXTS))
    def supersede(self, data: some.DataObject, content: str) -> None:
        """Close a memory with a newer one."""
        if not self.model.memories:
            return
        one = data.draw(some.sampled_from(self.model.memories))
        expected = self.model.supersede(one, content)
        told = self._called(
            self.memory.Supersede, pb.SupersedeRequest(memory_id=one.id, content=content), expected
        )
        if told is not None:
            newer = next(each for each in self.model.memories if each.id in (told.memory.id, ""))
            self._learn(newer, told.memory.id)
            one.successor = newer.id
            assert shown(told.memory) == newer.shown
            assert shown(told.superseded, one.content) == one.shown

    @rule(size=some.integers(1, 4))
    def list_all(self, size: int) -> None:
        """All pages together are all memories, the newest first."""
        told = self._pages(pb.ListMemoriesRequest(page_size=size))
        assert [one.id for one in told] == [one.id for one in reversed(self.model.memories)]

    @rule(session=sessions, size=some.integers(1, 4))
    def list_one(self, session: str, size: int) -> None:
        """The same of one session."""
        told = self._pages(pb.ListMemoriesRequest(session_id=session, page_size=size))
        mine = [one for one in reversed(self.model.memories) if one.session == session]
        assert [shown(one, known.content) for one, known in zip(told, mine, strict=True)] == [
            one.shown for one in mine
        ]
        kept = self.memory.GetSession(pb.GetSessionRequest(session_id=session)).session
        assert kept.observation_count == len(mine)

    @rule(data=some.data())
    def read(self, data: some.DataObject) -> None:
        """Read some, in the order asked for, and one that is not there."""
        wanted = (
            data.draw(some.lists(some.sampled_from(self.model.memories), unique_by=id))
            if self.model.memories
            else []
        )
        nobody = unknown_id()
        ids = [one.id for one in wanted]
        told = self.memory.GetMemories(pb.GetMemoriesRequest(memory_ids=[*ids, nobody]))
        assert [shown(one) for one in told.memories] == [one.shown for one in wanted]
        assert list(told.missing_ids) == [nobody]

    @rule(text=some.sampled_from(TEXTS))
    def search(self, text: str) -> None:
        """A text that is remembered is the first hit for itself; of what is gone nothing is found."""
        told = self.memory.Search(pb.SearchRequest(query=text, limit=50))
        ahead = [hit.memory_id for hit in told.hits if hit.ahead]
        others = [hit.memory_id for hit in told.hits if not hit.ahead]
        holding = {one.id: one for one in self.model.memories if not one.successor}
        exact = {one.id for one in holding.values() if one.content == text} - set(ahead)
        assert [hit.memory_id for hit in told.hits] == [*ahead, *others]
        assert all(holding[one].ring == SHOCK for one in ahead)
        assert set(others[: len(exact)]) == exact
        assert {*ahead, *others} <= set(holding)

    @invariant()
    def counts(self) -> None:
        """Numbers are those of the model at any time."""
        told: pb.GetStatsResponse = self.memory.GetStats(pb.GetStatsRequest())
        opened = [one for one in self.model.sessions.values() if one.open]
        assert told.memory_count == sum(ring.count for ring in told.rings) == len(self.model.memories)
        assert (told.session_count, told.open_session_count) == (len(self.model.sessions), len(opened))
        states = pb.ListSessionsRequest(state=session_pb2.SESSION_STATE_OPEN)
        listed = self.memory.ListSessions(states).sessions
        assert {one.id for one in listed} == {one.id for one in opened}

    def _called(self, method: Any, request: object, expected: str) -> Any:
        """The answer, or nothing when the call was refused for the reason that was expected."""
        if not expected:
            return method(request)
        with pytest.raises(grpc.RpcError) as caught:
            method(request)
        status: Any = rpc_status.from_call(caught.value)  # pyright: ignore[reportArgumentType]
        info = error_details_pb2.ErrorInfo()
        for packed in status.details:
            packed.Unpack(info)
        assert info.reason == expected
        return None

    def _took(self, after: Model, session: str, seen: list[Seen], told: list[memory_pb2.Memory]) -> None:
        """Learn the ids of new memories, and compare what was answered."""
        for one, memory in zip(seen, told, strict=True):
            known = after.kept_by(session, one)
            assert known
            if not known.id:
                known.id = memory.id
                after.born.append(memory.id)
            assert shown(memory) == known.shown
        self.model = after

    def _learn(self, known: Remembered, told: str) -> None:
        """Learn the id of a new memory."""
        if not known.id:
            known.id = told
            self.model.born.append(told)

    def _pages(self, request: pb.ListMemoriesRequest) -> list[memory_pb2.Memory]:
        told: list[memory_pb2.Memory] = []
        for _ in range(100):
            page = self.memory.ListMemories(request)
            told += page.memories
            assert len(page.memories) <= request.page_size
            if not page.next_page_token:
                return told
            request.page_token = page.next_page_token
        raise AssertionError("the pages do not end")


@pytest.mark.timeout(600)  # a failure takes long to be made small
async def test_the_service_does_what_the_model_does(house_site: House) -> None:
    """Sessions, observations with keys and without, batches, lists, reads, searches, deletes and counts."""
    bounded = settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    with closing(Agent(house_site.grpc, house_site.key)) as admin:
        kind = type("Machine", (Machine,), {"address": house_site.grpc, "admin": admin.access})
        await asyncio.to_thread(run_state_machine_as_test, kind, settings=bounded)

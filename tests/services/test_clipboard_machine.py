"""ClipboardService against a model of itself: the same steps, in any order, leave the same behind."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from hypothesis import HealthCheck, settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from treering.access.v1 import access_service_pb2 as access_pb
from treering.clipboard.v1 import clipboard_pb2
from treering.clipboard.v1 import clipboard_service_pb2 as pb

from tests.rig.agents import Agent
from tests.rig.house import House

EXAMPLES = 25
STEPS = 30
NAMES = ("a", "b", "c")
KEYS = ("", "", "k", "l", "m")
PRIVATE, WORKSPACE, PUBLIC = 1, 2, 3
profiles = count()


@dataclass(frozen=True)
class Put:
    """What is put in."""

    value: str
    encoding: str
    visibility: int

    @property
    def fields(self) -> dict[str, Any]:
        """For a request."""
        return {"value": self.value, "encoding": self.encoding, "visibility": self.visibility}


@dataclass(frozen=True)
class Kept:
    """What the model knows of an entry."""

    id: str
    put: Put
    name: str = ""
    position: int = 0

    def shown(self, depth: int = 0) -> tuple[object, ...]:
        """What the service has to show of it."""
        put = self.put
        place = (None, None) if self.name else (depth, self.position)
        size = len(put.value.encode())
        return (self.id, self.name, *place, put.value, put.encoding, put.visibility, size)


@dataclass
class Model:
    """What a profile's clipboard holds."""

    named: dict[str, Kept] = field(default_factory=dict[str, Kept])
    stack: list[Kept] = field(default_factory=list[Kept])
    """The newest last."""
    order: list[str] = field(default_factory=list[str])
    """Ids, the oldest first."""
    version: int = 0
    positions: int = 0
    pushes: dict[str, tuple[Put, Kept, int]] = field(default_factory=dict[str, tuple[Put, Kept, int]])
    pops: dict[str, tuple[Kept | None, int]] = field(default_factory=dict[str, tuple[Kept | None, int]])
    """By idempotency key; nothing once it was cleared."""

    def depth(self, kept: Kept) -> int:
        """How many of the stack are newer."""
        return 0 if kept.name else len(self.stack) - 1 - self.stack.index(kept)

    def all(self) -> dict[str, Kept]:
        """Everything, by id."""
        return {kept.id: kept for kept in (*self.named.values(), *self.stack)}


def shown(entry: clipboard_pb2.Entry) -> tuple[object, ...]:
    """The same of an entry that the service shows."""
    depth = entry.depth if entry.HasField("depth") else None
    position = entry.position if entry.HasField("position") else None
    put = (entry.value, entry.encoding, entry.visibility, entry.size_bytes)
    return (entry.id, entry.name, depth, position, *put)


puts = some.one_of(
    some.builds(
        Put,
        some.text(some.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
        some.just("utf-8"),
        some.sampled_from((1, 1, 2, 3)),
    ),
    some.builds(Put, some.binary(max_size=5).map(bytes.hex), some.just("hex"), some.sampled_from((1, 2, 3))),
)


class Machine(RuleBasedStateMachine):
    """Does a step with the service and with the model, and compares."""

    address: str
    admin: Any

    def __init__(self) -> None:
        super().__init__()
        number = next(profiles)
        self.profile, self.agent = self._somebody("here", number)
        _, self.colleague = self._somebody("here", number + 1_000_000)
        _, self.stranger = self._somebody("elsewhere", number)
        self.clipboard: Any = self.agent.clipboard
        self.model = Model()

    def _somebody(self, workspace: str, number: int) -> tuple[str, Agent]:
        names = {"owner": "clipboard machine", "workspace": workspace, "profile": str(number)}
        made = self.admin.CreateProfile(access_pb.CreateProfileRequest(**names))
        key = self.admin.CreateKey(access_pb.CreateKeyRequest(profile_id=made.profile.id, name="machine"))
        return made.profile.id, Agent(self.address, key.secret)

    def teardown(self) -> None:
        """Let go of the connections."""
        for agent in (self.agent, self.colleague, self.stranger):
            agent.close()

    @rule(name=some.sampled_from(NAMES), put=puts)
    def set(self, name: str, put: Put) -> None:
        """Set a name: the same entry, or a new one."""
        told = self.clipboard.Set(pb.SetRequest(name=name, **put.fields)).entry
        there = self.model.named.get(name)
        if there:
            assert told.id == there.id
        else:
            assert told.id not in self.model.order
            self.model.order.append(told.id)
        self.model.named[name] = Kept(told.id, put, name)
        assert shown(told) == self.model.named[name].shown()

    @rule(name=some.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        """Delete a name, if it is there."""
        request = pb.DeleteRequest(name=name)
        self._called(self.clipboard.Delete, request, "" if name in self.model.named else "ENTRY_NOT_FOUND")
        self.model.named.pop(name, None)

    @rule(put=puts, key=some.sampled_from(KEYS))
    def push(self, put: Put, key: str) -> None:
        """Push, or repeat a push, or use a key for something else."""
        model, before = self.model, self.model.pushes.get(key)
        reused = key in model.pops or (before is not None and before[0] != put)
        request = pb.PushRequest(idempotency_key=key, **put.fields)
        told = self._called(self.clipboard.Push, request, "IDEMPOTENCY_KEY_REUSED" if reused else "")
        if told is None:
            return
        if before is None:
            model.version += 1
            model.positions += 1
            kept = Kept(told.entry.id, put, position=model.positions)
            model.stack.append(kept)
            model.order.append(kept.id)
            before = (put, kept, model.version)
            if key:
                model.pushes[key] = before
        assert (shown(told.entry), told.stack_version) == (before[1].shown(), before[2])

    @rule(key=some.sampled_from(KEYS))
    def pop(self, key: str) -> None:
        """Pop, or repeat a pop, or use a key for something else."""
        model = self.model
        known = model.pops.get(key)
        if key in model.pushes:
            expected = "IDEMPOTENCY_KEY_REUSED"
        elif known is not None:
            expected = "" if known[0] else "ENTRY_NOT_FOUND"
        else:
            expected = "" if model.stack else "STACK_EMPTY"
        told = self._called(self.clipboard.Pop, pb.PopRequest(idempotency_key=key), expected)
        if told is None:
            return
        if known is None:
            model.version += 1
            known = (model.stack.pop(), model.version)
            if key:
                model.pops[key] = known
        assert known[0]
        assert (shown(told.entry), told.stack_version) == (known[0].shown(), known[1])

    @rule(depth=some.integers(0, 4))
    def peek(self, depth: int) -> None:
        """Look at the stack."""
        model = self.model
        there = depth < len(model.stack)
        request = pb.PeekRequest(depth=depth)
        told = self._called(self.clipboard.Peek, request, "" if there else "ENTRY_NOT_FOUND")
        if there:
            assert shown(told.entry) == model.stack[-1 - depth].shown(depth)
            assert told.stack_version == model.version

    @rule()
    def clear(self) -> None:
        """Remove everything."""
        model = self.model
        told = self.clipboard.Clear(pb.ClearRequest())
        model.version += 1
        assert (told.cleared_count, told.stack_version) == (len(model.all()), model.version)
        model.named, model.stack = {}, []
        model.pops = {key: (None, version) for key, (_, version) in model.pops.items()}

    @rule(size=some.integers(1, 4))
    def list(self, size: int) -> None:
        """All pages together are everything, the newest first."""
        model = self.model
        kept = [model.all()[one] for one in reversed(model.order) if one in model.all()]
        told = self._pages(pb.ListRequest(page_size=size))
        assert [shown(entry) for entry in told] == [one.shown(model.depth(one)) for one in kept]

    @invariant()
    def names(self) -> None:
        """Each name reads as the model says, by its owner and by others as far as they may."""
        readers = ((self.agent, PRIVATE), (self.colleague, WORKSPACE), (self.stranger, PUBLIC))
        for name in NAMES:
            kept = self.model.named.get(name)
            for reader, least in readers:
                visible = kept is not None and kept.put.visibility >= least
                request = pb.GetRequest(name=name, profile_id=self.profile)
                told = self._called(reader.clipboard.Get, request, "" if visible else "ENTRY_NOT_FOUND")
                assert not (kept and visible) or shown(told.entry) == kept.shown()

    @invariant()
    def others(self) -> None:
        """Others see of the stack what they may, as if the rest were not there."""
        for reader, least in ((self.colleague, WORKSPACE), (self.stranger, PUBLIC)):
            mine = [kept for kept in self.model.stack if kept.put.visibility >= least]
            listed = reader.clipboard.List(pb.ListRequest(profile_id=self.profile)).entries
            seen = [entry for entry in listed if not entry.name]
            expected = [replace(kept).shown(depth) for depth, kept in enumerate(reversed(mine))]
            assert [shown(entry) for entry in seen] == expected

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

    def _pages(self, request: pb.ListRequest) -> Any:
        told: Any = []
        for _ in range(100):
            page = self.clipboard.List(request)
            told += page.entries
            assert len(page.entries) <= request.page_size
            if not page.next_page_token:
                return told
            request.page_token = page.next_page_token
        raise AssertionError("the pages do not end")


@pytest.mark.timeout(600)  # a failure takes long to be made small
async def test_the_service_does_what_the_model_does(house_site: House) -> None:
    """Names, stack, keys, lists, clearing, and what others may see of them."""
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

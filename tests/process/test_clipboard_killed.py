"""The house is killed in the middle of pushes: what it acknowledged is there afterwards, each once."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from treering.access.v1 import access_service_pb2 as access_pb
from treering.clipboard.v1 import clipboard_service_pb2 as pb

from tests.rig.agents import Agent
from tests.rig.process import Premises, soon

WRITERS = 8
PUSHED_MIN = 200
"""So much is acknowledged before the kill."""
CALL_SECONDS = 20


class Pushers:
    """Many who push and set names at once, each call with a key of its own."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._stop = threading.Event()
        self.tried: set[str] = set()
        """Values, before the answer."""
        self.pushed: dict[str, int] = {}
        """The version of the stack by value, after it."""
        self.named: dict[str, str] = {}
        """The last value that was acknowledged, by name."""

    def run(self, number: int) -> None:
        """Push until told to stop, or until nobody answers."""
        at = 0
        while not self._stop.is_set():
            value = f"{number} {at}"
            self.tried.add(value)
            try:
                self.pushed[value] = push(self._agent, value).stack_version
                request = pb.SetRequest(name=str(number), value=value)
                self.named[str(number)] = self._agent.clipboard.Set(request, timeout=CALL_SECONDS).entry.value
            except grpc.RpcError:
                return
            at += 1

    def stop(self) -> None:
        """Let everybody finish the call that they are in."""
        self._stop.set()


def push(agent: Agent, value: str) -> pb.PushResponse:
    """One push, known again by its value."""
    return agent.clipboard.Push(pb.PushRequest(value=value, idempotency_key=value), timeout=CALL_SECONDS)


def emptied(agent: Agent) -> list[str]:
    """Everything on the stack, the newest first."""
    values: list[str] = []
    while True:
        try:
            values.append(agent.clipboard.Pop(pb.PopRequest(), timeout=CALL_SECONDS).entry.value)
        except grpc.RpcError as refused:
            call: Any = refused
            assert call.code() is grpc.StatusCode.NOT_FOUND
            return values


@pytest.mark.timeout(300)
def test_a_killed_house_has_every_acknowledged_entry(open_house: Premises) -> None:
    """kill -9 under eight writers. Pushed again with its key, each entry is the one that it was."""
    with open_house.agent() as admin:
        names = {"owner": "killed", "workspace": "clipboard", "profile": str(time.time_ns())}
        made = admin.access.CreateProfile(access_pb.CreateProfileRequest(**names))
        key = admin.access.CreateKey(access_pb.CreateKeyRequest(profile_id=made.profile.id, name="killed"))
    with open_house.agent(key.secret) as agent, ThreadPoolExecutor(WRITERS) as threads:
        pushers = Pushers(agent)
        for number in range(WRITERS):
            threads.submit(pushers.run, number)
        assert soon(lambda: len(pushers.pushed) >= PUSHED_MIN)
        open_house.signal(signal.SIGKILL)
        pushers.stop()
    acknowledged = dict(pushers.pushed)
    assert soon(lambda: not open_house.servers())
    open_house.open()

    with open_house.agent(key.secret) as agent:
        again = {value: push(agent, value).stack_version for value in sorted(pushers.tried)}
        named = {
            name: agent.clipboard.Get(pb.GetRequest(name=name), timeout=CALL_SECONDS).entry.value
            for name in pushers.named
        }
        left = emptied(agent)

    assert acknowledged.items() <= again.items()
    assert left == sorted(again, key=lambda value: -again[value])
    for name, value in named.items():
        assert at(value) >= at(pushers.named[name])


def at(value: str) -> int:
    """Which of its writer's values it is."""
    return int(value.split()[1])

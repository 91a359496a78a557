"""The house is killed in the middle of puts: what it acknowledged is there afterwards, byte for byte."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from treering.access.v1 import access_service_pb2 as access_pb
from treering.results.v1 import results_service_pb2 as pb

from tests.rig.agents import Agent
from tests.rig.process import Premises, soon

WRITERS = 8
PUT_MIN = 200
"""So much is acknowledged before the kill."""
CALL_SECONDS = 20


class Workers:
    """Many who put results into one run."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._stop = threading.Event()
        self.tried: set[str] = set()
        """Tasks, before the answer."""
        self.put: dict[str, int] = {}
        """The position by task, after it."""

    def run(self, number: int) -> None:
        """Put until told to stop, or until nobody answers."""
        at = 0
        while not self._stop.is_set():
            task = f"{number}-{at}"
            self.tried.add(task)
            try:
                self.put[task] = put(self._agent, task)
            except grpc.RpcError:
                return
            at += 1

    def stop(self) -> None:
        """Let everybody finish the call that they are in."""
        self._stop.set()


def put(agent: Agent, task: str) -> int:
    """Put a result that is told by its task, and answer its position."""
    request = pb.PutResultRequest(workflow_id="w", task_id=task, content=f"of {task}")
    return agent.results.PutResult(request, timeout=CALL_SECONDS).step.position


@pytest.mark.timeout(300)
def test_a_killed_house_has_every_acknowledged_result(open_house: Premises) -> None:
    """kill -9 under eight workers. Put again, each result is the one that it was."""
    with open_house.agent() as admin:
        names = {"owner": "killed", "workspace": "results", "profile": str(time.time_ns())}
        made = admin.access.CreateProfile(access_pb.CreateProfileRequest(**names))
        key = admin.access.CreateKey(access_pb.CreateKeyRequest(profile_id=made.profile.id, name="killed"))
    with open_house.agent(key.secret) as agent, ThreadPoolExecutor(WRITERS) as threads:
        workers = Workers(agent)
        for number in range(WRITERS):
            threads.submit(workers.run, number)
        assert soon(lambda: len(workers.put) >= PUT_MIN)
        open_house.signal(signal.SIGKILL)
        workers.stop()
    acknowledged = dict(workers.put)
    assert soon(lambda: not open_house.servers())
    open_house.open()

    with open_house.agent(key.secret) as agent:
        for task in acknowledged:
            request = pb.GetResultRequest(workflow_id="w", task_id=task)
            result = agent.results.GetResult(request, timeout=CALL_SECONDS).result
            assert (result.content, result.position) == (f"of {task}", acknowledged[task])
        again = {task: put(agent, task) for task in sorted(workers.tried)}

    assert acknowledged.items() <= again.items()
    assert sorted(again.values()) == list(range(1, len(again) + 1))

"""The house is told to stop, or killed, in the middle of work."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.rig.agents import Agent
from tests.rig.process import Premises, soon

INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
MEMORY = "treering.memory.v1.MemoryService"
WRITERS = 16
KEPT_MIN = 150
"""So much is acknowledged before the kill."""
LONG_TEXTS = 10
LONG = "What the harbour master wrote about berth {}: " + "tide, wind and cargo were as expected. " * 40
READ_AT_ONCE = 50
KILLS_MAX = 5
NOTICED_SECONDS_MAX = 6


class Writers:
    """Many who observe at once, each with a key of its own for every observation."""

    def __init__(self, agent: Agent, session: str) -> None:
        self._agent = agent
        self._session = session
        self._stop = threading.Event()
        self.tried: dict[str, str] = {}
        """Content by idempotency key, before the answer."""
        self.kept: dict[str, str] = {}
        """Memory by idempotency key, after it."""
        self.codes: set[str] = set()
        """With what calls were refused."""

    def run(self, number: int) -> None:
        """Write until told to stop; what is refused is tried again with the same key."""
        at = 0
        while not self._stop.is_set():
            key, content = f"{self._session} {number} {at}", f"Writer {number} saw ship {at}."
            self.tried[key] = content
            try:
                self.kept[key] = observe(self._agent, self._session, content, key).memory.id
            except grpc.RpcError as refused:
                self.codes.add(code(refused))
                time.sleep(0.1)
                continue
            at += 1

    def stop(self) -> None:
        """Let everybody finish the call that they are in."""
        self._stop.set()

    def retried(self, agent: Agent) -> dict[str, str]:
        """The answers to all that was tried, sent again as it was."""

        def again(key: str) -> str:
            return observe(agent, self._session, self.tried[key], key).memory.id

        with ThreadPoolExecutor(WRITERS) as threads:
            return dict(zip(self.tried, threads.map(again, self.tried), strict=True))


def code(refused: grpc.RpcError) -> str:
    """The code that a call was refused with."""
    call: Any = refused
    return call.code().name


def session_of(agent: Agent, name: str) -> str:
    """The id of an open session."""
    return agent.memory.StartSession(pb.StartSessionRequest(content_session_id=name)).session.id


def observe(agent: Agent, session: str, content: str, key: str) -> pb.ObserveResponse:
    """One observation."""
    request = pb.ObserveRequest(session_id=session, content=content, type=INSIGHT, idempotency_key=key)
    return agent.memory.Observe(request, timeout=20)


def found(agent: Agent, ids: list[str]) -> set[str]:
    """Those of some memories that can be read."""
    pages = [ids[at : at + READ_AT_ONCE] for at in range(0, len(ids), READ_AT_ONCE)]
    answers = [agent.memory.GetMemories(pb.GetMemoriesRequest(memory_ids=page)) for page in pages]
    return {memory.id for answer in answers for memory in answer.memories}


def at_work(writers: Writers, threads: ThreadPoolExecutor) -> None:
    """Let all of them write, until a good deal is kept."""
    for number in range(WRITERS):
        threads.submit(writers.run, number)
    assert soon(lambda: len(writers.kept) >= KEPT_MIN)


@pytest.mark.parametrize("order", [signal.SIGTERM, signal.SIGINT], ids=lambda order: order.name)
def test_what_is_under_way_is_finished(open_house: Premises, order: signal.Signals) -> None:
    """Calls over gRPC and REST that have begun are answered; the house ends with 0, and its Postgres too."""
    with open_house.agent() as agent, open_house.rest() as rest, ThreadPoolExecutor(2) as threads:
        session = session_of(agent, f"stopped by {order.name}")
        texts = [LONG.format(f"{order.name} {number}") for number in range(2 * LONG_TEXTS)]
        mine = [pb.Observation(content=text, type=INSIGHT) for text in texts[:LONG_TEXTS]]
        theirs = [{"content": text, "type": "insight"} for text in texts[LONG_TEXTS:]]
        calls: list[Future[Any]] = [
            threads.submit(
                agent.memory.ObserveBatch, pb.ObserveBatchRequest(session_id=session, observations=mine)
            ),
            threads.submit(
                rest.post, "/v1/observations:batch", json={"session_id": session, "observations": theirs}
            ),
        ]
        time.sleep(0.2)
        open_house.signal(order)
        under_way = [not call.done() for call in calls]
        over_grpc, over_rest = (call.result() for call in calls)
        ended = open_house.ended()
        left = open_house.servers()

    assert under_way == [True, True]
    assert len(over_grpc.memories) == LONG_TEXTS
    assert over_rest.status_code == 200
    assert (ended, left) == (0, [])
    open_house.open()
    with open_house.agent() as agent:
        ids = [memory.id for memory in over_grpc.memories]
        ids += [memory["id"] for memory in over_rest.json()["memories"]]
        assert found(agent, ids) == set(ids)


def test_a_killed_house_loses_nothing_it_acknowledged(open_house: Premises) -> None:
    """M1: kill -9 under sixteen writers: no Postgres stays, and the next start has all that was answered.

    Sent again with its key, each observation is the memory that it was; what was never answered is kept once.
    """
    with open_house.agent() as agent, ThreadPoolExecutor(WRITERS) as threads:
        session = session_of(agent, "killed")
        before = agent.memory.GetStats(pb.GetStatsRequest()).memory_count
        writers = Writers(agent, session)
        at_work(writers, threads)
        open_house.signal(signal.SIGKILL)
        writers.stop()
    if sys.platform == "linux":
        assert soon(lambda: not open_house.servers())
    acknowledged = dict(writers.kept)
    open_house.open()

    with open_house.agent() as agent:
        assert found(agent, list(acknowledged.values())) == set(acknowledged.values())
        first, second = writers.retried(agent), writers.retried(agent)
        after = agent.memory.GetStats(pb.GetStatsRequest()).memory_count
    assert first == second
    assert acknowledged.items() <= first.items()
    assert after - before == len(writers.tried)


def test_a_killed_database_comes_back(open_house: Premises) -> None:
    """kill -9 of Postgres under sixteen writers: said to be away on every door, then well again by itself.

    Nothing that was acknowledged is lost, and nothing is said but UNAVAILABLE.
    """
    seen = Seen(open_house)
    with open_house.agent() as agent, open_house.rest() as rest, ThreadPoolExecutor(WRITERS + 1) as threads:
        threads.submit(seen.watch, agent)
        writers = Writers(agent, session_of(agent, "database killed"))
        at_work(writers, threads)
        went = any(seen.killed(rest) for _ in range(KILLS_MAX))
        came = soon(lambda: seen.told(rest, away=False))
        again = len(writers.kept)
        assert soon(lambda: len(writers.kept) > again + WRITERS)
        writers.stop()
        seen.stop()

    assert went, seen
    assert came, seen
    assert writers.codes == {"UNAVAILABLE"}
    with open_house.agent() as agent:
        ids = set(writers.kept.values())
        assert found(agent, list(ids)) == ids


class Seen:
    """What can be seen of the house from outside."""

    def __init__(self, house: Premises) -> None:
        self._house = house
        self._call: Any = None
        self.watched: list[int] = []
        """By health's Watch, from first to last."""
        self.ready: set[int] = set()
        self.stats: set[int] = set()
        """HTTP statuses so far."""

    def watch(self, agent: Agent) -> None:
        """Note what health says, until told to stop."""
        self._call = agent.health.Watch(health_pb2.HealthCheckRequest(service=MEMORY))
        try:
            self.watched += (answer.status for answer in self._call)
        except grpc.RpcError:
            return

    def stop(self) -> None:
        """Watch no longer."""
        self._call.cancel()

    def killed(self, rest: Any) -> bool:
        """Kill Postgres. Whether every door said so: it may be back before health is asked."""
        os.kill(self._house.postmaster, signal.SIGKILL)
        return soon(lambda: self.told(rest, away=True), NOTICED_SECONDS_MAX)

    def told(self, rest: Any, *, away: bool) -> bool:
        """Whether every door says that the database is away, or that it is there again."""
        self.ready.add(ready := rest.get("/readyz").status_code)
        self.stats.add(stats := rest.get("/v1/stats").status_code)
        if away:
            return {
                503
            } <= self.ready & self.stats and health_pb2.HealthCheckResponse.NOT_SERVING in self.watched
        return (ready, stats, self.watched[-1]) == (200, 200, health_pb2.HealthCheckResponse.SERVING)

    def __repr__(self) -> str:
        """For the message of a test that fails."""
        return f"watched {self.watched}, ready {self.ready}, stats {self.stats}"

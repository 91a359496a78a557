"""Results, runs and their journal against a model: the same steps, in any order, leave the same behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
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
from treering.results.v1 import journal_service_pb2 as journal_pb
from treering.results.v1 import results_service_pb2 as pb
from treering.results.v1 import run_service_pb2 as runs_pb

from tests.rig.agents import Agent
from tests.rig.house import House

EXAMPLES = 25
STEPS = 30
RUNNING, SUCCEEDED, FAILED, CANCELLED = 1, 2, 3, 4
GOALS = ("harvest",)
OUTCOMES = ("plenty",)
workflows = some.sampled_from(("v", "w"))
tasks = some.sampled_from(("a", "b", "c"))
contents = some.sampled_from(("", "x", "y"))
profiles = count()


@dataclass
class Run:
    """What the model knows of a run."""

    id: str
    goal: str | None = None
    """``None``: a result began it."""
    state: int = RUNNING
    finish: tuple[int, str] | None = None
    results: dict[str, tuple[int, str, int]] = field(default_factory=dict[str, tuple[int, str, int]])
    """Attempt, content and position by task."""
    position: int = 0
    turns: list[str] = field(default_factory=list[str])

    def final(self) -> str | tuple[str, str]:
        """A reason why there is none, or task and content; a thread and an outcome only by name."""
        if self.state == CANCELLED:
            return "RUN_CANCELLED"
        if self.state == RUNNING and self.goal is not None:
            return "RESULT_NOT_READY"
        if self.turns:
            return "", "thread"
        if not self.results:
            return "", "outcome"
        task = max(self.results, key=lambda name: self.results[name][2])
        return task, self.results[task][1]


class Machine(RuleBasedStateMachine):
    """Does a step with the services and with the model, and compares."""

    address: str
    admin: Any

    def __init__(self) -> None:
        super().__init__()
        names = {"owner": "machine", "workspace": "results", "profile": f"results-{next(profiles)}"}
        made = self.admin.CreateProfile(access_pb.CreateProfileRequest(**names))
        key = self.admin.CreateKey(access_pb.CreateKeyRequest(profile_id=made.profile.id, name="machine"))
        self.agent = Agent(self.address, key.secret)
        self.results: Any = self.agent.results
        self.runs: Any = self.agent.runs
        self.journal: Any = self.agent.journal
        self.known: dict[str, Run] = {}

    def teardown(self) -> None:
        """Let go of the connection."""
        self.agent.close()

    @rule(workflow=workflows, task=tasks, content=contents, attempt=some.integers(1, 3))
    def put(self, workflow: str, task: str, content: str, attempt: int) -> None:
        """Put a result."""
        run = self.known.get(workflow)
        there = run.results.get(task) if run else None
        same = there is not None and there[:2] == (attempt, content)
        expected = ""
        if run and not same and run.state == CANCELLED:
            expected = "RUN_CANCELLED"
        elif there and not same and attempt <= there[0]:
            expected = "RESULT_CONFLICT"
        request = pb.PutResultRequest(workflow_id=workflow, task_id=task, content=content, attempt=attempt)
        answer = told(self.results.PutResult, request, expected)
        if not expected:
            run = self.known.setdefault(workflow, Run(answer.step.run_id))
            if not same:
                run.position += 1
                run.results[task] = (attempt, content, run.position)
            assert (answer.step.run_id, answer.step.position) == (run.id, run.results[task][2])

    @rule(workflow=workflows, content=some.sampled_from(("p", "q")), number=some.integers(0, 4))
    def say(self, workflow: str, content: str, number: int) -> None:
        """Append a turn; 0: without a number."""
        run = self.known.get(workflow)
        turns = run.turns if run else []
        expected = ""
        if 0 < number <= len(turns):
            expected = "" if turns[number - 1] == content else "RESULT_CONFLICT"
        elif run and run.state == CANCELLED:
            expected = "RUN_CANCELLED"
        elif number > len(turns) + 1:
            expected = "TURN_OUT_OF_ORDER"
        request = pb.AppendTurnRequest(
            workflow_id=workflow, role="user", content=content, number=number or None
        )
        answer = told(self.results.AppendTurn, request, expected)
        if not expected:
            run = self.known.setdefault(workflow, Run(answer.run_id))
            if not 0 < number <= len(run.turns):
                run.turns.append(content)
                number = len(run.turns)
            assert (answer.turn.number, answer.run_id) == (number, run.id)

    @rule(workflow=workflows, goal=some.sampled_from(("", *GOALS)))
    def start(self, workflow: str, goal: str) -> None:
        """Start a run."""
        run = self.known.get(workflow)
        adopted = run is not None and run.goal is None and run.state == RUNNING
        expected = "RUN_EXISTS" if run and run.goal != goal and not adopted else ""
        answer = told(self.runs.StartRun, runs_pb.StartRunRequest(workflow_id=workflow, goal=goal), expected)
        if not expected:
            run = self.known.setdefault(workflow, Run(answer.run.id))
            run.goal = goal
            assert answer.run.id == run.id

    @rule(workflow=workflows, status=some.sampled_from((1, 2)), outcome=some.sampled_from(("", *OUTCOMES)))
    def finish(self, workflow: str, status: int, outcome: str) -> None:
        """Finish a run."""
        run = self.known.get(workflow)
        if run is None:
            return
        expected = ""
        if run.state == CANCELLED:
            expected = "RUN_CANCELLED"
        elif run.finish not in (None, (status, outcome)):
            expected = "RUN_CLOSED"
        request = runs_pb.FinishRunRequest(run_id=run.id, status=status, outcome=outcome)  # pyright: ignore[reportArgumentType]
        told(self.runs.FinishRun, request, expected)
        if not expected:
            run.finish, run.state = (status, outcome), status + 1

    @rule(workflow=workflows)
    def cancel(self, workflow: str) -> None:
        """Cancel a run."""
        run = self.known.get(workflow)
        if run is None:
            return
        expected = "RUN_CLOSED" if run.state in (SUCCEEDED, FAILED) else ""
        told(self.runs.CancelRun, runs_pb.CancelRunRequest(run_id=run.id), expected)
        if not expected:
            run.state = CANCELLED

    @rule(workflow=workflows)
    def final(self, workflow: str) -> None:
        """Redeem the final result."""
        run = self.known.get(workflow)
        final = run.final() if run else "RESULT_UNKNOWN"
        expected = final if isinstance(final, str) else ""
        answer = told(self.results.GetResult, pb.GetResultRequest(workflow_id=workflow), expected)
        if run and not expected:
            assert answer.result.task_id == final[0]
            if final[0]:
                assert answer.result.content == final[1]
            assert (answer.result.content_type == "application/json") == bool(run.turns)

    @invariant()
    def everything_is_there(self) -> None:
        """Steps in their order, each result's content, and where each run stands."""
        for workflow, run in self.known.items():
            steps = self.results.ListSteps(pb.ListStepsRequest(workflow_id=workflow)).steps
            order = sorted(run.results, key=lambda name: run.results[name][2])
            assert [step.task_id for step in steps] == order
            for task, (attempt, content, _) in run.results.items():
                kept = self.results.GetResult(pb.GetResultRequest(workflow_id=workflow, task_id=task)).result
                assert (kept.attempt, kept.content) == (attempt, content)
            status = self.runs.GetRunStatus(runs_pb.GetRunStatusRequest(run_id=run.id))
            assert (status.run.state, status.run.goal) == (run.state, run.goal or "")
            assert (status.succeeded_count, status.turn_count) == (len(run.results), len(run.turns))

    @invariant()
    def the_journal_has_what_was_finished(self) -> None:
        """Each finished run once, found by its words alone, and read as it was finished."""
        ended = {run.id: run for run in self.known.values() if run.finish}
        for word in (*GOALS, *OUTCOMES):
            hits = self.journal.SearchRuns(journal_pb.SearchRunsRequest(query=word)).hits
            expected = [each.id for each in ended.values() if word in (each.goal, *(each.finish or ()))]
            assert sorted(hit.run_id for hit in hits) == sorted(expected)
        for run in self.known.values():
            asked = journal_pb.GetRunRequest(run_id=run.id)
            answer = told(self.journal.GetRun, asked, "" if run.finish else "RUN_NOT_FOUND")
            if run.finish:
                episode = answer.episode
                assert (episode.goal, episode.status, episode.outcome) == (run.goal or "", *run.finish)


def told(call: Callable[[Any], Any], request: Any, expected: str) -> Any:
    """The answer of a call, or nothing where it is refused for the reason that is expected."""
    try:
        answer = call(request)
    except grpc.RpcError as error:
        info = error_details_pb2.ErrorInfo()
        status: Any = rpc_status.from_call(error)  # pyright: ignore[reportArgumentType]
        for packed in status.details:
            packed.Unpack(info)
        assert info.reason == expected
        return None
    assert not expected
    return answer


@pytest.mark.timeout(600)  # a failure takes long to be made small
async def test_the_services_do_what_the_model_does(house_site: House) -> None:
    """Results, turns, starts and ends, in any order."""
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

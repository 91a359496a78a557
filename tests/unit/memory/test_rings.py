"""Success is what was recorded, and LONG_TERM has to be earned."""

from __future__ import annotations

import pytest
from treering.memory.v1 import memory_pb2, session_pb2

from services.memory.memories.rings import Outcome, Ring, Stage, Type, may_promote, success_score
from services.memory.sessions.session import SessionState


def test_without_a_record_there_is_no_score() -> None:
    """Nothing is invented: no success and no failure is no score."""
    assert success_score(0, 0) is None
    assert not may_promote(0, 0)


@pytest.mark.parametrize(
    ("successes", "failures", "score"), [(1, 0, 2 / 3), (0, 1, 1 / 3), (2, 0, 0.75), (6, 2, 0.7), (1, 1, 0.5)]
)
def test_score_is_the_mean_of_the_posterior(successes: int, failures: int, score: float) -> None:
    """(s + 1) / (s + f + 2)."""
    assert success_score(successes, failures) == pytest.approx(score)


def test_promotion_begins_at_seven_tenths() -> None:
    """Exactly 0.7 is enough; one failure more is not."""
    assert may_promote(6, 2)
    assert not may_promote(6, 3)


@pytest.mark.parametrize(
    ("ours", "prefix", "theirs"),
    [
        (Ring, "RING_", memory_pb2.Ring),
        (Stage, "STAGE_", memory_pb2.Stage),
        (Type, "OBSERVATION_TYPE_", memory_pb2.ObservationType),
        (SessionState, "SESSION_STATE_", session_pb2.SessionState),
    ],
)
def test_numbers_are_those_of_the_contract(ours: type, prefix: str, theirs: object) -> None:
    """Every name stands for the same number here and in the protos."""
    contract = {name: number for name, number in theirs.items() if number}  # type: ignore[attr-defined]

    assert {f"{prefix}{one.name}": one.value for one in ours} == contract  # type: ignore[attr-defined]


def test_outcomes_are_those_of_the_contract() -> None:
    """Zero is no outcome on either side."""
    assert [one.value for one in Outcome] == sorted(memory_pb2.Outcome.values())
    assert memory_pb2.OUTCOME_FAILURE == Outcome.FAILURE

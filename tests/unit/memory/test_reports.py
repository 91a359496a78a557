"""A Z-report says what was recorded, within its limits."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.memory.memories.rings import Outcome, Type
from services.memory.sessions.reports import (
    DECISIONS_MAX,
    EMPTY,
    KEY_OBSERVATIONS_MAX,
    SUMMARY_CHARS_MAX,
    TEXT_CHARS_MAX,
    TOOLS_MAX,
    Noted,
    Told,
    ToolUse,
    Totals,
    ZReport,
    summarise,
)


def noted(
    text: str, kind: Type = Type.INSIGHT, outcome: Outcome = Outcome.NOT_RECORDED, tool: str = ""
) -> Noted:
    """An observation made once."""
    return Noted(
        kind, outcome, text, tool, 1, int(outcome is Outcome.SUCCESS), int(outcome is Outcome.FAILURE)
    )


def test_an_empty_session_says_so() -> None:
    """No observation, no words about any."""
    assert summarise([], Totals(0, 0, 0)) == Told(EMPTY)


def test_key_observations_are_the_telling_ones_in_their_order() -> None:
    """Tool traffic gives way to what was understood; the order stays that of the session."""
    traffic = [noted(f"call {number}", Type.TOOL_CALL, tool="sh") for number in range(20)]
    told = summarise(
        [*traffic[:10], noted("first insight"), *traffic[10:], noted("a failure", Type.ERROR_PATTERN)],
        Totals(22, 0, 0),
    )

    assert len(told.key_observations) == KEY_OBSERVATIONS_MAX
    shown = [text for text in told.key_observations if not text.startswith("call")]
    assert shown == ["first insight", "a failure"]
    assert told.key_observations.index("first insight") < told.key_observations.index("a failure")


def test_decisions_are_the_latest() -> None:
    """Of more than fit, the last ones stand."""
    told = summarise(
        [noted(f"decision {number}", Type.DECISION) for number in range(DECISIONS_MAX + 5)], Totals(25, 0, 0)
    )

    assert len(told.decisions) == DECISIONS_MAX
    assert told.decisions[-1] == f"decision {DECISIONS_MAX + 4}"


def test_tools_are_counted_from_calls_and_results() -> None:
    """The most used first; other types name no tool."""
    told = summarise(
        [
            noted("run", Type.TOOL_CALL, tool="sh"),
            noted("ran", Type.TOOL_RESULT, Outcome.SUCCESS, tool="sh"),
            noted("broke", Type.TOOL_RESULT, Outcome.FAILURE, tool="git"),
            noted("thought", Type.INSIGHT, tool="mind"),
        ],
        Totals(4, 1, 1),
    )

    assert told.tools == (ToolUse("sh", 2, 1, 0, "ran"), ToolUse("git", 1, 0, 1, "broke"))
    assert "4 observations, 1 succeeded and 1 failed. Tools: sh (2), git (1)." in told.summary


@pytest.mark.parametrize(
    ("successes", "failures", "rate"), [(0, 0, None), (3, 1, 0.75), (0, 2, 0.0), (2, 0, 1.0)]
)
def test_success_rate_comes_from_what_was_recorded(successes: int, failures: int, rate: float | None) -> None:
    """Without a success or failure there is no rate."""
    report = ZReport(
        UUID(int=1), datetime(2031, 1, 1, tzinfo=UTC), Told("x"), Totals(9, successes, failures), 1
    )

    assert report.success_rate == rate


@given(
    st.lists(
        st.builds(
            noted,
            st.text(min_size=1, max_size=3000),
            st.sampled_from(Type),
            st.sampled_from(Outcome),
            st.text(max_size=200),
        ),
        max_size=80,
    )
)
def test_a_report_keeps_its_limits(notes: list[Noted]) -> None:
    """Whatever was observed, however much of it."""
    told = summarise(notes, Totals(len(notes), 0, 0))

    assert 0 < len(told.summary) <= SUMMARY_CHARS_MAX
    assert len(told.key_observations) <= KEY_OBSERVATIONS_MAX
    assert len(told.decisions) <= DECISIONS_MAX
    assert len(told.tools) <= TOOLS_MAX
    assert all(len(text) <= TEXT_CHARS_MAX for text in (*told.key_observations, *told.decisions))

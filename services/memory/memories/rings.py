"""Where a memory stands, how much of it is left, what it is, and how it turned out.

The numbers are those of the contract and of the database.
"""

from __future__ import annotations

from enum import IntEnum

LONG_TERM_SCORE_MIN = 0.7
"""The success score that LONG_TERM takes; the database holds every row to it."""


class Ring(IntEnum):
    """The concentric rings, from the outside in."""

    FRESH = 1
    PROCEDURE = 2
    PRACTICE = 3
    LONG_TERM = 4
    SHOCK = 5


class RingSetter(IntEnum):
    """Who set a memory's ring."""

    NOBODY = 0
    CURATOR = 1
    CALLER = 2
    REPETITION = 3
    OUTCOME = 4


class Stage(IntEnum):
    """How much of a text is still kept."""

    FULL = 1
    COMPRESSED = 2
    SUMMARY = 3
    ESSENCE = 4
    FORGOTTEN = 5


class Type(IntEnum):
    """What kind of thing was observed."""

    TOOL_CALL = 1
    TOOL_RESULT = 2
    USER_PREFERENCE = 3
    ERROR_PATTERN = 4
    DECISION = 5
    SUCCESS_PATTERN = 6
    FAILURE_PATTERN = 7
    WORKFLOW_STEP = 8
    INSIGHT = 9
    CONTEXT_SWITCH = 10


class Outcome(IntEnum):
    """How what was observed turned out."""

    NOT_RECORDED = 0
    SUCCESS = 1
    FAILURE = 2
    NEUTRAL = 3


def success_score(successes: int, failures: int) -> float | None:
    """Mean of a Beta(1, 1) posterior over what was recorded; ``None`` while nothing was."""
    recorded = successes + failures
    return (successes + 1) / (recorded + 2) if recorded else None


def may_promote(successes: int, failures: int) -> bool:
    """Whether a memory has earned LONG_TERM."""
    score = success_score(successes, failures)
    return score is not None and score >= LONG_TERM_SCORE_MIN

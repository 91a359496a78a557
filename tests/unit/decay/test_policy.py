"""How long memories wait."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.errors import Invalid
from services.decay.ageing.policy import (
    DEFAULT,
    PACES,
    STAGES,
    Factors,
    Pace,
    Policy,
    Stage,
    StagePolicy,
    checked,
    next_stage,
)

DAYS = {Stage.FULL: 7, Stage.COMPRESSED: 30, Stage.SUMMARY: 90, Stage.ESSENCE: 365}
TOKENS = {Stage.FULL: 500, Stage.COMPRESSED: 250, Stage.SUMMARY: 150, Stage.ESSENCE: 50, Stage.FORGOTTEN: 0}
factors = st.builds(Factors, st.floats(1, 10), st.floats(1, 10), st.floats(0.1, 1))


def test_the_seeds_table() -> None:
    """Days and tokens of each stage, and a week for what stays fresh."""
    assert {stage: DEFAULT.wait(stage, 0) for stage in STAGES} == {
        stage: timedelta(days=days) for stage, days in DAYS.items()
    }
    assert {stage: DEFAULT.tokens(stage) for stage in Stage} == TOKENS
    assert timedelta(days=7) == DEFAULT.fresh


@pytest.mark.parametrize(
    ("pace", "factor"), [(0, 1), (1, 3), (2, 2), (3, 6), (4, 0.5), (5, 1.5), (6, 1), (7, 3)]
)
def test_factors_multiply(pace: int, factor: float) -> None:
    """Read often x3, observed often x2, failing x0.5; those that hold together are multiplied."""
    assert DEFAULT.factors.of(pace) == factor
    for stage in STAGES:
        assert DEFAULT.wait(stage, pace) == timedelta(days=DAYS[stage]) * factor


@given(factors, st.sampled_from(PACES), st.sampled_from(STAGES))
def test_whatever_the_factors_more_use_is_never_earlier(made: Factors, pace: int, stage: Stage) -> None:
    """D8: being read or observed often never hastens, failing never delays, whatever else holds."""
    policy = Policy(factors=made)

    for kept in (Pace.READ_OFTEN, Pace.OBSERVED_OFTEN):
        assert policy.wait(stage, pace | kept) >= policy.wait(stage, pace & ~kept)
    assert policy.wait(stage, pace | Pace.FAILING) <= policy.wait(stage, pace & ~Pace.FAILING)


@given(st.lists(st.integers(1, 16_000), min_size=4, max_size=4))
def test_tokens_fall_from_stage_to_stage(tokens: list[int]) -> None:
    """A policy holds exactly if each stage leaves fewer; otherwise the first that does not is named."""
    full, compressed, summary, essence = (StagePolicy(each, timedelta(days=1)) for each in tokens)
    policy = Policy(full, compressed, summary, essence)
    wrong = [stage for stage in STAGES[1:] if tokens[stage - 1] >= tokens[stage - 2]]

    if not wrong:
        assert checked(policy) is policy
        return
    with pytest.raises(Invalid) as caught:
        checked(policy)
    assert caught.value.violations[0].field == f"policy.{wrong[0].name.lower()}.tokens"


def test_one_stage_at_a_time() -> None:
    """The next one, or the end for what stayed fresh."""
    assert [next_stage(stage, fresh=False) for stage in STAGES] == list(Stage)[1:]
    assert {next_stage(stage, fresh=True) for stage in STAGES} == {Stage.FORGOTTEN}

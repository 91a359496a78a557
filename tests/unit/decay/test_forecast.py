"""Where memories will stand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from services.decay.ageing.forecast import Age, Outlooks, passages
from services.decay.ageing.policy import DEFAULT, Factors, Policy, Stage, StagePolicy

NOW = datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
DAY = timedelta(days=1)
AGE = Age(
    stage=Stage.FULL,
    pace=0,
    fresh=False,
    shock=False,
    aged_from=NOW,
    used_at=NOW,
    content_tokens=400,
    summary_tokens=140,
    essence_tokens=45,
)
spans = st.timedeltas(timedelta(seconds=1), timedelta(days=3650))
stage_policies = st.builds(StagePolicy, st.integers(1, 16_000), spans)
policies = st.builds(
    Policy,
    *[stage_policies] * 4,
    spans,
    st.builds(Factors, st.floats(1, 10), st.floats(1, 10), st.floats(0.1, 1)),
)


@st.composite
def ages(draw: st.DrawFn) -> Age:
    """A memory of any kind, of any age."""
    used_at = NOW - draw(st.timedeltas(timedelta(), timedelta(days=4000)))
    content = draw(st.integers(1, 10_000))
    summary = min(content, draw(st.integers(1, 150)))
    return Age(
        stage=draw(st.sampled_from(list(Stage)[:4])),
        pace=draw(st.integers(0, 7)),
        fresh=draw(st.booleans()),
        shock=draw(st.booleans()),
        aged_from=max(used_at, NOW - draw(st.timedeltas(timedelta(), timedelta(days=4000)))),
        used_at=used_at,
        content_tokens=content,
        summary_tokens=summary,
        essence_tokens=min(summary, draw(st.integers(1, 50))),
    )


def days(age: Age, policy: Policy = DEFAULT) -> list[tuple[Stage, float]]:
    """The steps of a memory, in days from now."""
    return [(each.stage, (each.at - NOW) / DAY) for each in passages(age, policy, NOW)]


def test_a_life_by_the_seeds_table() -> None:
    """After 7, 37, 127 and 492 days."""
    assert days(AGE) == [
        (Stage.COMPRESSED, 7),
        (Stage.SUMMARY, 37),
        (Stage.ESSENCE, 127),
        (Stage.FORGOTTEN, 492),
    ]


def test_what_is_late_moves_one_stage_now() -> None:
    """D6: ten years too late it takes one step at once, and the next a full wait later."""
    late = replace(AGE, aged_from=NOW - 3650 * DAY, used_at=NOW - 3650 * DAY)

    assert days(late) == [
        (Stage.COMPRESSED, 0),
        (Stage.SUMMARY, 30),
        (Stage.ESSENCE, 120),
        (Stage.FORGOTTEN, 485),
    ]


def test_shocks_stand_still_and_the_fresh_go_in_a_week() -> None:
    """A shock has no step before it. What is fresh has one, or shrinks first if the policy is short."""
    short = replace(DEFAULT, full=StagePolicy(500, 5 * DAY))

    assert days(replace(AGE, shock=True)) == []
    assert days(replace(AGE, fresh=True)) == [(Stage.FORGOTTEN, 7)]
    assert days(replace(AGE, fresh=True), short) == [(Stage.COMPRESSED, 5), (Stage.FORGOTTEN, 7)]


@given(ages(), policies)
def test_steps_go_one_way_and_end(age: Age, policy: Policy) -> None:
    """D1: one stage after the other, in time, to the end; only what is fresh leaves some out."""
    steps = list(passages(age, policy, NOW))

    if age.shock:
        assert steps == []
        return
    assert [step.at for step in steps] == sorted(step.at for step in steps)
    assert steps[0].at >= NOW
    assert steps[-1].stage is Stage.FORGOTTEN
    entered = [age.stage, *(step.stage for step in steps)]
    assert all(
        after == before + 1 or (age.fresh and after is Stage.FORGOTTEN) for before, after in pairwise(entered)
    )


@given(ages(), policies, st.timedeltas(timedelta(), timedelta(days=4000)))
def test_more_use_never_means_an_earlier_end(age: Age, policy: Policy, later: timedelta) -> None:
    """D8: read later, or read often, it is not forgotten earlier; failing more, not later."""

    def end(one: Age) -> datetime:
        return [*passages(one, policy, NOW)][-1].at

    if age.shock:
        return
    used_at = min(NOW, age.used_at + later)
    assert end(replace(age, used_at=used_at, aged_from=max(age.aged_from, used_at))) >= end(age)
    assert end(replace(age, pace=age.pace | 1)) >= end(replace(age, pace=age.pace & ~1))
    assert end(replace(age, pace=age.pace | 2)) >= end(replace(age, pace=age.pace & ~2))
    assert end(replace(age, pace=age.pace | 4)) <= end(replace(age, pace=age.pace & ~4))


@given(
    st.lists(ages(), max_size=20), policies, st.lists(st.timedeltas(-DAY, 9000 * DAY), min_size=1, max_size=9)
)
def test_sums_are_what_one_counts_by_hand(kept: list[Age], policy: Policy, spans: list[timedelta]) -> None:
    """Every memory is at one stage on each date: the last that it has entered; dates come in order."""
    dates = [NOW + span for span in spans]
    sums = Outlooks(policy, dates, NOW)
    sums.add(kept[:10])
    sums.add(kept[10:])

    told = sums.outlooks()

    assert [each.at for each in told] == sorted(max(date, NOW) for date in dates)
    for outlook in told:
        there = [stage_on(age, policy, outlook.at) for age in kept]
        assert outlook.memories == {stage: Counter(there)[stage] for stage in Stage}
        for stage in Stage:
            tokens = [age.tokens(stage, policy) for age, at in zip(kept, there, strict=True) if at is stage]
            assert outlook.tokens[stage] == sum(tokens)
    assert all(outlook.tokens[Stage.FORGOTTEN] == 0 for outlook in told)


def stage_on(age: Age, policy: Policy, date: datetime) -> Stage:
    """The last stage that it has entered on a date."""
    return max([age.stage, *(step.stage for step in passages(age, policy, NOW) if step.at <= date)])


@given(ages(), policies)
def test_tokens_never_grow(age: Age, policy: Policy) -> None:
    """What is forecast for a later stage is at most what was there."""
    tokens = [age.tokens(stage, policy) for stage in Stage if stage >= age.stage]

    assert all(each <= age.content_tokens for each in tokens)
    assert tokens[-1] == 0

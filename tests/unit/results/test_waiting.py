"""Who is woken by what."""

from __future__ import annotations

from uuid import uuid4

import pytest

from services.results.waiting import Waiter, Waiters

PROFILE, OTHER = uuid4(), uuid4()
WORKFLOW, TASK, ANOTHER = b"w" * 16, b"t" * 16, b"a" * 16


def waiters(rung: list[bytes] | None = None) -> Waiters:
    """Nobody yet."""
    return Waiters((rung if rung is not None else []).append)


@pytest.mark.parametrize(
    ("task", "after", "happened", "woken"),
    [
        (TASK, None, TASK, True),
        (TASK, None, ANOTHER, False),
        (TASK, None, None, True),
        (None, None, TASK, False),
        (None, None, None, True),
        (None, 0, TASK, True),
        (None, 7, None, True),
    ],
)
def test_whom_a_change_wakes(
    task: bytes | None, after: int | None, happened: bytes | None, woken: bool
) -> None:
    """Its task's result, any result for who reads along, and the run's end for everybody."""
    everyone = waiters()
    with everyone.on(PROFILE, WORKFLOW, task, after) as waiter:
        everyone.changed(PROFILE, WORKFLOW, happened)

        assert waiter.woken.is_set() == woken
        assert everyone.wakings == int(woken)


def test_others_are_not_woken() -> None:
    """Of another profile, or another workflow."""
    everyone = waiters()
    with everyone.on(OTHER, WORKFLOW, TASK) as theirs, everyone.on(PROFILE, ANOTHER, TASK) as elsewhere:
        everyone.changed(PROFILE, WORKFLOW, TASK)
        everyone.changed(PROFILE, WORKFLOW, None)

        assert not theirs.woken.is_set()
        assert not elsewhere.woken.is_set()


@pytest.mark.parametrize("task", [TASK, None])
def test_a_sign_wakes_elsewhere_as_a_change_does_here(task: bytes | None) -> None:
    """What is rung here is heard there, for the same waiters."""
    rung: list[bytes] = []
    waiters(rung).changed(PROFILE, WORKFLOW, task)
    there = waiters()
    with there.on(PROFILE, WORKFLOW, TASK) as waiter, there.on(OTHER, WORKFLOW, TASK) as another:
        [sign] = rung
        there.heard(sign)

        assert waiter.woken.is_set()
        assert not another.woken.is_set()


@pytest.mark.parametrize("length", [0, 15, 16, 31, 33, 47, 49])
def test_what_is_no_sign_wakes_nobody(length: int) -> None:
    """Whoever may send on the channel can do no harm."""
    everyone = waiters()
    with everyone.on(PROFILE, WORKFLOW, TASK):
        everyone.heard((PROFILE.bytes + WORKFLOW + TASK + b"x")[:length])

        assert everyone.wakings == 0


def test_nobody_stays_who_waits_no_more() -> None:
    """Also when the waiting has failed."""
    everyone = waiters()
    with everyone.on(PROFILE, WORKFLOW, TASK) as first:
        with pytest.raises(ValueError, match="tired"), everyone.on(PROFILE, WORKFLOW, TASK):
            raise ValueError("tired")
        assert everyone.all() == [first]
    assert everyone.all() == []


async def test_a_waiter_can_wait_again() -> None:
    """It is woken once for what happened before it looked, and then not until something else has."""
    waiter = Waiter(PROFILE, WORKFLOW, TASK)
    waiter.woken.set()
    waiter.woken.set()

    assert await waiter.within(0.01)
    assert not await waiter.within(0.01)
    assert not await waiter.within(-1)

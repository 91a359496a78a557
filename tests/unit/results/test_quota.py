"""How much of runs and results a profile may hold."""

from __future__ import annotations

import pytest

from libs import quota
from services.results.runs.quota import Quota, RunsFull

HOUSE = Quota(runs=1, results=2, bytes=3)


def test_a_profiles_own_limits_go_before_the_houses() -> None:
    """Each by itself, larger or smaller, and 0 is a limit too."""
    assert HOUSE.of(quota.NOTHING_SET) == HOUSE
    assert HOUSE.of(quota.Quota(memories_max=9, clipboard_bytes_max=9)) == HOUSE
    assert HOUSE.of(quota.Quota(runs_max=0, results_bytes_max=9)) == Quota(runs=0, results=2, bytes=9)
    assert HOUSE.of(quota.Quota(results_max=9)).limits == (1, 9, 3)


@pytest.mark.parametrize(
    ("verdict", "told"),
    [("runs", ("runs", "1")), ("results", ("results", "2")), ("bytes", ("results_bytes", "3"))],
)
def test_a_part_without_room_is_told_by_the_name_of_its_limit(verdict: str, told: tuple[str, str]) -> None:
    """So that whoever reads it knows what to ask for."""
    with pytest.raises(RunsFull) as full:
        HOUSE.check(verdict)

    assert tuple(full.value.metadata.values()) == told
    assert f"{told[0]}_max" in quota.Quota.__dataclass_fields__


def test_other_verdicts_are_not_its_own() -> None:
    """They pass."""
    for verdict in ("put", "same", "cancelled", "kept"):
        HOUSE.check(verdict)

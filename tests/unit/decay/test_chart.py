"""A forecast as text."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from services.decay.ageing.chart import LETTERS, WIDTH, chart
from services.decay.ageing.forecast import Outlook
from services.decay.ageing.policy import Stage

AT = datetime(2027, 3, 1, tzinfo=UTC)


def test_a_chart() -> None:
    """Half are whole, a quarter summaries, a quarter gone; tokens and those that are kept stand beside it."""
    memories = {Stage.FULL: 20, Stage.COMPRESSED: 0, Stage.SUMMARY: 10, Stage.ESSENCE: 0, Stage.FORGOTTEN: 10}
    tokens = {
        Stage.FULL: 9000,
        Stage.COMPRESSED: 0,
        Stage.SUMMARY: 1500,
        Stage.ESSENCE: 0,
        Stage.FORGOTTEN: 0,
    }

    _, line, legend = chart([Outlook(AT, memories, tokens)])

    bar = f"{'F' * 25}{'S' * 13}{'.' * 12}"
    assert line == f"2027-03-01  {bar}  {30:9,}  {10_500:11,}"
    assert "C compressed" in legend


@given(st.lists(st.integers(0, 10**9), min_size=5, max_size=5))
def test_a_bar_is_as_wide_as_there_are_memories(counts: list[int]) -> None:
    """Full where there are any, empty where there are none; each stage has its share, in order."""
    memories = dict(zip(Stage, counts, strict=True))

    _, line, _ = chart([Outlook(AT, memories, dict.fromkeys(Stage, 0))])

    bar = line[12 : 12 + WIDTH].rstrip()
    assert len(bar) == (WIDTH if sum(counts) else 0)
    assert bar == "".join(sorted(bar, key=list(LETTERS.values()).index))
    for stage, letter in LETTERS.items():
        share = WIDTH * memories[stage] / (sum(counts) or 1)
        assert abs(bar.count(letter) - share) <= 1

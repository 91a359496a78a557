"""A forecast as a chart of plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from services.decay.ageing.forecast import Outlook
from services.decay.ageing.policy import Stage

WIDTH = 50
"""Characters of a bar that stands for every memory."""
LETTERS: Mapping[Stage, str] = {
    Stage.FULL: "F",
    Stage.COMPRESSED: "C",
    Stage.SUMMARY: "S",
    Stage.ESSENCE: "E",
    Stage.FORGOTTEN: ".",
}


def chart(outlooks: Sequence[Outlook]) -> Iterator[str]:
    """The lines of a chart: a bar of memories by stage for each date, how many are left, and their tokens."""
    yield f"{'':10}  {'memories':{WIDTH}}  {'kept':>9}  {'tokens':>11}"
    for outlook in outlooks:
        kept = sum(outlook.memories.values()) - outlook.memories[Stage.FORGOTTEN]
        tokens = sum(outlook.tokens.values())
        yield f"{outlook.at:%Y-%m-%d}  {_bar(outlook.memories):{WIDTH}}  {kept:9,}  {tokens:11,}"
    legend = ", ".join(f"{letter} {stage.name.lower()}" for stage, letter in LETTERS.items())
    yield f"{'':10}  {legend}"


def _bar(memories: Mapping[Stage, int]) -> str:
    """Each stage's share of the width, rounded where it ends, so that the whole is never wider."""
    total = sum(memories.values())
    bar, counted = "", 0
    for stage, letter in LETTERS.items():
        counted += memories[stage]
        end = round(WIDTH * counted / total) if total else 0
        bar += letter * (end - len(bar))
    return bar

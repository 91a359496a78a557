"""What is left of a memory's texts at each stage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from services.memory.memories.memory import Texts
from services.memory.memories.rings import Stage

Shorter = Callable[[str, Sequence[int]], Awaitable[Sequence[tuple[str, int]]]]
"""A text within each of some numbers of tokens, none longer than the one before, and what each counts."""


async def at_stage(texts: Texts, stage: Stage, tokens: int, shorter: Shorter) -> Texts:
    """The texts of a memory once it has entered a stage that leaves it so many tokens.

    None is longer than it was. While the full text is there for the last time, all are made of it.
    """
    match stage:
        case Stage.COMPRESSED:
            limits = (tokens, min(tokens, texts.summary_tokens), min(tokens, texts.essence_tokens))
            return _texts(*await shorter(texts.content, limits))
        case Stage.SUMMARY:
            [summary] = await shorter(texts.summary, (tokens,))
            essence = min((texts.essence, texts.essence_tokens), summary, key=lambda each: each[1])
            return _texts(summary, summary, essence)
        case Stage.ESSENCE:
            [essence] = await shorter(texts.essence, (tokens,))
            return _texts(essence, essence, essence)
        case _:
            raise ValueError(f"no text is made for {stage.name}")


def _texts(content: tuple[str, int], summary: tuple[str, int], essence: tuple[str, int]) -> Texts:
    return Texts(content[0], summary[0], essence[0], content[1], summary[1], essence[1])

"""Texts made shorter by a language model, where it is quick enough and keeps to what it was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from libs.errors import Unavailable
from libs.language.model import MATERIAL_TOKENS_MAX, Language
from libs.language.tokens import TokenCounter
from services.memory.lifecycle.forms import Shorter
from services.memory.lifecycle.wording import checked, task

SECONDS_MAX = 12.0
"""For all questions of one call: less than what waits for it, decay's 30 s and a lease's two minutes."""
ANSWER_ROOM = 2
"""An answer may come this many times as long: what is too long is refused, never cut in a sentence."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Writer:
    """Asks a language model for each shorter text. Whatever goes wrong, sentences that are kept stand."""

    def __init__(
        self, language: Language, kept: Shorter, counter: TokenCounter, seconds: float = SECONDS_MAX
    ) -> None:
        """``kept`` shortens without a model."""
        self._language = language
        self._kept = kept
        self._counter = counter
        self._seconds = seconds

    def begin(self) -> Shorter:
        """A shorter for one call. Once its time is over, no more is asked."""
        over_at = asyncio.get_running_loop().time() + self._seconds

        async def shorter(text: str, limits: Sequence[int]) -> list[tuple[str, int]]:
            return await self._shorter(text, limits, over_at)

        return shorter

    async def _shorter(self, text: str, limits: Sequence[int], over_at: float) -> list[tuple[str, int]]:
        """The text within each limit, none longer than the one before; what fits stays letter by letter."""
        kept = await self._kept(text, limits)
        asked = {limit for limit, (short, _) in zip(limits, kept, strict=True) if short != text}
        written: dict[int, tuple[str, int]] = {}
        if asked:
            # Of a text that is too long for one question, the sentences worth keeping.
            [(shown, _)] = await self._kept(text, (MATERIAL_TOKENS_MAX,))
            answers = await asyncio.gather(*(self._ask(shown, limit, over_at) for limit in asked))
            written = {limit: said for limit, said in zip(asked, answers, strict=True) if said}
        found: list[tuple[str, int]] = []
        for limit, plain in zip(limits, kept, strict=True):
            said = written.get(limit, plain)
            found.append(min(found[-1], said, key=lambda each: each[1]) if found else said)
        return found

    async def _ask(self, text: str, limit: int, over_at: float) -> tuple[str, int] | None:
        """What the model makes of a text, and what that counts; ``None`` where nothing comes of it."""
        try:
            async with asyncio.timeout_at(over_at):
                answer = await self._language.ask(task(limit), text, limit * ANSWER_ROOM)
        except (Unavailable, TimeoutError):
            return None
        said = checked(answer, text)
        tokens = self._counter.count(said) if said else 0
        if said is None or tokens > limit:
            log.info("restage.answer_refused", tokens=tokens, limit=limit)
            return None
        return said, tokens

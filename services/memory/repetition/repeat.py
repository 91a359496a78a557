"""What was just observed, held against what is older: does it say that again, or something else about it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from uuid import UUID

import structlog

from libs.clock import Clock
from libs.errors import Unavailable
from libs.language.embeddings import RoutedEmbedder
from libs.language.model import Language
from services.memory.repetition.asking import ANSWER_TOKENS_MAX, TASK, material, same_of
from services.memory.repetition.conflicts import KINDS, Suspicion
from services.memory.repetition.likeness import HARD, Comparison, Difference, Likeness
from services.memory.repetition.store import Near, RepetitionStore

COSINE_MIN = 0.75
"""Below this two texts are about different things, whatever their words.

MiniLM has all wordings of one fact in the tests above it, and most of what only looks alike: that is kept
apart by its words. A model whose cosines are lower finds fewer repetitions, never wrong ones.
"""
CONFLICT_SHARED_MIN = 0.5
"""How much of two texts is alike, word by word, where one may contradict the other."""
WORD_COSINE_MIN = 0.8
"""From here on two words mean the same. MiniLM has doctor and physician at 0.86, cat and dog at 0.66."""
ASKED_COSINE_MIN = 0.85
"""From here on a language model, if there is one, is asked about two texts in different words.

Only about the closest, so that a turn of the loop has one question for each memory at most.
"""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Said:
    """What was just observed."""

    version: int
    text: str


class Repetition:
    """Folds what is said again into what said it first, and reports what may contradict it."""

    def __init__(
        self, store: RepetitionStore, embedder: RoutedEmbedder, language: Language | None, clock: Clock
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._language = language
        self._clock = clock
        self._likeness = Likeness()

    async def fold(self, profile: UUID, said: Mapping[UUID, Said]) -> set[UUID]:
        """Compare each with what is closest. Answers those that were a repetition."""
        if not said:
            return set()
        near = await self._store.near(profile, said, self._embedder.model, COSINE_MIN)
        repeated: set[UUID] = set()
        found: list[Suspicion] = []
        for memory_id, others in near.items():
            compared = [(one, self._likeness.compare(said[memory_id].text, one.text)) for one in others]
            if await self._repeats(profile, memory_id, said[memory_id], compared):
                repeated.add(memory_id)
            else:
                found += _suspicions(memory_id, compared)
        if found:
            await self._store.report(profile, found, self._clock())
        if repeated or found:
            log.info("repetition.done", repeated=len(repeated), conflicts=len(found))
        return repeated

    async def _repeats(
        self, profile: UUID, memory_id: UUID, said: Said, compared: Sequence[tuple[Near, Comparison]]
    ) -> bool:
        """Fold later ones into this, and this into an earlier one: whoever said it first stands for it."""
        mine = memory_id, said.version
        for one, comparison in sorted(compared, key=lambda pair: not pair[0].later):
            if not await self._same(said, one, comparison, ask=one is compared[0][0]):
                continue
            theirs = one.id, one.version
            later, earlier = (theirs, mine) if one.later else (mine, theirs)
            if await self._store.repeat(profile, *later, *earlier, self._clock()) and not one.later:
                return True
        return False

    async def _same(self, said: Said, one: Near, comparison: Comparison, *, ask: bool) -> bool:
        if comparison.difference in HARD:
            return False
        if comparison.difference is None and await self._mean_the_same(comparison):
            return True
        if not ask or self._language is None or one.cosine < ASKED_COSINE_MIN:
            return False
        try:
            answer = await self._language.ask(TASK, material(said.text, one.text), ANSWER_TOKENS_MAX)
        except Unavailable:
            return False
        return same_of(answer)

    async def _mean_the_same(self, comparison: Comparison) -> bool:
        """Whether each word that one has alone has its like among those of the other."""
        mine, theirs = comparison.only_one, comparison.only_other
        if not mine:
            return True
        # The embedder knows English words; of others it takes their letters for what they mean.
        if not all(word.isascii() and word.isalpha() for word in (*mine, *theirs)):
            return False
        try:
            vectors = await self._embedder.embed_as(self._embedder.model, [*mine, *theirs])
        except Unavailable:
            return False
        ours, others = vectors[: len(mine)], vectors[len(mine) :]
        close = {
            (at, to)
            for (at, one), (to, other) in product(enumerate(ours), enumerate(others))
            if float(one @ other) >= WORD_COSINE_MIN
        }
        return {at for at, _ in close} == set(range(len(mine))) == {to for _, to in close}


def _suspicions(memory_id: UUID, compared: Sequence[tuple[Near, Comparison]]) -> list[Suspicion]:
    return [
        Suspicion(
            *((one.id, memory_id) if one.later else (memory_id, one.id)),
            KINDS[comparison.difference],
            one.cosine,
        )
        for one, comparison in compared
        if comparison.difference is not None
        and comparison.difference is not Difference.WORDS
        and comparison.shared >= CONFLICT_SHARED_MIN
    ]

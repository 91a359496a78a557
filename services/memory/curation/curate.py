"""Classify what was just observed, beside the calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

import structlog

from libs.clock import Clock
from libs.errors import Unavailable
from libs.language.embeddings import RoutedEmbedder
from libs.language.model import Language
from services.memory.curation.asking import ANSWER_TOKENS_MAX, TASK, material, verdict_of
from services.memory.curation.curation import Subject, Verdict, classify
from services.memory.curation.prototypes import Likeness, texts
from services.memory.curation.store import CurationStore, Waiting
from services.memory.repetition.repeat import Repetition, Said

BATCH = 32
ASKED_BATCH = 8
"""Where a language model is asked about each: so few that all are answered within one turn of the loop."""
BATCHES_MAX = 20
"""In one turn of the loop."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Curator:
    """Says in which ring each fresh memory belongs, unless it only says again what was said.

    Any number of replicas may do this at once.
    """

    def __init__(
        self,
        store: CurationStore,
        repetition: Repetition,
        embedder: RoutedEmbedder,
        language: Language | None,
        clock: Clock,
    ) -> None:
        self._store = store
        self._repetition = repetition
        self._embedder = embedder
        self._language = language
        self._clock = clock
        self._known: Likeness | None = None

    async def curate(self) -> int:
        """Classify what waits, until nothing does. Answers how many memories got a verdict."""
        size = ASKED_BATCH if self._language else BATCH
        curated = 0
        for _ in range(1 if self._language else BATCHES_MAX):
            claimed = await self._store.claim(size, self._clock())
            if not claimed:
                break
            likeness = await self._likeness()
            for profile, turns in claimed.items():
                waiting = await self._store.waiting(profile, turns, self._embedder.model)
                repeated = await self._repetition.fold(profile, _said(waiting))
                fresh = {one: there for one, there in waiting.items() if one not in repeated}
                verdicts = await self._verdicts(fresh, likeness)
                curated += len(await self._store.keep(profile, turns, verdicts, self._clock()))
            if sum(map(len, claimed.values())) < size:
                break
        if curated:
            log.info("curation.done", curated=curated)
        return curated

    async def _verdicts(
        self, waiting: Mapping[UUID, Waiting], likeness: Likeness | None
    ) -> dict[UUID, Verdict]:
        verdicts = await asyncio.gather(*(self._verdict(one, likeness) for one in waiting.values()))
        return dict(zip(waiting, verdicts, strict=True))

    async def _verdict(self, waiting: Waiting, likeness: Likeness | None) -> Verdict:
        """The language model's where it is there and answers the question; otherwise the rules'."""
        subject = waiting.subject
        if self._language is not None and (said := await self._ask(self._language, subject)):
            return said
        if likeness is not None and waiting.vector is not None:
            subject = replace(subject, likeness=likeness.to_rings(waiting.vector))
        return classify(subject)

    async def _ask(self, language: Language, subject: Subject) -> Verdict | None:
        try:
            answer = await language.ask(TASK, material(subject), ANSWER_TOKENS_MAX)
        except Unavailable:
            return None
        said = verdict_of(answer, subject)
        if said is None:
            log.info("curation.answer_refused")
        return said

    async def _likeness(self) -> Likeness | None:
        """The examples in the preferred model; without an embedder, words have to do."""
        if self._known is None:
            try:
                self._known = Likeness(await self._embedder.embed_as(self._embedder.model, texts()))
            except Unavailable:
                return None
        return self._known


def _said(waiting: Mapping[UUID, Waiting]) -> dict[UUID, Said]:
    """Those that can be compared."""
    return {
        one: Said(there.version, there.subject.text)
        for one, there in waiting.items()
        if there.vector is not None
    }

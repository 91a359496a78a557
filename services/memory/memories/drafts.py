"""A draft: an observation that is understood and about to be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from libs.language.compression import Short
from libs.language.embeddings import Vector
from services.memory.memories.observations import Observation


@dataclass(frozen=True, slots=True)
class Draft:
    """What was made of an observation without any other knowledge."""

    id: UUID
    observation: Observation
    short: Short
    terms: Mapping[int, int]
    """Blind terms, and how often each occurs."""

    @property
    def length(self) -> int:
        """Terms in the index, with repetition."""
        return sum(self.terms.values())


@dataclass(frozen=True, slots=True)
class Batch:
    """Drafts that are kept together, and their vectors."""

    drafts: Sequence[Draft]
    vectors: Sequence[Vector | None]
    """One for each draft; ``None`` while no embedder answers."""
    model: str
    """The model of the vectors."""
    preferred_model: str
    """The model that all memories are to be embedded with in the end."""

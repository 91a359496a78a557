"""Where a memory stands, and what refuses to move it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from libs import errors
from libs.language.names import clean_text
from libs.language.scrubbing import scrub
from services.memory.memories.memory import Memory
from services.memory.memories.rings import LONG_TERM_SCORE_MIN, Ring, success_score

REASON_CHARS_MAX = 500


class RingNotEarned(errors.WrongState):
    """LONG_TERM takes a success_score of at least 0.7. Record more successes with Reinforce first."""

    reason = "RING_NOT_EARNED"

    @classmethod
    def by(cls, memory: Memory) -> RingNotEarned:
        """Naming the score that is too low, and the limit."""
        score = success_score(memory.successes, memory.failures)
        shown = "none yet" if score is None else f"{score:.2f}"
        return cls(
            f"LONG_TERM takes a success_score of at least {LONG_TERM_SCORE_MIN}; this memory's is {shown}. "
            "Record more successes with Reinforce first.",
            metadata={"success_score": shown, "limit": str(LONG_TERM_SCORE_MIN)},
        )


class ShockStays(errors.WrongState):
    """A shock stays in its ring. To take it out, set demote_shock and say why in reason."""

    reason = "SHOCK_STAYS"


class MemorySuperseded(errors.WrongState):
    """The memory was superseded. Change the one that superseded it."""

    reason = "MEMORY_SUPERSEDED"

    @classmethod
    def of(cls, memory: Memory) -> MemorySuperseded:
        """Naming the one that superseded it."""
        return cls(metadata={"superseded_by": str(memory.superseded_by)})


@dataclass(frozen=True, slots=True)
class Wish:
    """Where a caller wants a memory to stand."""

    memory_id: UUID
    ring: Ring
    reason: str
    """Without secrets; empty if none is given."""
    demote_shock: bool
    """Whether a shock may leave its ring."""


def clean_wish(wish: Wish) -> Wish:
    """Check the reason, and take secrets out. Raises ``Invalid`` naming the field."""
    if not wish.reason:
        return wish
    return replace(wish, reason=scrub(clean_text("reason", wish.reason, REASON_CHARS_MAX)).text)


class ContentKept(errors.Conflict):
    """Another memory of the session has this content already."""

    reason = "CONTENT_KEPT"

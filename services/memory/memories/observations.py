"""An observation: what a caller saw, checked, and without secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from libs import errors
from libs.language.lexemes import fold_name
from libs.language.names import clean_name, clean_text
from libs.language.scrubbing import scrub
from services.memory.memories.metadata import Json, Metadata, canonical, clean_metadata
from services.memory.memories.rings import Outcome, Type

CONTENT_CHARS_MAX = 50_000
NAME_CHARS_MAX = 255
TAGS_MAX = 64
ALIASES_MAX = 64
BATCH_MAX = 100
QUESTION_MARKS = frozenset("?？؟")


class KeyReused(errors.Conflict):
    """The idempotency key was used before with another request. Use a new key for a new request."""

    reason = "IDEMPOTENCY_KEY_REUSED"


@dataclass(frozen=True, slots=True)
class Labels:
    """What an observation can be asked by besides its text, as it was written."""

    actor: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.actor or self.tags or self.aliases)


@dataclass(frozen=True, slots=True)
class Raw:
    """An observation as it came in."""

    content: str
    type: Type
    outcome: Outcome = Outcome.NOT_RECORDED
    actor: str = ""
    occurred_at: datetime | None = None
    tags: Sequence[str] = ()
    aliases: Sequence[str] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """A checked observation. No secret is left in it."""

    content: str
    type: Type
    outcome: Outcome = Outcome.NOT_RECORDED
    labels: Labels = Labels()
    occurred_at: datetime | None = None
    """``None``: when it is kept."""
    metadata: Metadata = field(default_factory=Metadata)
    idempotency_key: str = ""
    secrets_removed: int = 0

    @property
    def indexed(self) -> str:
        """What is found by its words: who said it, and what."""
        return f"{self.labels.actor}: {self.content}" if self.labels.actor else self.content

    @property
    def asks(self) -> bool:
        """Whether it asks something, in any script that marks questions."""
        return not QUESTION_MARKS.isdisjoint(self.content)

    @property
    def signature(self) -> str:
        """The same for two requests that say the same, the key apart."""
        labels = self.labels
        when = self.occurred_at.isoformat() if self.occurred_at else None
        said: list[Json] = [self.content, int(self.type), int(self.outcome), when, labels.actor]
        return canonical([*said, list(labels.tags), list(labels.aliases), self.metadata.fields])


def clean(raw: Raw, path: str = "") -> Observation:
    """Check what came in, then take secrets out: nothing after this sees them.

    ``path`` stands before the names of fields, as ``observations[2].``. Raises ``Invalid``, or ``TooLarge``
    for a text or metadata over its limit.
    """
    scrubbed = scrub(clean_text(f"{path}content", raw.content, CONTENT_CHARS_MAX))
    metadata = clean_metadata(f"{path}metadata", raw.metadata)
    labels, in_labels = _scrubbed(_labels(raw, path))
    return Observation(
        content=scrubbed.text,
        type=raw.type,
        outcome=raw.outcome,
        labels=labels,
        occurred_at=raw.occurred_at,
        metadata=metadata,
        idempotency_key=optional_name(f"{path}idempotency_key", raw.idempotency_key),
        secrets_removed=sum(scrubbed.found.values()) + metadata.secrets_removed + in_labels,
    )


def optional_name(field: str, value: str) -> str:
    """A name, or nothing where nothing was given."""
    return clean_name(field, value, NAME_CHARS_MAX) if value else ""


def names(field: str, values: Sequence[str], limit: int) -> tuple[str, ...]:
    """Names in their order, each once however it is spelled. Raises ``Invalid`` above the limit."""
    cleaned = {}
    for at, value in enumerate(values):
        name = clean_name(f"{field}[{at}]", value, NAME_CHARS_MAX)
        cleaned.setdefault(fold_name(name), name)
    if len(cleaned) > limit:
        raise errors.invalid(field, f"must have at most {limit} different names", "repeated.max_items")
    return tuple(cleaned.values())


def _labels(raw: Raw, path: str) -> Labels:
    return Labels(
        actor=optional_name(f"{path}actor", raw.actor),
        tags=names(f"{path}tags", raw.tags, TAGS_MAX),
        aliases=names(f"{path}aliases", raw.aliases, ALIASES_MAX),
    )


def _scrubbed(labels: Labels) -> tuple[Labels, int]:
    names = [labels.actor, *labels.tags, *labels.aliases]
    if not scrub("\n".join(names)).found:
        return labels, 0
    scrubbed = [scrub(name) for name in names]
    actor, *others = (each.text for each in scrubbed)
    tags, aliases = others[: len(labels.tags)], others[len(labels.tags) :]
    cleaned = Labels(actor, tuple(dict.fromkeys(tags)), tuple(dict.fromkeys(aliases)))
    return cleaned, sum(sum(each.found.values()) for each in scrubbed)

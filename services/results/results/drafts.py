"""A result on its way in: as it was sent, and checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256

from libs.errors import invalid
from libs.language.names import clean_text
from libs.values import clean_content_type
from services.results.results.result import Key, Labels
from services.results.results.values import CONTENT_TYPE, Encoding, decoded
from services.results.runs.ids import clean_id
from services.results.runs.run import Status

ATTEMPTS_MAX = 1_000_000
ERROR_CHARS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Said:
    """What is said about a result beside its content, with its defaults."""

    workflow_id: str
    task_id: str
    content_type: str = CONTENT_TYPE
    status: Status = Status.SUCCEEDED
    error: str = ""
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked result that is not kept yet."""

    key: Key
    labels: Labels
    status: Status
    attempt: int
    encoding: Encoding
    size_bytes: int
    source: int

    @property
    def signature(self) -> str:
        """What a result put again has to have alike. How it is written makes no difference."""
        labels = self.labels
        return json.dumps([self.status, labels.content_type, labels.error, labels.sha256], ensure_ascii=False)


def clean_key(workflow_id: str, task_id: str) -> Key:
    """Where a result is found. Raises ``Invalid``."""
    return Key(clean_id("workflow_id", workflow_id), clean_id("task_id", task_id))


def drafted(said: Said, digest: str, size_bytes: int, encoding: Encoding, source: int) -> Draft:
    """A result whose content has this SHA-256. Raises ``Invalid``, ``TooLarge``."""
    if not 1 <= said.attempt <= ATTEMPTS_MAX:
        raise invalid("attempt", f"must be from 1 to {ATTEMPTS_MAX}", "uint32.gte_lte")
    if said.error and said.status is not Status.FAILED:
        raise invalid("error", "is for a task that failed", "result.error")
    error = clean_text("error", said.error, ERROR_CHARS_MAX) if said.error else ""
    key = clean_key(said.workflow_id, said.task_id)
    labels = Labels(key.task_id, clean_content_type(said.content_type), digest, error)
    return Draft(key, labels, said.status, said.attempt, encoding, size_bytes, source)


def with_content(said: Said, content: str, encoding: Encoding, source: int) -> tuple[Draft, bytes]:
    """A result and its content. Raises ``Invalid``, ``TooLarge``."""
    whole = decoded(content, encoding)
    return drafted(said, sha256(whole).hexdigest(), len(whole), encoding, source), whole

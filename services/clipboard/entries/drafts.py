"""An entry on its way in: as it was sent, and checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta

from libs import errors
from libs.errors import invalid
from libs.language.names import clean_name
from libs.values import clean_content_type
from services.clipboard.entries.entry import Labels, Visibility
from services.clipboard.entries.values import Encoding, measured

NAME_CHARS_MAX = 255
CONTENT_TYPE = "text/plain"
TTL_SECONDS = 86_400
TTL_SECONDS_MAX = 31_536_000
"""365 days."""


class KeyReused(errors.Conflict):
    """The idempotency key was used before with another request. Use a new key for a new request."""

    reason = "IDEMPOTENCY_KEY_REUSED"


@dataclass(frozen=True, slots=True)
class Raw:
    """What was sent, with its defaults."""

    value: str
    content_type: str = CONTENT_TYPE
    encoding: str = Encoding.UTF_8
    visibility: Visibility = Visibility.PRIVATE
    ttl_seconds: int = TTL_SECONDS
    tool: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked entry that is not kept yet."""

    labels: Labels
    value: str
    encoding: Encoding
    size_bytes: int
    visibility: Visibility
    ttl: timedelta
    source: int

    @property
    def signature(self) -> str:
        """What two calls with one idempotency key have to have alike: everything."""
        labels = self.labels
        return json.dumps(
            [
                *(labels.content_type, labels.tool, labels.model, self.encoding, self.visibility),
                *(self.ttl.total_seconds(), self.source, self.value),
            ],
            ensure_ascii=False,
        )


def for_name(name: str, raw: Raw, source: int) -> Draft:
    """What to put under a name. Raises ``Invalid``, ``TooLarge``."""
    return _drafted(clean_name("name", name, NAME_CHARS_MAX), raw, source)


def for_stack(raw: Raw, source: int) -> Draft:
    """What to push. Raises ``Invalid``, ``TooLarge``."""
    return _drafted("", raw, source)


def optional_name(field: str, value: str) -> str:
    """A name that may be left out."""
    return clean_name(field, value, NAME_CHARS_MAX) if value else ""


def _drafted(name: str, raw: Raw, source: int) -> Draft:
    if not 1 <= raw.ttl_seconds <= TTL_SECONDS_MAX:
        raise invalid("ttl_seconds", f"must be from 1 to {TTL_SECONDS_MAX}", "int32.gte_lte")
    encoding = Encoding(raw.encoding)
    return Draft(
        labels=Labels(
            name,
            clean_content_type(raw.content_type),
            optional_name("created_by_tool", raw.tool),
            optional_name("created_by_model", raw.model),
        ),
        value=raw.value,
        encoding=encoding,
        size_bytes=measured(raw.value, encoding),
        visibility=raw.visibility,
        ttl=timedelta(seconds=raw.ttl_seconds),
        source=source,
    )

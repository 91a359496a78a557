"""What screening says about a text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Scope(IntEnum):
    """How much is looked for. Each holds the ones before it."""

    ALL = 1
    """What no text should hold, wherever it came from."""
    CONTEXT = 2
    """Also what has no place in text that stands in a model's context: commands and promptware."""
    STRICT = 3
    """Also what has no place in text that lasts, such as a note: standing orders, files that steer agents."""


class Severity(StrEnum):
    """How sure harm is, if a model obeys."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found."""

    id: str
    """Of the pattern, as `patterns.toml` has it; `invisible_unicode_U+XXXX` for a character that hides."""
    category: str
    severity: Severity
    start: int
    """The first code point of it in the text as it came, from 0."""
    end: int
    """One past the last. What was found in a decoded run has the place of that run."""
    view: str
    """How the text was looked at: `plain`, `spaced`, or the name of an encoding."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """All that was found in a text, in the order of its places; at most 32 findings."""

    findings: tuple[Finding, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def ids(self) -> tuple[str, ...]:
        """What was found, each id once, in the order of the findings."""
        return tuple(dict.fromkeys(finding.id for finding in self.findings))

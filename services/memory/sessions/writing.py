"""What a language model is asked about a session, and what of its answer counts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from libs.errors import Invalid
from libs.language.names import clean_text
from services.memory.sessions.reports import SUMMARY_CHARS_MAX, Noted, Totals

NOTES_MAX = 200
NOTE_CHARS_MAX = 300
"""Of each observation that is shown."""
ANSWER_TOKENS_MAX = 400

TASK = f"""Summarise the session of an agent whose observations are the material, in their order.
Say what was done, decided and learned, and what failed; nothing that the material does not say.
Answer with plain text in one paragraph of at most {SUMMARY_CHARS_MAX} characters, without a heading."""

_NUMBER = re.compile(r"\d+")
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""What makes text read otherwise than it stands."""


def material(notes: Sequence[Noted], totals: Totals) -> str:
    """A session as a model is shown it: its totals, then its latest observations."""
    counts = f"{totals.observations} observations, {totals.successes} successes, {totals.failures} failures"
    return "\n".join([counts, *(_line(note) for note in notes[-NOTES_MAX:])])


def checked(answer: str, shown: str) -> str | None:
    """The summary in an answer; ``None`` if it is too long, unreadable, or has a number from elsewhere."""
    line = " ".join(answer.split())
    if len(line) > SUMMARY_CHARS_MAX or _TURNING.search(line):
        return None
    if not set(_NUMBER.findall(line)) <= set(_NUMBER.findall(shown)):
        return None
    try:
        return clean_text("summary", line, SUMMARY_CHARS_MAX)
    except Invalid:
        return None


def _line(note: Noted) -> str:
    tool = f" {note.tool}" if note.tool else ""
    text = " ".join(note.text.split())[:NOTE_CHARS_MAX]
    return f"{note.type.name.lower()} {note.outcome.name.lower()}{tool}: {text}"

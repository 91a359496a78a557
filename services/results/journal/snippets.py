"""The piece of a text that shows best why it was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

CHARS_MAX = 300
BEFORE_CHARS = 60
"""What is shown before the first word that was looked for."""
CUT = "…"
_PIECE = re.compile(r"\S{1,32}")
"""A word, or some of a script that puts no spaces between words."""


def snippet(text: str, sought: Callable[[str], Collection[str]]) -> str:
    """At most ``CHARS_MAX`` characters of a text, where most of what is looked for stands together.

    ``sought`` tells what of it a word has. Where nothing is, the beginning is shown.
    """
    if len(text) <= CHARS_MAX:
        return text
    marks = [(found.start(), there) for found in _PIECE.finditer(text) if (there := sought(found[0]))]
    best = max(_windows(marks), default=(0, 0))
    start = max(0, -best[1] - BEFORE_CHARS)
    return excerpt(text, start)


def excerpt(text: str, start: int = 0) -> str:
    """At most ``CHARS_MAX`` characters of a text from about a place on, cut between words if it has any."""
    start = min(start, max(0, len(text) - CHARS_MAX + 2 * len(CUT)))
    if start:
        space = text.find(" ", start, start + BEFORE_CHARS)
        start = start if space < 0 else space + 1
    front = CUT if start else ""
    if len(front) + len(text) - start <= CHARS_MAX:
        return front + text[start:]
    end = start + CHARS_MAX - len(front) - len(CUT)
    space = text.rfind(" ", end - BEFORE_CHARS, end + 1)
    return front + text[start : end if space < 0 else space].rstrip() + CUT


def _windows(marks: list[tuple[int, Collection[str]]]) -> Iterator[tuple[int, int]]:
    """For each marked place: how much of what is looked for stands behind it, and the place, negative."""
    for at, (start, _) in enumerate(marks):
        end = start + CHARS_MAX - BEFORE_CHARS - 2 * len(CUT)
        seen: set[str] = set()
        for place, there in marks[at:]:
            if place >= end:
                break
            seen.update(there)
        yield len(seen), -start

"""The screener: built once, asked about any text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from libs.screening.decoding import views
from libs.screening.folding import Folding, ends, place
from libs.screening.invisible import hidden
from libs.screening.patterns import Catalogue, Pattern, load
from libs.screening.reading import Reader, Words, is_mention, occurrences
from libs.screening.verdict import Finding, Scope, Severity, Verdict

TEXT_CHARS_MAX = 65_536
"""Code points that are read; a longer text is flagged as it stands, since its rest would go unread."""
FINDINGS_MAX = 32
_HIDDEN_MAX = 8
"""Invisible code points that are named, each once."""
_SPACED = re.compile(r"(?<![^\W_])(?:[^\W_][ ._*|/-]{1,3}){4,400}[^\W_](?![^\W_])")
"""Letters that stand apart, at least five."""


class Screener:
    """Looks for what would steer a model. Holds no state but caches; safe to share.

    Build it once: that reads the patterns.
    """

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        self._catalogue = catalogue or load()
        self._reader = Reader(self._catalogue.vocabulary)
        self._folding = Folding()

    def screen(self, text: str, scope: Scope = Scope.STRICT) -> Verdict:
        """What is found in a text. Never raises, whatever the text.

        At most 65,536 code points are read: a longer text has the finding `too_long` and no other.
        """
        if len(text) > TEXT_CHARS_MAX:
            return Verdict((Finding("too_long", "limits", Severity.HIGH, 0, len(text), "plain"),))
        folded = self._folded(text)
        found = [*_invisible(text), *self._plain(text, folded, scope), *self._spaced(text, folded, scope)]
        seen = {finding.id for finding in found}
        for view in views(text):
            for pattern, _, _ in self._matches(self._reader.read(self._folded(view.text)), scope):
                if pattern.id not in seen:
                    seen.add(pattern.id)
                    found.append(_finding(pattern, view.start, view.end, view.name))
        return Verdict(tuple(sorted(found[:FINDINGS_MAX], key=lambda one: (one.start, one.id))))

    def _plain(self, text: str, folded: str, scope: Scope) -> Iterator[Finding]:
        places: list[int] = []
        for pattern, start, end in self._matches(self._reader.read(folded), scope):
            if text.isascii():
                yield _finding(pattern, start, end, "plain")
                continue
            places = places or ends(text, self._folding)
            yield _finding(pattern, *place(places, start, end), "plain")

    def _spaced(self, text: str, folded: str, scope: Scope) -> Iterator[Finding]:
        if not _SPACED.search(folded):
            return
        glued = _SPACED.sub(lambda run: self._reader.split(_letters(run[0])), folded)
        for pattern, _, _ in self._matches(self._reader.read(glued), scope):
            yield _finding(pattern, 0, len(text), "spaced")

    def _matches(self, words: Words, scope: Scope) -> Iterator[tuple[Pattern, int, int]]:
        """Each pattern once, with its first place in the folded text."""
        for pattern in self._catalogue.patterns:
            if pattern.scope <= scope and (where := self._first(pattern, words)):
                yield pattern, *where

    def _first(self, pattern: Pattern, words: Words) -> tuple[int, int] | None:
        absent = words.absent
        for sequence in pattern.sequences:
            if sequence.needed & absent:
                continue
            for first, last in occurrences(sequence, words, pattern.unless):
                end = words.end(last)
                if not (pattern.mentions and is_mention(words, first, end, self._catalogue.talk)):
                    return words.start(first), end
        return None

    def _folded(self, text: str) -> str:
        return text.lower() if text.isascii() else text.translate(self._folding)


def _invisible(text: str) -> Iterator[Finding]:
    named: set[str] = set()
    for at in hidden(text):
        if len(named) == _HIDDEN_MAX:
            return
        if text[at] not in named:
            named.add(text[at])
            name = f"invisible_unicode_U+{ord(text[at]):04X}"
            yield Finding(name, "invisible", Severity.HIGH, at, at + 1, "plain")


def _letters(run: str) -> str:
    return re.sub(r"[ ._*|/-]", "", run)


def _finding(pattern: Pattern, start: int, end: int, view: str) -> Finding:
    return Finding(pattern.id, pattern.category, pattern.severity, start, end, view)

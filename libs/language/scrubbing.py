"""Secrets taken out of a text: keys, tokens, passwords. What is personal stays, it is its owner's.

What is left says of which kind a secret was, never the secret; it can be counted and not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from libs.language.secret_shapes import PLACEHOLDER, SHAPES

PASSES_MAX = 4
"""A placeholder may lay bare another secret beside it; each pass takes out what the one before showed."""


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """A text without its secrets."""

    text: str
    found: Mapping[str, int]
    """How many secrets of each kind were taken out."""


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    kind: str


def scrub(text: str) -> Scrubbed:
    """Replace every secret by ``[secret:kind]``. Scrubbing twice changes nothing more."""
    found: Counter[str] = Counter()
    for _ in range(PASSES_MAX):
        spans = _merged(sorted(_spans(text), key=lambda span: span.start))
        if not spans:
            break
        found.update(span.kind for span in spans)
        text = _replaced(text, spans)
    return Scrubbed(text, found)


def _spans(text: str) -> Iterator[_Span]:
    """Where secrets stand; the same place may be found by several shapes."""
    lower = text.lower()
    taken = {at for match in PLACEHOLDER.finditer(text) for at in range(*match.span())}
    for shape in SHAPES:
        if any(hint in lower for hint in shape.hints):
            for match in shape.pattern.finditer(text):
                start, end = _inside_quotes(text, *match.span("secret"))
                if start not in taken and shape.accepts(match):
                    yield _Span(start, end, shape.kind)


def _inside_quotes(text: str, start: int, end: int) -> tuple[int, int]:
    """The place without the quotes around it, so that what remains is still well-formed."""
    if end - start > 2 and text[start] in "\"'" and text[start] == text[end - 1]:
        return start + 1, end - 1
    return start, end


def _merged(spans: list[_Span]) -> list[_Span]:
    """Spans that overlap become one, of the kind of the first."""
    merged: list[_Span] = []
    for span in spans:
        if merged and span.start < merged[-1].end:
            last = merged.pop()
            span = _Span(last.start, max(last.end, span.end), last.kind)
        merged.append(span)
    return merged


def _replaced(text: str, spans: list[_Span]) -> str:
    pieces: list[str] = []
    at = 0
    for span in spans:
        pieces += (text[at : span.start], f"[secret:{span.kind}]")
        at = span.end
    return "".join((*pieces, text[at:]))

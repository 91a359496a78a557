"""An episode: what the journal keeps of a run that was finished, and the words by which it is found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from libs.language.lexemes import QUERY_TERMS_MAX, TERMS_MAX, Lexer, fold_name
from services.results.runs.run import Kind, Status

SMALL = "="
"""Stands before a small word: one that has no term, as ``don't`` and ``*``. No other term begins with it."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What is kept of a finished run for good."""

    run_id: UUID
    workflow_id: str
    kind: Kind
    status: Status
    goal: str
    outcome: str
    ended_at: datetime

    @property
    def text(self) -> str:
        """All that was written about it."""
        return "\n".join(part for part in (self.goal, self.outcome) if part)


def indexed(lexer: Lexer, text: str) -> Counter[str]:
    """What a text is found by, and how often it has it; at most ``2 * TERMS_MAX`` different ones.

    Each of its words, as it stands between white space, finds it when it is all of a query.
    """
    small = (each for word in dict.fromkeys(text.split()) for each in _small(lexer, word))
    return Counter(lexer.terms(text)) + Counter(islice(small, TERMS_MAX))


def looked_for(lexer: Lexer, query: str) -> list[str]:
    """The different terms of a query, at most ``QUERY_TERMS_MAX``; small words only if it has no others."""
    if terms := lexer.query_terms(query):
        return terms
    return list(islice(dict.fromkeys(SMALL + fold_name(word) for word in query.split()), QUERY_TERMS_MAX))


def _small(lexer: Lexer, word: str) -> list[str]:
    return [] if lexer.query_terms(word) else [SMALL + fold_name(word)]

"""What makes a sentence worth keeping: numbers, names, commands, negations, decisions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from libs.language.spelling import MARKS
from libs.language.stopwords import ELSEWHERE, ENGLISH, word_set

KEY_TERMS_MAX = 12

_WORD = re.compile(rf"[\w{MARKS}]+")
_TERM = re.compile(r"[^\s,;:()\[\]{}\"“”„«»]+")
_EDGES = ".!?'’`*_-—–…"
_TERM_CHARS_MAX = 40

_NUMBER = re.compile(r"\d")
_COMMAND = re.compile(r"[`$_:=(]|--[a-z]|[\w.-]/[\w.-]|[a-z][A-Z]")
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w-]|[A-Z]{2}|#\d|@\w")

_NEGATIONS = word_set(
    """
    not never no none nobody nothing without cannot except only unless instead nicht kein keine keinen
    nie niemals ohne jamais sans sin nunca não sem değil yok hayır не нет никогда नहीं बिना لا ليس لم
    نیست بدون نه
    """
)
_NEGATION_SIGNS = ("n't", "n’t", "不", "没", "沒", "無", "ない", "않", "ไม่")
"""Negations that are part of a word."""
_DECISIONS = word_set(
    """
    must should always decide decided decision decisions chose choose chosen agreed prefer prefers
    preferred preference because cause caused causes reason therefore fix fixed fixes solved solution
    resolved fail failed fails failing failure error errors bug bugs broke broken crash crashed crashes
    warning timeout deprecated deadline due risk important note remember todo result results works root
    replaced migrate migrated learned lesson wants likes asked never allergic
    """
)
_QUESTION_MARKS = ("?", "？", "؟")


def words(sentence: str) -> frozenset[str]:
    """The different words of a sentence, in lower case."""
    return frozenset(_WORD.findall(sentence.lower()))


def telling(sentence_words: frozenset[str]) -> frozenset[str]:
    """Those of its words that tell one sentence from another."""
    return sentence_words - ENGLISH - ELSEWHERE


def negations(sentence_words: frozenset[str]) -> frozenset[str]:
    """Those of its words that turn what it says into its opposite, or except something from it."""
    return sentence_words & _NEGATIONS


def signal(sentence: str, sentence_words: frozenset[str]) -> float:
    """How likely a sentence states a fact that matters, 0 to 1. A question states none."""
    negated = not sentence_words.isdisjoint(_NEGATIONS) or any(sign in sentence for sign in _NEGATION_SIGNS)
    total = (
        0.30 * bool(_NUMBER.search(sentence))
        + 0.20 * bool(_COMMAND.search(sentence))
        + 0.20 * bool(_NAME.search(sentence))
        + 0.25 * negated
        + 0.35 * (not sentence_words.isdisjoint(_DECISIONS))
    )
    return min(1.0, total) * (0.5 if sentence.endswith(_QUESTION_MARKS) else 1.0)


def key_terms(parts: Sequence[str], *, besides: str) -> list[str]:
    """Names and identifiers in some sentences, the most frequent first, none that ``besides`` holds."""
    counts = Counter(term for part in parts for term in _terms(part))
    known = besides.lower()
    fresh = [term for term in counts if term.lower() not in known]
    return sorted(fresh, key=lambda term: -counts[term])[:KEY_TERMS_MAX]


def _terms(sentence: str) -> Iterator[str]:
    for number, found in enumerate(_TERM.findall(sentence)):
        term = found.strip(_EDGES)
        if 1 < len(term) <= _TERM_CHARS_MAX and _stands_out(term, first=number == 0):
            yield term


def _stands_out(term: str, *, first: bool) -> bool:
    """A code, a long number, an identifier, or a name that is none only for standing first."""
    if any(map(str.isdigit, term)):
        return len(term) > 3
    if term[:1].isupper() and not first:
        return term.lower() not in ENGLISH
    return bool(_COMMAND.search(term))

"""Whether two sentences that are close in meaning say the same, or only look alike.

An embedding sees what sentences are about and little of what turns them round: "listens on port 5432" and
"on port 5433" stand as close as two wordings of one fact. So closeness only suggests; here every word has to
be accounted for. When in doubt the two are different: a repetition that is missed is a memory too many, one
that is wrong loses a fact.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from libs.language.signals import negations
from libs.language.spelling import MARKS, same_spelling, without_accents
from libs.language.stems import Stems
from services.memory.repetition.words import (
    BREAKS,
    CONTRASTS,
    HEADS,
    LIGHT,
    NEGATING,
    NEGATIONS,
    NUMBERS,
    SAME,
)

CHARS_MAX = 2_000
"""Longer texts are never held to be alike: too much in them can differ."""
CHANGED_WORDS_MAX = 3
"""So many words of a sentence may be replaced by others of the same meaning."""
SHARED_MIN = 0.5
"""How much of two sentences has to be the same word by word."""
WORDS_MIN = 2
"""A sentence of fewer is compared as if it had this many: so little says too little."""

_TOKEN = re.compile(
    r"(?P<stop>(?:[.,;:!?()\[\]{}\n—–]+(?=\s|$)|[。，；：！？、]+))"
    rf"|(?:(?<!\S)-(?=\d))?[#@$€£]?[\w{MARKS}](?:[\w{MARKS}'/@:\\+&.,_-]*[\w{MARKS}+#%])?%?"
    r"|[^\w\s.,;:!?()\[\]{}\"'`“”‘’…«»*#—–。，；：！？、-]+"
)
"""The end of a part of a sentence; a word, number, name or path; or signs such as ``>=`` and emoji."""
_UNIT = re.compile(r"([0-9][0-9.,]*)([a-z%]+)")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}\b)")
_CONTRACTED = re.compile(r"n't$")
_OBLIGED = re.compile(r"\b(?:have|has|need|needs|ought) to\b", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[^\W\d]\W|[_\d]|[a-z][A-Z]")
_ENDING = re.compile(r"'(?:s|ve|re|ll|d|m)?$")


class Difference(Enum):
    """What keeps two sentences from saying the same."""

    NUMBER = "number"
    NEGATION = "negation"
    NAME = "name"
    CONTRAST = "contrast"
    """A word such as ``before`` or ``Monday``, where another of its kind says something else."""
    ORDER = "order"
    """Who does what to whom, in the same words."""
    WORDS = "words"


HARD = frozenset(Difference) - {Difference.WORDS}
"""What two sentences about the same thing can contradict each other in."""


class _Kind(Enum):
    NUMBER = 1
    NEGATION = 2
    NAME = 3
    CONTRAST = 4
    CONTENT = 5
    HEAD = 6
    """It begins a clause and says how that bears on the others."""


@dataclass(frozen=True, slots=True)
class _Word:
    kind: _Kind
    key: str
    """What it is compared by."""
    surface: str
    clause: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two sentences have not in common."""

    difference: Difference | None
    """``None``: they say the same if the words that each has alone do."""
    only_one: tuple[str, ...] = ()
    only_other: tuple[str, ...] = ()
    shared: float = 1.0
    """How much of the longer one is in both, from 0 to 1."""


class Likeness:
    """Compares sentences. Stemmers keep state: one object for each thread."""

    def __init__(self) -> None:
        self._stems = Stems()

    def compare(self, one: str, other: str) -> Comparison:
        """What keeps two sentences apart, the gravest first."""
        if max(len(one), len(other)) > CHARS_MAX:
            return Comparison(Difference.WORDS, shared=0.0)
        if one == other:
            return Comparison(None)
        first, second = self._words(one), self._words(other)
        mine, theirs = _keys(first), _keys(second)
        lone, lone_other = _lone(first, theirs), _lone(second, mine)
        shared = (mine & theirs).total() / max(WORDS_MIN, mine.total(), theirs.total())
        difference = _difference(lone, lone_other, first, second)
        if difference is None and (
            len(lone) != len(lone_other) or len(lone) > CHANGED_WORDS_MAX or shared < SHARED_MIN
        ):
            difference = Difference.WORDS
        return Comparison(
            difference,
            tuple(word.surface for word in lone),
            tuple(word.surface for word in lone_other),
            shared,
        )

    def _words(self, text: str) -> list[_Word]:
        words: list[_Word] = []
        clause, begins = 0, True
        for found in _TOKEN.finditer(_OBLIGED.sub("must", same_spelling(text))):
            if found["stop"]:
                clause, begins = clause + 1, True
                continue
            for piece in _pieces(found[0]):
                if piece.lower() in BREAKS or piece.lower() in HEADS:
                    clause += 1
                words += self._word(piece, clause, begins=begins)
                begins = False
        return words

    def _word(self, surface: str, clause: int, *, begins: bool) -> Iterator[_Word]:
        lower = surface.lower()
        plain = _ENDING.sub("", lower)
        if negation := NEGATIONS.get(plain):
            yield _Word(_Kind.NEGATION, negation, surface, clause)
        elif negations(frozenset((plain,))):
            yield _Word(_Kind.NEGATION, "not", surface, clause)
        elif any(map(str.isdigit, plain)) or plain in NUMBERS:
            number = NUMBERS.get(plain) or _GROUPED.sub("", plain)
            yield _Word(_Kind.NUMBER, number.removeprefix("v") or number, surface, clause)
        elif contrast := CONTRASTS.get(plain):
            yield _Word(_Kind.CONTRAST, contrast, surface, clause)
        elif plain in HEADS:
            yield _Word(_Kind.HEAD, SAME.get(plain, plain), surface, clause)
        elif same := SAME.get(plain):
            yield _Word(_Kind.CONTENT, same, surface, clause)
        elif plain and plain not in LIGHT:
            named = not plain.isalpha() or (surface != lower and not (begins and surface.istitle()))
            key = without_accents(plain) if _IDENTIFIER.search(surface) else self._stems.stem(plain)
            yield _Word(_Kind.NAME if named else _Kind.CONTENT, key, surface, clause)


def _pieces(token: str) -> Iterator[str]:
    """The words of a token: a contraction's negation apart, a number's unit apart."""
    lower = token.lower()
    if lower == "can't" or _CONTRACTED.search(lower):
        rest = "can" if lower == "can't" else _CONTRACTED.sub("", lower)
        yield {"wo": "will", "sha": "shall"}.get(rest, rest)
        yield "not"
    elif lower == "cannot":
        yield "can"
        yield "not"
    elif unit := _UNIT.fullmatch(lower):
        yield from (unit[1].strip(".,"), unit[2])
    else:
        yield token


def _keys(words: Sequence[_Word]) -> Counter[str]:
    return Counter(word.key for word in words if word.kind is not _Kind.HEAD)


def _lone(words: Sequence[_Word], others: Counter[str]) -> list[_Word]:
    """The words whose key the other sentence has not, or not as often."""
    left = Counter(others)
    lone: list[_Word] = []
    for word in words:
        if word.kind is _Kind.HEAD:
            continue
        if left[word.key] > 0:
            left[word.key] -= 1
        else:
            lone.append(word)
    return lone


def _difference(
    lone: Sequence[_Word], lone_other: Sequence[_Word], one: Sequence[_Word], other: Sequence[_Word]
) -> Difference | None:
    kinds = {word.kind for word in (*lone, *lone_other)}
    for kind, difference in (
        (_Kind.NUMBER, Difference.NUMBER),
        (_Kind.NEGATION, Difference.NEGATION),
        (_Kind.NAME, Difference.NAME),
        (_Kind.CONTRAST, Difference.CONTRAST),
    ):
        if kind in kinds:
            return difference
    if any(_opposite(a.surface.lower(), b.surface.lower()) for a in lone for b in lone_other):
        return Difference.NEGATION
    common = _keys(one) & _keys(other)
    if _clauses(one, common) != _clauses(other, common) and _flat(one, common) != _flat(other, common):
        return Difference.WORDS if lone or lone_other else Difference.ORDER
    return None


def _opposite(one: str, other: str) -> bool:
    """Whether a word is another with a syllable before it that turns it round."""
    short, long = sorted((one, other), key=len)
    return any(long == prefix + short for prefix in NEGATING)


def _flat(words: Sequence[_Word], common: Counter[str]) -> list[str]:
    return [word.key for word in words if word.key in common]


def _clauses(words: Sequence[_Word], common: Counter[str]) -> list[list[str]]:
    """What both say, clause by clause, whichever clause comes first."""
    kept = [word for word in words if word.key in common or word.kind is _Kind.HEAD]
    clauses = [[word.key for word in clause] for _, clause in groupby(kept, key=lambda word: word.clause)]
    return sorted(clause for clause in clauses if any(key in common for key in clause))

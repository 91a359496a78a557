"""A folded text as the words that matter in it, and sequences found among them in one pass."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache, reduce
from operator import or_

from libs.screening.folding import respellings
from libs.screening.patterns import GAP_MAX, Sequence, Step, Vocabulary

_REMEMBERED = 16_384
"""Words whose sets are remembered."""
_STEM_CHARS_MAX = 16
_SENTENCE = GAP_MAX + 1
"""How far apart two sentences are counted, so that no sequence reaches over a full stop."""
_MENTIONED = 12
"""How many words before a quotation the talk of attacks may stand."""
_WORD_CHARS_MAX = 64
_BEFORE = 3
"""How many words back an excuse may stand."""
_QUOTES = "\"'`“”„«»‘’「」"
_SIGNS = "[\u064b-\u065f\u0900-\u0963\u0966-\u0dff]"
"""Vowel signs, which are no letters by themselves."""
_LINK = r"https?://|www\."
_MARKUP = r"<!--|<\||\|>|```|#{2,}|-{3,}|~/|\$|@|\[/?|</?|\.(?=(?:env|netrc|pgpass|npmrc|ssh|aws)\b)"
_STOPS = frozenset(".!?;。！？।؟")
_STOP = r"[.!?;](?=\s|$)|[。！？।؟]"


class Words:
    """What a text says, as the places of the sets of words that patterns are made of.

    A place is the number of a word in its text; a full stop counts for more words than any gap.
    """

    def __init__(self, text: str, places: dict[int, list[int]], spans: dict[int, re.Match[str]]) -> None:
        self.text = text
        self._places = places
        self._spans = spans
        self._sorted: dict[int, list[int]] = {}
        self.present = reduce(or_, places, 0)
        """The bits of all sets of which a word is there."""
        self.absent = ~self.present

    def places(self, bit: int) -> list[int]:
        """Where words of a set stand, in order."""
        if bit not in self._sorted:
            lists = [at for bits, at in self._places.items() if bits & bit]
            self._sorted[bit] = lists[0] if len(lists) == 1 else sorted(at for one in lists for at in one)
        return self._sorted[bit]

    def start(self, place: int) -> int:
        """The first character of a word."""
        return self._spans[place].start()

    def end(self, place: int) -> int:
        """One past the last character of a word."""
        return self._spans[place].end()


class Reader:
    """Reads texts with one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        unspaced = "".join(f"{re.escape(word)}|" for word in vocabulary.unspaced)
        spaced = f"(?:[^\\W_\u3040-\u9fff\u0e00-\u0e7f]|{_SIGNS})"
        self._ascii_token = re.compile(rf"{_LINK}|[a-z0-9]+(?:[$!][a-z0-9]+)*|{_STOP}|{_MARKUP}")
        self._token = re.compile(
            rf"{_LINK}|{spaced}+(?:[$!]{spaced}+)*|{_STOP}|{_MARKUP}|{unspaced}[\u3040-\u9fff\u0e00-\u0e7f]"
        )
        self._sets_of = lru_cache(_REMEMBERED)(self._look_up)
        self._longest = max(map(len, vocabulary.words))

    def read(self, text: str) -> Words:
        """The words of a folded text."""
        places: dict[int, list[int]] = {}
        spans: dict[int, re.Match[str]] = {}
        stops = 0
        sets_of = self._sets_of
        token = self._ascii_token if text.isascii() else self._token
        for number, found in enumerate(token.finditer(text), 1):
            word = found[0]
            if sets := sets_of(word if len(word) <= _WORD_CHARS_MAX else ""):
                at = number + stops
                places.setdefault(sets, []).append(at)
                spans[at] = found
            elif word in _STOPS:
                stops += _SENTENCE
        return Words(text, places, spans)

    def split(self, glued: str) -> str:
        """Letters without spaces, cut where known words begin and end."""
        cut: list[str] = []
        at = 0
        while at < len(glued):
            lengths = range(min(self._longest, len(glued) - at), 1, -1)
            known = next((n for n in lengths if glued[at : at + n] in self._vocabulary.words), 0)
            cut.append(f" {glued[at : at + known]} " if known else glued[at])
            at += known or 1
        return "".join(cut)

    def _look_up(self, word: str) -> int:
        sets = self._exactly(word)
        for spelling in () if sets else respellings(word):
            sets |= self._exactly(spelling)
        return sets

    def _exactly(self, word: str) -> int:
        sets = self._vocabulary.words.get(word, 0)
        for length in range(2, min(len(word), _STEM_CHARS_MAX) + 1):
            sets |= self._vocabulary.stems.get(word[:length], 0)
        return sets


def occurrences(sequence: Sequence, words: Words, unless: int) -> list[tuple[int, int]]:
    """The places of its first and last word wherever a sequence stands. Takes time linear in the words."""
    if sequence.needed & words.absent:
        return []
    first, *others = sequence.steps
    level = [(place, place) for place in words.places(first.words)]
    for step in others:
        level = _extended(level, step, words)
        if not level:
            return level
    if unless & words.present:
        excuses = words.places(unless)
        level = [found for found in level if not _within(excuses, found[0], _BEFORE)]
    return level


def _extended(level: list[tuple[int, int]], step: Step, words: Words) -> list[tuple[int, int]]:
    """Each match of a beginning with the word that may come next; the nearest beginning is as good as any."""
    out: list[tuple[int, int]] = []
    reach = step.gap + 1
    upto = 0
    for place in words.places(step.words):
        while upto < len(level) and level[upto][1] < place:
            upto += 1
        if upto and place - level[upto - 1][1] <= reach:
            out.append((level[upto - 1][0], place))
    return out


def _within(places: list[int], place: int, words: int) -> bool:
    """Whether one of the places is at most so many words before."""
    at = bisect_left(places, place)
    return at > 0 and place - places[at - 1] <= words


def is_mention(words: Words, place: int, end: int, talk: int) -> bool:
    """Whether a match is quoted, and the sentence before the quotation talks about attacks."""
    if not talk & words.present or not _within(words.places(talk), place, _MENTIONED):
        return False
    start = words.start(place)
    before, after = words.text[max(0, start - 40) : start], words.text[end : end + 60]
    return any(quote in before for quote in _QUOTES) and any(quote in after for quote in _QUOTES)

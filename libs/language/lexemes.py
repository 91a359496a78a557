"""Texts become terms for full-text search, in any language; names become what they are looked up by.

A text is only ever taken apart: no word of a query is an operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice, pairwise

from libs.language.spelling import MARKS, NON_JOINER, same_spelling, without_accents
from libs.language.stems import TERM_CHARS_MAX, Stems, script_of
from libs.language.stopwords import ELSEWHERE, ENGLISH

TERMS_MAX = 8_192
"""Terms of one text; what comes after them is not indexed."""
QUERY_TERMS_MAX = 64
PHRASES_MAX = 1_024
PARTS_MAX = 64
"""Parts of one identifier or path."""
KNOWN_WORDS_MAX = 65_536
"""Words whose terms are remembered."""
NAME_CHARS_WITHOUT_SPACES = 8
"""The longest name looked for inside a script that puts no spaces between words."""
FOREIGN = "~"
"""Stands before a truncation stem, which no other term begins with."""

_SPACELESS_CHARS = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff\uac00-\ud7a3\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
"""Han, kana, Thai, Lao, Khmer and Burmese; Hangul too, whose endings are written on to the word."""
_SPACELESS = re.compile(f"([{_SPACELESS_CHARS}]+)")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_W = rf"[\w{MARKS}{NON_JOINER}]"
_WORD = re.compile(
    rf"#?{_W}+(?:[-.:@/'\\+&]{_W}+|(?<=\d),(?=\d){_W}+)*(?:\+\+|#)?|[\u2600-\u27bf\U0001f300-\U0001faff]"
)
"""A word, an identifier, a path or an emoji. Separators are no letters, so matching is linear."""
_PLACES = re.compile(r"[/\\:@&]+")
"""What stands between the steps of a path, the sides of an address, a scope and its member."""
_JOINTS = re.compile(r"[-_.,'+#]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""What stands between the words of one identifier, and where camelCase bends."""
_CONTRACTED = re.compile(r"(?:n't|'(?:s|ve|re|ll|d|m))$", re.IGNORECASE)
_CODE = re.compile(r"([a-z]*)([0-9]+)")
_NUMBER = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+)(\.[0-9]+)?")
_VERSION = re.compile(r"v?([0-9]+\.[0-9]+)\.[0-9]")
_SEPARATORS = re.compile(
    r"[\s_!\"%-*,-/:-@\[-`{-~\u00a1\u00ab\u00b7\u00bb\u00bf\u060c\u061b\u061f\u06d4\u0964\u0965"
    r"\u2000-\u200a\u2010-\u206f\u3000-\u3003\u3008-\u301f\u30fb]+"
)
"""What may stand between the words of a name. Plus, hash and symbols belong to names: C++, F#, 🦊."""


class Lexer:
    """Takes texts apart. Remembers words it has met; one object for each thread."""

    def __init__(self) -> None:
        self._stems = Stems()
        self._known = lru_cache(KNOWN_WORDS_MAX)(self._word_terms)
        self._known_prefixes = lru_cache(KNOWN_WORDS_MAX)(self._prefixes)

    def terms(self, text: str) -> list[str]:
        """The terms of a text to be found, in order and with repetition; at most ``TERMS_MAX``."""
        words: list[str] = _WORD.findall(same_spelling(text))
        foreign, english = _evidence(words)
        terms = chain.from_iterable(self._terms(word, indexing=True) for word in words)
        if foreign > english:
            terms = chain(terms, chain.from_iterable(map(self._known_prefixes, words)))
        return list(islice(terms, TERMS_MAX))

    def query_terms(self, text: str) -> list[str]:
        """The different terms of a query, in order; at most ``QUERY_TERMS_MAX``.

        A query too short to show its language looks for truncation stems as well: they only meet
        texts in languages that have them.
        """
        words: list[str] = _WORD.findall(same_spelling(text))
        foreign, english = _evidence(words)
        terms = chain.from_iterable(self._terms(word, indexing=False) for word in words)
        if english <= foreign:
            terms = chain(terms, chain.from_iterable(map(self._known_prefixes, words)))
        return list(islice(dict.fromkeys(terms), QUERY_TERMS_MAX))

    def _terms(self, word: str, *, indexing: bool) -> Iterable[str]:
        if len(word) <= TERM_CHARS_MAX:
            return self._known(word, indexing)
        return self._word_terms(word, indexing)

    def _word_terms(self, word: str, indexing: bool) -> tuple[str, ...]:
        """All terms of a match of ``_WORD``."""
        if word.isalpha() and word.isascii() and (word.islower() or word.istitle()):
            return () if word.lower() in ENGLISH else (self._stems.stem(word),)
        if not word.isascii() and _SPACELESS.search(word):
            return tuple(islice(self._mixed(word, indexing), TERMS_MAX))
        return tuple(dict.fromkeys(self._parts(word)))

    def _mixed(self, word: str, indexing: bool) -> Iterator[str]:
        """Runs of a script without spaces in pairs of characters, the rest as words."""
        for number, piece in enumerate(_SPACELESS.split(word)):
            if number % 2 == 0:
                yield from chain.from_iterable(self._parts(part) for part in _WORD.findall(piece))
            elif len(piece) == 1:
                yield piece
            else:
                yield from (first + second for first, second in pairwise(piece))
                if indexing:
                    # One character can be a whole word, and a whole query.
                    yield from _HAN.findall(piece)

    def _parts(self, word: str) -> Iterator[str]:
        """The whole and its useful parts, from the outside in: path, step, word."""
        if _PLACES.search(word):
            yield _whole(word)
            for step in islice(_PLACES.split(word, PARTS_MAX), PARTS_MAX):
                yield from self._parts(step) if step else ()
            return
        word = _CONTRACTED.sub("", word)
        parts = [part for part in islice(_JOINTS.split(word, PARTS_MAX), PARTS_MAX) if part]
        if parts != [word] or any(map(str.isdigit, word)):
            yield from self._identifier(word, parts)
        if word.endswith(("+", "#")) or _NUMBER.fullmatch(word):
            return
        for part in parts:
            if (len(part) > 1 or len(parts) == 1) and part.lower() not in ENGLISH:
                yield from self._stemmed(part)

    def _identifier(self, word: str, parts: list[str]) -> Iterator[str]:
        """An identifier as a whole, and as it is also written: without ``v``, ``#``, commas or hyphens."""
        whole = _whole(word)
        if number := _NUMBER.fullmatch(word):
            yield from {whole.replace(",", ""): None, number[1].replace(",", ""): None}
        elif all(map(str.isalpha, parts)) and "".join(parts) in (word, word.replace("-", "")):
            # Written together it is a word like any other, as in a query.
            yield self._stems.stem("".join(parts))
        elif "'" not in word and NON_JOINER not in word:
            yield whole
        if whole[0] == "v" and whole[1:2].isdigit():
            yield whole[1:]
        if version := _VERSION.match(whole):
            yield version[1]
        if code := _CODE.fullmatch(whole):
            yield from (run for run in code.groups() if len(run) > 2)

    def _stemmed(self, word: str) -> Iterator[str]:
        """The stem of a word; of a Persian word with a non-joiner inside also the stems of its halves."""
        yield self._stems.stem(word)
        if NON_JOINER in word:
            yield from (self._stems.stem(half) for half in word.split(NON_JOINER) if len(half) >= 3)

    def _prefixes(self, word: str) -> tuple[str, ...]:
        """Truncation stems of a Latin word, with the mark that keeps them apart from other terms."""
        stem = _CONTRACTED.sub("", word).split("'")[0]
        if not stem.isalpha() or len(stem) < 2 or script_of(stem) != "latin" or stem.lower() in ENGLISH:
            return ()
        return tuple(FOREIGN + prefix for prefix in self._stems.prefixes(stem))


def _whole(word: str) -> str:
    return without_accents(word[:TERM_CHARS_MAX])


def _evidence(words: Iterable[str]) -> tuple[int, int]:
    """How many words speak for a language other than English in Latin letters, and how many for English."""
    foreign = english = 0
    for word in words:
        lower = word.lower()
        if lower in ENGLISH:
            english += 1
        elif lower in ELSEWHERE or (not lower.isascii() and script_of(lower) == "latin"):
            foreign += 1
    return foreign, english


def fold_name(text: str) -> str:
    """What a name is looked up by: one spelling, no upper case, one space wherever words part.

    A name of nothing but separators is its own folded form.
    """
    # Folding the case may undo the one spelling, as of the Turkish capital dotted I.
    folded = same_spelling(same_spelling(text).casefold()).replace("ı", "i").replace(NON_JOINER, "")
    return _SEPARATORS.sub(" ", folded).strip() or folded.strip()


def phrases(text: str, longest: int = 5) -> list[str]:
    """Everything in a text that could be a name, folded: runs of at most ``longest`` words.

    ``PHRASES_MAX`` at most; of a longer text those that come first.
    """
    words = fold_name(text).split()
    runs = (" ".join(words[at : at + size]) for at in range(len(words)) for size in range(1, longest + 1))
    inside = chain.from_iterable(_substrings(run) for word in words for run in _SPACELESS.findall(word))
    # Half of the room is kept for names inside scripts without spaces.
    candidates = chain(
        islice(runs, PHRASES_MAX // 2), islice(inside, PHRASES_MAX // 2), islice(runs, PHRASES_MAX)
    )
    return list(dict.fromkeys(candidates))[:PHRASES_MAX]


def _substrings(run: str) -> Iterator[str]:
    """The short pieces of a run of characters without spaces."""
    for at in range(len(run)):
        yield from (run[at:end] for end in range(at + 1, min(at + NAME_CHARS_WITHOUT_SPACES, len(run)) + 1))

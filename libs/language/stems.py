"""The stem of one word, by the script it is written in.

The stem depends on the word alone, never on its neighbours, so that a query of one word meets a text of many.
"""

from __future__ import annotations

from typing import Protocol, cast

import Stemmer

from libs.language.spelling import NON_JOINER, without_accents

TERM_CHARS_MAX = 64
"""A longer word is known by its beginning."""
PREFIX_CHARS = 5
"""Length of a truncation stem.

Five letters find as much as full morphology in Turkish (Can et al., "Information retrieval on Turkish texts",
JASIST 59, 2008), four or five do in most European languages (McNamee and Mayfield, "Character n-gram
tokenization", Information Retrieval 7, 2004).
"""

_SCRIPTS = (
    (0x0041, 0x024F, "latin"),
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0531, 0x058F, "armenian"),
    (0x0600, 0x077F, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
    (0x1E00, 0x1EFF, "latin"),
    (0x1F00, 0x1FFF, "greek"),
)
"""First and last code point of a block, and how its words are stemmed."""

# Light stemming: Larkey, Ballesteros and Connell, "Light stemming for Arabic information retrieval" (2007),
# after the one spelling of `spelling.py`, with the endings that Persian plurals and comparatives take.
_ARTICLES = ("وال", "بال", "کال", "فال", "ال", "لل")
_ENDINGS = (
    "هایشان", "هایی", "های", "هایم", "هایت", "هایش", "ترین", "ها", "تر",
    "ان", "ات", "ون", "ین", "یه", "ه", "ی",
)  # fmt: skip
_STEM_CHARS_MIN = 3
_VERB_MARKS = ("نمی", "می")

_VOICED = str.maketrans("bdg", "ptk")
"""Turkish softens a final consonant before a vowel: kitap, kitabı."""


class _Snowball(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - PyStemmer's name


def _snowball(language: str) -> _Snowball:
    return cast("_Snowball", Stemmer.Stemmer(language))


class Stems:
    """Stemmers of all scripts. They keep state: one object for each thread."""

    def __init__(self) -> None:
        languages = ("english", "turkish", "greek", "russian", "armenian", "hindi", "tamil")
        self._stemmers = {language: _snowball(language) for language in languages}

    def stem(self, word: str) -> str:
        """The stem of a word in its one spelling, upper or lower case."""
        word = word[:TERM_CHARS_MAX]
        if word.isascii():
            return self._stemmers["english"].stemWord(word.lower())
        script = script_of(word)
        if script == "latin":
            return self._stemmers["english"].stemWord(without_accents(word))
        word = word.casefold()
        if script == "arabic":
            return light_arabic(word.replace(NON_JOINER, ""))
        if script == "greek":
            word = without_accents(word)
        stemmer = self._stemmers.get(script)
        word = word.replace(NON_JOINER, "")
        return stemmer.stemWord(word) if stemmer else word

    def prefixes(self, word: str) -> tuple[str, ...]:
        """Truncation stems of a Latin word, without and with its Turkish endings taken off first."""
        folded = without_accents(word[:TERM_CHARS_MAX])
        # In Turkish the small letter of I is the dotless one, and the stemmer looks at vowels.
        lower = word[:TERM_CHARS_MAX].replace("İ", "i").replace("I", "ı").lower()
        turkish = without_accents(self._stemmers["turkish"].stemWord(lower))
        return tuple({truncated(folded): None, truncated(turkish): None})


def truncated(folded: str) -> str:
    """The first letters of a word, the last of them unvoiced."""
    start = folded[:PREFIX_CHARS]
    return start[:-1] + start[-1:].translate(_VOICED)


def script_of(word: str) -> str:
    """How a word's script is stemmed; empty for scripts whose words are taken as they are."""
    first = ord(word[0]) if word else 0
    return next((name for start, end, name in _SCRIPTS if start <= first <= end), "")


def light_arabic(word: str) -> str:
    """An Arabic, Persian or Urdu word without article, verbal mark and common endings."""
    for article in _ARTICLES:
        if word.startswith(article) and len(word) - len(article) >= _STEM_CHARS_MIN:
            word = word[len(article) :]
            break
    for mark in _VERB_MARKS:
        if word.startswith(mark) and len(word) - len(mark) > _STEM_CHARS_MIN:
            word = word[len(mark) :]
            break
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_CHARS_MIN:
            word = word[: -len(ending)]
    return word

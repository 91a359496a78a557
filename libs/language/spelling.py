"""One spelling for what people write in several ways, script by script.

What readers of a script hold to be the same word is brought to the same characters: presentation
forms, Arabic and Persian yeh and kaf, vowel points, digits of any script, invisible marks.
"""

from __future__ import annotations

import re
import unicodedata

TEXT_CHARS_MAX = 100_000
"""A text is cut here after normalising: one ligature may stand for eighteen letters."""
_MARKS_IN_A_ROW = 8
"""More marks on one letter are no writing, and sorting them would take quadratic time."""

MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0"
    "\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc\u09be-\u09cd\u09d7\u09e2"
    "\u09e3\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a75\u0a81-\u0a83\u0abc\u0abe-\u0acd\u0ae2\u0ae3\u0b01-\u0b03"
    "\u0b3c\u0b3e-\u0b57\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c\u0c3e-\u0c56\u0c62\u0c63\u0c81-\u0c83\u0cbc"
    "\u0cbe-\u0cd6\u0d00-\u0d03\u0d3b\u0d3c\u0d3e-\u0d4d\u0d57\u0d81-\u0d83\u0dca-\u0ddf\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d"
    "\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
)
"""Combining marks, which belong to the word although ``\\w`` leaves them out."""

NON_JOINER = "\u200c"
"""Stands inside Persian words, between a stem and its ending."""

_ZERO_DIGITS = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6,
    0x0D66, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x17E0,
)  # fmt: skip
"""Where the ten digits of each script begin."""

_INVISIBLE = (
    "\u00ad\u034f\u061c\u0640\u180e\u200d\u200e\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
)
_POINTS = (
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u0653\u0656-\u065f\u0670"
    "\u06d6-\u06dc\u093c"
)
"""Hebrew and Arabic vowel points, and the Devanagari nukta: written or left out as one likes."""
_DROPPED = re.compile(f"[{_INVISIBLE}{_POINTS}\u0307]")
"""The dot above is what case folding leaves of the Turkish capital dotted I."""

_SAME = str.maketrans(
    {
        **{chr(zero + digit): str(digit) for zero in _ZERO_DIGITS for digit in range(10)},
        **dict.fromkeys("يىئېۍ", "ی"), "ك": "ک", "ڪ": "ک", "ؤ": "و", **dict.fromkeys("ةۀەۂۃہھ", "ه"),
        **dict.fromkeys("أإآٱ", "ا"), "\u0901": "\u0902", "ё": "е", "Ё": "Е", "\u200b": " ", "’": "'",
    }
)  # fmt: skip

_LATIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
"""Letters that do not decompose into a plain one and a mark."""
_ACCENTS = re.compile("[\u0300-\u036f]")
_MANY_MARKS = re.compile(rf"([^\w\s\x00-\x7f]{{{_MARKS_IN_A_ROW}}})[^\w\s\x00-\x7f]+")


def same_spelling(text: str) -> str:
    """Bring a text to one spelling. Upper and lower case stay apart."""
    if text.isascii():
        return text[:TEXT_CHARS_MAX]
    text = _MANY_MARKS.sub(r"\1", text[:TEXT_CHARS_MAX])
    text = unicodedata.normalize("NFKC", text)[:TEXT_CHARS_MAX]
    return _DROPPED.sub("", text.translate(_SAME))


def without_accents(word: str) -> str:
    """A Latin or Greek word in plain letters, lower case."""
    if word.isascii():
        return word.lower()
    word = _ACCENTS.sub("", unicodedata.normalize("NFD", word.casefold()))
    return word.translate(_LATIN)

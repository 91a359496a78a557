"""One spelling for what reads alike: width, style, case and accents go, and so does what is invisible."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from itertools import accumulate

_CACHED_MAX = 20_000
"""Code points whose folding is remembered; more than any two languages need."""
_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_LOOKALIKES = {
    # Cyrillic and Greek letters, then small capitals and other letters that are drawn like Latin ones.
    **dict(zip("аеорсухівјѕһԁԛԝмтнкгп", "aeopcyxibjshdqwmthkrn", strict=True)),
    **dict(zip("αβεικνορτυχωγηϲϳ", "abeiknoptuxwyncj"[:14] + "cj", strict=True)),
    **dict(zip("ᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢꜰꜱıɑɡɩʋ", "abcdeghijklmnoprtuvwyzfsiagiv", strict=True)),
}
_DIGITS = str.maketrans("0134578@$!|", "oieastbasil")
_ONE_AS_L = str.maketrans("0134578@$!|", "oleastbasil")
LOOKALIKE_TABLE = str.maketrans(_LOOKALIKES)


class Folding(dict[int, str]):
    """A table for `str.translate`: fills itself, a character at a time."""

    def __missing__(self, code: int) -> str:
        """The folding of a code point that was not met before."""
        folded = fold_char(chr(code))
        if len(self) < _CACHED_MAX:
            self[code] = folded
        return folded


def fold_char(char: str) -> str:
    """A character as it is compared; empty if it cannot be seen. Tags become the letters they stand for."""
    code = ord(char)
    if 0xE0020 <= code <= 0xE007E:
        return chr(code - 0xE0000).lower()
    for first, last in ((0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189), (0x1F1E6, 0x1F1FF)):
        if first <= code <= last:
            return chr(code - first + ord("a"))
    if char in _FILLERS or unicodedata.category(char) == "Cf" or 0xFE00 <= code <= 0xFE0F:
        return ""
    if char in "\n\r\t":
        return char
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", char).casefold())
    return unicodedata.normalize("NFC", "".join(part for part in plain if not "\u0300" <= part <= "\u036f"))


def respellings(word: str) -> tuple[str, ...]:
    """Words that a folded word may be drawn to look like."""
    if word.isascii():
        if word.isalpha() or word.isdigit():
            return ()
        return (word.translate(_DIGITS), word.translate(_ONE_AS_L))
    latin = word.translate(LOOKALIKE_TABLE)
    return (latin, latin.translate(_DIGITS)) if latin.isascii() else ()


def ends(text: str, table: Folding) -> list[int]:
    """Where the folding of each character of a text ends in the folded text."""
    return list(accumulate(map(len, map(table.__getitem__, map(ord, text)))))


def place(ends: list[int], start: int, end: int) -> tuple[int, int]:
    """Where a stretch of the folded text stands in the text as it came."""
    return bisect_right(ends, start), bisect_left(ends, end) + 1

"""The patterns, as `patterns.toml` has them, made ready to be looked for.

A pattern is a sequence of words with gaps: `@drop ~4 @earlier ~3 @rules`. `@name` is a list of `words`,
`a|b` either of two, `~4` up to four words between. There is no regular expression in it, so nothing can
blow up: a sequence is found in one pass over the words of a text.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import resources
from operator import or_
from typing import Any

from libs.screening.folding import Folding
from libs.screening.verdict import Scope, Severity

_STEM_CHARS_MIN = 2
GAP_MAX = 32
"""Words that may stand between two steps of a sequence."""


@dataclass(frozen=True, slots=True)
class Step:
    """The next word of a sequence: one of a set of words, at most `gap` words later."""

    gap: int
    words: int
    """The bit of the set."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """Words in their order."""

    steps: tuple[Step, ...]
    needed: int
    """The bits of every set of words that it takes."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One thing to look for."""

    id: str
    category: str
    severity: Severity
    scope: Scope
    sequences: tuple[Sequence, ...]
    unless: int
    """Words that excuse it when one stands within three words before."""
    mentions: bool
    """Whether it may be quoted where attacks are talked about."""
    example: str
    counter_example: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Which sets a word is in, as bits."""

    words: Mapping[str, int]
    stems: Mapping[str, int]
    """Beginnings of words, each at least two letters long."""
    unspaced: tuple[str, ...]
    """Words of scripts that write no spaces, longest first."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All patterns and their words."""

    patterns: tuple[Pattern, ...]
    vocabulary: Vocabulary
    talk: int
    """The words that announce a quoted attack."""


def load() -> Catalogue:
    """Read `patterns.toml`."""
    return compiled(tomllib.loads((resources.files("libs.screening") / "patterns.toml").read_text("utf-8")))


def compiled(data: Mapping[str, Any]) -> Catalogue:
    """Give each set of words a bit, and write patterns in bits.

    Raises ``ValueError`` for a list that is not there, a stem under two letters, a gap over 32 words.
    """
    sets = _Sets({name: tuple(listed.split()) for name, listed in data["words"].items()})
    patterns = tuple(_pattern(row, sets) for row in data["pattern"])
    talk = sets.bit("@talk")
    return Catalogue(patterns, sets.vocabulary(), talk)


def is_unspaced(word: str) -> bool:
    """Whether the script of a word writes no spaces: Han, kana, Thai."""
    return any("\u3040" <= char <= "\u9fff" or "\u0e00" <= char <= "\u0e7f" for char in word)


class _Sets:
    """Sets of words, each with a bit; a word bears the bits of the sets that it is in."""

    def __init__(self, lists: Mapping[str, Iterable[str]]) -> None:
        self._lists = lists
        self._bits: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._stems: dict[str, int] = {}
        self._fold = Folding()

    def bit(self, alternatives: str) -> int:
        if alternatives not in self._bits:
            bit = self._bits[alternatives] = 1 << len(self._bits)
            for one in alternatives.split("|"):
                for word in self._listed(one):
                    self._add(word.translate(self._fold), bit)
        return self._bits[alternatives]

    def vocabulary(self) -> Vocabulary:
        unspaced = sorted(filter(is_unspaced, self._words), key=len, reverse=True)
        return Vocabulary(self._words, self._stems, tuple(unspaced))

    def _listed(self, one: str) -> Iterable[str]:
        if not one.startswith("@") or one == "@":
            return (one,)
        if one[1:] not in self._lists:
            raise ValueError(f"No list of words is called {one}")
        return self._lists[one[1:]]

    def _add(self, word: str, bit: int) -> None:
        stem = word.rstrip("*")
        if len(stem) < (_STEM_CHARS_MIN if word.endswith("*") else 1):
            raise ValueError(f"The stem {word!r} must have at least {_STEM_CHARS_MIN} letters")
        kept = self._stems if word.endswith("*") else self._words
        kept[stem] = kept.get(stem, 0) | bit


def _pattern(row: Mapping[str, Any], sets: _Sets) -> Pattern:
    return Pattern(
        id=row["id"],
        category=row["category"],
        severity=Severity(row["severity"]),
        scope=Scope[row["scope"].upper()],
        sequences=tuple(_sequence(written, sets) for written in row["match"]),
        unless=sets.bit(row["unless"]) if "unless" in row else 0,
        mentions=row.get("mentions", True),
        example=row["example"],
        counter_example=row["counter_example"],
    )


def _sequence(written: str, sets: _Sets) -> Sequence:
    steps: list[Step] = []
    gap = 0
    for part in written.split():
        if part.startswith("~") and part[1:].isdigit():
            gap = int(part[1:])
            if gap > GAP_MAX:
                raise ValueError(f"{written}: a gap has at most {GAP_MAX} words")
        else:
            steps.append(Step(gap, sets.bit(part)))
            gap = 0
    return Sequence(tuple(steps), reduce(or_, (step.words for step in steps), 0))

"""Search: what a query looks for.

Names of people are taken out of what is searched by meaning. A turn of a conversation calls the *other* one
by name, so that a name in the query would lead to what was said to somebody, never to what they said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from libs.language.lexemes import fold_name

NAMES_MAX = 16
"""Different names looked for in one query, the longest first."""


_WORD = re.compile(r"\w[\w./-]*")


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, taken apart."""

    meaning: str
    """What is searched by meaning: the query without names of people."""
    about: frozenset[bytes]
    """The blind names of those whom it names."""


def asked(query: str, known: Mapping[str, Collection[bytes]]) -> Asked:
    """Take a query apart. ``known`` are those of its phrases, folded, that name somebody, and whom.

    A single word is only taken out where it is written like a name: somebody may be called ``Deploy``, but
    who writes "how to deploy" means something else. Scripts without capitals know no such difference.
    """
    names = sorted(known, key=lambda name: (-len(name), name))[:NAMES_MAX]
    if not names:
        return Asked(query, frozenset())
    about: set[bytes] = set()

    def take(found: re.Match[str]) -> str:
        name = found["word"] or found["piece"]
        about.update(known.get(fold_name(name), ()))
        return found[0] if name.islower() and name.isalpha() else " "

    without = " ".join(_pattern(names).sub(take, query).split())
    return Asked(without if re.search(r"\w", without) else query, frozenset(about))


def pointing(query: str, terms: Sequence[str], terms_of: Callable[[str], Iterable[str]]) -> list[bool]:
    """Which terms of a query point at one thing: those of numbers and of words written like names."""
    words = _WORD.findall(query)
    named = [word for at, word in enumerate(words) if _names(word[1:] if at == 0 else word)]
    them = set(chain.from_iterable(map(terms_of, named)))
    return [term in them for term in terms]


def _names(word: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in word)


def _pattern(names: Collection[str]) -> re.Pattern[str]:
    """Finds names: between other words, or anywhere in scripts that part no words."""
    words = "|".join(map(_spelled, names))
    pieces = "|".join(_spelled(name) for name in names if name.upper() == name.lower()) or r"(?!)"
    return re.compile(rf"(?<!\w)(?P<word>{words})(?:['’]s)?(?!\w)|(?P<piece>{pieces})", re.IGNORECASE)


def _spelled(name: str) -> str:
    return r"[\W_]+".join(map(re.escape, name.split()))

"""What a language model is asked about a text that has to become shorter, and what of its answer counts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from libs.language.signals import negations, telling, words

WORDS_OF_TOKENS = 0.6
"""A model keeps to a number of words better than of tokens; most languages take fewer than two a word."""
KNOWN_MIN = 0.5
"""The share of an answer's telling words that stand in the text: a short form says it in its words."""

_NUMBER = re.compile(r"\d+")
_QUOTED = re.compile(r"`([^`\n]+)`")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Lao, Japanese, Chinese."""
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and what makes text read otherwise than it stands."""


def task(tokens: int) -> str:
    """What is asked, for a text of at most so many tokens."""
    return f"""Shorten the material, which an agent remembers, to at most {_words_in(tokens)} words.
Keep what matters most, exactly as it stands: numbers, names, negations, commands, decisions.
Leave out what repeats. Say nothing that the material does not say.
Keep its language and, as far as possible, its words.
Answer with the shortened text and nothing else."""


def checked(answer: str, text: str) -> str | None:
    """The short form in an answer; ``None`` for one that tells what the text does not, or cannot be read."""
    said = answer.strip()
    if not said or _UNREADABLE.search(said):
        return None
    if not set(_NUMBER.findall(said)) <= set(_NUMBER.findall(text)):
        return None
    if not all(quoted in text for quoted in _QUOTED.findall(said)):
        return None
    said_words, text_words = words(said), words(text)
    if not negations(said_words) <= text_words:
        return None
    new, known = _pieces(telling(said_words)), _pieces(text_words)
    return said if len(new & known) >= KNOWN_MIN * len(new) else None


def _words_in(tokens: int) -> int:
    return max(5, int(tokens * WORDS_OF_TOKENS))


def _pieces(found: Iterable[str]) -> set[str]:
    """Words; of scripts that put no spaces between them, their characters."""
    return {piece for word in found for piece in (word if _UNSPACED.search(word) else (word,))}

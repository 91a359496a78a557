"""Texts made shorter by leaving sentences out: what carries facts stays, what repeats goes.

Extractive: every word of a short form stands in the source. The same source gives the same short form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import sentencex
from numpy.typing import NDArray

from libs.language.embeddings import Vector
from libs.language.signals import key_terms, signal, telling, words
from libs.language.tokens import TokenCounter

SUMMARY_TOKENS_MAX = 150
ESSENCE_TOKENS_MAX = 50
SENTENCES_MAX = 400
"""Sentences considered; of a longer text the first and the last half of these."""
SENTENCE_CHARS_MAX = 400
"""A longer run without an end (a log line, minified code) is taken in pieces."""

# Maximal marginal relevance: Carbonell and Goldstein, SIGIR 1998. The weights were tried on hand-made texts.
_RELEVANCE_WEIGHT = 0.5
_SIGNAL_WEIGHT = 0.5
_REPETITION_WEIGHT = 0.6
_FIRST_BONUS = 0.1
"""What a text begins with tells what it is about."""
_SAME = 0.9
"""Sentences more alike than this say the same."""

_BLOCK = re.compile(r".{1,1000}(?<=[.!?。！？।])(?=\s|[^\x00-\x7f]|$)|.{1,1000}(?<=\s)|.{1,1000}")
"""Outside ASCII the splitter takes quadratic time, so it gets a long line in blocks."""
_PIECES = re.compile(rf"\S.{{0,{SENTENCE_CHARS_MAX - 1}}}(?=\s|$)|\S{{{SENTENCE_CHARS_MAX}}}")

_Likeness = Callable[[int], Sequence[float]]
"""How alike each sentence is to a given one, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Short:
    """The short forms of a text, and what each of them and the text itself counts in tokens."""

    summary: str
    essence: str
    full_tokens: int
    summary_tokens: int
    essence_tokens: int


def shorten(text: str, counter: TokenCounter) -> Short:
    """Summary and essence of a text without any vectors. A text that fits is its own short form."""
    full = counter.count(text)
    if full <= ESSENCE_TOKENS_MAX:
        return Short(text, text, full, full, full)
    weighed = _weigh(sentences(text) or [text], None)
    summary = text if full <= SUMMARY_TOKENS_MAX else _selection(weighed, counter, SUMMARY_TOKENS_MAX)
    summary_tokens = counter.count(summary)
    essence = _headline(weighed, counter, min(ESSENCE_TOKENS_MAX, summary_tokens))
    return Short(summary, essence, full, summary_tokens, counter.count(essence))


def sentences(text: str, limit: int = SENTENCES_MAX) -> list[str]:
    """The sentences of a text in order; a line break always ends one."""
    found: list[str] = []
    for line in text.splitlines():
        blocks = [line] if line.isascii() else _BLOCK.findall(line)
        found += [piece for block in blocks for segment in _segments(block) for piece in _pieces(segment)]
    half = limit // 2
    return found if len(found) <= limit else found[: limit - half] + found[len(found) - half :]


def compress(
    parts: Sequence[str], counter: TokenCounter, tokens: int, vectors: Sequence[Vector] | None = None
) -> str:
    """The sentences worth keeping within so many tokens, in their order; all of them where they fit.

    Likeness is that of the vectors, one for each sentence, or that of the words where there are none.
    At ``ESSENCE_TOKENS_MAX`` and below it is one sentence, and the terms of the others that stand out.
    """
    whole = " ".join(parts)
    if counter.count(whole) <= tokens:
        return whole
    weighed = _weigh(parts, vectors)
    shape = _headline if tokens <= ESSENCE_TOKENS_MAX else _selection
    return shape(weighed, counter, tokens)


def _segments(block: str) -> list[str]:
    """What the splitter makes of a block; it is told a language only for its abbreviations."""
    if not block.strip():
        return []
    segments: list[str] = sentencex.segment("en", block)  # pyright: ignore[reportAttributeAccessIssue]
    return [segment.strip() for segment in segments]


def _pieces(segment: str) -> list[str]:
    if len(segment) <= SENTENCE_CHARS_MAX:
        return [segment] if segment else []
    return [match.group().strip() for match in _PIECES.finditer(segment)]


@dataclass(frozen=True, slots=True)
class _Weighed:
    """Sentences, how much each is worth, and how alike they are."""

    parts: Sequence[str]
    worth: Sequence[float]
    likeness: _Likeness

    @property
    def best(self) -> int:
        """The place of the worthiest sentence, the first of equals."""
        return max(range(len(self.parts)), key=lambda at: (self.worth[at], -at))


def _weigh(parts: Sequence[str], vectors: Sequence[Vector] | None) -> _Weighed:
    """Worth is how much a sentence says about the whole, and how many facts it holds."""
    bags = [words(part) for part in parts]
    if vectors is None:
        relevance, likeness = _by_words([telling(bag) for bag in bags])
    else:
        relevance, likeness = _by_vectors(np.stack(vectors))
    worth = [
        _RELEVANCE_WEIGHT * central + _SIGNAL_WEIGHT * signal(part, bag)
        for central, part, bag in zip(relevance, parts, bags, strict=True)
    ]
    worth[0] += _FIRST_BONUS
    return _Weighed(parts, worth, likeness)


def _by_words(bags: Sequence[frozenset[str]]) -> tuple[list[float], _Likeness]:
    """Relevance: how many sentences share a sentence's words, against the highest. Likeness: words shared."""
    frequency = Counter(word for bag in bags for word in bag)
    # Two more in the divisor: a sentence of one frequent word says little.
    means = [sum(frequency[word] for word in bag) / (len(bag) + 2) for bag in bags]
    highest = max(means) or 1.0

    def likeness(at: int) -> list[float]:
        one = bags[at]
        return [len(one & other) / (min(len(one), len(other)) or 1) for other in bags]

    return [mean / highest for mean in means], likeness


def _by_vectors(matrix: NDArray[np.float32]) -> tuple[list[float], _Likeness]:
    """Relevance: cosine to the mean of all. Likeness: cosine."""
    mean = matrix.mean(axis=0)
    relevance = matrix @ (mean / (np.linalg.norm(mean) or 1.0))
    return relevance.tolist(), lambda at: np.clip(matrix @ matrix[at], 0.0, 1.0).tolist()


def _selection(weighed: _Weighed, counter: TokenCounter, tokens: int) -> str:
    """Maximal marginal relevance: the worthiest sentence that fits and repeats least, again and again."""
    costs = [counter.count(part) + 1 for part in weighed.parts]
    repeated = [0.0] * len(costs)
    chosen: list[int] = []
    left = tokens
    while fitting := [at for at, cost in enumerate(costs) if cost <= left and repeated[at] < _SAME]:
        best = max(fitting, key=lambda at: (weighed.worth[at] - _REPETITION_WEIGHT * repeated[at], -at))
        chosen.append(best)
        left -= costs[best]
        repeated = [max(pair) for pair in zip(repeated, weighed.likeness(best), strict=True)]
        repeated[best] = 1.0
    # Joined, sentences may count otherwise than each alone.
    text = " ".join(weighed.parts[at] for at in sorted(chosen)) or weighed.parts[weighed.best]
    return counter.cut(text, tokens)


def _headline(weighed: _Weighed, counter: TokenCounter, tokens: int) -> str:
    """The worthiest sentence, and in brackets the terms of the others, as many as fit."""
    line = headline = counter.cut(weighed.parts[weighed.best], tokens)
    others = [part for at, part in enumerate(weighed.parts) if at != weighed.best]
    terms: list[str] = []
    for term in key_terms(others, besides=headline):
        terms.append(term)
        longer = f"{headline} ({', '.join(terms)})"
        if counter.count(longer) > tokens:
            break
        line = longer
    return line

"""What a language model is asked about two memories, and what of its answer counts."""

from __future__ import annotations

import re

TEXT_CHARS_MAX = 1_000
"""Of each text that are shown."""
ANSWER_TOKENS_MAX = 20

TASK = """The material holds two notes, each after a number. Say whether they state the same fact or advice in
other words, so that nothing is lost if only the first is kept. If anything differs (a number, a name, a
place, a time, who does what, what is allowed), they do not. When in doubt, they do not.
Answer with one word and nothing else: same or different"""

_WORD = re.compile(r"[a-z]+")


def material(one: str, other: str) -> str:
    """Both as a model is shown them."""
    return f"1: {one[:TEXT_CHARS_MAX]}\n2: {other[:TEXT_CHARS_MAX]}"


def same_of(answer: str) -> bool:
    """Whether an answer says that they are the same, and nothing besides."""
    return _WORD.findall(answer.lower()) == ["same"]

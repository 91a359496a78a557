"""Texts taken apart where it keeps nobody waiting: short ones at once, long ones beside the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from libs.language.lexemes import Lexer

AT_ONCE_CHARS_MAX = 4_000
"""Longer texts are taken apart in a thread, so that other calls do not wait for them."""

T = TypeVar("T")


class Lexing:
    """Lends a lexer. A lexer serves one thread: the loop has its own, the single thread beside it another."""

    def __init__(self) -> None:
        self._lexer = Lexer()
        self._thread_lexer = Lexer()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lexing")

    async def run(self, chars: int, work: Callable[[Lexer], T]) -> T:
        """Do some work with a lexer, over a text of so many characters."""
        if chars <= AT_ONCE_CHARS_MAX:
            return work(self._lexer)
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._thread_lexer)

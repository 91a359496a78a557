"""One page of a list: after which row it starts, how many rows it has, and where the next one starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar
from uuid import UUID

from libs.data.pages import Pages, Position

PAGE_SIZE = 50
PAGE_SIZE_MAX = 200

R = TypeVar("R")


class Asked(Protocol):
    """A request for a page."""

    page_size: int
    page_token: str


class Listing:
    """One page, asked for by one profile. ``query`` is what else was asked, as bytes."""

    def __init__(
        self, pages: Pages, profile: UUID, rpc: str, asked: Asked, now: datetime, query: bytes = b""
    ) -> None:
        self._pages = pages
        self._place = (profile, rpc, query)
        self._now = now
        self._size = min(asked.page_size or PAGE_SIZE, PAGE_SIZE_MAX)
        self.after = pages.open(*self._place, asked.page_token, now)
        """The position of the last row of the page before; ``None`` for the first page."""
        self.limit = self._size + 1
        """How many rows to fetch: one more than are shown, to know whether there are more."""

    def part(self, rows: Sequence[R], position: Callable[[R], Position]) -> tuple[Sequence[R], str]:
        """The rows to show, and the token of the page after them, empty if there is none."""
        shown = rows[: self._size]
        if len(rows) == len(shown):
            return shown, ""
        return shown, self._pages.seal(*self._place, position(shown[-1]), self._now)

"""Lists, a page at a time, and no page larger than a message may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast
from uuid import UUID

from google.protobuf.message import Message

from libs.clock import Clock
from libs.data.pages import Pages, Position
from libs.messages import fitting

PAGE_SIZE = 50
PAGE_SIZE_MAX = 200

Found = TypeVar("Found")
Shown = TypeVar("Shown", bound=Message)


class PageRequest(Protocol):
    """A message that asks for a page."""

    page_size: int
    page_token: str


@dataclass(frozen=True, slots=True)
class Page:
    """What is asked for of a list."""

    profile: UUID
    rpc: str
    query: bytes
    """What else was asked for: a token holds for this only."""
    size: int
    after: tuple[Any, ...] | None
    """What the last row of the page before is sorted by."""

    @property
    def limit(self) -> int:
        """How many rows to read: one more than are shown, to know whether there are more."""
        return self.size + 1


class Lists:
    """Reads page requests and makes their tokens."""

    def __init__(self, pages: Pages, clock: Clock) -> None:
        self._pages = pages
        self._clock = clock

    def page(self, profile: UUID, rpc: str, request: PageRequest) -> Page:
        """The page that is asked for. Raises ``Invalid`` for a token that is not of this list."""
        size = min(request.page_size or PAGE_SIZE, PAGE_SIZE_MAX)
        query = _query(cast(Message, request))
        after = self._pages.open(profile, rpc, query, request.page_token, self._clock())
        return Page(profile, rpc, query, size, after)

    def cut(
        self,
        page: Page,
        found: Sequence[Found],
        show: Callable[[Found], Shown],
        position: Callable[[Found], Position],
    ) -> tuple[list[Shown], str]:
        """What is shown of the rows that were read, and the token of the next page; empty on the last."""
        messages = [show(one) for one in found[: page.size]]
        messages = messages[: fitting(messages)]
        if len(messages) == len(found):
            return messages, ""
        return messages, self.token(page, position(found[len(messages) - 1]))

    def token(self, page: Page, position: Position) -> str:
        """The token that goes on after a row."""
        return self._pages.seal(page.profile, page.rpc, page.query, position, self._clock())


def _query(request: Message) -> bytes:
    """The request without what differs from page to page."""
    alike = type(request)()
    alike.CopyFrom(request)
    alike.ClearField("page_size")
    alike.ClearField("page_token")
    return alike.SerializeToString(deterministic=True)

"""Somebody's service over HTTP: asked once, within limits, whatever it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import httpx2
import orjson

from libs.errors import Unavailable

CONNECT_SECONDS_MAX = 3.0
CONNECTIONS_MAX = 8
RETRY_AFTER_SECONDS_MAX = 3_600.0


def http_client(seconds: float) -> httpx2.AsyncClient:
    """A client with limits, to be closed by whoever built it; ``seconds`` for one read or write."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(seconds, connect=CONNECT_SECONDS_MAX),
        limits=httpx2.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX),
        follow_redirects=False,
    )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked, and what an answer may take."""

    client: httpx2.AsyncClient
    url: str
    headers: Mapping[str, str]
    model: str
    """Names it in problems."""
    away: type[Unavailable]
    """The problem that it is when anything goes wrong."""
    seconds_max: float
    """From the first byte sent to the last received."""
    bytes_max: int

    async def post(self, body: Mapping[str, object]) -> dict[str, object]:
        """The object that it answers. Whatever goes wrong is ``away``."""
        try:
            async with (
                asyncio.timeout(self.seconds_max),
                self.client.stream("POST", self.url, json=body, headers=self.headers) as response,
            ):
                if response.status_code != 200:
                    raise self._refused(response)
                answer = orjson.loads(await self._read(response))
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, TimeoutError) as error:
            raise self.away(
                f"The provider of {self.model} did not answer ({type(error).__name__})."
            ) from error
        except orjson.JSONDecodeError as error:
            raise self.away(f"The provider of {self.model} did not answer with JSON.") from error
        if not isinstance(answer, dict):
            raise self.unexpected()
        return cast("dict[str, object]", answer)

    def unexpected(self) -> Unavailable:
        """The problem that an answer of another shape is."""
        return self.away(f"The provider of {self.model} answered in an unknown shape.")

    async def _read(self, response: httpx2.Response) -> bytes:
        """The body of an answer, as long as it stays within its limit."""
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self.bytes_max:
                raise self.away(
                    f"The provider of {self.model} answers with more than {self.bytes_max} bytes."
                )
        return bytes(body)

    def _refused(self, response: httpx2.Response) -> Unavailable:
        """What a status other than 200 means; its text is the provider's own and goes nowhere."""
        return self.away(
            f"The provider of {self.model} answered with status {response.status_code}.",
            retry_after=retry_after(response.headers.get("retry-after", "")),
        )


def retry_after(header: str) -> float | None:
    """Seconds of a ``Retry-After`` header; None when there is none, or a date."""
    digits = header.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
        return None
    return min(float(digits), RETRY_AFTER_SECONDS_MAX)

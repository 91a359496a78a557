"""Bodies of requests: how they come, in which form, and how much of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Receive

from services.gateway.calls import ClientGone
from services.gateway.problems import NotServed

BODY_BYTES_MAX: Final = 3 * 1024 * 1024
"""What a body may have; gRPC messages end at 4 MiB."""
READ_BYTES_MAX: Final = 4 * BODY_BYTES_MAX
"""How much of a body of unknown length is read to its end, so that whoever sent it reads the answer."""
BODY_SECONDS_MAX: Final = 30
"""How long a body may take to arrive."""
JSON: Final = "application/json"
UTF_8: Final = ("utf-8", "utf8")
ENCODED: Final = "The body must not be compressed."
ENDED: Final = {"Connection": "close"}


class BodyTooLarge(NotServed):
    """The body has more than 3 MiB."""

    def __init__(self, headers: Mapping[str, str] | None = None) -> None:
        """Take headers of the answer."""
        limit = {"limit": str(BODY_BYTES_MAX)}
        super().__init__(413, "VALUE_TOO_LARGE", "The body has more than 3 MiB.", headers, limit)


async def read_body(headers: Headers, receive: Receive) -> bytes:
    """The whole body. ``BodyTooLarge`` at once where its length says so."""
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > BODY_BYTES_MAX:
        raise BodyTooLarge
    try:
        async with asyncio.timeout(BODY_SECONDS_MAX):
            return await _received(receive)
    except TimeoutError:
        raise NotServed(408, "DEADLINE_EXCEEDED", "The body took too long to arrive.", ENDED) from None


async def _received(receive: Receive) -> bytes:
    body, size = bytearray(), 0
    while size <= READ_BYTES_MAX:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part: bytes = message.get("body", b"")
        size += len(part)
        if size <= BODY_BYTES_MAX:
            body += part
        if not message.get("more_body", False):
            if size > BODY_BYTES_MAX:
                raise BodyTooLarge
            return bytes(body)
    raise BodyTooLarge(ENDED)  # it may never end


def require_json(headers: Headers) -> None:
    """See that the body says that it is JSON in UTF-8, as it came."""
    media_type, *parameters = (part.strip().lower() for part in headers.get("content-type", "").split(";"))
    charsets = [
        value.strip('"')
        for name, _, value in (each.partition("=") for each in parameters)
        if name == "charset"
    ]
    if media_type != JSON or any(charset not in UTF_8 for charset in charsets):
        raise NotServed(415, "MALFORMED_REQUEST", f"The Content-Type must be {JSON}, in UTF-8.")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise NotServed(415, "MALFORMED_REQUEST", ENCODED)


def require_accepted(headers: Headers, offered: str) -> None:
    """See that the client takes what it would get."""
    ranges = [
        each for value in headers.getlist("accept") for each in value.lower().split(",") if each.strip()
    ]
    family = offered.partition("/")[0]
    if ranges and not any(_accepts(each, (offered, f"{family}/*", "*/*")) for each in ranges):
        raise NotServed(
            406, "MALFORMED_REQUEST", f"The answer is {offered}, which the Accept header does not allow."
        )


def _accepts(media_range: str, fitting: tuple[str, ...]) -> bool:
    media_type, *parameters = (part.strip() for part in media_range.split(";"))
    refused = any(
        name == "q" and not value.strip("0.")
        for name, _, value in (each.partition("=") for each in parameters)
    )
    return media_type in fitting and not refused

"""Bodies of requests: how they come, in which form, and how much of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Receive

from services.gateway.calls import ClientGone
from services.gateway.problems import NotServed

MEBIBYTE: Final = 1024 * 1024
BODY_BYTES_MAX: Final = 3 * MEBIBYTE
"""What a body may have where nothing else is said; gRPC messages end at 4 MiB."""
ESCAPED_BYTES_MAX: Final = 6
"""What JSON takes at most for one byte of text, as in ``\\u0001``."""
READ_TIMES_MAX: Final = 4
"""How much more of a body of unknown length is read to its end, so that whoever sent it reads the answer."""
BODY_SECONDS_MAX: Final = 30
"""How long a body may take to arrive."""
JSON: Final = "application/json"
UTF_8: Final = ("utf-8", "utf8")
ENCODED: Final = "The body must not be compressed."
ENDED: Final = {"Connection": "close"}


class BodyTooLarge(NotServed):
    """The body is larger than it may be."""

    def __init__(self, bytes_max: int, headers: Mapping[str, str] | None = None) -> None:
        """Take the limit, and headers of the answer."""
        limit = {"limit": str(bytes_max)}
        detail = f"The body has more than {bytes_max // MEBIBYTE} MiB."
        super().__init__(413, "VALUE_TOO_LARGE", detail, headers, limit)


def room_for(value_bytes_max: int) -> int:
    """What a body may have beside whose other fields stands one long value, however JSON writes it."""
    return BODY_BYTES_MAX + ESCAPED_BYTES_MAX * value_bytes_max


async def read_body(headers: Headers, receive: Receive, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """The whole body. ``BodyTooLarge`` at once where its length says so."""
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > bytes_max:
        raise BodyTooLarge(bytes_max)
    try:
        async with asyncio.timeout(BODY_SECONDS_MAX):
            return await _received(receive, bytes_max)
    except TimeoutError:
        raise NotServed(408, "DEADLINE_EXCEEDED", "The body took too long to arrive.", ENDED) from None


async def _received(receive: Receive, bytes_max: int) -> bytes:
    body, size = bytearray(), 0
    while size <= READ_TIMES_MAX * bytes_max:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part: bytes = message.get("body", b"")
        size += len(part)
        if size <= bytes_max:
            body += part
        if not message.get("more_body", False):
            if size > bytes_max:
                raise BodyTooLarge(bytes_max)
            return bytes(body)
    raise BodyTooLarge(bytes_max, ENDED)  # it may never end


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

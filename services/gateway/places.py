"""Where browsers may come from. A page of somebody else's must not reach a house on the same machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from services.gateway.problems import NotServed

LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this very machine, which are always allowed, on any port."""


class Places:
    """The hosts that this house answers as, and the origins whose pages may call it."""

    def __init__(self, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        """Take hosts, with a port or for any port, and origins such as ``https://example.org``."""
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    def admit(self, headers: Headers) -> None:
        """See that a request was meant for us, and does not come from a foreign page."""
        host = headers.get("host", "").lower()
        if not ({host, _name(f"//{host}")} & (self._hosts | LOCAL)):
            raise NotServed(403, "ORIGIN_REFUSED", "This house does not answer under that host name.")
        origin = headers.get("origin", "").lower()
        if origin and origin not in self._origins and _name(origin) not in LOCAL:
            raise NotServed(403, "ORIGIN_REFUSED", "Pages of that origin may not call this house.")


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""

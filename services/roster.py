"""The roles that there are. The only file that knows all services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from libs.data.checks import ServiceSchema
from libs.site import Role, Site
from services.clipboard import service as clipboard
from services.decay import service as decay
from services.gateway import service as gateway
from services.memory import service as memory
from services.results import service as results

Build = Callable[[AsyncExitStack, Site], Awaitable[Role]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One role: what it is built by, what it keeps, and its settings."""

    build: Build
    schema: ServiceSchema
    settings: tuple[type[Any], ...]


ROLES: dict[str, Entry] = {
    "gateway": Entry(gateway.build, gateway.SCHEMA, gateway.SETTINGS),
    "memory": Entry(memory.build, memory.SCHEMA, memory.SETTINGS),
    "decay": Entry(decay.build, decay.SCHEMA, decay.SETTINGS),
    "clipboard": Entry(clipboard.build, clipboard.SCHEMA, clipboard.SETTINGS),
    "results": Entry(results.build, results.SCHEMA, results.SETTINGS),
}

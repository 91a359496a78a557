"""What every role of a process is built upon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from libs.clock import Clock
from libs.data.master_key import MasterKey
from libs.rpc.caller import Signer
from libs.rpc.channels import Remote
from libs.rpc.server import Service
from libs.rpc.telemetry import Telemetry
from libs.rpc.verification import Verifier

Application = Callable[..., Any]
"""An ASGI application."""


@dataclass(frozen=True, slots=True)
class Site:
    """The ground of one process, made once and passed to each role's ``build``."""

    env: Mapping[str, str]
    """Where settings are read from."""
    clock: Clock
    home: Path
    """The state directory."""
    dsn: str
    """The database, as its owner. A role connects under a user of its own."""
    master: MasterKey
    signer: Signer
    telemetry: Telemetry
    verify: Verifier
    """Whose key a header shows."""
    remote: Callable[[str], Remote]
    """The way to the service with this audience, e.g. ``memory``."""


@dataclass(frozen=True, slots=True)
class Role:
    """What a role brings to the process."""

    services: tuple[Service, ...]
    application: Application | None = None
    """What it serves by HTTP, if anything."""

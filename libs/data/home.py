"""The state directory: where an installation on one machine keeps what it must not lose."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

PRIVATE = 0o600
OURS = 0o700
PASSABLE = 0o711
"""Others may pass through but not look. Postgres runs as another user when we are root."""


def make_home(home: Path) -> None:
    """Make the state directory if it is missing; one that exists keeps its permissions."""
    try:
        home.mkdir(parents=True)
    except FileExistsError:
        return
    home.chmod(PASSABLE if os.geteuid() == 0 else OURS)


def write_once(path: Path, content: bytes) -> None:
    """Write a private file, whole and synced, unless it is there: of two at once, the first wins."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        draft.unlink()
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make names in a directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

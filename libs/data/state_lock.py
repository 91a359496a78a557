"""One process at a time owns a state directory."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from libs.refusal import Refused

PID_BYTES_MAX = 20


class StateLock:
    """A lock on a file. The system lets go of it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock, or raise ``Refused`` that names the process which has it."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(descriptor, PID_BYTES_MAX).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise Refused(
                f"Treering is already running on {self._path.parent} (process {holder}). "
                "Stop it first, or choose another TREERING_HOME."
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go. The file stays: to delete it would let two processes in."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

"""The process of a Postgres server: begun, found ready, and ended."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from libs.data.cluster import environment
from libs.data.home import PRIVATE
from libs.data.premises import Runner
from libs.refusal import Refused

log = structlog.get_logger()

START_SECONDS = 300
"""Recovery after a crash replays up to ``max_wal_size``."""
POLL_SECONDS = 0.02
STOPPING = ((signal.SIGINT, 15), (signal.SIGQUIT, 10), (signal.SIGKILL, 10))
"""Ask for a fast shutdown, then for an immediate one, then do not ask. Seconds to wait after each.

PostgreSQL 18.6 was seen to sit on a fast shutdown for ever that met it at the beginning of a recovery.
An immediate one always works, and loses nothing: the next start replays the log.
"""
LOG_BYTES_MAX = 1024 * 1024
PR_SET_PDEATHSIG = 1
STATUS_LINE = 7


def begin(command: Sequence[str], runner: Runner, log_file: Path) -> subprocess.Popen[bytes]:
    """Start a server that the kernel stops when we are gone, where the kernel can do that."""
    if log_file.exists() and log_file.stat().st_size > LOG_BYTES_MAX:
        log_file.replace(log_file.with_suffix(".log.1"))
    log_file.touch(PRIVATE)
    with log_file.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 -- our own arguments
            command,
            **runner.as_user,
            cwd="/",
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # A Ctrl-C at the terminal is for us: we drain first, then stop the server.
            start_new_session=True,
            preexec_fn=_dies_with_us() if sys.platform == "linux" else None,
        )


def ready(process: subprocess.Popen[bytes], data: Path, deadline: float) -> bool:
    """Wait until the server says so in its pid file, as pg_ctl does; false if it goes down instead."""
    while process.poll() is None:
        lines = _pid_file(data)
        if len(lines) > STATUS_LINE and lines[0] == str(process.pid) and lines[STATUS_LINE] == "ready":
            return True
        if time.monotonic() > deadline:
            raise Refused(f"Postgres was not ready within {START_SECONDS} s.")
        time.sleep(POLL_SECONDS)
    return False


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a server that we began."""
    _stop(process.pid, lambda: process.poll() is not None)


def end_orphan(data: Path) -> None:
    """Stop a server that an earlier house left behind on this cluster, or that is still going down."""
    lines = _pid_file(data)
    if not lines or not lines[0].isdecimal():
        return
    pid = int(lines[0])
    if _serves(pid, data):
        log.warning("postgres.orphan_stopped", pid=pid)
        _stop(pid, lambda: not _serves(pid, data))


def _dies_with_us() -> Callable[[], None]:
    """What the new process does before it becomes Postgres."""
    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def ask() -> None:
        # Not SIGINT: there will be nobody to ask again, should the server not heed it.
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGQUIT, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return ask


def _pid_file(data: Path) -> list[str]:
    """Lines: pid, directory, start time, port, socket directory, address, shared memory, status."""
    try:
        text = (data / "postmaster.pid").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [line.strip() for line in text.splitlines()]


def _serves(pid: int, data: Path) -> bool:
    """Whether a process is a server of this cluster, and not another that was given its number."""
    arguments = Path(f"/proc/{pid}/cmdline")
    if sys.platform == "linux":
        try:
            return os.fsencode(data) in arguments.read_bytes().split(b"\0")
        except OSError:
            return False
    told = subprocess.run(  # noqa: S603 -- our own arguments
        ["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, check=False
    )
    return os.fsencode(data) in told.stdout


def _stop(pid: int, gone: Callable[[], bool]) -> None:
    for order, seconds in STOPPING:
        if gone():
            return
        try:
            os.kill(pid, order)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + seconds
        while not gone() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)

"""A Postgres of our own, from the programs of a wheel: started, watched over and stopped by one process.

Everything stands in the state directory: the cluster in ``postgres/data``, the superuser's password, the
port, and the server's log, which tells of starts, stops and crashes but never of statements or values.
"""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self
from urllib.parse import quote

import structlog

from libs.data import binaries, cluster, postmaster
from libs.data.home import OURS, make_home, write_once
from libs.data.premises import ELSEWHERE, Premises, settle
from libs.data.state_lock import StateLock
from libs.refusal import Refused

log = structlog.get_logger()

HOST = "127.0.0.1"
LOCK = "postgres.lock"
TOLD = "postgres-dsn"
"""Where the running server's DSN is told to other commands on the machine."""
ATTEMPTS_MAX = 20
PAUSE_SECONDS = 0.5
SOCKET_PATH_BYTES_MAX = 103
"""What macOS allows; Linux allows four more."""

SETTINGS = {
    "listen_addresses": HOST,
    "max_connections": "100",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "cluster_name": "treering",
    # What people wrote must not reach the log: no statements, no parameters, no details of errors.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_checkpoints": "off",
    "log_timezone": "UTC",
}
FORGETFUL = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
}
"""For tests: fast, and lost in a power cut."""


class EmbeddedPostgres:
    """One cluster below a state directory. Also a context manager, started on entry.

    Start it from the main thread: on Linux the server stops when the thread that started it ends,
    so that no server outlives its house, not even after kill -9.
    """

    def __init__(
        self, home: Path, *, durable: bool = True, own_binaries: str = "", elsewhere: Path = ELSEWHERE
    ) -> None:
        self._home = home.absolute()
        self._durable = durable
        self._own_binaries = own_binaries
        self._elsewhere = elsewhere
        self._lock = StateLock(self._home / LOCK)
        self._told = self._home / TOLD
        self._process: subprocess.Popen[bytes] | None = None
        self._begin: Callable[[], subprocess.Popen[bytes]] | None = None
        self.dsn = ""
        """How the superuser connects, once started."""

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    @property
    def pid(self) -> int | None:
        """The server's process, while there is one."""
        return self._process.pid if self._process else None

    def start(self) -> str:
        """Make the cluster if there is none, start it, and answer the superuser's DSN once it is ready."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("start Postgres from the main thread, which lives as long as the house")
        make_home(self._home)
        self._lock.acquire()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self.dsn

    def stop(self) -> None:
        """Stop the server and leave no process behind. Stopping twice is fine."""
        if self._process is not None:
            postmaster.end(self._process)
            self._process = None
            self._told.unlink(missing_ok=True)
        self._lock.release()

    def revive(self) -> bool:
        """Begin the server again if it has died, and answer whether it had. Does not wait for it."""
        if self._process is None or self._begin is None or self._process.poll() is None:
            return False
        log.error("postgres.died", code=self._process.returncode)
        self._process = self._begin()
        return True

    def _start(self) -> None:
        premises = settle(self._home, self._elsewhere)
        found = binaries.find(self._own_binaries)
        if not premises.runner.reaches(found.bin):
            found = found.copied_to(premises.directory.parent)
        data = premises.directory / "data"
        password = cluster.superuser_password(self._home / "postgres-password", data)
        if not data.exists():
            cluster.make_cluster(found, premises, data, password, durable=self._durable)
        cluster.check_major(data, found)
        postmaster.end_orphan(data)
        port = self._serve(found, premises, data)
        self.dsn = _dsn(password, port, _sockets(premises, port))
        self._told.unlink(missing_ok=True)
        write_once(self._told, self.dsn.encode())
        log.info(
            "postgres.started", version=found.version, port=port, data=str(data), user=premises.runner.name
        )

    def _serve(self, found: binaries.Binaries, premises: Premises, data: Path) -> int:
        """Begin until it stays, and answer its port. What a killed server left may be in its way at first."""
        deadline = time.monotonic() + postmaster.START_SECONDS
        log_file = self._home / "postgres.log"
        for _ in range(ATTEMPTS_MAX):
            port = _free_port(self._home / "postgres-port")
            command = self._command(found, premises, data, port)
            self._begin = lambda command=command: postmaster.begin(command, premises.runner, log_file)
            self._process = self._begin()
            if postmaster.ready(self._process, data, deadline):
                return port
            time.sleep(PAUSE_SECONDS)
        raise Refused(f"Postgres does not start. Its log is {log_file}")

    def _command(self, found: binaries.Binaries, premises: Premises, data: Path, port: int) -> list[str]:
        sockets = _sockets(premises, port)
        settings = {
            **SETTINGS,
            **({} if self._durable else FORGETFUL),
            "port": str(port),
            "unix_socket_directories": _as_list_element(sockets) if sockets else "",
        }
        command = [str(found.bin / "postgres"), "-D", str(data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        return command


def running(home: Path) -> str | None:
    """The superuser's DSN of the server that another process runs on this state directory, if one does."""
    lock, told = StateLock(home / LOCK), home / TOLD
    if not told.exists():
        return None
    try:
        lock.acquire()
    except Refused:
        return told.read_text(encoding="utf-8")
    lock.release()
    return None


def _free_port(kept: Path) -> int:
    """The port of the last start if it is still free, so that other tools' settings go on working."""
    text = kept.read_text(encoding="ascii").strip() if kept.exists() else ""
    for wanted in (int(text) if text.isdecimal() else 0, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, wanted))
            except (OSError, OverflowError):
                continue
            port: int = probe.getsockname()[1]
            kept.write_text(f"{port}\n", encoding="ascii")
            return port
    raise Refused(f"No port is free on {HOST}.")


def _sockets(premises: Premises, port: int) -> Path | None:
    """Where the Unix socket goes; ``None`` if its path would be too long for one."""
    directory = premises.directory / "run"
    if len(str(directory / f".s.PGSQL.{port}").encode()) > SOCKET_PATH_BYTES_MAX:
        return None
    if not directory.exists():
        directory.mkdir(mode=OURS)
        premises.runner.own(directory)
    return directory


def _as_list_element(directory: Path) -> str:
    return '"' + str(directory).replace('"', '""') + '"'


def _dsn(password: str, port: int, sockets: Path | None) -> str:
    host = quote(str(sockets), safe="") if sockets else HOST
    return f"postgresql://{cluster.SUPERUSER}:{quote(password, safe='')}@/postgres?host={host}&port={port}"

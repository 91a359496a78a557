"""A house of its own to measure, as a process of its own, on a durable Postgres that nobody shares."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.trips import Relay, relayed
from libs.data.embedded import EmbeddedPostgres

PASSABLE = 0o711
START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 30
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class House:
    """Where the measured house is."""

    grpc: str
    http: str
    key: str
    dsn: str
    pid: int
    home: Path
    relay: Relay | None
    """What counts its round trips to the database, where that was asked for."""

    def cpu_seconds(self) -> float:
        """Processor time that the house has used."""
        return cpu_seconds(self.pid)


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used. 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def house(settings: Mapping[str, str], *, counted: bool = False) -> Generator[House]:
    """Start a house with these settings, and remove everything afterwards.

    ``counted``: its database is behind a relay, which costs time.
    """
    home = Path(tempfile.mkdtemp(prefix="treering-bench-"))
    home.chmod(PASSABLE)
    try:
        with ExitStack() as stack:
            postgres = stack.enter_context(EmbeddedPostgres(home / "database"))
            relay = stack.enter_context(relayed(postgres.dsn)) if counted else None
            yield stack.enter_context(_process(home, postgres.dsn, relay, settings))
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _process(home: Path, dsn: str, relay: Relay | None, settings: Mapping[str, str]) -> Generator[House]:
    ports = {name: free_port() for name in ("grpc", "http")}
    env = {name: value for name, value in os.environ.items() if not name.startswith("TREERING_")} | {
        "TREERING_HOME": str(home),
        "TREERING_DATABASE_URL": relay.dsn if relay else dsn,
        "TREERING_GRPC_PORT": str(ports["grpc"]),
        "TREERING_HTTP_PORT": str(ports["http"]),
        "TREERING_LOG_FORMAT": "json",
        "TREERING_RATE_READ": "0",
        "TREERING_RATE_WRITE": "0",
        "TREERING_RATE_ADMIN": "0",
        **settings,
    }
    with (home / "house.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "services", "serve"], env=env, stderr=log)
        try:
            _await_ready(f"http://127.0.0.1:{ports['http']}", process)
            yield House(
                grpc=f"127.0.0.1:{ports['grpc']}",
                http=f"http://127.0.0.1:{ports['http']}",
                key=(home / "api-key").read_text().strip(),
                dsn=dsn,
                pid=process.pid,
                home=home,
                relay=relay,
            )
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_SECONDS_MAX)


def _await_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit("The house did not start.")
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=1):  # noqa: S310 -- our own address
                return
        except (urllib.error.URLError, OSError):
            time.sleep(POLL_SECONDS)
    raise SystemExit(f"The house was not ready within {START_SECONDS_MAX} s.")


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

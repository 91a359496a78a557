"""The house as users run it: `treering serve` in a process of its own, which can be stopped and killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import grpc
import httpx2
import pytest
from grpc_health.v1 import health_pb2

from tests.rig.agents import Agent
from tests.rig.house import free_port
from tests.rig.postgres import state_directory

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 30
SOON_SECONDS_MAX = 30
POLL_SECONDS = 0.05


class Premises:
    """A state directory, its ports, and the commands that are run on it."""

    def __init__(self, directory: Path, **settings: str) -> None:
        self.directory = directory
        self.home = directory / "home"
        self.log = directory / "house.log"
        """What the house wrote on standard error, of all its starts."""
        self.grpc = f"127.0.0.1:{free_port()}"
        self.http = f"127.0.0.1:{free_port()}"
        self._env = {
            name: value for name, value in os.environ.items() if not name.startswith("TREERING_")
        } | {
            "TREERING_HOME": str(self.home),
            "TREERING_GRPC_PORT": self.grpc.partition(":")[2],
            "TREERING_HTTP_PORT": self.http.partition(":")[2],
            "TREERING_LOG_LEVEL": "debug",
            "TREERING_RATE_READ": "0",
            "TREERING_RATE_WRITE": "0",
            "TREERING_RATE_ADMIN": "0",
            **settings,
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def key(self) -> str:
        """The first key: everything, admin included."""
        return (self.home / "api-key").read_text().strip()

    @property
    def dsn(self) -> str:
        """The superuser's DSN of the embedded database."""
        return (self.home / "postgres-dsn").read_text()

    @property
    def postmaster(self) -> int:
        """The process of the embedded database."""
        return int((self.home / "postgres/data/postmaster.pid").read_text().split()[0])

    def open(self, *roles: str, **settings: str) -> None:
        """Start the house, unless it is open, and wait until it is ready."""
        if self._process and self._process.poll() is None:
            return
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command("serve", *roles),
                env={**self._env, **settings},
                cwd=self.directory,
                stderr=log,
                # As at a terminal: a signal goes to all of the group.
                process_group=0,
            )
        serves = self._door_opens if not roles or "gateway" in roles else self._answers
        assert soon(lambda: serves() or self._gone(), START_SECONDS_MAX), "it does not get ready"
        assert not self._gone(), self.log.read_text()

    def close(self) -> int:
        """Ask the house to stop, and answer its exit code."""
        self.signal(signal.SIGTERM)
        return self.ended()

    def signal(self, number: int) -> None:
        """Send the house a signal as a terminal does, to its whole group. A killed one is gone afterwards.

        Its Postgres may be gone before it: whoever opened it again meanwhile would find it still open.
        """
        if self._process and self._process.poll() is None:
            os.killpg(self._process.pid, number)
            if number == signal.SIGKILL:
                self._process.wait(STOP_SECONDS_MAX)

    def ended(self) -> int:
        """Wait for the end of the house, and answer its exit code."""
        return self._process.wait(STOP_SECONDS_MAX) if self._process else 0

    def treering(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            command(*arguments),
            env={**self._env, **settings},
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=START_SECONDS_MAX,
            check=False,
        )

    @contextmanager
    def agent(self, secret: str = "") -> Generator[Agent]:
        """Calls over gRPC; with the first key if none is given."""
        with closing(Agent(self.grpc, secret or self.key)) as agent:
            yield agent

    @contextmanager
    def rest(self, secret: str = "") -> Generator[httpx2.Client]:
        """Calls over HTTP; with the first key if none is given."""
        shown = {"authorization": f"Bearer {secret or self.key}"}
        with httpx2.Client(base_url=f"http://{self.http}", headers=shown, timeout=STOP_SECONDS_MAX) as client:
            yield client

    def servers(self) -> list[int]:
        """The processes of Postgres that work in this state directory."""
        data = (self.home / "postgres/data").resolve()
        if sys.platform != "linux":
            told = subprocess.run(["ps", "-axo", "pid=,args="], capture_output=True, text=True, check=True)
            return [int(line.split()[0]) for line in told.stdout.splitlines() if str(data) in line]
        return [int(process.name) for process in Path("/proc").iterdir() if _works_in(process, data)]

    def _gone(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _door_opens(self) -> bool:
        try:
            return httpx2.get(f"http://{self.http}/readyz", timeout=5).status_code == 200
        except httpx2.HTTPError:
            return False

    def _answers(self) -> bool:
        with closing(Agent(self.grpc, "")) as nobody:
            try:
                answer = nobody.health.Check(health_pb2.HealthCheckRequest(), timeout=5)
            except grpc.RpcError:
                return False
        return answer.status == health_pb2.HealthCheckResponse.SERVING


def command(*arguments: str) -> list[str]:
    """How a command of ours is started."""
    return [sys.executable, "-m", "services", *arguments]


def soon(holds: Callable[[], bool], seconds: float = SOON_SECONDS_MAX) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(POLL_SECONDS)
    return False


@pytest.fixture(scope="session")
def premises() -> Generator[Premises]:
    """The state directory of a house that a test may open and close; the next finds it as it was left."""
    with state_directory() as directory, ExitStack() as stack:
        made = Premises(directory)
        stack.callback(made.signal, signal.SIGKILL)
        stack.callback(made.ended)
        stack.callback(made.signal, signal.SIGTERM)
        yield made


@pytest.fixture
def open_house(premises: Premises) -> Premises:
    """The same, open."""
    premises.open()
    return premises


@pytest.fixture
def closed_house(premises: Premises) -> Premises:
    """The same, closed after it was open once: everything that a first start makes is there."""
    if not premises.home.exists():
        premises.open()
    premises.close()
    return premises


def _works_in(process: Path, directory: Path) -> bool:
    """Postgres stands in the directory of its data, and all its children with it."""
    try:
        return re.fullmatch(r"\d+", process.name) is not None and (process / "cwd").readlink() == directory
    except OSError:
        return False

"""What the house refuses to start with: it says why, exits with 2, and leaves nothing running."""

from __future__ import annotations

import base64
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from services.__main__ import main
from tests.rig.process import Premises

OTHER_KEY = base64.b64encode(b"o" * 32).decode()


@contextmanager
def taken(address: str) -> Generator[None]:
    """Somebody else listens on a port."""
    host, _, port = address.partition(":")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind((host, int(port)))
        other.listen()
        yield


@pytest.mark.parametrize("door", ["grpc", "http"])
def test_a_taken_port_is_named(closed_house: Premises, door: str) -> None:
    """The message names the port and its setting."""
    address: str = getattr(closed_house, door)
    with taken(address):
        told = closed_house.treering("serve")

    assert told.returncode == 2, told.stderr
    assert address in told.stderr
    assert f"TREERING_{door.upper()}_PORT" in told.stderr
    assert "Traceback" not in told.stderr
    assert closed_house.servers() == []


@pytest.mark.parametrize(
    ("name", "value", "told_of"),
    [
        ("TREERING_GRPC_PROT", "7700", "Did you mean TREERING_GRPC_PORT?"),
        ("TREERING_HTTP_PORT", "many", "a whole number"),
        ("TREERING_LOG_LEVEL", "loud", "debug, info, warning or error"),
        ("TREERING_MASTER_KEY", "c2hvcnQ=", "32"),
        ("TREERING_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing", "cannot be used"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    name: str,
    value: str,
    told_of: str,
) -> None:
    """Also a slip in a name is not passed over. One line says what is wrong."""
    monkeypatch.setenv("TREERING_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(name, value)
    code = main(["serve"])
    told = capfd.readouterr().err

    assert code == 2
    assert told_of in told.splitlines()[-1]


def test_an_unknown_role_is_refused(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The roles that there are are named."""
    monkeypatch.setenv("TREERING_HOME", str(tmp_path / "home"))
    code = main(["serve", "memroy"])

    assert code == 2
    assert "gateway, memory" in capfd.readouterr().err


@pytest.mark.parametrize("verb", ["serve", "migrate"])
def test_another_master_key_is_refused(closed_house: Premises, verb: str) -> None:
    """A database opens with the key that it was founded with and no other; nothing is written."""
    told = closed_house.treering(verb, TREERING_MASTER_KEY=OTHER_KEY)

    assert told.returncode == 2, told.stderr
    assert "master key" in told.stderr
    assert OTHER_KEY not in told.stderr
    assert closed_house.servers() == []


def test_the_doctor_finds_another_master_key(closed_house: Premises) -> None:
    """It is told among the findings, with what to do."""
    told = closed_house.treering("doctor", TREERING_MASTER_KEY=OTHER_KEY)

    assert told.returncode == 1
    assert "BAD  master key" in told.stdout


def test_a_second_house_on_the_same_directory(open_house: Premises) -> None:
    """The second says that the first runs, and the first goes on."""
    told = open_house.treering("serve")

    assert told.returncode == 2
    assert "already running" in told.stderr
    with open_house.rest() as rest:
        assert rest.get("/v1/stats").status_code == 200

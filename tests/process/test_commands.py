"""The command `treering`, with the house open and with it closed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import grpc
import pytest
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.data import migrations
from tests.rig.process import Premises

INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT


def test_a_key_is_made_listed_and_revoked(open_house: Premises) -> None:
    """It works at once; the list shows it without its secret; revoked, it is refused within a second."""
    made = open_house.treering("key", "create", "--name", "laptop", "--profile", "spare")
    secret = made.stdout.strip()
    key_id = secret[3:15]
    with open_house.agent(secret) as agent:
        assert agent.memory.GetStats(pb.GetStatsRequest()).memory_count == 0
        # The command takes longer to end than a revoked key may work.
        revoked = open_house.treering("key", "revoke", key_id)
        with pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
            agent.memory.GetStats(pb.GetStatsRequest())
    listed = open_house.treering("key", "list")
    [line] = [line for line in listed.stdout.splitlines() if line.startswith(key_id)]

    assert [run.returncode for run in (made, revoked, listed)] == [0, 0, 0]
    assert "laptop" in line
    assert "revoked" in line
    assert secret not in listed.stdout + made.stderr


def test_a_year_ahead_is_drawn(open_house: Premises) -> None:
    """A line for now and for each month, as wide as the memories are; a sweep tells what it did."""
    with open_house.agent() as agent:
        session = agent.memory.StartSession(pb.StartSessionRequest(content_session_id="s")).session.id
        observation = pb.ObserveRequest(session_id=session, content="x", type=INSIGHT)
        agent.memory.Observe(observation)
    drawn = open_house.treering("decay", "forecast")
    swept = open_house.treering("decay", "sweep")
    lost = open_house.treering("decay", "sweep", "--key-file", str(open_house.directory / "none"))

    assert [run.returncode for run in (drawn, swept, lost)] == [0, 0, 2]
    bars = [line.split()[1][:50] for line in drawn.stdout.splitlines()[1:-1]]
    assert len(bars) == 13
    assert set(bars[0]) <= set("FCSE")
    assert set(bars[-1]) <= set("FCSE.")
    assert swept.stdout.endswith("; done\n")
    assert "--key-file" in lost.stderr


def test_an_unknown_key_cannot_be_revoked(open_house: Premises) -> None:
    """The exit code tells a script so."""
    told = open_house.treering("key", "revoke", "aaaaaaaaaaaa")

    assert told.returncode == 1
    assert "no key" in told.stderr


def test_an_open_house_is_well(open_house: Premises) -> None:
    """The doctor finds nothing in a house that was just set up, and nothing is left to migrate."""
    well(open_house.treering("doctor"))
    up_to_date(open_house.treering("migrate"))


async def test_a_server_of_ones_own(open_house: Premises, tmp_path: Path) -> None:
    """With TREERING_DATABASE_URL nothing is embedded: the house sets that server up, and works on it."""
    async with migrations.owner(open_house.dsn) as connection:
        await connection.execute("CREATE DATABASE own")
    elsewhere = Premises(
        tmp_path,
        TREERING_DATABASE_URL=open_house.dsn.replace("/postgres?", "/own?"),
        TREERING_MASTER_KEY_FILE=str(open_house.home / "master-key"),
    )
    early = elsewhere.treering("doctor")
    elsewhere.open()
    try:
        with elsewhere.agent() as agent:
            assert agent.memory.GetStats(pb.GetStatsRequest()).memory_count == 0
        late = elsewhere.treering("doctor")
    finally:
        assert elsewhere.close() == 0

    assert early.returncode == 1
    assert "treering migrate" in early.stdout
    well(late)
    assert not (elsewhere.home / "postgres").exists()


def test_what_the_house_is_can_be_printed(tmp_path: Path) -> None:
    """Contract and settings need neither a database nor a state directory."""
    house = Premises(tmp_path)
    contract, settings = house.treering("openapi"), house.treering("env")

    assert json.loads(contract.stdout)["openapi"].startswith("3.1")
    assert "# TREERING_GRPC_PORT=7600\n" in settings.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_closed_house_is_well(closed_house: Premises) -> None:
    """The same of one that is closed."""
    well(closed_house.treering("doctor"))
    up_to_date(closed_house.treering("migrate"))


def test_keys_of_a_closed_house(closed_house: Premises) -> None:
    """A command that needs the database opens it for itself, and closes it again."""
    made = closed_house.treering("key", "create", "--name", "at night")
    listed = closed_house.treering("key", "list")

    assert "at night" in listed.stdout
    assert "live" in listed.stdout
    assert made.stdout.strip() not in listed.stdout
    assert closed_house.servers() == []


def well(told: subprocess.CompletedProcess[str]) -> None:
    """The doctor looked at a good deal and found nothing."""
    assert told.returncode == 0, told.stdout + told.stderr
    assert "BAD" not in told.stdout
    assert told.stdout.count("ok  ") > 8


def up_to_date(told: subprocess.CompletedProcess[str]) -> None:
    """There was nothing to migrate."""
    assert (told.returncode, told.stdout) == (0, "Nothing to do: the database is up to date.\n"), told.stderr

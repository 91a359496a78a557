"""Erasing and exporting where processes are killed and closed, and by the command."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Generator
from typing import Any

import grpc
import pytest
from treering.access.v1 import access_service_pb2 as access_pb
from treering.access.v1 import erasure_pb2 as pb
from treering.clipboard.v1 import clipboard_service_pb2 as clipboard_pb
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as memory_pb

from libs.data import migrations
from tests.process.test_canaries import dumped
from tests.rig.agents import Agent
from tests.rig.postgres import state_directory
from tests.rig.process import Premises, soon

BATCHES = 30
BATCH = 100
"""Enough that a kill comes before the end."""
WORDS = "seventeen different cranes lifted containers beside harbour warehouses during stormy weather"
LEASE_IS_OVER = """
UPDATE access.erasure SET next_at = next_at - interval '25 s' WHERE profile = $1 AND completed_at IS NULL
"""
"""As if so much time had gone by: a house that is dead keeps its lease for as long as that."""
SETTLED = {"TREERING_GATEWAY_ERASE_SETTLE_SECONDS": "0"}


@pytest.fixture(scope="module")
def house() -> Generator[Premises]:
    """A house of its own, in which no call from before an erasure is waited for."""
    with state_directory() as directory:
        made = Premises(directory, **SETTLED)
        try:
            made.open()
            yield made
        finally:
            made.signal(signal.SIGTERM)
            made.ended()


def a_profile(house: Premises, name: str) -> tuple[str, str, str]:
    """A new profile's id, and its key's id and secret."""
    with house.agent() as admin:
        names = {"owner": f"owner {name}", "workspace": "w", "profile": name}
        made = admin.access.CreateProfile(access_pb.CreateProfileRequest(**names))
        key = admin.access.CreateKey(access_pb.CreateKeyRequest(profile_id=made.profile.id, name=name))
    return made.profile.id, key.key.id, key.secret


def a_life(agent: Agent, batches: int = 1) -> list[str]:
    """Something of everything; answers the ids that were given."""
    session = agent.memory.StartSession(memory_pb.StartSessionRequest(content_session_id="s")).session.id
    ids = [session]
    for batch in range(batches):
        seen = [
            memory_pb.Observation(
                content=f"{WORDS} {batch} {number}", type=memory_pb2.OBSERVATION_TYPE_INSIGHT
            )
            for number in range(BATCH)
        ]
        request = memory_pb.ObserveBatchRequest(session_id=session, observations=seen)
        ids += [memory.id for memory in agent.memory.ObserveBatch(request).memories]
    ids.append(agent.clipboard.Set(clipboard_pb.SetRequest(name="n", value="v")).entry.id)
    return ids


def erasure(house: Premises, profile_id: str) -> pb.Erasure:
    """The erasure as it is now."""
    with house.agent() as admin:
        return admin.access.GetErasure(pb.GetErasureRequest(profile_id=profile_id)).erasure


def is_erased(house: Premises, profile_id: str) -> bool:
    """Whether it is at its end."""
    return erasure(house, profile_id).state == pb.ERASURE_STATE_ERASED


@pytest.mark.timeout(300)
async def test_a_killed_house_goes_on_erasing(house: Premises) -> None:
    """kill -9 in the middle: the next start brings it to its end, and nothing of the profile is in a dump."""
    profile_id, key_id, secret = a_profile(house, "killed")
    with house.agent(secret) as agent:
        ids = a_life(agent, BATCHES)
    before = dumped(house).decode("utf-8", "replace")
    with house.agent() as admin:
        admin.access.EraseProfile(pb.EraseProfileRequest(profile_id=profile_id))
    assert soon(lambda: len(erasure(house, profile_id).receipts) > 0)
    house.signal(signal.SIGKILL)
    house.ended()
    assert soon(lambda: not house.servers())
    house.open(TREERING_GATEWAY_ERASE_SETTLE_SECONDS="0")
    between = erasure(house, profile_id)
    async with migrations.owner(house.dsn) as connection:
        await connection.execute(LEASE_IS_OVER, profile_id)
    assert soon(lambda: is_erased(house, profile_id), 60)
    after = dumped(house).decode("utf-8", "replace")

    assert {profile_id, *ids} <= ids_in(before)
    assert ids_in(after) & {profile_id, *ids} == {profile_id}
    assert (key_id in before, key_id in after) == (True, False)
    assert rows_with(after, profile_id) == {"access.erasure", "access.erasure_receipt"}
    assert between.requested_at == erasure(house, profile_id).requested_at
    with house.agent(secret) as gone, pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
        gone.memory.GetStats(memory_pb.GetStatsRequest())


def ids_in(dump: str) -> set[str]:
    """Whatever looks like an id, also in the middle of something longer, in one pass over a large dump."""
    return set(re.findall(r"(?=([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))", dump))


def rows_with(dump: str, word: str) -> set[str]:
    """The tables with rows in which a word stands."""
    found: set[str] = set()
    table = ""
    for line in dump.splitlines():
        if line.startswith("COPY "):
            table = line.split()[1]
        elif word in line:
            found.add(table)
    return found


async def test_a_dump_holds_no_name_of_it(house: Premises) -> None:
    """Not even as it was sealed or blinded: what a name was found by is gone with it."""
    profile_id, key_id, _ = a_profile(house, "nameless")
    async with migrations.owner(house.dsn) as connection:
        row = await connection.fetchrow(
            "SELECT p.name_mac, p.name_sealed, k.name_sealed, k.secret_sha256, o.name_mac, o.name_sealed"
            " FROM access.profile p JOIN access.api_key k ON k.profile = p.id"
            " JOIN access.workspace w ON w.id = p.workspace JOIN access.owner o ON o.id = w.owner"
            " WHERE k.id = $1",
            key_id,
        )
    assert row is not None
    traces: list[str] = [value.hex() for value in tuple(row)]
    before = dumped(house).decode("utf-8", "replace")
    with house.agent() as admin:
        admin.access.EraseProfile(pb.EraseProfileRequest(profile_id=profile_id))
    assert soon(lambda: is_erased(house, profile_id))
    after = dumped(house).decode("utf-8", "replace")

    assert all(trace in before for trace in traces)
    assert not [trace for trace in traces if trace in after]


def test_the_command_exports_and_erases(house: Premises) -> None:
    """Of the open house: a line a record, then the end of the profile with its receipts."""
    profile_id, _, secret = a_profile(house, "by command")
    with house.agent(secret) as agent:
        ids = a_life(agent)
    exported = house.treering("export", profile_id)
    unsure = house.treering("erase", profile_id)
    erased = house.treering("erase", profile_id, "--yes")
    again = house.treering("export", profile_id)
    unknown = house.treering("erase", "6f2c1f0e-4b9a-4d51-9d3e-2f6f1b0a7c55", "--yes")

    records = [json.loads(line) for line in exported.stdout.splitlines()]
    assert [next(iter(records[at])) for at in (0, 1, -1)] == ["header", "profile", "trailer"]
    assert {one["id"] for record in records for one in record.values() if "id" in one} >= set(ids)
    assert "Exported 106 records." in exported.stderr
    assert (unsure.returncode, erased.returncode) == (1, 0), erased.stderr
    assert "owner by command/w/by command" in unsure.stderr
    assert "Nothing was erased" in unsure.stderr
    assert f"Erased {profile_id}." in erased.stdout
    assert "memory: " in erased.stdout
    assert "What remains: Encrypted copies in backups" in erased.stdout
    assert (again.returncode, again.stdout) == (1, "")
    assert "no profile" in again.stderr
    assert (unknown.returncode, unknown.stdout) == (1, "")


def test_the_command_opens_a_closed_house(house: Premises) -> None:
    """For as long as it takes, and closes it again; the first key's profile is like any other."""
    profile_id, _, secret = a_profile(house, "at night")
    with house.agent(secret) as agent:
        a_life(agent)
    [first] = [one for one in profiles(house) if one.owner == "local"]
    house.close()

    exported = house.treering("export", profile_id)
    erased = house.treering("erase", profile_id, "--yes")
    own = house.treering("erase", first.id, "--yes")
    house.open(TREERING_GATEWAY_ERASE_SETTLE_SECONDS="0")
    with house.agent() as admin, pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
        admin.access.ListKeys(access_pb.ListKeysRequest())
    made = house.treering("key", "create", "--admin")
    with house.agent(made.stdout.strip()) as admin:
        erasures = admin.access.ListErasures(pb.ListErasuresRequest()).erasures

    assert [run.returncode for run in (exported, erased, own, made)] == [0] * 4, erased.stderr + own.stderr
    assert "Exported 106 records." in exported.stderr
    assert [one.profile_id for one in erasures[:2]] == [first.id, profile_id]


def profiles(house: Premises) -> Any:
    """All profiles."""
    with house.agent() as admin:
        return admin.access.ListProfiles(access_pb.ListProfilesRequest(page_size=200)).profiles

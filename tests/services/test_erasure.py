"""EraseProfile through the front door: what goes, what stays, and what can come in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import grpc
import pytest
from treering.access.v1 import access_service_pb2 as access_pb
from treering.access.v1 import erasure_pb2 as pb
from treering.access.v1 import export_pb2
from treering.clipboard.v1 import clipboard_service_pb2 as clipboard_pb
from treering.clipboard.v1 import clipboard_service_pb2_grpc as clipboard_rpc
from treering.memory.v1 import memory_service_pb2 as memory_pb
from treering.memory.v1 import memory_service_pb2_grpc as memory_rpc
from treering.results.v1 import run_service_pb2 as run_pb

from libs.clock import system_clock
from libs.rpc.caller import CONTEXT_KEY, EVERYTHING, Signer, Source
from libs.rpc.caller import Caller as Told
from services.gateway import catalog
from tests.catalogue.doors import MCP_HEADERS, of_error
from tests.rig.answers import problem
from tests.rig.house import Caller, House, opened_house, unknown_id
from tests.rig.lives import Life, holdings, lived, observation, run
from tests.rig.postgres import MASTER, Cluster
from tests.rig.refusals import refused

ERASING, ERASED = pb.ERASURE_STATE_ERASING, pb.ERASURE_STATE_ERASED
GONE = ("NOT_FOUND", "PROFILE_NOT_FOUND", [])
EFFECTIVE_SECONDS = 1.0
SECONDS_MAX = 30
METHODS = catalog.load().methods
NAMED = """
SELECT (SELECT count(*) FROM access.profile WHERE id = $1)
    + (SELECT count(*) FROM access.workspace WHERE id = $2)
    + (SELECT count(*) FROM access.owner WHERE id = $3)
    + (SELECT count(*) FROM access.api_key WHERE profile = $1)
"""
CALLS_ARE_OVER = """
UPDATE access.erasure SET requested_at = requested_at - interval '1 day', next_at = now() WHERE profile = $1
"""
KEPT_BY = ("access", "clipboard", "decay", "memory", "results")
EMPTY = {"access.data_key", "decay.data_key", "memory.conflict", "memory.lease", "memory.tombstone"}
"""Two schemas have no use for their table of keys; nothing of a young life has aged or was compared."""


@pytest.fixture(scope="module")
async def quick(cluster: Cluster) -> AsyncGenerator[House]:
    """A house in which no call from before an erasure is waited for."""
    async with opened_house(cluster, TREERING_GATEWAY_ERASE_SETTLE_SECONDS="0") as running:
        yield running


@pytest.fixture(scope="module")
async def slow(cluster: Cluster) -> AsyncGenerator[House]:
    """A house in which they are waited for until a test says that they are over."""
    async with opened_house(cluster, TREERING_GATEWAY_ERASE_SETTLE_SECONDS="3600") as running:
        yield running


@dataclass(frozen=True)
class Erasing:
    """A profile that is being erased, and stays so."""

    life: Life
    names: access_pb.CreateProfileRequest
    key_id: str


@pytest.fixture(scope="module")
async def erasing(slow: House) -> Erasing:
    """One of everything, with a key that may do everything, half erased."""
    names = access_pb.CreateProfileRequest(owner="erased", workspace="slowly", profile=unknown_id())
    made = (await slow.admin.access.CreateProfile(names)).profile
    scopes = [EVERYTHING, "admin"]
    request = access_pb.CreateKeyRequest(profile_id=made.id, name="k", scopes=scopes)
    key = await slow.admin.access.CreateKey(request)
    life = await lived(slow.open(made.id, key.key.id, key.secret))
    await begun(slow, made.id)
    await emptied(slow, made.id)
    await asyncio.sleep(EFFECTIVE_SECONDS)
    return Erasing(life, names, key.key.id)


async def begun(house: House, profile_id: str) -> pb.Erasure:
    """The erasure as it is answered."""
    return (await house.admin.access.EraseProfile(pb.EraseProfileRequest(profile_id=profile_id))).erasure


async def seen(house: House, profile_id: str) -> pb.Erasure:
    """The erasure as it is now."""
    return (await house.admin.access.GetErasure(pb.GetErasureRequest(profile_id=profile_id))).erasure


async def emptied(house: House, profile_id: str) -> pb.Erasure:
    """The erasure once every service has told that nothing remains."""
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            erasure = await seen(house, profile_id)
            done = [receipt.service for receipt in erasure.receipts if receipt.HasField("completed_at")]
            if set(done) >= set(KEPT_BY) - {"access"}:
                return erasure
            await asyncio.sleep(0.05)


async def ended(house: House, profile_id: str) -> pb.Erasure:
    """The erasure at its end."""
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            erasure = await seen(house, profile_id)
            if erasure.state == ERASED:
                return erasure
            await asyncio.sleep(0.05)


async def test_nothing_is_left(quick: House) -> None:
    """Not a row in any role's table with rows of profiles, no name, no key, no empty workspace or owner."""
    caller = (await lived(await quick.caller())).caller
    await run(
        quick.dsn,
        "INSERT INTO memory.pending VALUES ($1, gen_random_uuid(), 0, 'infinity')",
        caller.profile_id,
    )
    request = access_pb.GetProfileRequest(profile_id=caller.profile_id)
    profile = (await quick.admin.access.GetProfile(request)).profile
    before = await holdings(quick.dsn, caller.profile_id)

    first = await begun(quick, caller.profile_id)
    last = await ended(quick, caller.profile_id)

    assert {table for table, rows in before.items() if not rows} == EMPTY
    assert set((await holdings(quick.dsn, caller.profile_id)).values()) == {0}
    assert await run(quick.dsn, NAMED, profile.id, profile.workspace_id, profile.owner_id) == 0
    assert (first.state, last.state) == (ERASING, ERASED)
    assert first.requested_at == last.requested_at
    assert last.HasField("completed_at")
    assert "backups" in last.remains


async def test_the_receipts_tell_what_was_deleted(quick: House) -> None:
    """Every row is counted once by the service that kept it, and nothing remains."""
    caller = (await lived(await quick.caller())).caller
    before = await holdings(quick.dsn, caller.profile_id)

    await begun(quick, caller.profile_id)
    receipts = (await ended(quick, caller.profile_id)).receipts

    assert tuple(receipt.service for receipt in receipts) == KEPT_BY
    rows = {receipt.service: receipt.rows_deleted for receipt in receipts}
    assert rows["access"] == 4  # profile, key, workspace, owner
    for service in ("clipboard", "decay", "memory", "results"):
        kept = [n for table, n in before.items() if table.startswith(service) and "data_key" not in table]
        assert rows[service] == sum(kept) > 0
    assert [receipt.keys_destroyed for receipt in receipts] == [0, 1, 0, 1, 1]
    assert {receipt.remaining for receipt in receipts} == {0}
    assert all(receipt.HasField("completed_at") for receipt in receipts)


async def test_over_rest(quick: House) -> None:
    """The same by its paths, and in the list."""
    caller = await quick.caller()
    rest = quick.admin.http

    asked = await rest.post(f"/v1/access/profiles/{caller.profile_id}:erase", json={})
    await ended(quick, caller.profile_id)
    read = await rest.get(f"/v1/access/erasures/{caller.profile_id}")
    listed = await rest.get("/v1/access/erasures", params={"page_size": 1})

    assert asked.json()["erasure"]["state"] == "erasing"
    assert read.json()["erasure"]["state"] == "erased"
    assert listed.json()["erasures"] == [read.json()["erasure"]]
    assert listed.json()["next_page_token"]


async def test_many_at_once_are_one_erasure(quick: House) -> None:
    """Eight who ask at once, and one who asks when it is over, get the same one."""
    caller = (await lived(await quick.caller())).caller

    answers = await asyncio.gather(*(begun(quick, caller.profile_id) for _ in range(8)))
    last = await ended(quick, caller.profile_id)

    assert len({answer.requested_at.ToNanoseconds() for answer in answers}) == 1
    assert await begun(quick, caller.profile_id) == last
    assert {receipt.keys_destroyed for receipt in last.receipts} == {0, 1}


async def test_the_owners_other_profile_stays(quick: House) -> None:
    """Whatever it reads is what it read before, to the byte; so are the names of owner and workspace."""
    shared = {"owner": "kept", "workspace": "shared"}
    gone = await quick.caller(**shared, profile="gone")
    other = (await lived(await quick.caller(**shared, profile="other"))).caller
    await lived(gone)
    before, rows = await readings(quick, other), await holdings(quick.dsn, other.profile_id)

    await begun(quick, gone.profile_id)
    await ended(quick, gone.profile_id)

    assert await readings(quick, other) == before
    assert await holdings(quick.dsn, other.profile_id) == rows


async def readings(house: House, caller: Caller) -> list[bytes]:
    """All that a profile and its operator can read of it."""
    memory, access = caller.memory, house.admin.access
    answers = (
        await access.GetProfile(access_pb.GetProfileRequest(profile_id=caller.profile_id)),
        await access.ListKeys(access_pb.ListKeysRequest(profile_id=caller.profile_id)),
        await memory.ListSessions(memory_pb.ListSessionsRequest()),
        await memory.ListMemories(memory_pb.ListMemoriesRequest()),
        await memory.ListZReports(memory_pb.ListZReportsRequest()),
        await memory.GetStats(memory_pb.GetStatsRequest()),
        await caller.clipboard.List(clipboard_pb.ListRequest()),
        await caller.runs.ListRuns(run_pb.ListRunsRequest()),
    )
    return [answer.SerializeToString(deterministic=True) for answer in answers]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.service}.{method.name}")
async def test_no_rpc_knows_it_any_more(slow: House, erasing: Erasing, method: catalog.Method) -> None:
    """Row 96: with a key of it every method, of whatever scope, answers NOT_FOUND, over every door."""
    secret = f"Bearer {erasing.life.caller.secret}"
    async with grpc.aio.insecure_channel(slow.grpc) as channel:
        kind = channel.unary_stream if method.streams else channel.unary_unary
        call: Any = kind(method.path, bytes, bytes)(b"", metadata=[("authorization", secret)])
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await (call.read() if method.streams else call)
    answer = of_error(caught.value)
    assert (answer.said, answer.reason) == GONE[:2]

    http = erasing.life.caller.http
    for binding in method.bindings:
        path = binding.template.text.format(**dict.fromkeys(binding.template.fields, "1"))
        problem(await http.request(binding.verb, path), 404, "PROFILE_NOT_FOUND")
    if method.tool:
        params = {"name": method.tool.name, "arguments": {}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        problem(await http.post("/mcp", json=body, headers=MCP_HEADERS), 404, "PROFILE_NOT_FOUND")


async def test_its_operator_does_not_find_it_either(slow: House, erasing: Erasing) -> None:
    """To read it, give it a key, revoke one or export it is answered as for an id that never was."""
    access, one = slow.admin.access, erasing.life.caller.profile_id

    for profile_id in (one, unknown_id()):
        assert await refused(access.GetProfile(access_pb.GetProfileRequest(profile_id=profile_id))) == GONE
        request = access_pb.CreateKeyRequest(profile_id=profile_id, name="late")
        assert await refused(access.CreateKey(request)) == GONE
        exported = access.ExportProfile(export_pb2.ExportProfileRequest(profile_id=profile_id))
        assert await refused(exported.read()) == GONE
        listed = await access.ListKeys(access_pb.ListKeysRequest(profile_id=profile_id))
        assert not listed.keys
    revoked = access.RevokeKey(access_pb.RevokeKeyRequest(key_id=erasing.key_id))
    assert await refused(revoked) == ("NOT_FOUND", "KEY_NOT_FOUND", [])
    listed = await access.ListProfiles(access_pb.ListProfilesRequest(page_size=200))
    assert one not in {profile.id for profile in listed.profiles}
    keys = await access.ListKeys(access_pb.ListKeysRequest(page_size=200))
    assert one not in {key.profile_id for key in keys.keys}


async def test_its_names_are_free_at_once(slow: House, erasing: Erasing) -> None:
    """Whoever makes a profile of these names gets a new one, that knows nothing of the old."""
    made = (await slow.admin.access.CreateProfile(erasing.names)).profile
    again = (await slow.admin.access.CreateProfile(erasing.names)).profile
    request = access_pb.CreateKeyRequest(profile_id=made.id, name="new")
    key = await slow.admin.access.CreateKey(request)
    caller = slow.open(made.id, key.key.id, key.secret)

    assert made == again
    assert made.id != erasing.life.caller.profile_id
    assert (await caller.memory.GetStats(memory_pb.GetStatsRequest())).session_count == 0


async def test_a_key_stops_within_a_second(slow: House) -> None:
    """One that was just used, and is remembered as good."""
    caller = await slow.caller()
    await caller.memory.GetStats(memory_pb.GetStatsRequest())

    await begun(slow, caller.profile_id)
    await asyncio.sleep(EFFECTIVE_SECONDS)

    assert await refused(caller.memory.GetStats(memory_pb.GetStatsRequest())) == GONE


async def test_a_call_from_before_leaves_nothing(slow: House) -> None:
    """Writes let in before the erasure and landing after the services were emptied are gone at its end."""
    caller = (await lived(await slow.caller())).caller
    await begun(slow, caller.profile_id)
    await emptied(slow, caller.profile_id)
    await late_writes(slow, caller)
    landed = await holdings(slow.dsn, caller.profile_id)
    waiting = await seen(slow, caller.profile_id)

    await run(slow.dsn, CALLS_ARE_OVER, caller.profile_id)
    await ended(slow, caller.profile_id)

    assert landed["memory.memory"] == landed["clipboard.entry"] == landed["memory.data_key"] == 1
    assert waiting.state == ERASING
    assert set((await holdings(slow.dsn, caller.profile_id)).values()) == {0}


async def late_writes(house: House, caller: Caller) -> None:
    """Calls as the gateway passes them on: signed before, served now."""
    owner, workspace, profile = uuid4(), uuid4(), UUID(caller.profile_id)
    who = Told(owner, workspace, profile, caller.key_id, frozenset({EVERYTHING}), Source.SDK)
    signer = Signer(MASTER.derive, system_clock)
    memory_says = [(CONTEXT_KEY, signer.sign(who, "memory"))]
    clipboard_says = [(CONTEXT_KEY, signer.sign(who, "clipboard"))]
    async with grpc.aio.insecure_channel(house.grpc) as channel:
        memory = memory_rpc.MemoryServiceStub(channel)
        request = memory_pb.StartSessionRequest(content_session_id="late")
        session = (await memory.StartSession(request, metadata=memory_says)).session.id
        await memory.Observe(observation(session, "late", 0), metadata=memory_says)
        clipboard = clipboard_rpc.ClipboardServiceStub(channel)
        await clipboard.Set(clipboard_pb.SetRequest(name="late", value="v"), metadata=clipboard_says)


@pytest.mark.parametrize("rpc", ["EraseProfile", "GetErasure"])
async def test_what_never_was_is_not_erased(quick: House, rpc: str) -> None:
    """A random id has no profile; a profile that lives has no erasure."""
    access = quick.admin.access
    alive = (await quick.caller()).profile_id

    if rpc == "EraseProfile":
        assert await refused(access.EraseProfile(pb.EraseProfileRequest(profile_id=unknown_id()))) == GONE
    else:
        for one in (alive, unknown_id()):
            answer = await refused(access.GetErasure(pb.GetErasureRequest(profile_id=one)))
            assert answer == ("NOT_FOUND", "ERASURE_NOT_FOUND", [])


async def test_the_operators_own_profile_can_be_erased(cluster: Cluster) -> None:
    """The first key stops like any other, and a key of another admin goes on."""
    async with opened_house(cluster, TREERING_GATEWAY_ERASE_SETTLE_SECONDS="0") as house:
        other = await house.caller(scopes=["admin"])
        [first] = [
            profile.id
            for profile in (await other.access.ListProfiles(access_pb.ListProfilesRequest())).profiles
            if profile.owner == "local"
        ]

        await begun(house, first)
        await asyncio.sleep(EFFECTIVE_SECONDS)
        refusal = await refused(house.admin.access.ListKeys(access_pb.ListKeysRequest()))
        house.admin = other
        await ended(house, first)

    assert refusal[0] in ("NOT_FOUND", "UNAUTHENTICATED")

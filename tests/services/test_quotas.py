"""How much a profile may keep, through every door."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import pytest
from treering.access.v1 import access_service_pb2 as access_pb
from treering.access.v1 import quota_pb2
from treering.clipboard.v1 import clipboard_service_pb2 as clipboard_pb
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb
from treering.results.v1 import results_service_pb2 as results_pb

from services.gateway import catalog
from tests.catalogue.doors import door
from tests.rig.answers import problem
from tests.rig.house import Caller, House, opened_house, unknown_id
from tests.rig.postgres import Cluster
from tests.rig.quotas import allow, another_key, outcomes, refused_with
from tests.rig.refusals import refused

INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
LIMIT_MAX = 10**15 - 1
WAYS = ("grpc", "rest", "mcp")
FULL = ("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", [])
LIMITS = [field.name for field in quota_pb2.Quota.DESCRIPTOR.fields]


async def a_session(house: Caller, name: str = "s") -> str:
    """The id of an open session."""
    return (await house.memory.StartSession(pb.StartSessionRequest(content_session_id=name))).session.id


async def observe(house: Caller, session: str, text: str, key: str = "") -> memory_pb2.Memory:
    """A memory of this."""
    request = pb.ObserveRequest(session_id=session, content=text, type=INSIGHT, idempotency_key=key)
    return (await house.memory.Observe(request)).memory


async def observe_all(house: Caller, session: str, *texts: str) -> pb.ObserveBatchResponse:
    """Memories of these, or of none."""
    seen = [pb.Observation(content=text, type=INSIGHT) for text in texts]
    return await house.memory.ObserveBatch(pb.ObserveBatchRequest(session_id=session, observations=seen))


async def count(house: Caller) -> int:
    """How many memories there are."""
    return (await house.memory.GetStats(pb.GetStatsRequest())).memory_count


async def put(house: Caller, name: str, value: str = "v") -> clipboard_pb.SetResponse:
    """A value under a name."""
    return await house.clipboard.Set(clipboard_pb.SetRequest(name=name, value=value))


async def result(
    house: Caller, task: str, content: str, workflow_id: str = "w"
) -> results_pb.PutResultResponse:
    """What a task came to."""
    request = results_pb.PutResultRequest(workflow_id=workflow_id, task_id=task, content=content)
    return await house.results.PutResult(request)


async def usage(house: Caller) -> tuple[int, int, int, int]:
    """Entries and bytes on the clipboard, each with its limit."""
    there = await house.clipboard.GetUsage(clipboard_pb.GetUsageRequest())
    return there.entry_count, there.entries_max, there.size_bytes, there.bytes_max


@pytest.fixture(scope="module")
async def small_house(cluster: Cluster) -> AsyncGenerator[House]:
    """A house whose defaults are soon reached."""
    async with opened_house(
        cluster,
        TREERING_MEMORY_MEMORIES_MAX="2",
        TREERING_CLIPBOARD_ENTRIES_MAX="1",
        TREERING_CLIPBOARD_BYTES_MAX="10",
        TREERING_GATEWAY_KEYS_MAX="2",
        TREERING_RESULTS_RUNS_MAX="1",
        TREERING_RESULTS_RESULTS_MAX="2",
        TREERING_RESULTS_BYTES_MAX="10",
    ) as running:
        yield running


async def test_the_houses_defaults_hold_where_nothing_is_set(small_house: House) -> None:
    """For memories, clipboard, keys, runs; a quota may be larger, and each limit by itself."""
    caller = await small_house.caller()
    session = await a_session(caller)
    await observe_all(caller, session, "one", "two")
    await put(caller, "a", "1234567890")
    await another_key(caller)
    await result(caller, "a", "1234567890")

    assert await refused(observe(caller, session, "three")) == FULL
    assert await refused(put(caller, "b", "")) == FULL
    assert await refused(put(caller, "a", "12345678901")) == FULL
    assert await refused(another_key(caller)) == FULL
    assert await refused(result(caller, "a", "", workflow_id="other")) == FULL
    assert await refused(result(caller, "b", "1")) == FULL
    assert (await caller.memory.GetStats(pb.GetStatsRequest())).memories_max == 2
    assert await usage(caller) == (1, 1, 10, 10)

    await allow(caller, memories_max=3, clipboard_entries_max=2, runs_max=2)
    await observe(caller, session, "three")
    await put(caller, "b", "")
    await result(caller, "a", "", workflow_id="other")
    assert await refused(put(caller, "a", "12345678901")) == FULL
    assert await refused(result(caller, "b", "", workflow_id="other")) == FULL


@pytest.mark.parametrize("way", WAYS)
async def test_a_quota_holds_within_a_second(house: Caller, way: str) -> None:
    """Over every door, for a key that was just used: narrowed it refuses, widened it lets in."""
    through = door(way, house)
    session = await a_session(house)
    request = {"session_id": session, "type": "insight"}
    assert (await through.call("Observe", {**request, "content": "one"})).fine

    await allow(house, memories_max=1)
    narrow = await through.call("Observe", {**request, "content": "two"})
    await allow(house, memories_max=2)
    wide = await through.call("Observe", {**request, "content": "two"})

    assert narrow.said == {"grpc": "RESOURCE_EXHAUSTED", "rest": 429, "mcp": "isError"}[way]
    assert (narrow.reason, narrow.fields) == ("QUOTA_EXCEEDED", ())
    assert "Delete" in narrow.message
    assert wide.fine


async def test_a_refusal_says_which_limit_and_never_to_wait(house: Caller) -> None:
    """Waiting makes no room: neither RetryInfo nor Retry-After; quota and limit are there for programs."""
    session = await a_session(house)
    await allow(house, memories_max=1, clipboard_entries_max=0, clipboard_bytes_max=3, keys_max=1)
    await observe(house, session, "one")

    calls = (observe_all(house, session, "two", "three"), put(house, "a"), another_key(house))
    infos = [await refused_with(call) for call in calls]
    response = await house.http.post(
        "/v1/observations", json={"session_id": session, "content": "two", "type": "insight"}
    )

    assert infos == [
        {"quota": "memories", "limit": "1", "room": "0"},
        {"quota": "clipboard_entries", "limit": "0"},
        {"quota": "keys", "limit": "1"},
    ]
    body = problem(response, 429, "QUOTA_EXCEEDED")
    assert body["metadata"] == infos[0]
    assert "retry_after" not in body
    assert "retry-after" not in response.headers


async def test_a_quota_below_what_is_kept_takes_nothing_away(house: Caller) -> None:
    """Everything is read, found and reinforced; nothing is added until enough was deleted."""
    session = await a_session(house)
    kept = [await observe(house, session, text) for text in ("crane", "harbour", "ship")]
    for name in "abc":
        await put(house, name)
    await allow(house, memories_max=2, clipboard_entries_max=2)

    assert await refused(observe(house, session, "new")) == FULL
    assert await refused(put(house, "new")) == FULL
    assert await count(house) == 3
    assert (await house.memory.Search(pb.SearchRequest(query="crane"))).hits[0].memory_id == kept[0].id
    assert (await observe(house, session, "crane")).reinforcement_count == 1
    assert (await house.clipboard.Get(clipboard_pb.GetRequest(name="a"))).entry.value == "v"
    assert await usage(house) == (3, 2, 3, 268_435_456)

    for one, name in zip(kept[:2], "ab", strict=True):
        assert await refused(observe(house, session, "new")) == FULL
        assert await refused(put(house, "new")) == FULL
        await house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=one.id))
        await house.clipboard.Delete(clipboard_pb.DeleteRequest(name=name))
    await observe(house, session, "new")
    await put(house, "new")
    assert await refused(observe(house, session, "newer")) == FULL


async def test_as_many_as_may_are_kept_whoever_comes_at_once(house: Caller, neighbor: Caller) -> None:
    """Twenty memories and twenty entries, by two keys, in four sessions; a neighbour has its own limits."""
    sessions = [await a_session(house, str(number)) for number in range(4)]
    theirs = await a_session(neighbor)
    await allow(house, memories_max=20, clipboard_entries_max=20)
    other = await another_key(house)
    both = (house, other)

    memories = [observe(both[n % 2], sessions[n % 4], f"text {n}") for n in range(45)]
    entries = [put(both[n % 2], f"name {n}") for n in range(45)]
    others = [observe(neighbor, theirs, f"text {n}") for n in range(25)]
    kept, held, let = await asyncio.gather(outcomes(memories), outcomes(entries), outcomes(others))

    assert kept == {"Memory": 20, "QUOTA_EXCEEDED": 25}
    assert held == {"SetResponse": 20, "QUOTA_EXCEEDED": 25}
    assert let == {"Memory": 25}
    assert (await count(house), await count(other), await count(neighbor)) == (20, 20, 25)
    assert (await usage(other))[:2] == (20, 20)


async def test_a_batch_has_room_as_a_whole_or_not_at_all(house: Caller) -> None:
    """Nothing of it is kept, its idempotency keys are free, and it is told how many would have fitted."""
    session = await a_session(house)
    await allow(house, memories_max=3)
    await observe(house, session, "one", "key")
    seen = [
        pb.Observation(content=text, type=INSIGHT, idempotency_key=text) for text in ("two", "three", "four")
    ]
    request = pb.ObserveBatchRequest(session_id=session, observations=seen)

    assert (await refused_with(house.memory.ObserveBatch(request)))["room"] == "2"
    assert await count(house) == 1
    # What is there, or comes twice, needs no room; nor does a repeated call.
    await observe_all(house, session, "one", "two", "two", "three", "three", "one")
    assert await count(house) == 3
    assert await refused(house.memory.ObserveBatch(request)) == FULL
    assert (await observe(house, session, "one", "key")).reinforcement_count == 2
    assert (await observe(house, session, "two", "two")).reinforcement_count == 2


async def test_use_stands_beside_its_limit(house: Caller) -> None:
    """Over REST as over gRPC, so that nobody has to be refused to learn it."""
    await observe(house, await a_session(house), "one")
    await put(house, "a", "é")
    await allow(house, memories_max=5, clipboard_bytes_max=7)

    stats = (await house.http.get("/v1/stats")).json()
    there = (await house.http.get("/v1/clipboard/usage")).json()

    assert (stats["memory_count"], stats["memories_max"]) == (1, "5")
    assert there == {"entry_count": "1", "entries_max": "10000", "size_bytes": "2", "bytes_max": "7"}


async def test_a_text_in_another_session_is_another_memory(house: Caller) -> None:
    """And needs room of its own."""
    first, second = [await a_session(house, name) for name in "ab"]
    await allow(house, memories_max=1)
    await observe(house, first, "one")

    assert await refused(observe(house, second, "one")) == FULL


async def test_keys_are_counted_while_they_live(house: Caller) -> None:
    """Of many made at once as many stay as may; a revoked or expired one gives its place to another."""
    access = house.house.admin.access
    await allow(house, keys_max=4)
    soon = datetime.now(UTC) + timedelta(seconds=0.5)
    dated = access_pb.CreateKeyRequest(profile_id=house.profile_id, name="soon over", expires_at=soon)
    request = access_pb.CreateKeyRequest(profile_id=house.profile_id, name="k")
    await access.CreateKey(dated)

    made = await outcomes([access.CreateKey(request) for _ in range(10)])
    await asyncio.sleep(0.6)
    await access.CreateKey(request)
    full = await refused(access.CreateKey(request))
    await access.RevokeKey(access_pb.RevokeKeyRequest(key_id=house.key_id))
    await access.CreateKey(request)

    assert made == {"CreateKeyResponse": 2, "QUOTA_EXCEEDED": 8}
    assert full == await refused(access.CreateKey(request)) == FULL


async def test_a_quota_is_set_as_a_whole(house: Caller) -> None:
    """What is left out goes back to the default; what was set is read, and nothing else; twice is once."""
    access = house.house.admin.access
    every = quota_pb2.Quota(**dict.fromkeys(LIMITS, LIMIT_MAX))
    read = access_pb.GetQuotaRequest(profile_id=house.profile_id)

    assert (await access.GetQuota(read)).quota == quota_pb2.Quota()
    for quota in (every, every, quota_pb2.Quota(memories_max=0), quota_pb2.Quota()):
        await access.SetQuota(access_pb.SetQuotaRequest(profile_id=house.profile_id, quota=quota))
        assert (await access.GetQuota(read)).quota == quota


async def test_a_quota_over_rest_is_what_was_put(house: Caller) -> None:
    """The answer of GET can be PUT as it is; 0 is not the same as nothing."""
    path, admin = f"/v1/access/profiles/{house.profile_id}/quota", house.house.admin.http
    put = await admin.put(path, json={"quota": {"memories_max": 0, "clipboard_bytes_max": 5}})
    read = await admin.get(path)
    again = await admin.put(path, json=read.json())
    emptied = await admin.put(path, json={"quota": {}})

    assert put.status_code == emptied.status_code == 200
    assert put.json() == read.json() == again.json()
    assert {name: int(limit) for name, limit in read.json()["quota"].items() if limit is not None} == {
        "memories_max": 0,
        "clipboard_bytes_max": 5,
    }
    assert (await admin.get(path)).json() == emptied.json()


async def test_nobody_has_a_quota_who_is_not_there(house_site: House) -> None:
    """To read it and to set it alike."""
    access, nobody = house_site.admin.access, unknown_id()
    quota = quota_pb2.Quota(memories_max=1)

    read = await refused(access.GetQuota(access_pb.GetQuotaRequest(profile_id=nobody)))
    put = await refused(access.SetQuota(access_pb.SetQuotaRequest(profile_id=nobody, quota=quota)))

    assert read == put == ("NOT_FOUND", "PROFILE_NOT_FOUND", [])


async def test_a_plain_key_neither_reads_nor_sets_a_quota(house: Caller) -> None:
    """Not even its own."""
    own, quota = house.profile_id, quota_pb2.Quota(memories_max=LIMIT_MAX)
    denied = ("PERMISSION_DENIED", "SCOPE_MISSING", [])

    assert await refused(house.access.GetQuota(access_pb.GetQuotaRequest(profile_id=own))) == denied
    put = access_pb.SetQuotaRequest(profile_id=own, quota=quota)
    assert await refused(house.access.SetQuota(put)) == denied


def test_no_other_request_names_a_quota() -> None:
    """Only who may administer can say how much may be kept."""
    named = {
        method.name
        for method in catalog.load().methods
        for field in method.takes.fields
        if field.name in LIMITS or field.message_type is quota_pb2.Quota.DESCRIPTOR
    }

    assert named <= {"SetQuota"}
    assert any(method.name == "SetQuota" and method.scope == "admin" for method in catalog.load().methods)

"""One role to a process: they share a database and a master key, and find each other by address."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import grpc
import pytest
from treering.access.v1 import access_service_pb2 as access_pb
from treering.access.v1 import erasure_pb2
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.data import migrations
from tests.rig.process import Premises, soon

REVOKED_WITHIN_SECONDS = 1.0
TRIES = 20


class Split(NamedTuple):
    """The three processes."""

    gateway: Premises
    memory: Premises
    decay: Premises

    def secret(self, name: str) -> tuple[str, str]:
        """A new key's id and secret, for a profile of its own."""
        with self.gateway.agent() as admin:
            names = {"owner": "split", "workspace": "split", "profile": name}
            made = admin.access.CreateProfile(access_pb.CreateProfileRequest(**names))
            request = access_pb.CreateKeyRequest(profile_id=made.profile.id, name=name)
            key = admin.access.CreateKey(request)
        return key.key.id, key.secret


@pytest.fixture(scope="module")
async def database(premises: Premises) -> str:
    """The DSN of a fresh database on the embedded server."""
    premises.open()
    async with migrations.owner(premises.dsn) as connection:
        await connection.execute("CREATE DATABASE split")
    return premises.dsn.replace("/postgres?", "/split?")


@pytest.fixture(scope="module")
def split(premises: Premises, database: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[Split]:
    """The gateway, memory and decay, each in a process of its own."""
    shared = {
        "TREERING_DATABASE_URL": database,
        "TREERING_MASTER_KEY_FILE": str(premises.home / "master-key"),
    }
    gateway = Premises(tmp_path_factory.mktemp("gateway"), **shared)
    memory = Premises(tmp_path_factory.mktemp("memory"), **shared)
    decay = Premises(tmp_path_factory.mktemp("decay"), **shared, TREERING_DECAY_SWEEP_SECONDS="0.2")
    early = memory.treering("serve", "memory")
    migrated = gateway.treering("migrate")
    try:
        memory.open("memory", "clipboard", "results", TREERING_GATEWAY_ADDRESS=gateway.grpc)
        decay.open("decay", TREERING_GATEWAY_ADDRESS=gateway.grpc, TREERING_MEMORY_ADDRESS=memory.grpc)
        gateway.open(
            "gateway",
            TREERING_MEMORY_ADDRESS=memory.grpc,
            TREERING_CLIPBOARD_ADDRESS=memory.grpc,
            TREERING_GATEWAY_ERASE_SETTLE_SECONDS="0",
            TREERING_RESULTS_ADDRESS=memory.grpc,
            TREERING_DECAY_ADDRESS=decay.grpc,
        )
        yield Split(gateway, memory, decay)
    finally:
        ended = gateway.close(), memory.close(), decay.close()

    assert (early.returncode, migrated.returncode, ended) == (2, 0, (0, 0, 0))
    assert "treering migrate" in early.stderr


def test_one_memory_by_two_ways(split: Split) -> None:
    """What is observed over REST at the gateway is found over gRPC at memory, and the other way round."""
    _, secret = split.secret("found")
    with split.gateway.rest(secret) as rest, split.memory.agent(secret) as agent:
        session = rest.post("/v1/sessions", json={"content_session_id": "s"}).json()["session"]["id"]
        observation = {"session_id": session, "content": "The ferry leaves at nine.", "type": "insight"}
        over_rest = rest.post("/v1/observations", json=observation).json()["memory"]
        over_grpc = agent.memory.Observe(
            pb.ObserveRequest(
                session_id=session,
                content="The bridge closes at ten.",
                type=memory_pb2.OBSERVATION_TYPE_INSIGHT,
            )
        ).memory
        ferry = agent.memory.Search(pb.SearchRequest(query="when does the ferry leave?"))
        bridge = rest.post("/v1/memories:search", json={"query": "when does the bridge close?"}).json()

    assert ferry.hits[0].memory_id == over_rest["id"]
    assert bridge["hits"][0]["memory_id"] == over_grpc.id
    assert (over_rest["source"], over_grpc.source) == ("sdk", memory_pb2.SOURCE_GRPC)


def test_a_revoked_key_ends_at_both_doors(split: Split) -> None:
    """Within a second of RevokeKey's answer no process takes the key any more."""
    key_id, secret = split.secret("revoked")
    with (
        split.gateway.agent() as admin,
        split.gateway.rest(secret) as rest,
        split.memory.agent(secret) as agent,
    ):

        def at_gateway() -> bool:
            return rest.get("/v1/stats").status_code == 200

        def at_memory() -> bool:
            return served(agent.memory.GetStats, pb.GetStatsRequest())

        before = at_gateway(), at_memory()
        admin.access.RevokeKey(access_pb.RevokeKeyRequest(key_id=key_id))
        time.sleep(REVOKED_WITHIN_SECONDS)
        after = {door() for _ in range(TRIES) for door in (at_gateway, at_memory)}

    assert before == (True, True)
    assert after == {False}


def test_each_serves_its_own_only(split: Split) -> None:
    """Neither has what is the other's; the gateway's REST reaches both."""
    with split.memory.agent(split.gateway.key) as memory, split.gateway.agent() as gateway:
        with pytest.raises(grpc.RpcError, match="UNIMPLEMENTED"):
            memory.access.ListKeys(access_pb.ListKeysRequest())
        with pytest.raises(grpc.RpcError, match="UNIMPLEMENTED"):
            gateway.memory.GetStats(pb.GetStatsRequest())
    with split.gateway.rest() as rest:
        assert rest.get("/v1/access/keys").status_code == 200
        assert rest.get("/v1/stats").status_code == 200


def test_an_erasure_waits_for_memory(split: Split) -> None:
    """While memory is away the profile is gone for every caller; once it is back, all the rest goes too."""
    _, secret = split.secret("erased")
    with split.memory.agent(secret) as agent:
        agent.memory.StartSession(pb.StartSessionRequest(content_session_id="s"))
    split.memory.close()
    with split.gateway.agent() as admin, split.gateway.rest(secret) as rest:
        [profile] = [
            each
            for each in admin.access.ListProfiles(access_pb.ListProfilesRequest()).profiles
            if each.profile == "erased"
        ]
        admin.access.EraseProfile(erasure_pb2.EraseProfileRequest(profile_id=profile.id))
        request = erasure_pb2.GetErasureRequest(profile_id=profile.id)
        time.sleep(REVOKED_WITHIN_SECONDS)
        refused = rest.get("/v1/stats")
        without = admin.access.GetErasure(request).erasure
        split.memory.open("memory", "clipboard", "results", TREERING_GATEWAY_ADDRESS=split.gateway.grpc)
        ended = erasure_pb2.ERASURE_STATE_ERASED
        erased = soon(lambda: bool(admin.access.GetErasure(request).erasure.state == ended))
        last = admin.access.GetErasure(request).erasure

    assert (refused.status_code, refused.json()["reason"]) == (404, "PROFILE_NOT_FOUND")
    assert without.state == erasure_pb2.ERASURE_STATE_ERASING
    assert [receipt.service for receipt in without.receipts] == ["decay"]
    assert erased
    assert [receipt.service for receipt in last.receipts] == [
        "access",
        "clipboard",
        "decay",
        "memory",
        "results",
    ]


def test_memories_age_from_another_process(split: Split) -> None:
    """Decay, which has no text and no row of them, has memory forget what a policy of seconds says."""
    _, secret = split.secret("ages")
    stages = {name: {"duration": "1s"} for name in ("full", "compressed", "summary", "essence")}
    with split.gateway.rest(secret) as rest:
        policy = rest.put("/v1/decay/policy", json={"policy": stages | {"fresh_duration": "1s"}})
        session = rest.post("/v1/sessions", json={"content_session_id": "s"}).json()["session"]["id"]
        observation = {"session_id": session, "content": "The kettle is new.", "type": "insight"}
        kept = rest.post("/v1/observations", json=observation).json()["memory"]
        gone = soon(lambda: any(each["forgotten_count"] for each in swept(rest)))
        answer = rest.get(f"/v1/memories/{kept['id']}")

    assert policy.status_code == 200
    assert gone
    assert (answer.status_code, answer.json()["reason"]) == (404, "MEMORY_NOT_FOUND")


def swept(rest: Any) -> list[dict[str, Any]]:
    """The sweeps that are listed."""
    return rest.get("/v1/decay/sweeps").json()["sweeps"]


def test_the_gateway_tells_that_memory_is_away(split: Split) -> None:
    """/readyz names it and calls are answered 503, until it is there again; decay's too."""
    split.memory.close()
    with split.gateway.rest() as rest:
        ready, stats = rest.get("/readyz"), rest.get("/v1/stats")
        forecast = rest.get("/v1/decay/forecast")
        split.memory.open("memory", "clipboard", "results", TREERING_GATEWAY_ADDRESS=split.gateway.grpc)
        again = soon(lambda: rest.get("/v1/stats").status_code == 200)

    assert ready.status_code == 503
    assert ready.json()["dependencies"]["treering.memory.v1.MemoryService"] is False
    assert (stats.status_code, stats.json()["reason"]) == (503, "UNAVAILABLE")
    assert (forecast.status_code, forecast.json()["reason"]) == (503, "UNAVAILABLE")
    assert again


def served(call: Callable[[Any], object], request: object) -> bool:
    """Whether a call is served."""
    try:
        call(request)
    except grpc.RpcError:
        return False
    return True

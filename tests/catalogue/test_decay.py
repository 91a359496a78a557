"""Bad input for decay, through every door: by name, nothing changed, and the next call works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from treering.decay.v1 import decay_service_pb2 as pb

from tests.catalogue.doors import BAD_PARAMS, GRPC, IS_ERROR, MCP, REST, TOOLS, door
from tests.rig.house import Caller, House, unknown_id

EVERYWHERE: Final = (GRPC, REST, MCP)
Said = Mapping[str, str | int]
"""How each door says it, by the doors that can."""
REFUSED: Final[Said] = {GRPC: "INVALID_ARGUMENT", REST: 400, MCP: IS_ERROR}
NOT_READ: Final[Said] = {REST: 400, MCP: BAD_PARAMS}
NOT_FOUND: Final[Said] = {GRPC: "NOT_FOUND", REST: 404, MCP: IS_ERROR}


@dataclass(frozen=True, slots=True)
class Row:
    """One bad input, of the number that it has in the project's catalogue."""

    number: int
    what: str
    rpc: str
    named: str
    request: Mapping[str, Any]
    said: Said = field(default_factory=lambda: REFUSED)
    reason: str = "INVALID_FIELD"

    @property
    def doors(self) -> tuple[str, ...]:
        """The doors that have the method and can say such a thing."""
        has = EVERYWHERE if self.rpc in TOOLS else (GRPC, REST)
        return tuple(door for door in has if door in self.said)

    def __str__(self) -> str:
        """The name of its test."""
        return f"{self.number}-{self.rpc}-{self.named}-{self.what}"


def policy(number: int, what: str, field: str, **changed: Any) -> Row:
    """A policy with something wrong in it."""
    return Row(number, what, "SetPolicy", f"policy.{field}", {"policy": changed})


ROWS: Final = (
    policy(41, "11 years", "full.duration", full={"duration": "347133600s"}),
    policy(39, "0 s", "summary.duration", summary={"duration": "0s"}),
    policy(39, "under 1 s", "essence.duration", essence={"duration": "0.999999999s"}),
    policy(40, "-1 s", "compressed.duration", compressed={"duration": "-1s"}),
    policy(40, "-1 s", "fresh_duration", fresh_duration="-1s"),
    policy(85, "no tokens", "essence.tokens", essence={"tokens": 0}),
    policy(85, "16,001 tokens", "full.tokens", full={"tokens": 16_001}),
    policy(85, "as many as before", "compressed.tokens", compressed={"tokens": 500}),
    policy(85, "more than before", "essence.tokens", essence={"tokens": 151}),
    policy(85, "less than after", "summary.tokens", compressed={"tokens": 150}),
    policy(38, "0.999", "factors.accessed", factors={"accessed": 0.999}),
    policy(38, "10.1", "factors.reinforced", factors={"reinforced": 10.1}),
    policy(38, "0", "factors.failing", factors={"failing": 0}),
    policy(38, "1.1", "factors.failing", factors={"failing": 1.1}),
    Row(54, "nothing", "SetPolicy", "policy", {}),
    Row(54, "null", "SetPolicy", "policy", {"policy": None}, {REST: 400}),
    Row(35, "text", "SetPolicy", "policy.full.tokens", {"policy": {"full": {"tokens": "500"}}}, NOT_READ),
    Row(42, "7 d", "SetPolicy", "policy.full.duration", {"policy": {"full": {"duration": "7d"}}}, NOT_READ),
    Row(7, "unknown", "SetPolicy", "policy.shock", {"policy": {"shock": {"tokens": 1}}}, NOT_READ),
    Row(7, "unknown", "Sweep", "profile_id", {"profile_id": unknown_id()}, NOT_READ),
    Row(43, "no time", "Forecast", "at[0]", {"at": ["tomorrow"]}, {MCP: BAD_PARAMS}),
    Row(45, "without an offset", "Forecast", "at", {"at": ["2030-01-01T00:00:00"]}, {REST: 400}),
    Row(86, "61 dates", "Forecast", "at", {"at": ["2030-01-01T00:00:00Z"] * 61}),
    Row(58, "no id", "Forecast", "memory_id", {"memory_id": "../../etc/passwd"}),
    Row(59, "no dashes", "Forecast", "memory_id", {"memory_id": unknown_id().replace("-", "")}),
    Row(60, "nobody's", "Forecast", "", {"memory_id": unknown_id()}, NOT_FOUND, "MEMORY_NOT_FOUND"),
    Row(58, "no id", "GetSweep", "sweep_id", {"sweep_id": "last"}),
    Row(60, "nobody's", "GetSweep", "", {"sweep_id": unknown_id()}, NOT_FOUND, "SWEEP_NOT_FOUND"),
    Row(47, "random", "ListSweeps", "page_token", {"page_token": "A" * 80}, reason="INVALID_PAGE_TOKEN"),
    Row(46, "-1", "ListSweeps", "page_size", {"page_size": -1}, NOT_READ),
)


@pytest.fixture(scope="module")
async def place(house_site: House) -> Caller:
    """Somebody who has set no policy."""
    return await house_site.caller()


@pytest.mark.parametrize(("way", "row"), [(way, row) for row in ROWS for way in row.doors], ids=str)
async def test_a_wrong_field_is_named_and_nothing_changes(place: Caller, way: str, row: Row) -> None:
    """The exact code, reason and field; no policy is set, nothing is swept; the next call works."""
    answer = await door(way, place).call(row.rpc, row.request)

    assert (answer.said, answer.reason) == (row.said[way], row.reason), answer
    assert answer.fields == ((row.named,) if row.named else ())
    kept = await place.decay.GetPolicy(pb.GetPolicyRequest())
    assert not kept.policy.HasField("updated_at")
    assert not (await place.decay.ListSweeps(pb.ListSweepsRequest())).sweeps


@pytest.mark.parametrize("name", ["accessed", "reinforced", "failing"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
async def test_no_number_that_is_none(place: Caller, name: str, value: float) -> None:
    """Row 37: NaN and the infinities, which only gRPC can say, are refused by name."""
    answer = await door(GRPC, place).call("SetPolicy", {"policy": {"factors": {name: value}}})

    assert (answer.said, answer.fields) == ("INVALID_ARGUMENT", (f"policy.factors.{name}",))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"full": {"duration": "1s"}, "fresh_duration": "315576000s"},
        {"full": {"tokens": 16_000}, "compressed": {"tokens": 15_999}},
        {"compressed": {"tokens": 3}, "summary": {"tokens": 2}, "essence": {"tokens": 1}},
        {"factors": {"accessed": 1, "reinforced": 10, "failing": 0.1}},
        {"updatedAt": "2001-01-01T00:00:00Z", "keepOriginals": True},
    ],
    ids=str,
)
async def test_what_looks_bad_and_is_fine(house: Caller, changed: Mapping[str, Any]) -> None:
    """The ends of every range, and what is ignored."""
    for way in (GRPC, REST):
        assert (await door(way, house).call("SetPolicy", {"policy": changed})).fine


@pytest.mark.parametrize("way", EVERYWHERE)
async def test_the_tools_answer(house: Caller, way: str) -> None:
    """Policy and forecast through every door, for somebody who has nothing yet."""
    assert (await door(way, house).call("GetPolicy", {})).fine
    assert (
        await door(way, house).call("Forecast", {"at": ["2030-01-01T00:00:00Z", "1999-01-01T00:00:00Z"]})
    ).fine

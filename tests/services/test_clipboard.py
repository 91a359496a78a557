"""ClipboardService through the front door: names, stack, sharing, limits."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any
from uuid import UUID

import httpx2
import pytest
from structlog.testing import capture_logs
from treering.clipboard.v1 import clipboard_pb2
from treering.clipboard.v1 import clipboard_service_pb2 as pb

from services.clipboard.entries.values import VALUE_BYTES_MAX
from tests.rig.answers import problem
from tests.rig.house import Caller, House, unknown_id
from tests.rig.refusals import refused

WORKSPACE, PUBLIC = clipboard_pb2.VISIBILITY_WORKSPACE, clipboard_pb2.VISIBILITY_PUBLIC
DAY_SECONDS = 86_400
CANARY = "Quetzalcoatlus"
NO_ENTRY = ("NOT_FOUND", "ENTRY_NOT_FOUND", [])


async def kept(house: Caller, name: str, value: str = "v", **fields: Any) -> clipboard_pb2.Entry:
    """What is under a name after it was set."""
    return (await house.clipboard.Set(pb.SetRequest(name=name, value=value, **fields))).entry


async def pushed(house: Caller, value: str = "v", **fields: Any) -> pb.PushResponse:
    """The answer to a push."""
    return await house.clipboard.Push(pb.PushRequest(value=value, **fields))


async def popped(house: Caller, key: str = "") -> pb.PopResponse:
    """The answer to a pop."""
    return await house.clipboard.Pop(pb.PopRequest(idempotency_key=key))


async def tool(house: Caller, called: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool call."""
    params = {"name": called, "arguments": arguments}
    response = await house.http.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={"accept": "application/json, text/event-stream"},
    )
    return response.json()["result"]


async def test_every_field_is_kept(house: Caller) -> None:
    """What was said is answered, with what the house adds; reading it answers the same."""
    entry = await kept(
        house,
        " last_search ",
        "aGVsbG8=",
        content_type="image/png",
        encoding="base64",
        visibility=WORKSPACE,
        ttl_seconds=3600,
        created_by_tool="search",
        created_by_model="some-model",
    )

    assert UUID(entry.id).version == 4
    assert (entry.name, entry.value, entry.content_type) == ("last_search", "aGVsbG8=", "image/png")
    assert (entry.encoding, entry.size_bytes, entry.visibility) == ("base64", 8, WORKSPACE)
    assert (entry.created_by_tool, entry.created_by_model) == ("search", "some-model")
    assert entry.source == clipboard_pb2.SOURCE_GRPC
    assert not entry.HasField("depth")
    assert not entry.HasField("position")
    assert entry.created_at == entry.updated_at
    assert entry.expires_at.seconds - entry.updated_at.seconds == 3600
    assert (await house.clipboard.Get(pb.GetRequest(name="last_search"))).entry == entry


async def test_what_is_not_said_has_defaults(house: Caller) -> None:
    """Private plain text for a day."""
    entry = await kept(house, "a")

    assert (entry.content_type, entry.encoding) == ("text/plain", "utf-8")
    assert entry.visibility == clipboard_pb2.VISIBILITY_PRIVATE
    assert entry.expires_at.seconds - entry.created_at.seconds == DAY_SECONDS


async def test_setting_replaces_everything_but_id_and_birth(house: Caller) -> None:
    """Also what is not said this time."""
    first = await kept(house, "Zoe\u0308", "1", visibility=PUBLIC, created_by_tool="t", ttl_seconds=60)
    second = await kept(house, "Zo\u00eb", "2")

    assert (second.id, second.created_at) == (first.id, first.created_at)
    assert (second.value, second.visibility, second.created_by_tool) == ("2", 1, "")
    assert second.expires_at.seconds - second.updated_at.seconds == DAY_SECONDS
    listed = await house.clipboard.List(pb.ListRequest())
    assert list(listed.entries) == [second]


async def test_the_stack_gives_back_the_last_first(house: Caller) -> None:
    """With depths from the newest, positions from the oldest, and a version for each change."""
    answers = [await pushed(house, str(number)) for number in range(3)]

    assert [(each.stack_version, each.entry.position) for each in answers] == [(1, 1), (2, 2), (3, 3)]
    assert all(each.entry.HasField("depth") and each.entry.depth == 0 for each in answers)
    seen = [await house.clipboard.Peek(pb.PeekRequest(depth=depth)) for depth in range(3)]
    assert [(each.entry.value, each.entry.depth, each.stack_version) for each in seen] == [
        ("2", 0, 3),
        ("1", 1, 3),
        ("0", 2, 3),
    ]
    assert await refused(house.clipboard.Peek(pb.PeekRequest(depth=3))) == NO_ENTRY
    assert await refused(house.clipboard.Peek(pb.PeekRequest(depth=2**32 - 1))) == NO_ENTRY
    taken = [await popped(house) for _ in range(3)]
    assert [(each.entry.value, each.stack_version) for each in taken] == [("2", 4), ("1", 5), ("0", 6)]
    assert await refused(popped(house)) == ("NOT_FOUND", "STACK_EMPTY", [])
    assert (await pushed(house)).entry.position == 4


async def test_names_and_stack_do_not_touch(house: Caller) -> None:
    """A name is not on the stack, and what is on the stack has none."""
    await kept(house, "a", "named")
    await pushed(house, "stacked")

    assert (await popped(house)).entry.value == "stacked"
    assert await refused(popped(house)) == ("NOT_FOUND", "STACK_EMPTY", [])
    assert (await house.clipboard.Get(pb.GetRequest(name="a"))).entry.value == "named"


async def test_a_lost_reply_is_repeated(house: Caller) -> None:
    """Sixteen times the same push and the same pop at once: one entry, one version each."""
    pushes = await asyncio.gather(*(pushed(house, "v", idempotency_key="in") for _ in range(16)))
    pops = await asyncio.gather(*(popped(house, "out") for _ in range(16)))

    assert all(each == pushes[0] for each in pushes)
    assert all(each == pops[0] for each in pops)
    assert (pushes[0].stack_version, pops[0].stack_version) == (1, 2)
    assert pops[0].entry.id == pushes[0].entry.id
    assert await refused(pushed(house, "other", idempotency_key="in")) == (
        "ALREADY_EXISTS",
        "IDEMPOTENCY_KEY_REUSED",
        [],
    )


async def test_deleting_and_clearing(house: Caller) -> None:
    """One by its name, then all; twice is once too often."""
    await kept(house, "a")
    await kept(house, "b")
    await pushed(house)

    await house.clipboard.Delete(pb.DeleteRequest(name="a"))
    assert await refused(house.clipboard.Delete(pb.DeleteRequest(name="a"))) == NO_ENTRY
    assert await refused(house.clipboard.Get(pb.GetRequest(name="a"))) == NO_ENTRY
    cleared = await house.clipboard.Clear(pb.ClearRequest())
    assert (cleared.cleared_count, cleared.stack_version) == (2, 2)
    assert not (await house.clipboard.List(pb.ListRequest())).entries
    assert (await house.clipboard.Clear(pb.ClearRequest())).cleared_count == 0


async def test_lists_come_in_pages(house: Caller) -> None:
    """The newest first, each once, with names and depths, long values left out."""
    await kept(house, "first", "x" * 5000)
    for number in range(3):
        await pushed(house, str(number))
    await kept(house, "last")
    pages: list[pb.ListResponse] = [await house.clipboard.List(pb.ListRequest(page_size=2))]
    while pages[-1].next_page_token:
        again = pb.ListRequest(page_size=2, page_token=pages[-1].next_page_token)
        pages.append(await house.clipboard.List(again))

    entries = [entry for page in pages for entry in page.entries]
    assert [len(page.entries) for page in pages] == [2, 2, 1]
    assert [(one.name, one.depth) for one in entries] == [
        ("last", 0),
        ("", 0),
        ("", 1),
        ("", 2),
        ("first", 0),
    ]
    assert [(one.value, one.value_omitted) for one in entries][-2:] == [("0", False), ("", True)]
    assert entries[-1].size_bytes == 5000


async def test_a_token_is_for_one_clipboard(house: Caller, neighbor: Caller) -> None:
    """Another's list does not take it."""
    await kept(house, "a")
    await kept(house, "b")
    page = await house.clipboard.List(pb.ListRequest(page_size=1))

    for caller, profile in ((neighbor, ""), (house, neighbor.profile_id)):
        request = pb.ListRequest(page_size=1, page_token=page.next_page_token, profile_id=profile)
        code, reason, fields = await refused(caller.clipboard.List(request))
        assert (code, reason, fields) == ("INVALID_ARGUMENT", "INVALID_PAGE_TOKEN", ["page_token"])


async def test_a_foreign_clipboard_shows_what_its_owner_lets_be_seen(house_site: House) -> None:
    """To a colleague, to a stranger; lowering holds on the next read; the rest is like what never was."""
    owner = await house_site.caller(owner="o", workspace="shared", profile="first")
    colleague = await house_site.caller(owner="o", workspace="shared", profile="second")
    stranger = await house_site.caller()
    await kept(owner, "mine", "m")
    await kept(owner, "ours", "o", visibility=WORKSPACE)
    await kept(owner, "everybody's", "e", visibility=PUBLIC)
    await pushed(owner, "hidden")

    async def seen(reader: Caller) -> list[str]:
        listed = await reader.clipboard.List(pb.ListRequest(profile_id=owner.profile_id))
        for entry in listed.entries:
            request = pb.GetRequest(name=entry.name, profile_id=owner.profile_id)
            assert (await reader.clipboard.Get(request)).entry == entry
        return [entry.name for entry in listed.entries]

    assert await seen(colleague) == ["everybody's", "ours"]
    assert await seen(stranger) == ["everybody's"]
    for profile, name in ((owner.profile_id, "mine"), (owner.profile_id, "nothing"), (unknown_id(), "mine")):
        request = pb.GetRequest(name=name, profile_id=profile)
        assert await refused(stranger.clipboard.Get(request)) == NO_ENTRY
    assert await refused(stranger.clipboard.Peek(pb.PeekRequest(profile_id=owner.profile_id))) == NO_ENTRY
    assert not (await stranger.clipboard.List(pb.ListRequest(profile_id=unknown_id()))).entries
    await kept(owner, "ours", "o")
    await kept(owner, "everybody's", "e", visibility=WORKSPACE)
    assert await seen(colleague) == ["everybody's"]
    assert await seen(stranger) == []


async def test_what_expired_is_gone(house: Caller) -> None:
    """After a second nothing answers with it."""
    await kept(house, "a", ttl_seconds=1)
    await pushed(house, ttl_seconds=1)
    await kept(house, "stays")
    await asyncio.sleep(1.01)

    assert await refused(house.clipboard.Get(pb.GetRequest(name="a"))) == NO_ENTRY
    assert await refused(house.clipboard.Peek(pb.PeekRequest())) == NO_ENTRY
    assert await refused(popped(house)) == ("NOT_FOUND", "STACK_EMPTY", [])
    assert [one.name for one in (await house.clipboard.List(pb.ListRequest())).entries] == ["stays"]


@pytest.mark.parametrize(
    ("value", "encoding"),
    [
        ("x" * VALUE_BYTES_MAX, "utf-8"),
        ("🌲" * (VALUE_BYTES_MAX // 4), "utf-8"),
        ("\x01" * VALUE_BYTES_MAX, "utf-8"),
        ('"\\' * (VALUE_BYTES_MAX // 2), "utf-8"),
        (base64.b64encode(bytes(range(256)) * 6144).decode(), "base64"),
        ("0F" * (VALUE_BYTES_MAX // 2), "hex"),
        ("", "utf-8"),
        ("  \r\n\t\u00a0e\u0308\u202e\ufeff ", "utf-8"),
    ],
    ids=["ascii", "emojis", "controls", "quotes", "base64", "hex", "empty", "odd"],
)
async def test_values_are_kept_byte_for_byte(house: Caller, value: str, encoding: str) -> None:
    """Up to 2 MiB, set over gRPC and over REST, read over the other; escaped as JSON escapes at worst."""
    body = json.dumps({"name": "rest", "value": value, "encoding": encoding})
    set_over_rest = await house.http.post(
        "/v1/clipboard/entries", content=body.encode(), headers={"content-type": "application/json"}
    )
    await kept(house, "grpc", value, encoding=encoding)

    assert set_over_rest.status_code == 200, set_over_rest.text[:500]
    assert set_over_rest.json()["entry"]["value"] == value
    assert (await house.clipboard.Get(pb.GetRequest(name="rest"))).entry.value == value
    assert (await house.http.get("/v1/clipboard/entries/grpc")).json()["entry"]["value"] == value


async def test_one_byte_more_is_refused(house: Caller) -> None:
    """Counted in bytes, over gRPC and REST."""
    for value in ("x" * (VALUE_BYTES_MAX + 1), "x" * (VALUE_BYTES_MAX - 1) + "ë"):
        assert await refused(kept(house, "a", value)) == ("INVALID_ARGUMENT", "VALUE_TOO_LARGE", ["value"])
        response = await house.http.post("/v1/clipboard/stack:push", json={"value": value})
        body = problem(response, 413, "VALUE_TOO_LARGE")
        assert body["metadata"] == {"limit": str(VALUE_BYTES_MAX)}
    assert not (await house.clipboard.List(pb.ListRequest())).entries


async def test_rest_has_its_paths(house: Caller) -> None:
    """The same story by REST; the door is noted."""
    entries, stack = "/v1/clipboard/entries", "/v1/clipboard/stack"
    made = await house.http.post(entries, json={"name": "a/b:c ä", "value": "1", "ttl_seconds": 60})
    entry = made.json()["entry"]

    assert (entry["source"], entry["encoding"], entry["visibility"]) == ("sdk", "utf-8", "private")
    assert (await house.http.get(f"{entries}/a%2Fb%3Ac%20%C3%A4")).json()["entry"] == entry
    assert (await house.http.get(entries)).json()["entries"] == [entry]
    pushed_entry = (await house.http.post(f"{stack}:push", json={"value": "2"})).json()
    assert (pushed_entry["entry"]["depth"], pushed_entry["stack_version"]) == (0, "1")
    assert (await house.http.get(f"{stack}/0")).json()["entry"] == pushed_entry["entry"]
    assert (await house.http.post(f"{stack}:pop")).json()["entry"]["value"] == "2"
    empty = problem(await house.http.post(f"{stack}:pop"), 404, "STACK_EMPTY")
    assert empty["metadata"] == {"stack_version": "2"}
    assert (await house.http.delete(f"{entries}/a%2Fb%3Ac%20%C3%A4")).status_code == 200
    problem(await house.http.get(f"{entries}/a%2Fb%3Ac%20%C3%A4"), 404, "ENTRY_NOT_FOUND")
    assert (await house.http.post("/v1/clipboard:clear")).json() == {
        "cleared_count": 0,
        "stack_version": "3",
    }


async def test_agents_have_tools(house: Caller) -> None:
    """The same story by tools; the door is noted."""
    made = await tool(house, "clipboard_set", name="a", value="1", created_by_tool="search")
    entry = made["structuredContent"]["entry"]

    assert entry["source"] == "mcp"
    assert (await tool(house, "clipboard_get", name="a"))["structuredContent"]["entry"] == entry
    assert (await tool(house, "clipboard_list"))["structuredContent"]["entries"] == [entry]
    await tool(house, "clipboard_push", value="2")
    assert (await tool(house, "clipboard_peek"))["structuredContent"]["entry"]["value"] == "2"
    assert (await tool(house, "clipboard_pop"))["structuredContent"]["entry"]["value"] == "2"
    empty = await tool(house, "clipboard_pop")
    assert (empty["isError"], empty["structuredContent"]["reason"]) == (True, "STACK_EMPTY")
    assert not (await tool(house, "clipboard_delete", name="a"))["isError"]
    assert (await tool(house, "clipboard_clear"))["structuredContent"]["cleared_count"] == 0


async def test_scopes_part_reading_from_writing(house_site: House) -> None:
    """A key that may read cannot write, and the other way round."""
    reader = await house_site.caller(scopes=["clipboard:read"])
    writer = await house_site.caller(scopes=["clipboard:write"])
    denied = ("PERMISSION_DENIED", "SCOPE_MISSING", [])

    await reader.clipboard.List(pb.ListRequest())
    await pushed(writer)
    for call in (kept(reader, "a"), popped(reader), reader.clipboard.Clear(pb.ClearRequest())):
        assert await refused(call) == denied
    for call in (writer.clipboard.Get(pb.GetRequest(name="a")), writer.clipboard.List(pb.ListRequest())):
        assert await refused(call) == denied


async def test_no_door_lets_the_source_be_chosen(house: Caller) -> None:
    """REST knows no such field."""
    response: httpx2.Response = await house.http.post(
        "/v1/clipboard/entries", json={"name": "a", "value": "1", "source": "ui"}
    )

    problem(response, 400, "INVALID_FIELD")


async def test_logs_hold_nothing_that_was_written(house: Caller) -> None:
    """Neither name nor value nor key."""
    with capture_logs() as logs:
        await kept(house, CANARY, CANARY, created_by_tool=CANARY)
        await pushed(house, CANARY, idempotency_key=CANARY)
        await refused(house.clipboard.Get(pb.GetRequest(name=CANARY + "2")))
        await refused(kept(house, CANARY, CANARY, encoding="hex"))
        await house.http.get(f"/v1/clipboard/entries/{CANARY}")

    assert logs
    assert CANARY not in str(logs)

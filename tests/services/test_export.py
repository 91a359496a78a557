"""ExportProfile through the front door: all that is kept, whole, and gone on with where it was cut."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import pytest
from google.protobuf.message import Message
from treering.access.v1 import access_service_pb2 as access_pb
from treering.access.v1 import export_pb2 as pb
from treering.clipboard.v1 import clipboard_service_pb2 as clipboard_pb
from treering.clipboard.v1 import profile_data_service_pb2 as clipboard_data
from treering.decay.v1 import profile_data_service_pb2 as decay_data
from treering.memory.v1 import memory_service_pb2 as memory_pb
from treering.memory.v1 import profile_data_service_pb2 as memory_data
from treering.results.v1 import journal_service_pb2 as journal_pb
from treering.results.v1 import profile_data_service_pb2 as results_data
from treering.results.v1 import results_service_pb2 as results_pb
from treering.results.v1 import run_service_pb2 as run_pb

from tests.rig.answers import problem
from tests.rig.house import Caller, House, unknown_id
from tests.rig.lives import LONG, TYPE, Life, lived
from tests.rig.refusals import refused

GONE = ("NOT_FOUND", "PROFILE_NOT_FOUND", [])
MANY = 120
"""More than are read at once."""
Record = pb.ExportProfileResponse


@pytest.fixture(scope="module")
async def life(house_site: House) -> Life:
    """A profile that has done something of everything, and much of some."""
    made = await lived(await house_site.caller())
    memory, clipboard = made.caller.memory, made.caller.clipboard
    started = await memory.StartSession(memory_pb.StartSessionRequest(content_session_id="many"))
    for at in range(0, MANY, 60):
        seen = [memory_pb.Observation(content=f"number {at + one}", type=TYPE) for one in range(60)]
        await memory.ObserveBatch(
            memory_pb.ObserveBatchRequest(session_id=started.session.id, observations=seen)
        )
    for number in range(MANY):
        value = f"{number} {LONG if number % 3 == 0 else ''}"
        await clipboard.Set(clipboard_pb.SetRequest(name=f"n{number}", value=value))
    return made


async def exported(house: House, profile_id: str, after: str = "") -> list[Record]:
    """All records of an export."""
    request = pb.ExportProfileRequest(profile_id=profile_id, after=after)
    answers = cast(AsyncIterator[Record], house.admin.access.ExportProfile(request))
    return [record async for record in answers]


def of_kind(records: Sequence[Record], kind: str) -> list[Any]:
    """What there is of one kind, in its order."""
    return [getattr(record, kind) for record in records if record.WhichOneof("record") == kind]


async def test_it_is_what_reading_answers(house_site: House, life: Life) -> None:
    """Each kind whole and in the order of its list, with full texts and whole values."""
    caller = life.caller
    records = await exported(house_site, caller.profile_id)
    access, memory = house_site.admin.access, caller.memory
    profile = (await access.GetProfile(access_pb.GetProfileRequest(profile_id=caller.profile_id))).profile
    keys = (await access.ListKeys(access_pb.ListKeysRequest(profile_id=caller.profile_id))).keys
    sessions = (await memory.ListSessions(memory_pb.ListSessionsRequest(page_size=200))).sessions
    reports = (await memory.ListZReports(memory_pb.ListZReportsRequest(page_size=200))).z_reports
    listed = (await memory.ListMemories(memory_pb.ListMemoriesRequest(page_size=200))).memories

    assert of_kind(records, "profile") == [profile]
    assert of_kind(records, "key") == list(keys)
    assert of_kind(records, "session") == list(sessions)
    assert of_kind(records, "z_report") == list(reports)
    assert [one.id for one in of_kind(records, "memory")] == [one.id for one in listed]
    assert len(listed) == MANY + 10
    assert of_kind(records, "clipboard_entry") == await whole_clipboard(caller)


async def test_runs_have_all_their_results(house_site: House, life: Life) -> None:
    """Each run with what it came to and its episode, each result whole or part by part, each turn."""
    caller = life.caller
    records = await exported(house_site, caller.profile_id)
    runs = [
        (await caller.runs.GetRunStatus(run_pb.GetRunStatusRequest(run_id=run.id))).run
        for run in (await caller.runs.ListRuns(run_pb.ListRunsRequest())).runs
    ]
    results = [
        (
            await caller.results.GetResult(
                results_pb.GetResultRequest(workflow_id=name, task_id=task, part=part)
            )
        )
        for name, task, part in (
            (f"{life.word} run", f"{life.word} task", 0),
            (f"{life.word} run", f"{life.word} streamed", 0),
            (f"{life.word} run", f"{life.word} streamed", 1),
        )
    ]
    talk = results_pb.ListTurnsRequest(workflow_id=f"{life.word} talk")
    turns = (await caller.results.ListTurns(talk)).turns

    assert of_kind(records, "run") == runs
    assert runs[-1].outcome
    assert of_kind(records, "result") == [each.result for each in results]
    assert [each.turn for each in of_kind(records, "turn")] == list(turns)
    assert {each.run_id for each in of_kind(records, "turn")} == {runs[0].id}
    finished = journal_pb.GetRunRequest(run_id=runs[-1].id)
    assert of_kind(records, "episode") == [(await caller.journal.GetRun(finished)).episode]


async def test_memories_have_their_full_texts(house_site: House, life: Life) -> None:
    """As GetMemory reads them, counts of reads apart, which move by reading."""
    memories = of_kind(await exported(house_site, life.caller.profile_id), "memory")

    for memory in (memories[0], memories[-1], memories[-6]):
        request = memory_pb.GetMemoryRequest(memory_id=memory.id)
        read = (await life.caller.memory.GetMemory(request)).memory
        for each in (read, memory):
            each.ClearField("access_count")
            each.ClearField("touched_at")
        assert memory == read
        assert memory.content


async def whole_clipboard(caller: Caller) -> list[Message]:
    """Every entry, the newest first, each read by its name or depth."""
    listed = (await caller.clipboard.List(clipboard_pb.ListRequest(page_size=200))).entries
    assert len(listed) > MANY
    whole: list[Message] = []
    for entry in listed:
        if entry.name:
            whole.append((await caller.clipboard.Get(clipboard_pb.GetRequest(name=entry.name))).entry)
        else:
            whole.append((await caller.clipboard.Peek(clipboard_pb.PeekRequest(depth=entry.depth))).entry)
    return whole


async def test_it_begins_with_a_header_and_ends_with_counts(house_site: House, life: Life) -> None:
    """So that a reader knows what it reads, and that it has read all of it."""
    first, *records, last = await exported(house_site, life.caller.profile_id)

    assert (first.header.format_version, first.header.profile_id) == (1, life.caller.profile_id)
    assert first.header.HasField("exported_at")
    kinds = Counter(record.WhichOneof("record") for record in records)
    assert {each.kind: each.count for each in last.trailer.counts} == kinds
    assert len(kinds) == 11
    assert not last.next


async def test_a_cut_stream_is_gone_on_with(house_site: House, life: Life) -> None:
    """After whichever record it was cut, the rest comes, none twice, with the counts of the whole."""
    everything = await exported(house_site, life.caller.profile_id)
    cuts = [0, 1, 2, 3, len(everything) // 2, len(everything) - 3, len(everything) - 2]

    for cut in cuts:
        rest = await exported(house_site, life.caller.profile_id, everything[cut].next)
        assert plain(rest) == plain(everything[cut + 1 :])


def plain(records: Sequence[Record]) -> list[bytes]:
    """Records without what differs each time: tokens, and reads, which are counted a moment later."""
    same: list[bytes] = []
    for record in records:
        copy = Record()
        copy.CopyFrom(record)
        copy.ClearField("next")
        for field in ("access_count", "touched_at") if copy.HasField("memory") else ():
            copy.memory.ClearField(field)
        same.append(copy.SerializeToString(deterministic=True))
    return same


async def test_over_rest(house_site: House, life: Life) -> None:
    """The same records as events, and after a token those that follow it."""
    path = f"/v1/access/profiles/{life.caller.profile_id}:export"
    rest = house_site.admin.http

    events = read_events((await rest.get(path, headers={"accept": "text/event-stream"})).text)
    answer = await rest.get(
        path, params={"after": events[1]["next"]}, headers={"accept": "text/event-stream"}
    )
    later = read_events(answer.text)

    assert len(events) == len(await exported(house_site, life.caller.profile_id))
    assert events[0]["header"]["format_version"] == 1
    assert [each["trailer"] for each in later[-1:]] == [each["trailer"] for each in events[-1:]]
    assert len(later) == len(events) - 2


def read_events(text: str) -> list[Any]:
    """What the events of a stream hold that came to its end."""
    *events, last = text.strip().split("\n\n")
    assert last.startswith("event: end")
    return [json.loads(event.removeprefix("data: ")) for event in events]


@pytest.mark.parametrize(
    "profile_id", [unknown_id(), "00000000-0000-0000-0000-000000000000"], ids=("unknown", "nil")
)
async def test_an_unknown_profile_has_no_export(house_site: House, profile_id: str) -> None:
    """Over both doors, and before anything is streamed."""
    access = house_site.admin.access

    exporting = access.ExportProfile(pb.ExportProfileRequest(profile_id=profile_id))
    assert await refused(exporting.read()) == GONE
    answer = await house_site.admin.http.get(
        f"/v1/access/profiles/{profile_id}:export", headers={"accept": "text/event-stream"}
    )
    problem(answer, 404, "PROFILE_NOT_FOUND")


async def test_a_token_holds_for_its_export_only(house_site: House, life: Life, neighbor: Caller) -> None:
    """Of another profile, another operator, another list, altered or made up: refused by name."""
    access = house_site.admin.access
    token = (await exported(house_site, life.caller.profile_id))[1].next
    page = await access.ListKeys(access_pb.ListKeysRequest(page_size=1))
    other = await house_site.caller(scopes=["admin"])
    flipped = token[:-1] + ("A" if token[-1] != "A" else "Q")
    mine = life.caller.profile_id

    for stub, profile_id, after in (
        (access, neighbor.profile_id, token),
        (other.access, mine, token),
        (access, mine, page.next_page_token),
        (access, mine, flipped),
        (access, mine, "garbage"),
    ):
        answer = stub.ExportProfile(pb.ExportProfileRequest(profile_id=profile_id, after=after))
        assert await refused(answer.read()) == ("INVALID_ARGUMENT", "INVALID_PAGE_TOKEN", ["after"])


@pytest.mark.parametrize(
    "service", [memory_data, clipboard_data, decay_data, results_data], ids=lambda data: data.__name__
)
def test_what_a_service_exports_has_its_place(service: Any) -> None:
    """Each field of a service's record is one of the export, by name and by type."""
    whole: Any = pb.ExportProfileResponse.DESCRIPTOR.fields_by_name
    oneof: Any = service.ExportProfileDataResponse.DESCRIPTOR.oneofs_by_name["record"]

    for field in oneof.fields:
        assert whole[field.name].message_type.full_name == field.message_type.full_name

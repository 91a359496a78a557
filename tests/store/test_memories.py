"""Memories and sessions as they are kept, on a real Postgres."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from libs.data import checks, migrations, sql
from libs.data.faults import Unkeepable
from libs.data.sealing import SealedRecordBroken
from libs.language.tokens import TokenCounter
from services.memory.memories.embed_pending import embed_pending
from services.memory.memories.memory import MemoryNotFound
from services.memory.memories.observations import KeyReused
from services.memory.memories.rings import Outcome, Ring, Type
from services.memory.memories.touches import Touches
from services.memory.service import SCHEMA
from services.memory.sessions.reports import EMPTY, Noted, Totals, ZReportNotReady, summarise
from services.memory.sessions.session import SessionClosed, SessionNotFound, SessionState
from services.memory.sessions.store import Composed
from tests.rig.memory import Memories, a_raw, memories_in
from tests.rig.postgres import Cluster

CANARY = "Quetzalcoatlus"
PACKAGES = tuple(
    f"services.memory.{room}" for room in ("brief", "curation", "memories", "rings", "search", "sessions")
)


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    """Built once."""
    return TokenCounter()


@pytest.fixture
async def room(cluster: Cluster, counter: TokenCounter) -> AsyncGenerator[Memories]:
    """The memory room with nothing in it."""
    async with memories_in(cluster, counter) as memories:
        yield memories


async def told(_: UUID, noted: Sequence[Noted], totals: Totals) -> Composed:
    """A plain report."""
    return Composed(summarise(noted, totals), 1)


@pytest.mark.parametrize("package", PACKAGES)
async def test_every_query_prepares(room: Memories, package: str) -> None:
    """Postgres accepts the names and types of each query, as the role that will run it."""
    async with migrations.owner(room.dsn) as connection:
        await connection.execute(f"SET ROLE {SCHEMA.role}")
        for name, query in sql.load(package):
            await connection.execute(f"PREPARE {name} AS {query.rstrip(';')}")


async def test_isolation_holds(room: Memories) -> None:
    """M8: no table of memory shows or takes a row without a profile."""
    async with migrations.owner(room.dsn) as connection:
        tables = await checks.profile_tables(connection, SCHEMA.schema)

    await checks.isolation_self_test(room.database, tables)
    assert "memory.memory" in tables


async def test_what_was_observed_is_read_again(room: Memories) -> None:
    """Every field comes back as it went in."""
    profile = uuid4()
    session = await room.session(profile)
    when = room.clock() - timedelta(days=400)
    kept = await room.observe(
        profile,
        session,
        "Deploys need a green build. Ask Mia.",
        outcome=Outcome.SUCCESS,
        actor="Mia",
        tags=["ci", "Déploiement"],
        aliases=["the rule"],
        metadata={"n": 1, "deep": {"a": [True, None]}},
        occurred_at=when,
    )

    read = (await room.store.get(profile, [kept.memory.id]))[kept.memory.id]

    assert read == kept.memory
    assert not kept.reinforced
    assert read.texts.content == "Deploys need a green build. Ask Mia."
    assert (read.labels.actor, read.labels.tags, read.labels.aliases) == (
        "Mia",
        ("ci", "Déploiement"),
        ("the rule",),
    )
    assert read.metadata.fields == {"n": 1, "deep": {"a": [True, None]}}
    assert (read.occurred_at, read.created_at) == (when, room.clock())
    assert (read.ring, read.successes, read.failures, read.position) == (Ring.FRESH, 1, 0, 1)
    assert read.embedding_model == "letters"


async def test_short_forms_are_kept_once(room: Memories) -> None:
    """A long text has a summary and an essence within their limits; a short one is its own."""
    profile = uuid4()
    session = await room.session(profile)
    long = " ".join(f"Step {number} moved file {number}.txt to host{number}." for number in range(200))
    kept = await room.observe(profile, session, long)
    await room.observe(profile, session, "short")

    assert kept.memory.texts.content == long
    assert kept.memory.texts.summary_tokens <= 150
    assert kept.memory.texts.essence_tokens <= 50
    rows = await room.rows("SELECT summary_sealed IS NULL AS bare FROM memory.memory ORDER BY position")
    assert [row["bare"] for row in rows] == [False, True]


async def test_the_same_content_is_kept_once(room: Memories) -> None:
    """Sixty-four at once: one row, reinforced sixty-three times, each outcome counted."""
    profile = uuid4()
    session = await room.session(profile)

    kept = await asyncio.gather(
        *(room.observe(profile, session, "again", outcome=Outcome.SUCCESS) for _ in range(64))
    )

    assert len({one.memory.id for one in kept}) == 1
    assert sum(one.reinforced for one in kept) == 63
    [row] = await room.rows("SELECT reinforcement_count, successes, position FROM memory.memory")
    assert tuple(row) == (63, 64, 1)
    [state] = await room.rows("SELECT observation_count, last_position FROM memory.session")
    assert tuple(state) == (1, 1)


async def test_another_session_keeps_its_own(room: Memories) -> None:
    """The same content in two sessions is two memories."""
    profile = uuid4()
    first = await room.observe(profile, await room.session(profile), "again")
    second = await room.observe(profile, await room.session(profile), "again")

    assert first.memory.id != second.memory.id
    assert not second.reinforced


async def test_identical_items_of_a_batch_are_kept_once(room: Memories) -> None:
    """Each item is answered; positions have no holes and times keep the order."""
    profile = uuid4()
    session = await room.session(profile)
    await room.observe(profile, session, "old")
    room.clock.passes(seconds=1)

    kept = await room.observe_all(profile, session, *(a_raw(text) for text in ("a", "old", "b", "a", "c")))

    assert [one.reinforced for one in kept] == [False, True, False, True, False]
    assert kept[0].memory.id == kept[3].memory.id
    assert kept[0].memory.reinforcement_count == 1
    assert [one.memory.position for one in kept] == [2, 1, 3, 2, 4]
    listed = await room.store.newest(profile, [], 10, None)
    assert [memory.texts.content for memory in listed] == ["c", "b", "a", "old"]


async def test_a_key_makes_a_repeated_call_answer_alike(room: Memories) -> None:
    """M2: thirty-two with one key: one memory, never reinforced; also after the session ended."""
    profile = uuid4()
    session = await room.session(profile)

    kept = await asyncio.gather(
        *(room.observe(profile, session, "once", idempotency_key="k") for _ in range(32))
    )
    await room.sessions.end(profile, session, told, room.memories_max, room.clock())
    late = await room.observe(profile, session, "once", idempotency_key="k")

    assert {(one.memory.id, one.reinforced, one.memory.reinforcement_count) for one in (*kept, late)} == {
        (kept[0].memory.id, False, 0)
    }


async def test_a_replay_remembers_that_it_reinforced(room: Memories) -> None:
    """The first answer under a key is the answer."""
    profile = uuid4()
    session = await room.session(profile)
    await room.observe(profile, session, "there already")

    first = await room.observe(profile, session, "there already", idempotency_key="k")
    again = await room.observe(profile, session, "there already", idempotency_key="k")

    assert (first.reinforced, again.reinforced) == (True, True)
    assert again.memory.reinforcement_count == 1


async def test_a_key_belongs_to_one_request(room: Memories) -> None:
    """M2: another content, outcome or session under the same key is refused, and keeps nothing."""
    profile = uuid4()
    session = await room.session(profile)
    await room.observe(profile, session, "once", idempotency_key="k")

    for other_session, content, outcome in (
        (session, "another", Outcome.NOT_RECORDED),
        (session, "once", Outcome.SUCCESS),
        (await room.session(profile), "once", Outcome.NOT_RECORDED),
    ):
        with pytest.raises(KeyReused):
            await room.observe_all(
                profile,
                other_session,
                a_raw("beside it", idempotency_key="k2"),
                a_raw(content, outcome=outcome, idempotency_key="k"),
            )
    assert len(await room.rows("SELECT FROM memory.memory")) == 1
    assert len(await room.rows("SELECT FROM memory.idempotency")) == 1


async def test_a_key_is_of_its_profile(room: Memories) -> None:
    """Two profiles may use the same key."""
    for profile in (uuid4(), uuid4()):
        kept = await room.observe(profile, await room.session(profile), "x", idempotency_key="k")
        assert not kept.reinforced


async def test_a_key_is_forgotten_after_a_day(room: Memories) -> None:
    """From then on it is free, whether a sweep has passed or not."""
    profile = uuid4()
    session = await room.session(profile)
    await room.observe(profile, session, "one", idempotency_key="k")

    assert await room.store.forget_keys(10, room.clock() + timedelta(hours=24, microseconds=-1)) == 0
    room.clock.passes(hours=24)
    await room.observe(profile, session, "two", idempotency_key="k")
    room.clock.passes(hours=24)
    assert await room.store.forget_keys(10, room.clock()) == 1


async def test_a_key_of_a_deleted_memory_brings_nothing_back(room: Memories) -> None:
    """A late retry does not undo a deletion."""
    profile = uuid4()
    session = await room.session(profile)
    kept = await room.observe(profile, session, "gone", idempotency_key="k")
    await room.rings.delete(profile, kept.memory.id, None)

    with pytest.raises(MemoryNotFound):
        await room.observe(profile, session, "gone", idempotency_key="k")


async def test_only_an_open_session_of_ones_own_takes_observations(room: Memories) -> None:
    """Unknown and foreign are one answer; ended is another. Nothing is kept."""
    profile, other = uuid4(), uuid4()
    session = await room.session(profile)
    for who, where in ((profile, uuid4()), (other, session)):
        with pytest.raises(SessionNotFound):
            await room.observe(who, where, "x")
    await room.sessions.end(profile, session, told, room.memories_max, room.clock())
    with pytest.raises(SessionClosed):
        await room.observe(profile, session, "x", idempotency_key="k")

    assert not await room.rows("SELECT FROM memory.memory")
    assert not await room.rows("SELECT FROM memory.idempotency")


async def test_a_session_is_found_by_its_name_while_open(room: Memories) -> None:
    """Sixteen starts at once are one session; after its end the name starts another."""
    profile = uuid4()
    ids = await asyncio.gather(*(room.session(profile, "chat", "claude") for _ in range(16)))
    assert len(set(ids)) == 1

    await room.sessions.end(profile, ids[0], told, room.memories_max, room.clock())
    second = await room.session(profile, "chat")

    assert second != ids[0]
    listed = await room.sessions.newest(profile, None, "claude", 10, None)
    assert [(one.id, one.name, one.agent, one.state) for one in listed] == [
        (ids[0], "chat", "claude", SessionState.ENDED)
    ]
    assert not await room.sessions.newest(uuid4(), None, "", 10, None)


async def test_a_session_ends_once(room: Memories) -> None:
    """M9: sixteen ends at once, each telling it otherwise: one report, the same for all."""
    profile = uuid4()
    session = await room.session(profile)
    await room.observe(profile, session, "We chose Postgres.", type=Type.DECISION, outcome=Outcome.SUCCESS)
    tellers = itertools.count()

    async def telling(profile: UUID, noted: Sequence[Noted], totals: Totals) -> Composed:
        await asyncio.sleep(0)
        composed = await told(profile, noted, totals)
        return replace(composed, told=replace(composed.told, summary=f"told by {next(tellers)}"))

    with pytest.raises(ZReportNotReady):
        await room.sessions.report(profile, session)
    ends = await asyncio.gather(
        *(
            room.sessions.end(
                profile, session, telling, room.memories_max, room.clock() + timedelta(seconds=number)
            )
            for number in range(16)
        )
    )

    assert len({report.told.summary for report, _ in ends}) == 1
    assert {report.created_at for report, _ in ends} == {session.ended_at for _, session in ends}
    assert await room.sessions.report(profile, session) == ends[0][0]
    report = ends[0][0]
    assert report.told.decisions == ("We chose Postgres.",)
    assert (report.success_rate, report.totals) == (1.0, Totals(1, 1, 0))


async def test_an_empty_session_has_a_report(room: Memories) -> None:
    """It says that there was nothing."""
    profile = uuid4()
    report, session = await room.sessions.end(
        profile, await room.session(profile), told, room.memories_max, room.clock()
    )

    assert report.told.summary == EMPTY
    assert report.success_rate is None
    assert session.state is SessionState.ENDED
    assert session.ended_at == room.clock()


async def test_foreign_sessions_do_not_exist(room: Memories) -> None:
    """Reading and ending another profile's session is like that of an unknown one."""
    session = await room.session(uuid4())
    stranger = uuid4()

    for session_id in (session, uuid4()):
        with pytest.raises(SessionNotFound):
            await room.sessions.get(stranger, session_id)
        with pytest.raises(SessionNotFound):
            await room.sessions.end(stranger, session_id, told, room.memories_max, room.clock())
        with pytest.raises(SessionNotFound):
            await room.sessions.report(stranger, session_id)


async def test_a_deleted_memory_leaves_no_trace(room: Memories) -> None:
    """Row, postings, tags, aliases and its place in the queue; what stands beside it stays."""
    profile = uuid4()
    session = await room.session(profile)
    room.embedder.away = True
    fields = {"tags": ["t"], "aliases": ["a"]}
    kept = [await room.observe(profile, session, f"text {n}", **fields) for n in range(3)]

    with pytest.raises(MemoryNotFound):
        await room.rings.delete(uuid4(), kept[1].memory.id, None)
    await room.rings.delete(profile, kept[1].memory.id, None)
    with pytest.raises(MemoryNotFound):
        await room.rings.delete(profile, kept[1].memory.id, None)

    for table, column in (
        ("memory", "id"),
        ("posting", "memory_id"),
        ("tag", "memory_id"),
        ("alias", "memory_id"),
        ("pending", "memory_id"),
    ):
        rows = await room.rows(f"SELECT DISTINCT {column} AS id FROM memory.{table}")  # noqa: S608
        assert {row["id"] for row in rows} == {kept[0].memory.id, kept[2].memory.id}, table
    [after] = await room.observe_all(profile, session, a_raw("text 1"))
    assert (after.memory.position, after.reinforced) == (4, False)
    assert (await room.sessions.get(profile, session)).observation_count == 3


async def test_observing_and_deleting_at_once_ends(room: Memories) -> None:
    """Neither waits for the other for ever, and counts are right afterwards."""
    profile = uuid4()
    session = await room.session(profile)

    async def delete(memory_id: UUID) -> None:
        try:
            await room.rings.delete(profile, memory_id, None)
        except MemoryNotFound:
            return

    for _ in range(10):
        kept = await room.observe(profile, session, "contended")
        await asyncio.gather(
            delete(kept.memory.id),
            *(room.observe(profile, session, "contended") for _ in range(4)),
            delete(kept.memory.id),
        )

    [count] = await room.rows("SELECT count(*) FROM memory.memory")
    assert (await room.sessions.get(profile, session)).observation_count == count["count"]


async def test_long_term_has_to_be_earned(room: Memories) -> None:
    """M7: the database refuses it below 0.7, and takes it away when failures come."""
    profile = uuid4()
    session = await room.session(profile)
    await room.observe(profile, session, "x", outcome=Outcome.SUCCESS)

    async def promote() -> None:
        async with room.database.as_profile(profile) as connection:
            await connection.execute("UPDATE memory.memory SET ring = 4")

    with pytest.raises(Unkeepable):
        await promote()
    await room.observe(profile, session, "x", outcome=Outcome.SUCCESS)
    await promote()
    weakened = await room.observe(profile, session, "x", outcome=Outcome.FAILURE)

    assert weakened.memory.ring is Ring.PRACTICE


async def test_without_an_embedder_it_is_kept_and_embedded_later(room: Memories) -> None:
    """Nothing is refused; the loop catches up once the model is back, each attempt later than the last."""
    profile = uuid4()
    session = await room.session(profile)
    room.embedder.away = True
    kept = await room.observe(profile, session, "waits")
    assert kept.memory.embedding_model == ""
    assert (await room.store.stats(profile)).pending == 1

    assert await embed_pending(room.pending, room.routed, room.clock) == 0
    room.embedder.away = False
    room.clock.passes(seconds=1)
    assert await embed_pending(room.pending, room.routed, room.clock) == 0
    room.clock.passes(minutes=2)
    assert await embed_pending(room.pending, room.routed, room.clock) == 1

    assert (await room.store.get(profile, [kept.memory.id]))[kept.memory.id].embedding_model == "letters"
    assert (await room.store.stats(profile)).pending == 0


async def test_several_that_embed_share_the_work(room: Memories) -> None:
    """Each memory is embedded once, whatever profile it is of."""
    room.embedder.away = True
    for _ in range(3):
        profile = uuid4()
        session = await room.session(profile)
        await room.observe_all(profile, session, *(a_raw(f"text {n}") for n in range(60)))
    room.embedder.away = False
    room.clock.passes(minutes=10)

    embedded = await asyncio.gather(*(embed_pending(room.pending, room.routed, room.clock) for _ in range(3)))

    assert sum(embedded) == 180
    assert not await room.rows("SELECT FROM memory.memory WHERE embedding IS NULL")


async def test_memories_of_another_model_are_embedded_again(room: Memories) -> None:
    """What a model that is no longer preferred embedded waits for the preferred one."""
    profile = uuid4()
    kept = await room.observe(profile, await room.session(profile), "old vector")
    room.embedder.model = "new letters"
    room.routed = type(room.routed)([room.embedder], room.clock)

    await room.pending.await_model(profile, "new letters", room.clock())
    await room.pending.await_model(profile, "new letters", room.clock())
    assert await embed_pending(room.pending, room.routed, room.clock) == 1

    found = await room.store.get(profile, [kept.memory.id])
    assert found[kept.memory.id].embedding_model == "new letters"


async def test_reads_are_counted_together(room: Memories) -> None:
    """One write for many reads; what is gone is passed over."""
    profile = uuid4()
    kept = await room.observe(profile, await room.session(profile), "read me")
    touches = Touches(room.store, room.clock)
    for _ in range(3):
        touches.note(profile, [kept.memory.id, uuid4()])
    room.clock.passes(days=3)

    await touches.flush()
    await touches.flush()

    read = (await room.store.get(profile, [kept.memory.id]))[kept.memory.id]
    assert (read.access_count, read.touched_at) == (3, room.clock())
    assert read.updated_at == kept.memory.updated_at


async def test_a_timeline_shows_what_stood_around(room: Memories) -> None:
    """Neighbours of the same session in order, holes passed over; what is close in meaning first."""
    profile = uuid4()
    session = await room.session(profile)
    kept = [await room.observe(profile, session, text) for text in ("aaa", "bbb", "ccc", "ddd", "eee")]
    elsewhere = await room.observe(profile, await room.session(profile), "ccc ccc")
    await room.rings.delete(profile, kept[1].memory.id, None)

    memories, sessions, neighbors, related = await room.store.timeline(
        profile, [kept[2].memory.id, uuid4()], 1
    )

    [memory] = memories
    assert sessions[memory.session_id].id == session
    assert [near.essence for near in neighbors[memory.id]] == ["aaa", "ddd"]
    assert related[memory.id][0].id == elsewhere.memory.id
    assert len(related[memory.id]) == 3


async def test_stats_count(room: Memories) -> None:
    """By ring and stage, and only one's own."""
    profile = uuid4()
    session = await room.session(profile)
    await room.observe(profile, session, "one two three")
    await room.observe(profile, session, "token ghp_" + "aB3dE6gH9jK2" * 3)

    stats = await room.store.stats(profile)

    assert stats.rings == {Ring.FRESH: 2}
    assert (stats.sessions, stats.open_sessions, stats.pending, stats.secrets_removed) == (1, 1, 0, 1)
    assert stats.content_tokens > 0
    assert (await room.store.stats(uuid4())).rings == {}


async def test_no_word_of_anybody_stands_in_the_database(room: Memories) -> None:
    """Neither content nor names nor metadata, whole or in pieces, in any table."""
    profile = uuid4()
    session = await room.session(profile, f"{CANARY} session", f"{CANARY} agent")
    await room.observe(
        profile,
        session,
        f"{CANARY} flew. " * 80,
        actor=f"{CANARY} Smith",
        tags=[f"{CANARY} tag"],
        aliases=[f"{CANARY} alias"],
        metadata={CANARY: CANARY, "tool": CANARY},
        idempotency_key=f"{CANARY} key",
        type=Type.TOOL_CALL,
    )
    await room.sessions.end(profile, session, told, room.memories_max, room.clock())

    tables = await room.rows(
        "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'memory'"
    )
    dump = ""
    for table in tables:
        for row in await room.rows(f"SELECT t::text AS line FROM {table['name']} t"):  # noqa: S608
            dump += row["line"].lower()
    needle = CANARY.lower()
    assert len(dump) > 1000
    assert needle not in dump
    assert needle.encode().hex() not in dump


async def test_rows_cannot_be_swapped(room: Memories) -> None:
    """A sealed text opens only in its own row, column and version."""
    profile = uuid4()
    session = await room.session(profile)
    first = await room.observe(profile, session, "first", tags=["a"])
    await room.observe(profile, session, "second", tags=["b"])

    for change in (
        "content_sealed = (SELECT o.content_sealed FROM memory.memory o WHERE o.id <> memory.id)",
        "content_sealed = labels_sealed",
        "version = version + 1",
    ):
        async with migrations.owner(room.dsn) as connection:
            await connection.execute(f"UPDATE memory.memory SET {change}")  # noqa: S608
        with pytest.raises(SealedRecordBroken):
            await room.store.get(profile, [first.memory.id])

"""Clipboards in Postgres, at times that the tests choose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from libs.data import installation, migrations
from libs.data.checks import isolation_self_test, profile_tables
from libs.data.keyring import Keyring
from libs.data.postgres import Database, connect
from libs.data.sealing import SealedRecordBroken
from libs.quota import QuotaExceeded
from services.clipboard.entries.drafts import Draft, KeyReused, Raw, for_name, for_stack
from services.clipboard.entries.entry import EntryNotFound, Member, Visibility
from services.clipboard.entries.quota import Quota, Usage
from services.clipboard.entries.stack import POPPED_KEPT, POPPED_KEPT_MAX, StackEmpty
from services.clipboard.entries.store import LISTED_VALUE_BYTES_MAX, Store
from services.clipboard.service import SCHEMA
from tests.rig.postgres import MASTER, Cluster

NOW = datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=UTC)
DAY = timedelta(hours=24)
LATE = timedelta(hours=1)
"""More than a call can wait here for others."""
TICK = timedelta(microseconds=1)
GRPC = 4
ROOMY = Quota(entries=1_000, bytes=1_000_000)
CANARY = "Quetzalcoatlus"


@dataclass
class Clipboards:
    """The room on a database of its own."""

    dsn: str
    database: Database
    keyring: Keyring

    def store(self) -> Store:
        """A store."""
        return Store(self.database, self.keyring)

    async def rows(self, query: str, *args: object) -> list[Any]:
        """What the superuser, whom no policy stops, reads."""
        async with migrations.owner(self.dsn) as connection:
            return await connection.fetch(query, *args)


@pytest.fixture
async def room(cluster: Cluster) -> AsyncGenerator[Clipboards]:
    """Migrated, empty, and reached as the service's own role."""
    async with (
        cluster.fresh("clipboard", make_clipboard) as dsn,
        connect(dsn, role=SCHEMA.role, password=MASTER.password(SCHEMA.role)) as database,
    ):
        yield Clipboards(dsn, database, Keyring(database, MASTER, SCHEMA.schema))


async def make_clipboard(dsn: str) -> None:
    """Set a database up for clipboards."""
    await installation.prepare(dsn, MASTER)
    await migrations.apply(
        dsn, SCHEMA.schema, SCHEMA.package, role=SCHEMA.role, password=MASTER.password(SCHEMA.role)
    )


def a_member(workspace: UUID | None = None) -> Member:
    """Somebody new."""
    return Member(uuid4(), workspace or uuid4())


def named(name: str, value: str = "v", **fields: Any) -> Draft:
    """To be put under a name."""
    return for_name(name, replace(Raw(value), **fields), GRPC)


def stacked(value: str = "v", **fields: Any) -> Draft:
    """To be pushed."""
    return for_stack(replace(Raw(value), **fields), GRPC)


async def test_walls_hold_without_a_profile(room: Clipboards) -> None:
    """Also where some rows are for everybody."""
    await room.store().put(a_member(), named("a", visibility=Visibility.PUBLIC), ROOMY, NOW)

    await isolation_self_test(room.database, await profile_tables(room.database, SCHEMA.schema))


async def test_an_entry_is_gone_at_the_very_microsecond(room: Clipboards) -> None:
    """One before it is there in every answer; then in none, swept or not."""
    store, one = room.store(), a_member()
    kept = await store.put(one, named("a"), ROOMY, NOW)
    at = kept.expires_at
    pushed = (await store.push(one, stacked(), "", ROOMY, NOW)).entry.expires_at

    assert (await store.get(one, one.profile, "a", at - TICK)).id == kept.id
    assert await store.peek(one, one.profile, 0, pushed - TICK)
    assert len(await store.newest(one, one.profile, 9, None, min(at, pushed) - TICK)) == 2
    for asked in (
        store.get(one, one.profile, "a", at),
        store.peek(one, one.profile, 0, pushed),
        store.delete(one.profile, "a", at),
    ):
        with pytest.raises(EntryNotFound):
            await asked
    with pytest.raises(StackEmpty):
        await store.pop(one, "", pushed)
    assert await store.newest(one, one.profile, 9, None, max(at, pushed)) == []
    assert (await store.clear(one.profile, max(at, pushed))).entries == 0


async def test_setting_again_keeps_id_and_birth_and_lives_anew(room: Clipboards) -> None:
    """As long as it has not expired: then the next one is another."""
    store, one = room.store(), a_member()
    first = await store.put(one, named("a", "1"), ROOMY, NOW)
    second = await store.put(one, named("a", "2", ttl_seconds=60), ROOMY, NOW + LATE)
    third = await store.put(one, named("a", "3"), ROOMY, NOW + 2 * LATE)

    assert (second.id, second.created_at) == (first.id, first.created_at)
    assert second.expires_at == second.updated_at + timedelta(seconds=60)
    assert third.id != first.id
    assert third.created_at == third.updated_at
    assert (await store.get(one, one.profile, "a", NOW + 2 * LATE)).value == "3"


async def test_one_row_under_sixty_four_writers(room: Clipboards) -> None:
    """The last commit is what is read."""
    store, one = room.store(), a_member()
    kept = await asyncio.gather(*(store.put(one, named("a", str(n)), ROOMY, NOW) for n in range(64)))

    assert len({entry.id for entry in kept}) == 1
    [row] = await room.rows("SELECT count(*) AS rows FROM clipboard.entry")
    assert row["rows"] == 1


async def test_a_quota_counts_what_can_be_read(room: Clipboards) -> None:
    """Entries and bytes, with names and on the stack; not what is replaced, popped or expired."""
    store, one, quota = room.store(), a_member(), Quota(entries=2, bytes=10)
    await store.put(one, named("a", "12345"), quota, NOW)
    await store.push(one, stacked("12345"), "", quota, NOW)

    for refused in (store.put(one, named("b", ""), quota, NOW), store.push(one, stacked(""), "", quota, NOW)):
        with pytest.raises(QuotaExceeded) as caught:
            await refused
        assert caught.value.metadata == {"quota": "clipboard_entries", "limit": "2"}
    with pytest.raises(QuotaExceeded) as caught:
        await store.put(one, named("a", "123456"), quota, NOW)
    assert caught.value.metadata == {"quota": "clipboard_bytes", "limit": "10"}
    await store.put(one, named("a", "54321"), quota, NOW)
    await store.pop(one, "key", NOW)
    await store.push(one, stacked("12345"), "", quota, NOW)
    await store.push(one, stacked("1234567890"), "", quota, NOW + DAY + LATE)
    await store.put(a_member(), named("a", "1234567890"), quota, NOW)


async def test_usage_is_what_can_be_read(room: Clipboards) -> None:
    """To the microsecond, swept or not; popped and replaced ones are not in it; nothing is nothing."""
    store, one = room.store(), a_member()
    assert await store.usage(one.profile, NOW) == Usage(0, 0)
    await store.put(one, named("a", "123", ttl_seconds=60), ROOMY, NOW)
    await store.put(one, named("b", "12345"), ROOMY, NOW)
    await store.put(one, named("b", "1234"), ROOMY, NOW)
    for _ in range(2):
        await store.push(one, stacked("é"), "", ROOMY, NOW)
    await store.pop(one, "key", NOW)
    at = (await store.get(one, one.profile, "a", NOW)).expires_at

    assert await store.usage(one.profile, at - TICK) == Usage(3, 9)
    assert await store.usage(one.profile, at) == Usage(2, 6)
    await store.sweep(500, at)
    assert await store.usage(one.profile, at) == Usage(2, 6)
    assert await store.usage(a_member().profile, NOW) == Usage(0, 0)


async def test_a_quota_is_exact_under_many_writers(room: Clipboards) -> None:
    """As many as may are kept, whoever comes at once."""
    store, one, quota = room.store(), a_member(), Quota(entries=10, bytes=1_000)
    calls = [store.put(one, named(str(n)), quota, NOW) for n in range(20)]
    calls += [store.push(one, stacked(), "", quota, NOW) for _ in range(20)]  # pyright: ignore[reportArgumentType]

    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert sum(isinstance(answer, QuotaExceeded) for answer in answers) == 30
    assert len(await store.newest(one, one.profile, 99, None, NOW)) == 10


async def test_a_pop_is_answered_again_by_its_key(room: Clipboards) -> None:
    """The same entry and version; nothing more is taken; another call with that key is refused."""
    store, one = room.store(), a_member()
    await store.push(one, stacked("1"), "", ROOMY, NOW)
    await store.push(one, stacked("2"), "", ROOMY, NOW)
    first = await store.pop(one, "key", NOW)

    assert await store.pop(one, "key", NOW + TICK) == first
    assert (first.entry.value, first.entry.depth) == ("2", 0)
    assert (await store.peek(one, one.profile, 0, NOW)).entry.value == "1"
    with pytest.raises(KeyReused):
        await store.push(one, stacked("3"), "key", ROOMY, NOW)
    assert (await store.pop(one, "", NOW)).entry.value == "1"


async def test_what_was_popped_is_shown_again_only_while_it_lives(room: Clipboards) -> None:
    """After it expired a repeated call neither shows it nor takes another."""
    store, one = room.store(), a_member()
    await store.push(one, stacked("stays"), "", ROOMY, NOW)
    pushed = await store.push(one, stacked(ttl_seconds=86_400), "", ROOMY, NOW)
    await store.pop(one, "key", NOW)

    assert await store.pop(one, "key", pushed.entry.expires_at - LATE)
    with pytest.raises(EntryNotFound):
        await store.pop(one, "key", pushed.entry.expires_at)
    assert (await store.peek(one, one.profile, 0, NOW)).entry.value == "stays"


async def test_popped_values_are_kept_for_minutes_and_a_bounded_number(room: Clipboards) -> None:
    """The key is known longer, so that a late repetition does not take another entry."""
    store, one = room.store(), a_member()
    for value in ("stays", "1", "2"):
        await store.push(one, stacked(value), "", ROOMY, NOW)
    await store.pop(one, "first", NOW)
    async with migrations.owner(room.dsn) as connection:
        await connection.execute("UPDATE clipboard.head SET version = version + $1", POPPED_KEPT_MAX)
    second = await store.pop(one, "second", NOW)

    with pytest.raises(EntryNotFound):
        await store.pop(one, "first", NOW)
    assert await store.sweep(100, NOW + POPPED_KEPT - LATE) == 0
    assert await store.pop(one, "second", NOW + POPPED_KEPT) == second
    assert await store.sweep(100, NOW + POPPED_KEPT + LATE) == 1
    with pytest.raises(EntryNotFound):
        await store.pop(one, "second", NOW + POPPED_KEPT)
    assert len(await store.newest(one, one.profile, 9, None, NOW)) == 1


async def test_a_push_is_answered_again_by_its_key(room: Clipboards) -> None:
    """Also when what it pushed was popped since; with another value it is refused."""
    store, one = room.store(), a_member()
    first = await store.push(one, stacked("1"), "key", ROOMY, NOW)
    await store.pop(one, "", NOW)

    assert await store.push(one, stacked("1"), "key", ROOMY, NOW + TICK) == first
    with pytest.raises(KeyReused):
        await store.push(one, stacked("2"), "key", ROOMY, NOW)
    with pytest.raises(StackEmpty):
        await store.pop(one, "", NOW)


async def test_sweeping_is_bounded_and_changes_nothing_that_can_be_seen(room: Clipboards) -> None:
    """So many of each kind in one go, of any profile, and only what has expired."""
    store, many = room.store(), [a_member() for _ in range(5)]
    for one in many:
        await store.put(one, named("old", ttl_seconds=60), ROOMY, NOW)
        await store.put(one, named("new"), ROOMY, NOW)
    later = NOW + LATE

    assert [await store.sweep(2, later) for _ in range(4)] == [2, 2, 1, 0]
    for one in many:
        assert [entry.labels.name for entry in await store.newest(one, one.profile, 9, None, later)] == [
            "new"
        ]


async def test_answers_are_forgotten_after_a_day(room: Clipboards) -> None:
    """Then the same key is a new call."""
    store, one = room.store(), a_member()
    first = await store.push(one, stacked("1"), "key", ROOMY, NOW)

    second = await store.push(one, stacked("1"), "key", ROOMY, NOW + DAY + LATE)
    assert second.entry.id != first.entry.id
    assert await store.sweep(100, NOW + 2 * DAY + 2 * LATE) == 2
    assert await room.rows("SELECT FROM clipboard.answer") == []


@pytest.mark.parametrize(
    ("visibility", "seen_by_colleague", "seen_by_stranger"),
    [
        (Visibility.PRIVATE, False, False),
        (Visibility.WORKSPACE, True, False),
        (Visibility.PUBLIC, True, True),
    ],
    ids=lambda value: value.name if isinstance(value, Visibility) else "",
)
async def test_who_may_read(
    room: Clipboards, visibility: Visibility, seen_by_colleague: bool, seen_by_stranger: bool
) -> None:
    """Decided at each reading, for names, for the stack, and for lists; nobody else can change anything."""
    store, one = room.store(), a_member()
    await store.put(one, named("a", visibility=visibility), ROOMY, NOW)
    await store.push(one, stacked("hidden"), "", ROOMY, NOW)
    await store.push(one, stacked("shown", visibility=visibility), "", ROOMY, NOW)

    for other, sees in ((a_member(one.workspace), seen_by_colleague), (a_member(), seen_by_stranger)):
        for asked in (store.get(other, one.profile, "a", NOW), store.peek(other, one.profile, 0, NOW)):
            if sees:
                assert await asked
            else:
                with pytest.raises(EntryNotFound):
                    await asked
        listed = await store.newest(other, one.profile, 9, None, NOW)
        assert {entry.value for entry in listed} == ({"shown", "v"} if sees else set())
        with pytest.raises(EntryNotFound):
            await store.peek(other, one.profile, 1, NOW)
        with pytest.raises(EntryNotFound):
            await store.delete(other.profile, "a", NOW)
    await store.put(one, named("a"), ROOMY, NOW)
    with pytest.raises(EntryNotFound):
        await store.get(a_member(one.workspace), one.profile, "a", NOW)


async def test_what_was_popped_is_nobodys_to_read(room: Clipboards) -> None:
    """Though it is kept for a repeated call, and was for everybody."""
    store, one = room.store(), a_member()
    await store.push(one, stacked(visibility=Visibility.PUBLIC), "", ROOMY, NOW)
    await store.pop(one, "key", NOW)

    assert await store.newest(a_member(), one.profile, 9, None, NOW) == []
    [row] = await room.rows("SELECT count(*) AS rows FROM clipboard.entry")
    assert row["rows"] == 1


async def test_asking_about_strangers_makes_no_keys(room: Clipboards) -> None:
    """However many ids are tried."""
    store, one = room.store(), a_member()
    for _ in range(3):
        with pytest.raises(EntryNotFound):
            await store.get(one, uuid4(), "a", NOW)

    assert await room.rows("SELECT FROM clipboard.data_key") == []


async def test_lists_leave_long_values_out(room: Clipboards) -> None:
    """One byte over the limit."""
    store, one = room.store(), a_member()
    await store.put(one, named("long", "x" * (LISTED_VALUE_BYTES_MAX + 1)), ROOMY, NOW)
    await store.put(one, named("short", "x" * LISTED_VALUE_BYTES_MAX), ROOMY, NOW)

    listed = await store.newest(one, one.profile, 9, None, NOW)
    assert {entry.labels.name: entry.value is None for entry in listed} == {"long": True, "short": False}


async def test_nothing_that_was_written_can_be_read_in_the_tables(room: Clipboards) -> None:
    """Values, names, types, tools and models are sealed; equal names of two profiles do not look alike."""
    store, one = room.store(), a_member()
    for member in (one, a_member()):
        fields = {"content_type": f"x/{CANARY}", "tool": CANARY, "model": CANARY}
        await store.put(member, named(CANARY, CANARY, **fields), ROOMY, NOW)
        await store.push(member, stacked(CANARY, **fields), CANARY, ROOMY, NOW)
        await store.pop(member, CANARY + "2", NOW)

    tables = ("head", "entry", "answer", "data_key")
    told = [str(await room.rows(f"SELECT t::text FROM clipboard.{table} t")) for table in tables]  # noqa: S608
    assert not [text for text in told if CANARY in text or CANARY.encode().hex() in text]
    macs = await room.rows("SELECT DISTINCT name_mac FROM clipboard.entry WHERE name_mac IS NOT NULL")
    assert len(macs) == 2


async def test_sealed_values_open_only_where_they_were_written(room: Clipboards) -> None:
    """Neither under another name nor after the next write."""
    store, one = room.store(), a_member()
    await store.put(one, named("a", "old"), ROOMY, NOW)
    [old] = await room.rows("SELECT value_sealed FROM clipboard.entry")
    await store.put(one, named("a", "new"), ROOMY, NOW)
    await store.put(one, named("b", "other"), ROOMY, NOW)

    async with migrations.owner(room.dsn) as connection:
        await connection.execute("UPDATE clipboard.entry SET value_sealed = $1", old["value_sealed"])
    for name in ("a", "b"):
        with pytest.raises(SealedRecordBroken):
            await store.get(one, one.profile, name, NOW)


async def test_the_numbers_of_a_profile_are_those_of_its_entries(room: Clipboards) -> None:
    """Whatever was put in, replaced, popped, removed, cleared, expired or swept, by many at once."""
    store, one = room.store(), a_member()
    calls: list[Any] = []
    for number in range(60):
        now = NOW + timedelta(seconds=number)
        calls += [
            store.put(one, named(str(number % 7), "x" * number, ttl_seconds=20), ROOMY, now),
            store.push(one, stacked("y" * number, ttl_seconds=30), "", ROOMY, now),
            store.pop(one, f"key {number}" if number % 2 else "", now),
            store.delete(one.profile, str(number % 5), now),
            store.sweep(3, now),
        ]
    for at in range(0, len(calls), 20):
        await asyncio.gather(*calls[at : at + 20], return_exceptions=True)
    [told] = await room.rows("SELECT entries, bytes FROM clipboard.head")
    [real] = await room.rows(
        "SELECT count(*) AS entries, coalesce(sum(size_bytes), 0) AS bytes"
        " FROM clipboard.entry WHERE popped_version IS NULL"
    )

    assert told["entries"] > 0
    assert dict(told) == dict(real)
    await store.clear(one.profile, NOW + timedelta(seconds=60))
    assert dict((await room.rows("SELECT entries, bytes FROM clipboard.head"))[0]) == {
        "entries": 0,
        "bytes": 0,
    }

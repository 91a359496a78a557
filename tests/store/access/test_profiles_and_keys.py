"""Owners, profiles and keys as they are kept."""

import asyncio
import os
from datetime import timedelta
from uuid import uuid4

import pytest

from libs.data import migrations
from libs.data.keyring import ProfileKeys
from libs.data.master_key import MasterKey
from libs.data.postgres import connect
from libs.data.sealing import SealedRecordBroken
from libs.errors import Unauthenticated
from services.gateway.access.keys import (
    RANDOM_BYTES,
    Draft,
    Key,
    KeyNotFound,
    issue,
    parse,
    verify,
)
from services.gateway.access.profiles import Names, ProfileNotFound
from services.gateway.access.store import SCHEMA, Store, opened
from tests.rig.access import KNOWN, NAMES, NOW, add_key
from tests.rig.postgres import MASTER

DUMP = """
SELECT concat(
    (SELECT json_agg(t) FROM access.owner t), (SELECT json_agg(t) FROM access.workspace t),
    (SELECT json_agg(t) FROM access.profile t), (SELECT json_agg(t) FROM access.api_key t))
"""


async def dump(dsn: str) -> str:
    """All that the tables hold, as text; bytes as hex."""
    async with migrations.owner(dsn) as connection:
        return str(await connection.fetchval(DUMP))


async def test_a_profile_is_made_once(store: Store) -> None:
    """The same names give the same profile, as it was made; other names share what is above them."""
    made = await store.create_profile(NAMES, NOW)
    again = await store.create_profile(NAMES, NOW + timedelta(days=1))
    sibling = await store.create_profile(NAMES._replace(profile="Lady"), NOW)
    elsewhere = await store.create_profile(NAMES._replace(owner="Charles"), NOW)

    assert again == made == await store.find_profile(made.id)
    assert made.names == NAMES
    assert made.created_at == NOW
    assert (sibling.owner_id, sibling.workspace_id) == (made.owner_id, made.workspace_id)
    assert not {elsewhere.owner_id, elsewhere.workspace_id, elsewhere.id} & {
        made.owner_id,
        made.workspace_id,
        made.id,
    }


async def test_a_race_makes_one_profile(dsn: str) -> None:
    """Sixty-four that bring a new owner at once, over many connections, get one and the same."""
    async with opened(dsn, MASTER, size=16) as store:
        for round_ in range(10):
            names = Names(f"owner {round_}", "workspace", "profile")
            made = await asyncio.gather(*(store.create_profile(names, NOW) for _ in range(64)))
            assert len({(each.owner_id, each.workspace_id, each.id) for each in made}) == 1

    async with migrations.owner(dsn) as connection:
        counts = await connection.fetch(
            "SELECT count(*) FROM access.owner UNION ALL SELECT count(*) FROM access.workspace "
            "UNION ALL SELECT count(*) FROM access.profile"
        )
    assert [row["count"] for row in counts] == [10, 10, 10]


async def test_one_that_waits_for_another_sees_what_it_made(dsn: str, store: Store) -> None:
    """The owner is being made elsewhere, and not there yet: ours waits, and comes below that owner."""
    keys = ProfileKeys.installation(MASTER, SCHEMA.schema)
    owner = uuid4()
    sealed = keys.seal("owner.name", owner, 1, NAMES.owner.encode())
    async with migrations.owner(dsn) as other:
        async with other.transaction():
            await other.execute(
                "INSERT INTO access.owner VALUES ($1, $2, $3, $4)",
                owner,
                keys.blind("owner.name", NAMES.owner),
                sealed,
                NOW,
            )
            waiting = asyncio.create_task(store.create_profile(NAMES, NOW))
            await asyncio.sleep(0.2)
            assert not waiting.done()
        made = await waiting

    assert (made.owner_id, made.names) == (owner, NAMES)


async def test_a_race_of_many_profiles_makes_one_owner(dsn: str) -> None:
    """Sixty-four new profiles of a new owner at once: all are made, below one workspace."""
    async with opened(dsn, MASTER, size=16) as store:
        every = [NAMES._replace(profile=f"profile {number}") for number in range(64)]
        made = await asyncio.gather(*(store.create_profile(names, NOW) for names in every))

    assert len({each.workspace_id for each in made}) == 1
    assert len({each.id for each in made}) == 64


async def test_no_name_and_no_secret_can_be_read_in_the_tables(dsn: str, store: Store) -> None:
    """Neither the text nor its bytes; equal names of two owners do not even look equal."""
    _, minted = await add_key(store, "kitchen laptop")
    await store.create_profile(NAMES._replace(owner="Charles"), NOW)

    kept = await dump(dsn)

    secret_part = minted.secret.removeprefix(f"tr_{minted.id}_")
    for text in (
        *NAMES,
        *" ".join(NAMES).split(),
        "kitchen",
        "laptop",
        "Charles",
        minted.secret,
        secret_part,
    ):
        assert text.casefold() not in kept.casefold()
        assert text.encode().hex() not in kept
    assert minted.digest.hex() in kept
    async with migrations.owner(dsn) as connection:
        assert await connection.fetchval("SELECT count(DISTINCT name_mac) FROM access.workspace") == 2


async def test_a_name_that_was_moved_does_not_open(dsn: str, store: Store) -> None:
    """A name put in another row's place is noticed, not shown."""
    mine = await store.create_profile(NAMES, NOW)
    await store.create_profile(NAMES._replace(profile="Lady"), NOW)
    async with migrations.owner(dsn) as connection:
        await connection.execute(
            "UPDATE access.profile SET name_sealed = "
            "(SELECT name_sealed FROM access.profile p WHERE p.id <> $1) WHERE id = $1",
            mine.id,
        )

    with pytest.raises(SealedRecordBroken):
        await store.find_profile(mine.id)


async def test_what_is_not_there_is_missing(store: Store) -> None:
    """Unknown profiles and keys, each with its own reason."""
    key, minted = issue(Draft(uuid4(), "x", (), None), KNOWN, NOW, os.urandom(RANDOM_BYTES))

    with pytest.raises(ProfileNotFound):
        await store.find_profile(uuid4())
    with pytest.raises(ProfileNotFound):
        await store.add_key(key, minted.digest, None)
    with pytest.raises(KeyNotFound):
        await store.revoke_key("nothing", NOW)
    assert await store.find_grant(minted.id) is None


async def test_a_secret_leads_to_its_profile(store: Store) -> None:
    """In one look-up by the id in the secret: owner, workspace, profile, scopes."""
    key, minted = await add_key(store, "laptop", "memory:read")
    profile = await store.create_profile(NAMES, NOW)

    found = verify(parse(minted.secret), await store.find_grant(minted.id), NOW)

    assert (found.owner_id, found.workspace_id, found.profile_id, found.key_id, found.scopes) == (
        profile.owner_id,
        profile.workspace_id,
        profile.id,
        key.id,
        ("memory:read",),
    )


async def test_revoking_is_for_good(store: Store) -> None:
    """The key stops, the first moment stays, and the other key goes on."""
    key, minted = await add_key(store)
    _, other = await add_key(store)

    revoked = await store.revoke_key(key.id, NOW)
    again = await store.revoke_key(key.id, NOW + timedelta(days=1))

    assert revoked == again
    assert (revoked.revoked_at, revoked.name) == (NOW, "laptop")
    with pytest.raises(Unauthenticated):
        verify(parse(minted.secret), await store.find_grant(minted.id), NOW)
    assert verify(parse(other.secret), await store.find_grant(other.id), NOW)


async def test_lists_go_on_where_they_stopped(store: Store) -> None:
    """Newest first, each once, also where many were made at one moment; of one profile or of all."""
    keys = [(await add_key(store, f"key {number}"))[0] for number in range(7)]
    mine = keys[0].profile_id

    for of in (None, mine):
        seen: list[Key] = []
        while page := await store.list_keys(of, (seen[-1].created_at, seen[-1].id) if seen else None, 3):
            seen += page
        assert seen == sorted(keys, key=lambda key: key.id, reverse=True)
    assert await store.list_keys(uuid4(), None, 3) == []


async def test_profiles_are_listed_newest_first(store: Store) -> None:
    """By the moment they were made."""
    made = [
        await store.create_profile(NAMES._replace(profile=str(number)), NOW + timedelta(seconds=number))
        for number in range(5)
    ]

    first = await store.list_profiles(None, 3)
    rest = await store.list_profiles((first[-1].created_at, first[-1].id), 3)

    assert [*first, *rest] == made[::-1]


async def test_another_master_key_opens_nothing(dsn: str, store: Store) -> None:
    """What is sealed here opens under the installation's own key only."""
    made = await store.create_profile(NAMES, NOW)

    async with connect(dsn, role=SCHEMA.role, password=MASTER.password(SCHEMA.role)) as database:
        other = Store(database, ProfileKeys.installation(MasterKey(bytes(32)), SCHEMA.schema))
        with pytest.raises(SealedRecordBroken):
            await other.find_profile(made.id)


async def test_the_role_reaches_nothing_but_its_schema(dsn: str, store: Store) -> None:
    """It owns no table and cannot pass row-level security; without a profile it sees no data key."""
    async with migrations.owner(dsn) as connection:
        mighty = await connection.fetchval(
            "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1", SCHEMA.role
        )
        owned = await connection.fetchval(
            "SELECT count(*) FROM pg_class WHERE relowner = $1::regrole", SCHEMA.role
        )
    assert (mighty, owned) == (False, 0)

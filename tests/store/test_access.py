"""Owners, profiles and keys as they are kept."""

import argparse
import asyncio
import os
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from libs.data import installation, migrations
from libs.data.keyring import ProfileKeys
from libs.data.master_key import MasterKey
from libs.data.postgres import connect
from libs.data.sealing import SealedRecordBroken
from libs.errors import Unauthenticated
from libs.quota import Quota
from libs.refusal import Refused
from services.gateway.access import cli, quota_cli
from services.gateway.access.first_key import ensure_first_key
from services.gateway.access.keys import (
    ADMIN,
    RANDOM_BYTES,
    Draft,
    Key,
    KeyNotFound,
    Minted,
    issue,
    mint,
    parse,
    verify,
)
from services.gateway.access.profiles import Names, ProfileNotFound
from services.gateway.access.store import SCHEMA, Store, opened
from tests.rig.postgres import MASTER, Cluster

NOW = datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
KNOWN = frozenset({"memory:read", "memory:write", ADMIN, "internal"})
NAMES = Names("Wilhelmina Krüger", "Night shift", "Robot")
DUMP = """
SELECT concat(
    (SELECT json_agg(t) FROM access.owner t), (SELECT json_agg(t) FROM access.workspace t),
    (SELECT json_agg(t) FROM access.profile t), (SELECT json_agg(t) FROM access.api_key t))
"""


async def make_access(dsn: str) -> None:
    """Set a database up for access."""
    await installation.prepare(dsn, MASTER)
    await migrations.apply(
        dsn, SCHEMA.schema, SCHEMA.package, role=SCHEMA.role, password=MASTER.password(SCHEMA.role)
    )


@pytest.fixture
async def dsn(cluster: Cluster) -> AsyncGenerator[str]:
    """The superuser's DSN of a database in which access keeps nothing yet."""
    async with cluster.fresh("access", make_access) as fresh:
        yield fresh


@pytest.fixture
async def store(dsn: str) -> AsyncGenerator[Store]:
    """That database, as access uses it."""
    async with opened(dsn, MASTER) as made:
        yield made


async def add_key(store: Store, name: str = "laptop", *scopes: str) -> tuple[Key, Minted]:
    """A key of a profile."""
    profile = await store.create_profile(NAMES, NOW)
    key, minted = issue(Draft(profile.id, name, scopes, None), KNOWN, NOW, os.urandom(RANDOM_BYTES))
    await store.add_key(key, minted.digest, None)
    return key, minted


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


# The first key.


async def works(store: Store, content: str) -> bool:
    """Whether the key in a file is an admin's here."""
    presented = parse(content.strip())
    try:
        return ADMIN in verify(presented, await store.find_grant(presented.id), NOW).scopes
    except Unauthenticated:
        return False


async def begin(store: Store, home: Path) -> list[str]:
    """Start a house; the events that it logs."""
    with capture_logs() as logs:
        await ensure_first_key(store, home, NOW, os.urandom(RANDOM_BYTES))
    return [entry["event"] for entry in logs]


async def test_a_new_house_leaves_its_key_for_its_owner(store: Store, tmp_path: Path) -> None:
    """One key with every scope, in a file that only its owner can read; the next start changes nothing."""
    file = tmp_path / "house" / "api-key"

    assert await begin(store, file.parent) == ["first_key.made"]
    content = file.read_bytes()
    assert await begin(store, file.parent) == []

    assert await works(store, file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_bytes() == content
    assert [path.name for path in file.parent.iterdir()] == ["api-key"]
    [key] = await store.list_keys(None, None, 10)
    assert (key.name, key.scopes) == ("first key", ("*", "admin"))
    profile = await store.find_profile(key.profile_id)
    assert profile.names == ("local", "default", "default")


async def test_a_lost_file_is_not_made_up_for(store: Store, tmp_path: Path) -> None:
    """No second admin key unasked; the log says what to do."""
    await begin(store, tmp_path)
    (tmp_path / "api-key").unlink()

    assert await begin(store, tmp_path) == ["first_key.no_file"]

    assert not (tmp_path / "api-key").exists()
    assert len(await store.list_keys(None, None, 10)) == 1


async def test_a_revoked_first_key_does_not_come_back(store: Store, tmp_path: Path) -> None:
    """A start with the file still there leaves it revoked, and says so."""
    await begin(store, tmp_path)
    [key] = await store.list_keys(None, None, 10)
    await store.revoke_key(key.id, NOW)

    assert await begin(store, tmp_path) == ["first_key.not_valid_here"]

    assert not await works(store, (tmp_path / "api-key").read_text())


async def test_a_start_that_was_cut_short_is_completed(store: Store, tmp_path: Path) -> None:
    """The file is there and the database knows nothing: the file's key becomes the first."""
    secret = mint(os.urandom(RANDOM_BYTES)).secret
    (tmp_path / "api-key").write_text(secret + "\n")

    assert await begin(store, tmp_path) == ["first_key.made"]

    assert (tmp_path / "api-key").read_text().strip() == secret
    assert await works(store, (tmp_path / "api-key").read_text())


async def test_a_file_without_a_key_refuses_to_start(store: Store, tmp_path: Path) -> None:
    """On a new database, with what to do about it, and nothing is written."""
    (tmp_path / "api-key").write_text("hello")

    with pytest.raises(Refused, match="Remove it"):
        await begin(store, tmp_path)

    assert (tmp_path / "api-key").read_text() == "hello"
    assert await store.list_keys(None, None, 10) == []


async def test_houses_that_start_at_once_agree_on_one_first_key(store: Store, tmp_path: Path) -> None:
    """Eight houses, a database: one key, in one house's file; one state directory, eight starts: one key."""
    homes = [tmp_path / str(number) for number in range(8)]

    await asyncio.gather(*(ensure_first_key(store, home, NOW, os.urandom(RANDOM_BYTES)) for home in homes))

    [file] = [home / "api-key" for home in homes if (home / "api-key").exists()]
    assert await works(store, file.read_text())
    assert len(await store.list_keys(None, None, 10)) == 1


async def test_one_home_that_starts_twice_at_once_has_one_key(store: Store, tmp_path: Path) -> None:
    """Both read the file that one of them wrote, and it works."""
    await asyncio.gather(
        *(ensure_first_key(store, tmp_path, NOW, os.urandom(RANDOM_BYTES)) for _ in range(8))
    )

    assert await works(store, (tmp_path / "api-key").read_text())
    assert len(await store.list_keys(None, None, 10)) == 1


# The command.


async def command(dsn: str, *words: str) -> int:
    """Run ``treering key`` with these words."""
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    return await cli.run(parser.parse_args(words), dsn, MASTER, lambda: NOW, KNOWN)


async def test_the_command_makes_lists_and_revokes_keys(
    dsn: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the secret stands on stdout; the table shows the key without it."""
    assert (
        await command(
            dsn, "create", "--name", "robot", "--owner", "wilhelmina", "--expires", "30d", "--admin"
        )
        == 0
    )
    made = capsys.readouterr()
    secret = made.out.strip()
    found = verify(parse(secret), await store.find_grant(parse(secret).id), NOW)
    assert (found.scopes, found.expires_at) == (("*", "admin"), NOW + timedelta(days=30))
    assert "wilhelmina/default/default" in made.err
    assert secret not in made.err

    assert await command(dsn, "list") == 0
    listed = capsys.readouterr().out
    assert [line.split()[:3] for line in listed.splitlines()] == [
        ["ID", "STATE", "NAME"],
        [found.key_id, "live", "robot"],
    ]

    assert await command(dsn, "revoke", found.key_id) == 0
    assert await command(dsn, "list") == 0
    assert f"{found.key_id}  revoked" in capsys.readouterr().out


async def test_a_longer_list_says_so(dsn: str, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """What is left out is told of."""
    for _ in range(3):
        await add_key(store)

    assert await command(dsn, "list", "--limit", "2") == 0

    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 3
    assert "more than these 2" in told.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["create", "--scope", "internal"], "scopes[0]"),
        (["create", "--owner", "a\x1bb"], "owner"),
        (["create", "--name", " "], "name"),
        (["revoke", "nothing"], "no key with this id"),
    ],
)
async def test_the_command_says_what_is_wrong(
    dsn: str, store: Store, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    """Exit code 1, a sentence on stderr, nothing written."""
    assert await command(dsn, *words) == 1

    assert told in capsys.readouterr().err
    assert await store.list_profiles(None, 10) == []


@pytest.mark.parametrize(
    "words", [["create", "--expires", "0d"], ["create", "--expires", "30"], ["list", "--limit", "0"], []]
)
async def test_the_command_refuses_what_it_cannot_read(dsn: str, words: list[str]) -> None:
    """As commands do: exit code 2."""
    with pytest.raises(SystemExit) as end:
        await command(dsn, *words)

    assert end.value.code == 2


async def test_the_command_refuses_a_foreign_database(dsn: str, empty_database: str) -> None:
    """One of another master key, or not set up: nothing is sealed that could not be opened."""
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    args = parser.parse_args(["create"])

    with pytest.raises(Refused, match="master key"):
        await cli.run(args, dsn, MasterKey(bytes(32)), lambda: NOW, KNOWN)
    with pytest.raises(Refused, match="treering migrate"):
        await cli.run(args, empty_database, MASTER, lambda: NOW, KNOWN)


async def quota_command(dsn: str, *words: str) -> int:
    """Run ``treering quota`` with these words."""
    parser = argparse.ArgumentParser()
    quota_cli.add_arguments(parser)
    return await quota_cli.run(parser.parse_args(words), dsn, MASTER)


async def test_the_command_shows_and_sets_a_quota(
    dsn: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a whole: what is left out is the default again. Who is not there is told so."""
    profile = await store.create_profile(NAMES, NOW)

    assert await quota_command(dsn, "set", str(profile.id), "--memories-max", "5", "--keys-max", "0") == 0
    assert await store.quota(profile.id) == Quota(memories_max=5, keys_max=0)
    assert capsys.readouterr().out.splitlines()[0].split() == ["memories_max", "5"]
    assert await quota_command(dsn, "set", str(profile.id)) == 0
    assert await store.quota(profile.id) == Quota()
    assert await quota_command(dsn, "show", str(uuid4())) == 1
    assert await quota_command(dsn, "show", "nobody") == 1
    assert "PROFILE_ID" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        await quota_command(dsn, "set", str(profile.id), "--memories-max", "-1")


async def test_the_command_makes_a_key_past_the_default(dsn: str, store: Store) -> None:
    """Whoever has the machine is stopped by a quota that was set only, and can set another."""
    key, _ = await add_key(store)
    await store.set_quota(key.profile_id, Quota(keys_max=1))
    names = ("--owner", NAMES.owner, "--workspace", NAMES.workspace, "--profile", NAMES.profile)

    assert await command(dsn, "create", *names) == 1
    assert await quota_command(dsn, "set", str(key.profile_id)) == 0
    assert await command(dsn, "create", *names) == 0

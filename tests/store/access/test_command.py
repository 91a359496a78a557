"""``treering key`` and ``treering quota``."""

import argparse
from datetime import timedelta
from uuid import uuid4

import pytest

from libs.data.master_key import MasterKey
from libs.quota import Quota
from libs.refusal import Refused
from services.gateway.access import cli, quota_cli
from services.gateway.access.keys import (
    parse,
    verify,
)
from services.gateway.access.store import Store
from tests.rig.access import KNOWN, NAMES, NOW, add_key
from tests.rig.postgres import MASTER


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

"""Secrets, scopes, and what is told of a bad key."""

import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as some

from libs.errors import Invalid, Unauthenticated
from services.gateway.access.keys import (
    RANDOM_BYTES,
    Draft,
    Grant,
    Minted,
    granted,
    is_live,
    issue,
    mint,
    parse,
    verify,
)

NOW = datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)
KNOWN = frozenset({"memory:read", "memory:write", "admin", "internal"})
MINTED = mint(bytes(range(RANDOM_BYTES)))
PROFILE = UUID(int=7)


def grant(
    minted: Minted = MINTED,
    expires_at: datetime | None = None,
    revoked_at: datetime | None = None,
    erasing_since: datetime | None = None,
) -> Grant:
    """What is kept of a key."""
    ids = UUID(int=1), UUID(int=2), PROFILE
    return Grant(minted.id, *ids, ("*",), expires_at, revoked_at, erasing_since, minted.digest)


def draft(*scopes: str, expires_at: datetime | None = None) -> Draft:
    """A key to be."""
    return Draft(PROFILE, "laptop", scopes, expires_at)


@given(some.binary(min_size=RANDOM_BYTES, max_size=RANDOM_BYTES))
def test_a_secret_is_read_as_it_was_minted(random: bytes) -> None:
    """Whatever chance gives: the id and the digest come back, and other tools accept the shape."""
    minted = mint(random)

    presented = parse(minted.secret)

    assert (presented.id, presented.digest) == (minted.id, minted.digest)
    assert minted.digest == sha256(minted.secret.encode()).digest()
    assert re.fullmatch(r"tr_[A-Za-z0-9_-]{64,}", minted.secret)
    assert re.fullmatch(r"[A-Za-z0-9\-_.]{32,256}", minted.secret)
    assert minted.secret.startswith(f"tr_{minted.id}_")


def test_a_secret_is_made_of_all_its_random_bytes() -> None:
    """Each bit but the four that the id leaves over changes the secret."""
    random = int.from_bytes(bytes(range(RANDOM_BYTES)), "big")
    bits = RANDOM_BYTES * 8

    flipped = {mint((random ^ (1 << bit)).to_bytes(RANDOM_BYTES, "big")).secret for bit in range(bits)}

    assert len(flipped - {MINTED.secret}) == bits - 4


def test_too_little_chance_is_refused() -> None:
    """No secret is made of fewer random bytes."""
    with pytest.raises(ValueError, match="random bytes"):
        mint(bytes(RANDOM_BYTES - 1))


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "tr_",
        "x" * 67,
        MINTED.secret[:-1],
        MINTED.secret + "0",
        MINTED.secret + "\n",
        " " + MINTED.secret,
        MINTED.secret.upper(),
        MINTED.secret.replace("tr_", "sk_"),
        MINTED.secret[:-1] + ("0" if MINTED.secret[-1] != "0" else "1"),
        MINTED.secret[:20] + ("A" if MINTED.secret[20] != "A" else "B") + MINTED.secret[21:],
        "tr_" + "a" * 64,
        "tr_" + "٣" * 64,
        "tr_\ud800" + "a" * 63,
        "a" * 1_000_000,
    ],
)
def test_what_cannot_be_a_secret_is_refused_unseen(secret: str) -> None:
    """A typing error, a cut, another prefix: refused by shape or checksum, before any look-up."""
    with pytest.raises(Unauthenticated):
        parse(secret)


def test_a_secret_stands_for_what_was_kept() -> None:
    """The right secret of a live key gives whom it is for."""
    assert verify(parse(MINTED.secret), grant(), NOW).profile_id == PROFILE


def test_all_that_is_wrong_is_answered_alike() -> None:
    """Unknown, wrong, expired, revoked and malformed: one message, one reason, no details."""
    presented = parse(MINTED.secret)
    other = mint(bytes(range(8)) + bytes(32))
    refusals: list[Unauthenticated] = []

    with pytest.raises(Unauthenticated) as malformed:
        parse("tr_nonsense")
    refusals.append(malformed.value)
    for found in (None, grant(other), grant(expires_at=NOW), grant(revoked_at=NOW)):
        with pytest.raises(Unauthenticated) as refusal:
            verify(presented, found, NOW)
        refusals.append(refusal.value)

    assert other.id == MINTED.id
    assert {(each.message, each.reason, tuple(each.metadata), each.violations) for each in refusals} == {
        (Unauthenticated().message, "UNAUTHENTICATED", (), ())
    }


def test_a_digest_of_zeros_opens_nothing() -> None:
    """The comparison with nothing never counts as equal."""
    presented = parse(MINTED.secret)

    with pytest.raises(Unauthenticated):
        verify(type(presented)(presented.id, bytes(32)), None, NOW)


def test_a_key_works_until_the_moment_it_expires() -> None:
    """Good a microsecond before, gone at that very moment."""
    assert is_live(grant(expires_at=NOW + INSTANT), NOW)
    assert not is_live(grant(expires_at=NOW), NOW)
    assert not is_live(grant(expires_at=NOW + INSTANT, revoked_at=NOW), NOW)


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ((), ("*",)),
        (("*",), ("*",)),
        (("memory:write", "memory:read", "memory:write"), ("memory:read", "memory:write")),
        (("*", "memory:read"), ("*",)),
        (("admin", "memory:read", "*"), ("*", "admin")),
        (("admin",), ("admin",)),
    ],
)
def test_scopes_are_kept_sorted_and_once(asked: tuple[str, ...], kept: tuple[str, ...]) -> None:
    """``*`` covers all but admin and is kept as it is; nothing asked is ``*``."""
    assert granted(asked, KNOWN) == kept


@pytest.mark.parametrize("scope", ["internal", "memory:everything", "Admin", " admin", "**", "memory:*", ""])
def test_unknown_scopes_are_refused_by_place(scope: str) -> None:
    """The answer names the place and what is known. ``internal`` is not for keys."""
    with pytest.raises(Invalid) as refusal:
        granted(("memory:read", scope), KNOWN)

    [violation] = refusal.value.violations
    assert violation.field == "scopes[1]"
    assert violation.description == "must be one of: *, admin, memory:read, memory:write"


def test_a_key_is_issued_as_drafted() -> None:
    """Name, profile, scopes and times stand on it; its secret does not, nor does it show in logs."""
    expires_at = NOW + INSTANT

    key, minted = issue(draft("memory:read", expires_at=expires_at), KNOWN, NOW, bytes(range(RANDOM_BYTES)))

    assert (key.id, key.profile_id, key.name) == (minted.id, PROFILE, "laptop")
    assert (key.scopes, key.created_at, key.expires_at) == (("memory:read",), NOW, expires_at)
    assert minted.secret not in repr((key, minted, grant(minted)))
    assert repr(minted.digest) not in repr((key, minted, grant(minted), parse(minted.secret)))


@pytest.mark.parametrize("ago", [timedelta(0), INSTANT, timedelta(days=400)])
def test_a_key_does_not_begin_expired(ago: timedelta) -> None:
    """Now is too late already."""
    with pytest.raises(Invalid, match="expires_at: must be in the future"):
        issue(draft(expires_at=NOW - ago), KNOWN, NOW, bytes(RANDOM_BYTES))

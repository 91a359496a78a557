"""What one profile seals and blinds."""

from uuid import UUID, uuid4

import pytest

from libs.data.keyring import ProfileKeys
from libs.data.master_key import MasterKey
from libs.data.sealing import SealedRecordBroken

PROFILE = UUID("11111111-1111-1111-1111-111111111111")
OLD, NEW = UUID(int=1), UUID(int=2)
ROW = uuid4()


def keys(new: bytes = b"") -> ProfileKeys:
    """The profile's keys, after a renewal if there is a new one."""
    return ProfileKeys(PROFILE, {OLD: bytes(32), **({NEW: new} if new else {})})


def test_the_newest_key_seals_and_all_open() -> None:
    """After a renewal what the old key sealed still opens, and the old key alone opens nothing new."""
    before = keys().seal("t.c", ROW, 1, b"old")
    renewed = keys(new=b"\x01" * 32)
    after = renewed.seal("t.c", ROW, 1, b"new")

    assert renewed.open("t.c", ROW, 1, before) == b"old"
    assert renewed.open("t.c", ROW, 1, after) == b"new"
    with pytest.raises(SealedRecordBroken):
        keys().open("t.c", ROW, 1, after)


def test_blind_indexes_outlive_a_renewal() -> None:
    """Rows that were written before are still found by name and by word."""
    renewed = keys(new=b"\x01" * 32)

    assert renewed.blind("tag", "garden") == keys().blind("tag", "garden")
    assert renewed.term("garden") == keys().term("garden")


def test_a_blind_index_is_of_one_label_text_and_profile() -> None:
    """Equal only for equal label, text and key; 16 bytes."""
    ours, theirs = keys(), ProfileKeys(PROFILE, {OLD: b"\x02" * 32})
    blinds = [
        ours.blind("tag", "a"),
        ours.blind("actor", "a"),
        ours.blind("tag", "b"),
        theirs.blind("tag", "a"),
    ]

    assert len(set(blinds)) == 4
    assert {len(blind) for blind in blinds} == {16}


def test_terms_fill_a_signed_bigint() -> None:
    """Postgres's bigint holds every term, and both signs occur."""
    terms = [keys().term(str(number)) for number in range(64)]

    assert all(-(2**63) <= term < 2**63 for term in terms)
    assert min(terms) < 0 < max(terms)
    assert len(set(terms)) == 64


def test_the_installation_has_keys_that_need_no_database() -> None:
    """The same master key gives the same keys anywhere, and labels keep them apart."""
    master = MasterKey(bytes(range(32)))
    record = ProfileKeys.installation(master, "access").seal("profile.name", ROW, 1, b"Ada")

    assert ProfileKeys.installation(master, "access").open("profile.name", ROW, 1, record) == b"Ada"
    with pytest.raises(SealedRecordBroken):
        ProfileKeys.installation(master, "cbp").open("profile.name", ROW, 1, record)
    with pytest.raises(SealedRecordBroken):
        ProfileKeys.installation(MasterKey(bytes(32)), "access").open("profile.name", ROW, 1, record)

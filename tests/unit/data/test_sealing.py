"""Sealed records."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as some

from libs.data.sealing import OVERHEAD_BYTES, SealedRecordBroken, Sealer

PROFILE = UUID("11111111-1111-1111-1111-111111111111")
OTHER = UUID("22222222-2222-2222-2222-222222222222")
KEY_ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
KEY = bytes(range(32))
ROW = UUID("33333333-3333-3333-3333-333333333333")
COLUMN = "memory.full"

HEAD = "0100112233445566778899aabbccddeeff000102030405060708090a0b"
GOLDEN = {
    b"": HEAD + "4b27d658da8d68c7a7c79184f28fb90a",
    "Öl, 油, 🛢".encode(): HEAD + "8494ba37e50370a2a16167142a4b065cb482e484bdc6964c05fe65748ac7",
}
"""Made once with the nonce 000102…0b. If these change, what is already kept no longer opens."""


def sealer(profile: UUID = PROFILE, key_id: UUID = KEY_ID, key: bytes = KEY) -> Sealer:
    """One whose nonce is known."""
    return Sealer(profile, key_id, key, nonce=lambda count: bytes(range(count)))


@pytest.mark.parametrize(("plaintext", "record"), GOLDEN.items())
def test_the_format_stays(plaintext: bytes, record: str) -> None:
    """Records that were sealed by an earlier version open, and the same bytes come out today."""
    assert sealer().seal(COLUMN, ROW, 7, plaintext).hex() == record
    assert sealer().open(COLUMN, ROW, 7, bytes.fromhex(record)) == plaintext


def test_a_record_is_45_bytes_longer() -> None:
    """Version, key id, nonce and tag: nothing else is added."""
    assert len(sealer().seal(COLUMN, ROW, 1, b"x" * 100)) == 145
    assert OVERHEAD_BYTES == 45


def test_a_nonce_is_not_used_twice() -> None:
    """The same value sealed twice differs everywhere after the key id."""
    ours = Sealer(PROFILE, KEY_ID, KEY)
    records = {ours.seal(COLUMN, ROW, 1, b"same")[17:29] for _ in range(1000)}
    assert len(records) == 1000


@pytest.mark.parametrize(
    ("opener", "column", "row", "version"),
    [
        pytest.param(sealer(), COLUMN, OTHER, 1, id="another row"),
        pytest.param(sealer(), "memory.essence", ROW, 1, id="another column"),
        pytest.param(sealer(), COLUMN, ROW, 2, id="rolled back"),
        pytest.param(sealer(profile=OTHER), COLUMN, ROW, 1, id="another profile"),
        pytest.param(sealer(key_id=OTHER), COLUMN, ROW, 1, id="another key id"),
        pytest.param(sealer(key=bytes(32)), COLUMN, ROW, 1, id="another key"),
    ],
)
def test_a_record_opens_only_in_its_place(opener: Sealer, column: str, row: UUID, version: int) -> None:
    """Moved to another row, column, version, profile or key, a record is broken rather than garbage."""
    record = sealer().seal(COLUMN, ROW, 1, b"secret")
    assert sealer().open(COLUMN, ROW, 1, record) == b"secret"

    with pytest.raises(SealedRecordBroken):
        opener.open(column, row, version, record)


@given(at=some.integers(0, 50), flip=some.integers(1, 255))
def test_any_changed_byte_breaks_it(at: int, flip: int) -> None:
    """There is no byte of a record that can change unnoticed."""
    record = bytearray(sealer().seal(COLUMN, ROW, 1, b"secret"))
    record[at] ^= flip

    with pytest.raises(SealedRecordBroken):
        sealer().open(COLUMN, ROW, 1, bytes(record))


@given(cut=some.integers(0, 50))
def test_a_cut_record_is_broken(cut: int) -> None:
    """A record that lost its end never opens."""
    record = sealer().seal(COLUMN, ROW, 1, b"secret")

    with pytest.raises(SealedRecordBroken):
        sealer().open(COLUMN, ROW, 1, record[:cut])


def test_what_broke_is_told_by_place_not_content() -> None:
    """The message may be logged: it names row and column and holds nothing of the value."""
    record = sealer().seal(COLUMN, ROW, 1, b"secret")

    with pytest.raises(SealedRecordBroken) as broken:
        sealer().open(COLUMN, ROW, 9, record)

    assert str(ROW) in str(broken.value)
    assert COLUMN in str(broken.value)
    assert "secret" not in str(broken.value)

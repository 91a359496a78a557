"""Where the master key comes from, and what comes from it."""

import base64
from pathlib import Path

import pytest

from libs.data.master_key import MasterKey, load_master_key
from libs.refusal import Refused

KEY = bytes(range(32))
TEXT = base64.b64encode(KEY).decode()


def test_derivation_stays() -> None:
    """HKDF-SHA256 without salt, checked against values computed by hand with hmac."""
    assert (
        MasterKey(KEY).derive("pages").hex()
        == "f64f2c0aaf29d5dca15b14b0e6501a20739c6eebf619e803cb4d5abaea39e47e"
    )
    assert MasterKey(KEY).id.hex == "8e23240530b5442f7e4f02a939c6e11a"


def test_labels_give_keys_of_their_own() -> None:
    """No two labels share a key, and no password is another's."""
    master = MasterKey(KEY)
    assert master.derive("a") != master.derive("b")
    assert master.password("treering_memory") != master.password("treering_access")
    assert MasterKey(bytes(32)).derive("a") != master.derive("a")


def test_the_first_start_makes_a_key_and_the_next_finds_it(tmp_path: Path) -> None:
    """The file is ours alone from its first moment, and nothing is left beside it."""
    home = tmp_path / "new home"

    first = load_master_key(home)

    assert load_master_key(home).id == first.id
    assert (home / "master-key").stat().st_mode & 0o777 == 0o600
    assert len(base64.b64decode((home / "master-key").read_text())) == 32
    assert [path.name for path in home.iterdir()] == ["master-key"]


def test_text_goes_before_file_and_file_before_home(tmp_path: Path) -> None:
    """The nearest wins, and a key that is given elsewhere makes none at home."""
    kept = tmp_path / "kept"
    kept.write_text(base64.b64encode(bytes(32)).decode() + "\n")
    kept.chmod(0o600)
    home = tmp_path / "home"

    assert load_master_key(home, text=TEXT, file=str(kept)).id == MasterKey(KEY).id
    assert load_master_key(home, file=str(kept)).id == MasterKey(bytes(32)).id
    assert not home.exists()


def test_both_base64_alphabets_are_read(tmp_path: Path) -> None:
    """``+/`` and ``-_`` both mean the same key."""
    key = b"\xfb\xff" * 16
    for text in (base64.b64encode(key), base64.urlsafe_b64encode(key)):
        assert load_master_key(tmp_path, text=text.decode()).id == MasterKey(key).id


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    """The message says what to run."""
    load_master_key(tmp_path)
    (tmp_path / "master-key").chmod(mode)

    with pytest.raises(Refused, match="chmod 600"):
        load_master_key(tmp_path)


@pytest.mark.parametrize("text", ["not base64!", base64.b64encode(b"short").decode(), TEXT + "AAAA", "é"])
def test_a_faulty_key_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    """Neither its text nor its bytes stand in the message."""
    with pytest.raises(Refused) as refusal:
        load_master_key(tmp_path, text=text)

    assert text not in str(refusal.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """A file that is named must be there: no other key is made in its stead."""
    with pytest.raises(Refused, match="cannot be read"):
        load_master_key(tmp_path, file=str(tmp_path / "nowhere"))

"""Set-up does what has changed, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import install


def test_work_is_done_once_per_state(tmp_path: Path) -> None:
    """The same state again needs no work; another state does."""
    done: list[str] = []

    for state in ("a", "a", "b", "a"):
        install.once(tmp_path / "stamp", state, "Working", lambda state=state: done.append(state))

    assert done == ["a", "b", "a"]


def test_a_larger_lock_covers_the_smaller(tmp_path: Path) -> None:
    """After the dev lock the run lock is satisfied; after the run lock the dev lock is not."""
    done: list[str] = []
    stamp = tmp_path / "stamp"

    install.once(stamp, "dev", "Working", lambda: done.append("dev"), "run")
    install.once(stamp, "run", "Working", lambda: done.append("run"))
    assert done == ["dev"]

    install.once(stamp, "newer run", "Working", lambda: done.append("newer run"))
    install.once(stamp, "dev", "Working", lambda: done.append("dev"), "run")
    assert done == ["dev", "newer run", "dev"]


def test_interrupted_work_is_not_taken_for_done(tmp_path: Path) -> None:
    """A stamp is gone before the work begins, and comes back only after it."""
    stamp = tmp_path / "stamp"
    stamp.write_text("old")

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install.once(stamp, "new", "Working", interrupted)

    assert not stamp.exists()


def test_digest_sees_names_and_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is changed, renamed or split is another state."""
    monkeypatch.setattr(install, "ROOT", tmp_path)
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("ab")
    two.write_text("")
    before = install.digest(one, two)

    one.write_text("a")
    two.write_text("b")

    assert install.digest(two, one) == install.digest(one, two) != before

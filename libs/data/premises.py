"""Where the embedded server keeps its files, and which system user it runs as.

Postgres refuses to run as root. Started by root it runs as ``postgres`` or ``nobody``, who must be
able to reach the files: permissions of directories that are not ours are never changed for that.
"""

from __future__ import annotations

import os
import pwd
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import structlog

from libs.data.home import OURS, PASSABLE, make_home
from libs.refusal import Refused

log = structlog.get_logger()

ROOT = 0
STAND_INS = ("postgres", "nobody")
ELSEWHERE = Path("/var/lib/treering")
"""Where root puts the files when the user that Postgres runs as cannot reach the state directory."""
FOLDER = "postgres"


class AsUser(TypedDict, total=False):
    """Arguments of ``subprocess`` that change the user."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class Runner:
    """The system user that Postgres runs as."""

    uid: int
    gid: int
    name: str

    @property
    def as_user(self) -> AsUser:
        """How to start a program as this user; nothing to do when that is who we are."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        """Give a file or directory to this user."""
        if self.uid != os.geteuid():
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def reaches(self, path: Path) -> bool:
        """Whether every directory down to ``path`` lets this user through."""
        resolved = path.resolve()
        return self.uid == os.geteuid() or all(
            self._passes(directory) for directory in (resolved, *resolved.parents) if directory.is_dir()
        )

    def _passes(self, directory: Path) -> bool:
        about = directory.stat()
        if about.st_uid == self.uid:
            return bool(about.st_mode & stat.S_IXUSR)
        if about.st_gid == self.gid:
            return bool(about.st_mode & stat.S_IXGRP)
        return bool(about.st_mode & stat.S_IXOTH)


@dataclass(frozen=True, slots=True)
class Premises:
    """A directory that belongs to the runner alone. The one that it stands in is ours."""

    directory: Path
    runner: Runner


def settle(home: Path, elsewhere: Path = ELSEWHERE) -> Premises:
    """Find the place of an earlier start below ``home``, or make one."""
    make_home(home)
    place = home / FOLDER
    if place.is_symlink() and not place.exists():
        raise Refused(
            f"The database of {home} was kept in {place.readlink()}, which is gone. "
            f"Put it back, or remove {place} to start with an empty one."
        )
    runner = _runner(place)
    if not place.exists():
        _make(place, runner, elsewhere)
    directory = place.resolve()
    if not runner.reaches(directory):
        raise Refused(f"The user '{runner.name}', who runs Postgres, cannot reach {directory}.")
    return Premises(directory, runner)


def _runner(place: Path) -> Runner:
    ours = os.geteuid()
    owner = place.stat().st_uid if place.exists() else ours
    if ours != ROOT:
        if owner != ours:
            raise Refused(f"{place} belongs to '{_name(owner)}'. Start Treering as that user, or as root.")
        return Runner(ours, os.getegid(), _name(ours))
    # The owner of an earlier start's files goes before those that a first start would choose.
    for name in STAND_INS if owner == ROOT else (_name(owner),):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Runner(entry.pw_uid, entry.pw_gid, entry.pw_name)
    raise Refused("Postgres does not run as root. Start Treering as another user, or add a user 'postgres'.")


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _make(place: Path, runner: Runner, elsewhere: Path) -> None:
    if runner.reaches(place.parent):
        place.mkdir(mode=OURS)
        runner.own(place)
        return
    directory = elsewhere / secrets.token_hex(6)
    directory.mkdir(mode=OURS, parents=True)
    elsewhere.chmod(PASSABLE)
    runner.own(directory)
    place.symlink_to(directory)
    log.warning(
        "postgres.elsewhere",
        directory=str(directory),
        link=str(place),
        reason=f"the user '{runner.name}' cannot reach {place.parent}",
    )

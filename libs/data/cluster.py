"""The files of a Postgres cluster: made once, whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from pathlib import Path

from libs.data.binaries import Binaries
from libs.data.home import sync_directory, write_once
from libs.data.premises import Premises
from libs.refusal import Refused

SUPERUSER = "postgres"
INITDB_SECONDS = 120


def superuser_password(path: Path, data: Path) -> str:
    """The password kept in a file, made before the cluster is."""
    if not path.exists():
        if data.exists():
            raise Refused(f"{path} is gone, and {data} does not open without it. Put it back.")
        write_once(path, secrets.token_urlsafe(32).encode())
    return path.read_text(encoding="ascii").strip()


def make_cluster(found: Binaries, premises: Premises, data: Path, password: str, *, durable: bool) -> None:
    """Run initdb beside the final place, and move its work there when it is whole."""
    draft = data.with_name("data.draft")
    shutil.rmtree(draft, ignore_errors=True)
    # Not in the runner's own directory, where it could put a link in the way of what root writes.
    told = premises.directory.parent / f"password.{secrets.token_hex(4)}"
    write_once(told, password.encode())
    premises.runner.own(told)
    command = [
        *(found.bin / "initdb", "-D", draft, "-U", SUPERUSER, f"--pwfile={told}"),
        *("--auth-local=scram-sha-256", "--auth-host=scram-sha-256", "--encoding=UTF8"),
        # A collation of Postgres's own, so that the order of texts is the same on every machine.
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
        *("--data-checksums", "--no-instructions"),
        *(() if durable else ("--no-sync",)),
    ]
    try:
        made = subprocess.run(  # noqa: S603 -- our own arguments
            command,
            **premises.runner.as_user,
            cwd="/",
            env=environment(),
            capture_output=True,
            text=True,
            timeout=INITDB_SECONDS,
            check=False,
        )
    finally:
        told.unlink()
    if made.returncode != 0:
        raise Refused(f"initdb could not make a database in {draft}: {made.stderr.strip()}")
    draft.rename(data)
    sync_directory(premises.directory)


def check_major(data: Path, found: Binaries) -> None:
    """Refuse programs that cannot read this cluster: each major version has a format of its own."""
    major = (data / "PG_VERSION").read_text(encoding="ascii").strip()
    if major != str(found.major):
        raise Refused(
            f"{data} was made by PostgreSQL {major}, but the programs here are {found.version}. "
            f"Dump it with version {major}, move it away, start, and restore; "
            f"or name the bin directory of version {major} in TREERING_POSTGRES_BIN."
        )


def environment() -> dict[str, str]:
    """Nothing of ours: PG* and locale variables would change what the programs do."""
    return {"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath}

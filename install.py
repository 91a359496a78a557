"""Set up a checkout: `.venv` with what a lock pins, and `gen/` with the code made from the protos.

`python3 install.py run` suffices to serve, `python3 install.py dev` to develop. Any Python >= 3.11 will do,
and no package is needed. What is in place is left alone: without a change nothing is installed or looked up.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
HALFWAY = VENV / "halfway"
"""Stands while packages are being laid. Found at the next start, it says that the last one was cut off."""

PYTHON_MIN = (3, 11)
PROGRESS_EVERY = 20
LOG_LINES_SHOWN = 12
COVERED_BY = {"run": ("run",), "dev": ("dev", "run")}
"""The locks that are satisfied once a lock is installed: dev holds all that run holds."""


def main(lock: str) -> None:
    """Bring the checkout to the state that a lock and the protos describe."""
    with alone():
        make_environment()
        install_packages(lock)
        install_project()
        generate_code()


@contextmanager
def alone() -> Generator[None]:
    """Wait until no other set-up works on this checkout."""
    directory = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another set-up is at work here; waiting for it.")
            fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def make_environment() -> None:
    """Make `.venv`, unless a sound one stands there."""
    if is_sound():
        return
    say("Making .venv")
    shutil.rmtree(VENV, ignore_errors=True)
    VENV.mkdir()
    HALFWAY.touch()
    brings_pip = importlib.util.find_spec("ensurepip") is not None
    if not brings_pip and importlib.util.find_spec("pip") is None:
        sys.exit(
            f"{sys.executable} can neither make virtual environments with pip nor has pip itself. "
            "On Debian and Ubuntu: apt install python3-venv. Then run this again."
        )
    without = [] if brings_pip else ["--without-pip"]
    run([sys.executable, "-m", "venv", *without, str(VENV)])
    HALFWAY.unlink()


def is_sound() -> bool:
    """Whether `.venv` is whole, was made for this place, and its Python still runs."""
    about = VENV / "pyvenv.cfg"
    if HALFWAY.exists() or not about.is_file() or str(VENV) not in about.read_text():
        return False
    try:
        return not subprocess.call([PYTHON, "-c", f"import sys; sys.exit(sys.version_info < {PYTHON_MIN})"])
    except OSError:
        return False


def install_packages(lock: str) -> None:
    """Install what a lock pins: these files and no others, none of them built here."""
    path = ROOT / "requirements" / f"{lock}.lock"
    state, *others = (digest(path.with_name(f"{name}.lock")) for name in COVERED_BY[lock])
    count = sum("==" in line.split(";")[0] for line in path.read_text().splitlines())
    title = f"Installing some {count} packages ({path.name}); the first time takes about a minute"
    pinned = ["--require-hashes", "--no-deps", "--only-binary=:all:", "-r", str(path)]
    once(VENV / "packages", state, title, lambda: pip(*pinned), *others)


def install_project() -> None:
    """Put the checkout itself, and the command `treering`, into `.venv`."""
    state = digest(ROOT / "pyproject.toml", ROOT / "hatch_build.py")
    here = ["--no-deps", "--no-build-isolation", "--no-index", "-e", str(ROOT)]
    once(VENV / "project", state, "Installing the checkout", lambda: pip(*here))


def generate_code() -> None:
    """Compile the protos into `gen/`."""
    builder = ROOT / "hatch_build.py"
    state = digest(builder, ROOT / "requirements" / "run.lock", *(ROOT / "protos").rglob("*.proto"))
    once(ROOT / "gen" / "stamp", state, "Compiling the protos", lambda: run([str(PYTHON), str(builder)]))


def once(stamp: Path, state: str, title: str, work: Callable[[], None], *others: str) -> None:
    """Work unless the stamp holds this state already, then leave it and the others there."""
    if stamp.is_file() and state in stamp.read_text().split():
        return
    say(title)
    stamp.unlink(missing_ok=True)
    work()
    stamp.write_text("\n".join((state, *others)))


def digest(*paths: Path) -> str:
    """One hash over files and their names."""
    hashed = hashlib.sha256()
    for path in sorted(paths):
        hashed.update(f"{path.relative_to(ROOT)}\0{path.stat().st_size}\0".encode())
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def pip(*arguments: str) -> None:
    """Run pip, show how far it is, and mark the time in which an interruption would leave half a package."""
    has_own = (VENV / "bin" / "pip").exists()
    program = (
        [str(PYTHON), "-m", "pip"] if has_own else [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    )
    command = [*program, "install", "--no-input", "--disable-pip-version-check", *arguments]
    unbuffered = os.environ | {"PYTHONUNBUFFERED": "1"}
    lines: list[str] = []
    collected = 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=unbuffered
    ) as process:
        for line in process.stdout or ():
            lines.append(line)
            if line.startswith("Collecting"):
                collected += 1
                if collected % PROGRESS_EVERY == 0:
                    say(f"  {collected} fetched")
            elif line.startswith("Installing collected packages"):
                HALFWAY.touch()
                say("  unpacking")
    if process.returncode:
        sys.exit("".join(lines[-LOG_LINES_SHOWN:]) + "pip failed, as shown above. Run this again to go on.")
    HALFWAY.unlink(missing_ok=True)


def run(command: list[str]) -> None:
    """Run a program that explains its own failure."""
    if subprocess.call(command):
        sys.exit(f"This failed: {' '.join(command)}")


def say(text: str) -> None:
    """Show progress at once, also through a pipe."""
    print(text, flush=True)


if __name__ == "__main__":
    if sys.version_info < PYTHON_MIN:
        sys.exit("Treering needs Python 3.11 or newer.")
    if sys.argv[1:] not in (["run"], ["dev"]):
        sys.exit("usage: python3 install.py run|dev")
    try:
        main(sys.argv[1])
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. Run this again to go on.")

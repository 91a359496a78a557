"""The rules of the house as tests: `make check` runs these alone, `pytest` runs them with everything else."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hatch_build

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
IMAGE = f"gen/{hatch_build.IMAGE}"
MODULE_LINES_MAX = 300
FUNCTION_LINES_MAX = 50
MACHINE_PATH = re.compile(r"(?<![\w.}$-])/(?:root|Users|work)/\w")

TOOLS = {
    "code is formatted": "ruff format --check --quiet .",
    "code is clean": "ruff check --quiet .",
    "types hold": "basedpyright --project pyproject.toml",
    "rooms import only what they may": "lint-imports --no-logo",
    "protos are formatted": "buf format protos --diff --exit-code",
    "protos are clean": f"buf lint {IMAGE} --path treering",
    "yaml is clean": "yamllint --strict .",
    "containers fit their schema": "check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml",
}
WRITTEN = {"deploy/env.example": "treering env", "docs/openapi.json": "treering openapi"}


def run(command: str, *arguments: str, cwd: Path = ROOT) -> str:
    """Run a tool of this environment, and fail with what it says."""
    program, *options = command.split()
    done = subprocess.run([BIN / program, *options, *arguments], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"$ {command}\n{done.stdout}{done.stderr}", pytrace=False)
    return done.stdout


@pytest.mark.timeout(600)
@pytest.mark.parametrize("command", TOOLS.values(), ids=TOOLS)
def test_tool_agrees(command: str) -> None:
    """Each tool finds nothing to object to."""
    run(command)


@pytest.mark.parametrize("name", WRITTEN)
def test_written_file_is_fresh(name: str) -> None:
    """A file that the house writes itself is what it would write today."""
    written = ROOT / name
    fresh = run(WRITTEN[name])

    kept = written.read_text() if written.is_file() else ""
    assert kept == fresh, f"Stale. Run: .venv/bin/{WRITTEN[name]} > {name}"


def test_protos_break_nobody(tmp_path: Path) -> None:
    """Whoever speaks the protos of the main branch, in bytes or in JSON, is still understood."""
    base = main_commit()
    archive = tmp_path / "protos.tar"
    git("archive", "--output", str(archive), base, "protos")
    subprocess.run(["tar", "-xf", archive], cwd=tmp_path, check=True)
    hatch_build.describe(tmp_path / "protos", tmp_path / "image.binpb")

    run(f"buf breaking {IMAGE} --path treering --against", str(tmp_path / "image.binpb"))


def main_commit() -> str:
    """The commit of the main branch that this work started from."""
    for branch in ("origin/main", "main"):
        try:
            base = git("merge-base", "HEAD", branch)
            git("cat-file", "-e", f"{base}:protos")
        except (OSError, subprocess.CalledProcessError):
            continue
        return base
    pytest.skip("No earlier protos to compare with: this is no clone with a main branch.")


def git(*arguments: str) -> str:
    """What git answers."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_locks_name_no_place() -> None:
    """A lock says what to install and by which hash, never where from."""
    for lock in locks():
        assert not re.search(r"://|--(?:extra-)?index|--find-links|@ ", lock.read_text()), lock.name
        assert len(pins(lock)) == len(re.findall(r"(?m)^\S.*\\\n    --hash=sha256:", lock.read_text())), (
            lock.name
        )


def test_run_lock_is_part_of_dev_lock() -> None:
    """What is tested is what is run."""
    run_lock, dev_lock = (pins(ROOT / "requirements" / f"{name}.lock") for name in ("run", "dev"))

    assert run_lock <= dev_lock, f"Run: make lock. Only in run.lock: {sorted(run_lock - dev_lock)}"


def locks() -> list[Path]:
    """All locks."""
    found = sorted((ROOT / "requirements").glob("*.lock"))
    assert found
    return found


def pins(lock: Path) -> set[str]:
    """The lines that pin a package."""
    return {line.rstrip(" \\") for line in lock.read_text().splitlines() if "==" in line.split(";")[0]}


def test_no_file_knows_a_machine() -> None:
    """Nothing names a place on the machine of whoever wrote it."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in own_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]

    assert not found, "\n".join(found)


def own_files() -> Iterator[Path]:
    """All that is kept under version control, or would be."""
    try:
        listed = git("ls-files", "--cached", "--others", "--exclude-standard")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("Only a clone says which files are ours.")
    return (ROOT / name for name in listed.splitlines() if (ROOT / name).is_file())


def test_rooms_stay_small() -> None:
    """A module and a function fit in the head of whoever reads them."""
    sources = [path for room in ("libs", "services") for path in sorted((ROOT / room).rglob("*.py"))]

    found = [line for path in sources for line in oversized(path)]

    assert not found, "\n".join(found)


def oversized(path: Path) -> Iterator[str]:
    """What is too long in a module, itself included."""
    text = path.read_text()
    where = path.relative_to(ROOT)
    if (lines := len(text.splitlines())) > MODULE_LINES_MAX:
        yield f"{where}: {lines} lines; at most {MODULE_LINES_MAX}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield f"{where}:{node.lineno} {node.name}: {length} lines; at most {FUNCTION_LINES_MAX}"


def test_room_signs_hold_only_words() -> None:
    """An `__init__.py` says what its room promises, and does nothing."""
    for room in ("libs", "services"):
        for sign in (ROOT / room).rglob("__init__.py"):
            parsed = ast.parse(sign.read_text())
            assert ast.get_docstring(parsed), sign.relative_to(ROOT)
            assert len(parsed.body) == 1, sign.relative_to(ROOT)

"""Logs tell where something went wrong, and nothing of what somebody wrote."""

from __future__ import annotations

import io
import json
from collections.abc import Generator
from typing import Any

import pytest
import structlog

from libs.refusal import Refused
from libs.rpc.telemetry import Settings, configure_logging

CANARY = "zebrafish-canary"


@pytest.fixture
def configured() -> Generator[None]:
    """Logging is configured by the test, and as it was afterwards."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def fail(content: str) -> None:
    """Fail with what somebody wrote in a variable, in the words of an error, and in its cause."""
    kept = {"content": content}
    try:
        raise KeyError(content)
    except KeyError as cause:
        raise ValueError(f"bad {kept}") from cause


@pytest.mark.parametrize("log_format", ["json", "console"])
@pytest.mark.usefixtures("configured")
def test_an_exception_is_told_without_its_words_and_variables(
    log_format: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Kind and place of an error and of its cause are there; what somebody wrote is not."""
    configure_logging(Settings(log_format=log_format))
    try:
        fail(CANARY)
    except ValueError:
        structlog.get_logger().exception("rpc.fault", method="Observe")

    text = capfd.readouterr().err
    assert CANARY not in text
    assert "ValueError" in text
    assert "KeyError" in text
    assert "test_telemetry.py" in text


@pytest.mark.usefixtures("configured")
def test_a_line_of_json_is_one_object(capfd: pytest.CaptureFixture[str]) -> None:
    """Whoever collects logs reads one object a line."""
    configure_logging(Settings(log_format="json"))
    structlog.get_logger().info("rpc.done", method="Search", ms=1.5)

    line: dict[str, Any] = json.loads(capfd.readouterr().err)
    assert (line["event"], line["method"], line["ms"], line["level"]) == ("rpc.done", "Search", 1.5, "info")


def test_an_unknown_level_is_refused() -> None:
    """A slip in the level says what is known."""
    with pytest.raises(Refused, match="debug, info, warning or error"):
        configure_logging(Settings(log_level="loud"))


@pytest.mark.usefixtures("configured")
def test_nobody_reading_the_log_harms_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed standard error loses lines, and nothing else."""
    configure_logging(Settings(log_format="json"))
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("sys.stderr", closed)

    structlog.get_logger().info("rpc.done")

    with pytest.raises(ValueError, match="closed"):
        closed.write("the test itself would see it")

"""What the database says, in our words."""

import asyncpg
import pytest

from libs import errors
from libs.data.faults import DatabaseFault, translated


def raised(error: BaseException) -> BaseException:
    """What comes out when asyncpg raises this."""
    with pytest.raises(Exception) as caught, translated():  # noqa: PT011
        raise error
    return caught.value


def of_server(sqlstate: str) -> BaseException:
    """What comes out when Postgres answers this."""
    fields = {"C": sqlstate, "M": "secret words", "D": "more secret words", "n": "memory_text_check"}
    return raised(asyncpg.PostgresError.new(fields))


@pytest.mark.parametrize(
    ("states", "kind"),
    [
        ("22021 22P02 22P05 22001 22003 22008 2201W 54000 23514", errors.Invalid),
        ("23505", errors.Conflict),
        ("23503", errors.WrongState),
        ("40001 40P01 55P03", errors.Unavailable),
        ("57014", errors.TimedOut),
        ("25006 08000 08006 57P01 57P02 57P03 53300", errors.Unavailable),
        ("53100 53200", errors.TooMuch),
        ("42501 23502 42P01 XX001 25P02", DatabaseFault),
    ],
)
def test_each_sqlstate_has_its_kind(states: str, kind: type[Exception]) -> None:
    """The map of what Postgres says to what callers hear. Isolation breaches and damage are bugs."""
    assert {state: isinstance(of_server(state), kind) for state in states.split()} == dict.fromkeys(
        states.split(), True
    )


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.ConnectionDoesNotExistError("gone"),
        asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress"),
        asyncpg.InterfaceError("connection is closed"),
        ConnectionRefusedError(),
        ConnectionResetError(),
        TimeoutError(),
    ],
)
def test_a_broken_connection_is_away_for_now(error: Exception) -> None:
    """However the connection broke, a caller may try again."""
    problem = raised(error)

    assert isinstance(problem, errors.Unavailable)
    assert problem.retry_after


@pytest.mark.parametrize("sqlstate", ["22P02", "23505", "23514", "23502", "42501", "XX000", "57014"])
def test_no_value_is_told(sqlstate: str) -> None:
    """Postgres's own messages quote values, save those of class 42; neither they nor their cause go on."""
    problem = of_server(sqlstate)

    assert "more secret" not in str(problem)
    assert "secret" not in str(problem) or sqlstate.startswith("42")
    assert problem.__suppress_context__


def test_other_errors_pass() -> None:
    """A problem or bug of ours is left as it is."""
    ours = KeyError("x")
    assert raised(ours) is ours

"""What the database answers, told to callers: one table."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

import asyncpg
import structlog

from libs import errors

log = structlog.get_logger()

RETRY_SECONDS = 1.0


class Away(errors.Unavailable):
    """The database is away. Please try again."""


class Busy(errors.Unavailable):
    """The database is busy. Please try again."""


class Slow(errors.TimedOut):
    """The database took too long."""


class Overtaken(Busy):
    """Another change came first. Please try again."""


class Full(errors.TooMuch):
    """There is no room to keep this now."""


class Unkeepable(errors.Invalid):
    """A value is not one that can be kept."""


class Parentless(errors.WrongState):
    """Something that this belongs to is gone."""


# By SQLSTATE, or by its class. What is not here is a bug: above all 42501, by which row-level
# security stops a row of another profile.
TABLE: dict[str, type[errors.Problem]] = {
    "08": Away,  # connection exceptions
    "22": Unkeepable,  # data exceptions: should have been refused before
    "23503": Parentless,
    "23505": errors.Conflict,
    "23514": Unkeepable,
    "25006": Away,  # read-only: this server is no longer the primary
    "40001": Overtaken,
    "40P01": Overtaken,
    "53": Full,  # disk or memory
    "53300": Busy,  # connections
    "54": Unkeepable,  # program limits
    "55P03": Busy,
    "57014": Slow,  # the server's own time limit
    "57P": Away,  # shut down, crashed, starting
}
NAMED_ONLY_BY_NAMES = ("28", "3D", "3F", "42")
"""Classes whose messages speak of roles, tables and columns, never of values."""


class DatabaseFault(Exception):
    """A bug that the database found. Holds names and codes, never a value, since it is logged."""

    def __init__(self, sqlstate: str, told: str) -> None:
        self.sqlstate = sqlstate
        super().__init__(f"{sqlstate} {told}")


@contextmanager
def translated() -> Generator[None]:
    """Within, what asyncpg raises becomes a ``Problem``, or a ``DatabaseFault`` if it is a bug."""
    try:
        yield
    except asyncpg.PostgresError as error:
        raise _of_server(error) from None
    except asyncpg.InterfaceError as error:
        if "the server expects" in str(error):
            raise DatabaseFault("client", "wrong number of arguments") from None
        raise Away(retry_after=RETRY_SECONDS) from None
    except (asyncpg.InternalClientError, OSError):
        # The connection broke, could not be made, or was silent too long: a TimeoutError is an OSError.
        raise Away(retry_after=RETRY_SECONDS) from None


def _of_server(error: asyncpg.PostgresError) -> errors.Problem | DatabaseFault:
    state = str(getattr(error, "sqlstate", None) or "")
    kind = TABLE.get(state) or TABLE.get(state[:3]) or TABLE.get(state[:2])
    if kind is None:
        return DatabaseFault(state, _told(state, error))
    if issubclass(kind, Full | Unkeepable | Parentless):
        log.warning("postgres.refused", sqlstate=state, told=_told(state, error))
    return kind(retry_after=RETRY_SECONDS if issubclass(kind, errors.Unavailable | errors.TooMuch) else None)


def _told(state: str, error: asyncpg.PostgresError) -> str:
    """Names of things in the error, and the number of an argument that asyncpg could not encode."""
    names = [getattr(error, name, None) for name in ("table_name", "column_name", "constraint_name")]
    message = str(error.args[0]) if state.startswith(NAMED_ONLY_BY_NAMES) and error.args else ""
    argument = re.search(r"argument (\$\d+)", str(error))
    names += [argument[1] if argument else None, message]
    return " ".join([type(error).__name__, *(str(name) for name in names if name)])

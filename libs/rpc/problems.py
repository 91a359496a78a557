"""The one table that turns a problem into a status code, and the status that carries it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from libs import errors

DOMAIN: Final = "treering"
DETAILS_KEY: Final = "grpc-status-details-bin"
REQUEST_ID_KEY: Final = "x-request-id"

CODES: Final[dict[type[errors.Problem], grpc.StatusCode]] = {
    errors.Invalid: grpc.StatusCode.INVALID_ARGUMENT,
    errors.Missing: grpc.StatusCode.NOT_FOUND,
    errors.Conflict: grpc.StatusCode.ALREADY_EXISTS,
    errors.WrongState: grpc.StatusCode.FAILED_PRECONDITION,
    errors.Changed: grpc.StatusCode.ABORTED,
    errors.Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    errors.Denied: grpc.StatusCode.PERMISSION_DENIED,
    errors.TooMuch: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.TimedOut: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.Unavailable: grpc.StatusCode.UNAVAILABLE,
}
"""A kind that is not here has the code of the nearest kind above it in the family."""

NUMBERS: Final = {code: code_pb2.Code.Value(code.name) for code in grpc.StatusCode}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A problem on its way out."""

    code: grpc.StatusCode
    message: str
    trailers: tuple[tuple[str, str | bytes], ...]


def code_of(problem: errors.Problem) -> grpc.StatusCode:
    """The status code of a problem's kind."""
    return next(CODES[kind] for kind in type(problem).__mro__ if kind in CODES)


def refusal(problem: errors.Problem, request_id: str) -> Refusal:
    """What a caller is told of a problem."""
    return _told(code_of(problem), problem.message, _details(problem, request_id), request_id)


def internal(request_id: str) -> Refusal:
    """What a caller is told of a fault of ours: the id under which it is logged, and nothing else."""
    message = f"Internal error. It is logged under request id {request_id}."
    return _told(grpc.StatusCode.INTERNAL, message, [_info("INTERNAL"), _request(request_id)], request_id)


def _told(code: grpc.StatusCode, message: str, details: list[Message], request_id: str) -> Refusal:
    status = status_pb2.Status(code=NUMBERS[code], message=message)
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return Refusal(code, message, ((DETAILS_KEY, status.SerializeToString()), (REQUEST_ID_KEY, request_id)))


def _details(problem: errors.Problem, request_id: str) -> list[Message]:
    details: list[Message] = [_info(problem.reason, problem.metadata), _request(request_id)]
    if problem.violations:
        bad = error_details_pb2.BadRequest()
        for violation in problem.violations:
            bad.field_violations.add(
                field=violation.field, description=violation.description, reason=violation.rule
            )
        details.append(bad)
    if problem.retry_after is not None:
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(round(problem.retry_after * 1000))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    return details


def _info(reason: str, metadata: dict[str, str] | None = None) -> error_details_pb2.ErrorInfo:
    return error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=metadata or {})


def _request(request_id: str) -> error_details_pb2.RequestInfo:
    return error_details_pb2.RequestInfo(request_id=request_id)

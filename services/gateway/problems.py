"""What went wrong, as HTTP says it: one table of status codes, one form of body (RFC 9457)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import grpc
import orjson
import structlog
from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from starlette.exceptions import HTTPException
from starlette.responses import Response
from treering.errors.v1 import error_reason_pb2
from treering.options.v1 import options_pb2

from libs.errors import Problem, Violation
from libs.rpc.problems import DETAILS_KEY, DOMAIN, code_of
from services.gateway.options import said
from services.gateway.transcoding import enums

MEDIA_TYPE: Final = "application/problem+json"
CLIENT_GONE: Final = 499
"""What is logged when the client left before the answer; it has no name in the standard."""
RETRY_SECONDS: Final = 1.0
"""When to try again what is away, where nobody knows better."""
AWAY: Final = 503
CHALLENGE: Final = 'Bearer realm="treering"'

log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Kind:
    """What a gRPC code is over HTTP, and what is said of it when the status itself says nothing of ours."""

    status: int
    reason: str
    detail: str


TOO_LARGE: Final = Kind(413, "VALUE_TOO_LARGE", "A message is larger than 4 MiB.")
TOO_LARGE_SAID: Final = "larger than max"
"""How grpc itself says that; it has no code of its own for it."""
UNKNOWN_METHOD: Final = Kind(501, "UNKNOWN_METHOD", "This house does not serve that method.")
INTERNAL: Final = Kind(500, "INTERNAL", "Internal error. It is logged under the request id.")
KINDS: Final[Mapping[grpc.StatusCode, Kind]] = {
    grpc.StatusCode.INVALID_ARGUMENT: Kind(400, "INVALID_FIELD", "The request breaks a rule."),
    grpc.StatusCode.OUT_OF_RANGE: Kind(400, "INVALID_FIELD", "A value is out of range."),
    grpc.StatusCode.UNAUTHENTICATED: Kind(401, "UNAUTHENTICATED", "Send a valid API key."),
    grpc.StatusCode.PERMISSION_DENIED: Kind(403, "SCOPE_MISSING", "The key does not allow this."),
    grpc.StatusCode.NOT_FOUND: Kind(404, "NOT_FOUND", "There is no such thing."),
    grpc.StatusCode.ALREADY_EXISTS: Kind(409, "CONCURRENT_CHANGE", "It exists already."),
    grpc.StatusCode.ABORTED: Kind(
        409, "CONCURRENT_CHANGE", "Others changed it at the same moment. Try again."
    ),
    grpc.StatusCode.FAILED_PRECONDITION: Kind(409, "CONCURRENT_CHANGE", "It cannot be done in this state."),
    grpc.StatusCode.RESOURCE_EXHAUSTED: Kind(503, "OVERLOADED", "The server is busy. Try again."),
    grpc.StatusCode.CANCELLED: Kind(CLIENT_GONE, "CANCELLED", "The call was cancelled."),
    grpc.StatusCode.UNIMPLEMENTED: UNKNOWN_METHOD,
    grpc.StatusCode.UNAVAILABLE: Kind(503, "UNAVAILABLE", "Something that this needs is away. Try again."),
    grpc.StatusCode.DEADLINE_EXCEEDED: Kind(
        504, "DEADLINE_EXCEEDED", "The call took longer than its deadline."
    ),
    grpc.StatusCode.INTERNAL: INTERNAL,
    grpc.StatusCode.DATA_LOSS: INTERNAL,
    grpc.StatusCode.UNKNOWN: INTERNAL,
}
BY_REASON: Final[Mapping[str, int]] = {
    "VALUE_TOO_LARGE": 413,
    "RATE_LIMITED": 429,
    "QUOTA_EXCEEDED": 429,
    "OVERLOADED": 503,
    "UNKNOWN_METHOD": 404,
}
"""Reasons that say more than their code."""
RESOURCE_EXHAUSTED: Final = 429
"""Of a reason that this table does not know."""


def codes(reasons: EnumDescriptor) -> Mapping[str, str]:
    """What programs read of each reason: its name in lower case, unless the protos say otherwise."""
    names = enums.short_names(reasons)
    return {
        names[each.number].upper(): said(each.GetOptions(), options_pb2.code) or names[each.number]
        for each in reasons.values
    }


CODES: Final = codes(error_reason_pb2.ErrorReason.DESCRIPTOR)


class NotServed(Exception):
    """The door says no by itself: what was asked for is not something that gRPC could have been asked."""

    def __init__(
        self,
        status: int,
        reason: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Take the HTTP status, a name in ``ErrorReason``, a sentence, headers of the answer, and facts."""
        super().__init__(detail)
        self.refusal = Refusal(status, reason, detail, headers=headers or {}, metadata=metadata or {})


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served."""

    status: int
    reason: str
    detail: str
    violations: tuple[Violation, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    retry_after: float | None = None
    """In seconds."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def code(self) -> str:
        """The reason as programs read it."""
        return CODES.get(self.reason, self.reason.lower())

    def document(self, request_id: str) -> dict[str, object]:
        """The body that says so."""
        said: dict[str, object] = {
            "type": f"urn:treering:problem:{self.code}",
            "title": self.reason.replace("_", " ").capitalize(),
            "status": self.status,
            "detail": self.detail,
            "instance": f"urn:treering:request:{request_id}",
            "reason": self.reason,
            "code": self.code,
            "request_id": request_id,
            "violations": [
                {"field": each.field, "description": each.description, "rule": each.rule}
                for each in self.violations
            ],
        }
        if self.metadata:
            said["metadata"] = dict(self.metadata)
        if self.retry_after is not None:
            said["retry_after"] = self.retry_after
        return said

    def response(self, request_id: str) -> Response:
        """The whole answer."""
        headers = dict(self.headers)
        if self.status == 401:
            headers["WWW-Authenticate"] = CHALLENGE
        if self.status == AWAY or self.retry_after is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after or RETRY_SECONDS)))
        content = orjson.dumps(self.document(request_id))
        return Response(content, self.status, headers, MEDIA_TYPE)


def told(error: Exception) -> Refusal:
    """What is told of an error that has come all the way to a door. A fault of this process is logged."""
    refused = refusal(error)
    if refused.status == INTERNAL.status:
        if isinstance(error, grpc.aio.AioRpcError):  # logged where it happened, under the same request id
            log.warning("http.fault", code=error.code().name)
        else:
            log.error("http.fault", exc_info=error)
    return refused


def refusal(error: Exception) -> Refusal:
    """What is told of an error. Of one that is none of ours, nothing but that it is."""
    if isinstance(error, NotServed):
        return error.refusal
    if isinstance(error, Problem):
        return _from_problem(error)
    if isinstance(error, grpc.aio.AioRpcError):
        return _from_status(error)
    if isinstance(error, HTTPException) and error.status_code in (404, 405):
        detail = (
            "There is no such path." if error.status_code == 404 else "There is no such method on this path."
        )
        return Refusal(error.status_code, "UNKNOWN_METHOD", detail, headers=error.headers or {})
    return Refusal(INTERNAL.status, INTERNAL.reason, INTERNAL.detail)


def _from_problem(problem: Problem) -> Refusal:
    return Refusal(
        _status(code_of(problem), problem.reason),
        problem.reason,
        problem.message,
        problem.violations,
        problem.metadata,
        problem.retry_after,
    )


def _from_status(error: grpc.aio.AioRpcError) -> Refusal:
    """What a service's status says. Words are shown only if they are ours: grpc's own name addresses."""
    kind = KINDS.get(error.code(), INTERNAL)
    info = error_details_pb2.ErrorInfo()
    bad = error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    status = _sent_status(error)
    for detail in status.details:
        for known in (info, bad, retry):
            detail.Unpack(known)
    if info.domain != DOMAIN:
        kind = TOO_LARGE if TOO_LARGE_SAID in (error.details() or "") else kind
        return Refusal(kind.status, kind.reason, kind.detail)
    return Refusal(
        _status(error.code(), info.reason),
        info.reason,
        status.message,
        tuple(Violation(each.field, each.description, each.reason) for each in bad.field_violations),
        dict(info.metadata),
        retry.retry_delay.ToMilliseconds() / 1000 if retry.HasField("retry_delay") else None,
    )


def _sent_status(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                break
    return status_pb2.Status()


def _status(code: grpc.StatusCode, reason: str) -> int:
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return BY_REASON.get(reason, RESOURCE_EXHAUSTED)
    return BY_REASON.get(reason, KINDS[code].status if code in KINDS else INTERNAL.status)

"""What is told over HTTP of what went wrong."""

from __future__ import annotations

import grpc
import orjson
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc.aio import AioRpcError, Metadata
from starlette.exceptions import HTTPException

from libs import errors
from libs.errors import Problem, Violation
from libs.quota import QuotaExceeded
from libs.rpc.problems import internal
from libs.rpc.problems import refusal as told_by_grpc
from services.gateway.problems import NotServed, codes, refusal
from tests.rig.specimen import enum


class SessionClosed(errors.WrongState):
    """The session has ended."""

    reason = "SESSION_CLOSED"


class Busy(errors.Unavailable):
    """Full."""

    reason = "OVERLOADED"


PROBLEMS = [
    (errors.Invalid(), 400),
    (errors.Malformed(), 400),
    (errors.TooLarge(), 413),
    (errors.Missing(), 404),
    (errors.NotReady(), 404),
    (errors.Conflict(), 409),
    (SessionClosed(), 409),
    (errors.Unauthenticated(), 401),
    (errors.Denied(), 403),
    (errors.TooMuch(retry_after=2.5), 429),
    (errors.TimedOut(), 504),
    (errors.Unavailable(), 503),
    (Busy(), 503),
]


def sent(problem: Problem) -> AioRpcError:
    """A problem as a service sends it."""
    told = told_by_grpc(problem, "r1")
    return AioRpcError(told.code, Metadata(), Metadata(*told.trailers), told.message)


@pytest.mark.parametrize(("problem", "status"), PROBLEMS, ids=[type(each).__name__ for each, _ in PROBLEMS])
def test_a_problem_is_the_same_from_here_and_from_a_service(problem: Problem, status: int) -> None:
    """Each kind has one status, wherever it is raised."""
    assert status == refusal(problem).status
    assert refusal(problem) == refusal(sent(problem))


def test_the_body_says_everything_that_may_be_known() -> None:
    """RFC 9457, with a stable reason and code, the fields, and the request id."""
    problem = errors.TooMuch(
        "Slow down.",
        metadata={"class": "read"},
        violations=[Violation("a[2].b", "is odd", "x.y")],
        retry_after=2.5,
    )

    response = refusal(sent(problem)).response("r1")

    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["retry-after"] == "3"
    assert orjson.loads(response.body) == {
        "type": "urn:treering:problem:rate_limited",
        "title": "Rate limited",
        "status": 429,
        "detail": "Slow down.",
        "instance": "urn:treering:request:r1",
        "reason": "RATE_LIMITED",
        "code": "rate_limited",
        "request_id": "r1",
        "violations": [{"field": "a[2].b", "description": "is odd", "rule": "x.y"}],
        "metadata": {"class": "read"},
        "retry_after": 2.5,
    }


def test_who_is_not_known_is_told_what_to_send() -> None:
    """A 401 always says which scheme."""
    assert (
        refusal(errors.Unauthenticated()).response("r1").headers["www-authenticate"]
        == 'Bearer realm="treering"'
    )


def test_what_is_away_says_when_to_try_again() -> None:
    """A 503 has Retry-After also where nobody knows when."""
    assert refusal(errors.Unavailable()).response("r1").headers["retry-after"] == "1"


def test_a_full_quota_never_says_to_try_again() -> None:
    """A 429 has Retry-After only where waiting helps."""
    assert "retry-after" not in refusal(QuotaExceeded()).response("r1").headers


@pytest.mark.parametrize(
    ("code", "details", "status", "reason"),
    [
        (grpc.StatusCode.UNAVAILABLE, "failed to connect to ipv4:10.0.0.7:7600", 503, "UNAVAILABLE"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded", 504, "DEADLINE_EXCEEDED"),
        (grpc.StatusCode.UNKNOWN, "Unexpected <class 'KeyError'>: secret", 500, "INTERNAL"),
        (grpc.StatusCode.INTERNAL, "secret", 500, "INTERNAL"),
        (grpc.StatusCode.DATA_LOSS, "secret", 500, "INTERNAL"),
        (grpc.StatusCode.UNIMPLEMENTED, "Method not found!", 501, "UNKNOWN_METHOD"),
        (grpc.StatusCode.CANCELLED, "", 499, "CANCELLED"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "Concurrent RPC limit exceeded!", 503, "OVERLOADED"),
        (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "CLIENT: Received message larger than max (5 vs. 4)",
            413,
            "VALUE_TOO_LARGE",
        ),
    ],
)
def test_what_grpc_says_by_itself_is_not_passed_on(
    code: grpc.StatusCode, details: str, status: int, reason: str
) -> None:
    """Its words name addresses and exceptions; ours stand instead."""
    told = refusal(AioRpcError(code, Metadata(), Metadata(), details))

    assert (status, reason) == (told.status, told.reason)
    assert not details or details not in told.detail


def test_a_problem_says_when_to_try_again_whatever_its_status() -> None:
    """A result that is not ready is a 404 that is worth asking for again."""
    answer = refusal(sent(errors.NotReady(retry_after=1.2))).response("r1")

    assert (answer.status_code, answer.headers["retry-after"]) == (404, "2")
    assert "retry-after" not in refusal(sent(errors.NotReady())).response("r1").headers


def test_the_protos_may_call_a_reason_something_else() -> None:
    """For a client that knows it by another name."""
    assert codes(enum("LeafShape")) == {"UNSPECIFIED": "unspecified", "OVAL": "oval", "HEART": "lovely"}


def test_details_of_others_count_for_nothing() -> None:
    """Only a status of our own domain speaks for us."""
    status = status_pb2.Status(code=5, message="secret")
    packed = any_pb2.Any()
    packed.Pack(error_details_pb2.ErrorInfo(reason="X", domain="elsewhere"))
    status.details.append(packed)
    trailers = Metadata(("grpc-status-details-bin", status.SerializeToString()))

    assert (
        "secret" not in refusal(AioRpcError(grpc.StatusCode.NOT_FOUND, Metadata(), trailers, "secret")).detail
    )


def test_garbage_in_the_details_is_no_second_problem() -> None:
    """What cannot be read is as if it were not there."""
    trailers = Metadata(("grpc-status-details-bin", b"\xff\xff"))

    assert refusal(AioRpcError(grpc.StatusCode.NOT_FOUND, Metadata(), trailers, "")).status == 404


def test_a_fault_of_a_service_is_told_by_its_id_alone() -> None:
    """The service's own words: it is logged under the request id."""
    told = internal("r1")

    assert (
        refusal(AioRpcError(told.code, Metadata(), Metadata(*told.trailers), told.message)).status,
        "INTERNAL",
    ) == (500, "INTERNAL")


def test_a_fault_of_ours_is_told_by_nothing() -> None:
    """Not even by its name."""
    told = refusal(KeyError("secret"))

    assert (told.status, told.reason) == (500, "INTERNAL")
    assert "secret" not in told.detail
    assert "KeyError" not in told.detail


def test_what_the_door_refuses_keeps_its_headers() -> None:
    """A 405 names what is allowed, whoever says it."""
    ours = NotServed(405, "UNKNOWN_METHOD", "No.", {"Allow": "GET"})
    starlettes = HTTPException(405, headers={"Allow": "GET"})

    assert refusal(ours).response("r1").headers["allow"] == "GET"
    assert refusal(starlettes).response("r1").headers["allow"] == "GET"

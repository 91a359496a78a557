"""Messages of access become nouns, or are refused by field."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from treering.access.v1 import access_service_pb2 as pb

from libs.errors import Invalid
from services.gateway.access import wire
from services.gateway.access.keys import Key

PROFILE = UUID(int=7)


def key_request(**fields: object) -> pb.CreateKeyRequest:
    """A good request, but for what is given."""
    request = pb.CreateKeyRequest(profile_id=str(PROFILE), name="laptop")
    for name, value in fields.items():
        field = getattr(request, name)
        if isinstance(field, str):
            setattr(request, name, value)
        else:
            field.CopyFrom(value)
    return request


def test_a_request_becomes_a_draft() -> None:
    """An absent expiry is never; the name is cleaned; upper case in an id is the same id."""
    draft = wire.to_draft(key_request(name=" laptop ", profile_id=str(PROFILE).upper()))

    assert (draft.name, draft.expires_at, draft.scopes, draft.profile_id) == ("laptop", None, (), PROFILE)


@pytest.mark.parametrize(
    ("seconds", "nanos"),
    [
        (253_402_300_800, 0),
        (-62_135_596_801, 0),
        (2**63 - 1, 0),
        (-(2**63), 0),
        (1, 1_000_000_000),
        (1, -1),
        (1, 2**31 - 1),
    ],
)
def test_times_outside_of_time_are_refused(seconds: int, nanos: int) -> None:
    """Year 10000, before year 1, and nanos that are none: a bad field, not a fault of ours."""
    with pytest.raises(Invalid) as refusal:
        wire.to_draft(key_request(expires_at=Timestamp(seconds=seconds, nanos=nanos)))

    assert [each.field for each in refusal.value.violations] == ["expires_at"]


def test_the_last_moment_there_is() -> None:
    """9999-12-31T23:59:59.999999999 is a time: the last but one microsecond, which the database can keep."""
    last = Timestamp(seconds=253_402_300_799, nanos=999_999_999)

    draft = wire.to_draft(key_request(expires_at=last))

    assert draft.expires_at == datetime.max.replace(tzinfo=UTC) - timedelta.resolution


@pytest.mark.parametrize("text", ["", "x", "7", "../../etc/passwd", str(PROFILE) + "\n", "g" * 36])
def test_what_is_no_id_is_refused(text: str) -> None:
    """A bad id is a bad field."""
    with pytest.raises(Invalid, match="profile_id"):
        wire.to_draft(key_request(profile_id=text))


@pytest.mark.parametrize("text", ["", "../../etc/passwd", "a/b", "%2e", "a;drop", "a\n", "é", "x" * 65])
def test_what_cannot_name_a_key_is_refused(text: str) -> None:
    """Only letters, digits, '-' and '_'."""
    with pytest.raises(Invalid, match="key_id"):
        wire.to_key_id(pb.RevokeKeyRequest(key_id=text))


def test_absent_times_stay_absent() -> None:
    """A key that never expires and was not revoked shows neither time."""
    message = wire.key_message(
        Key("abcdefgh2345", PROFILE, "laptop", ("*",), datetime(2031, 1, 1, tzinfo=UTC))
    )

    assert not message.HasField("expires_at")
    assert not message.HasField("revoked_at")
    assert message.created_at.ToDatetime(UTC) == datetime(2031, 1, 1, tzinfo=UTC)

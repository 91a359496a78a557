"""AccessService and VerificationService through the front door."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc import error_details_pb2, status_pb2
from treering.access.v1 import access_service_pb2 as pb
from treering.access.v1 import access_service_pb2_grpc as rpc
from treering.access.v1 import verification_service_pb2 as verification_pb
from treering.access.v1 import verification_service_pb2_grpc as verification_rpc

from libs.clock import system_clock
from libs.data.master_key import load_master_key
from libs.rpc.caller import CONTEXT_KEY, Signer, service_caller
from tests.rig.house import Caller, House, unknown_id

REVOKED_WITHIN_SECONDS = 1.0
HIDDEN = ["", "  ", "x" * 256, "a\0b", "a\nb", "\x1b[31m", "a\u200bb", "a\u202eb", "\ufeffa", "a\U000e0041"]


@pytest.fixture
def access(house_site: House) -> rpc.AccessServiceStub:
    """AccessService, for whoever runs the house."""
    return house_site.admin.access


async def refused(call: Any) -> tuple[str, str, list[str]]:
    """Code, reason and the fields that are named."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    packed_status = dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"]
    assert isinstance(packed_status, bytes)
    status = status_pb2.Status.FromString(packed_status)
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for packed in status.details:
        packed.Unpack(info)
        packed.Unpack(bad)
    return caught.value.code().name, info.reason, [each.field for each in bad.field_violations]


def key_request(house: Caller, **fields: Any) -> pb.CreateKeyRequest:
    """A good request for a key of the house's profile, but for what is given."""
    request = pb.CreateKeyRequest(profile_id=house.profile_id, name="laptop")
    request.MergeFrom(pb.CreateKeyRequest(**fields))
    return request


def verification(site: House) -> tuple[verification_rpc.VerificationServiceStub, list[tuple[str, bytes]]]:
    """VerificationService, and the metadata with which a service calls it."""
    channel = grpc.aio.insecure_channel(site.grpc)
    site.stack.push_async_callback(channel.close)
    signer = Signer(load_master_key(site.home).derive, system_clock)
    signed = signer.sign(service_caller("test"), "access")
    return verification_rpc.VerificationServiceStub(channel), [(CONTEXT_KEY, signed)]


async def test_a_profile_is_found_by_its_names_however_written(access: rpc.AccessServiceStub) -> None:
    """Created where missing, returned where not; composed, decomposed and padded names are one."""
    made = await access.CreateProfile(
        pb.CreateProfileRequest(owner="Zoë", workspace="w", profile="\U0001f469\u200d\U0001f4bb")
    )
    again = await access.CreateProfile(
        pb.CreateProfileRequest(owner=" Zoe\u0308", workspace="w ", profile="\U0001f469\u200d\U0001f4bb")
    )
    read = await access.GetProfile(pb.GetProfileRequest(profile_id=made.profile.id.upper()))

    assert made.profile == again.profile == read.profile
    assert (made.profile.owner, made.profile.workspace) == ("Zoë", "w")
    assert made.profile.HasField("created_at")


async def test_many_that_make_one_profile_get_one(access: rpc.AccessServiceStub) -> None:
    """Sixty-four callers, a new owner: one profile."""
    request = pb.CreateProfileRequest(owner=unknown_id(), workspace="w", profile="p")

    made = await asyncio.gather(*(access.CreateProfile(request) for _ in range(64)))

    assert len({each.profile.id for each in made}) == 1


@pytest.mark.parametrize("field", ["owner", "workspace", "profile"])
@pytest.mark.parametrize("name", HIDDEN)
async def test_a_bad_name_is_named(access: rpc.AccessServiceStub, field: str, name: str) -> None:
    """Empty, too long, or with something that cannot be seen."""
    request = pb.CreateProfileRequest(owner=unknown_id(), workspace="w", profile="p")
    setattr(request, field, name)

    code, reason, fields = await refused(access.CreateProfile(request))

    assert (code, reason) == ("INVALID_ARGUMENT", "INVALID_FIELD")
    assert set(fields) == {field}


@pytest.mark.parametrize("profile_id", ["", "x", "../../etc/passwd", "{%s}", "urn:uuid:%s", "%s\n"])
async def test_a_bad_id_is_named(house: Caller, access: rpc.AccessServiceStub, profile_id: str) -> None:
    """A UUID has one shape; others are refused before anything is looked up."""
    written = profile_id.replace("%s", house.profile_id)

    code, _, fields = await refused(access.GetProfile(pb.GetProfileRequest(profile_id=written)))

    assert (code, set(fields)) == ("INVALID_ARGUMENT", {"profile_id"})


@pytest.mark.parametrize(
    "profile_id", ["00000000-0000-0000-0000-000000000000", unknown_id()], ids=("nil", "unknown")
)
async def test_an_unknown_profile_is_missing(access: rpc.AccessServiceStub, profile_id: str) -> None:
    """To read it and to make a key for it alike."""
    read = await refused(access.GetProfile(pb.GetProfileRequest(profile_id=profile_id)))
    made = await refused(access.CreateKey(pb.CreateKeyRequest(profile_id=profile_id, name="x")))

    assert read == made == ("NOT_FOUND", "PROFILE_NOT_FOUND", [])


async def test_a_key_calls_as_its_profile(house: Caller, house_site: House) -> None:
    """Its secret is in one answer only, and stands for owner, workspace, profile and scopes."""
    access = house_site.admin.access
    made = await access.CreateKey(key_request(house, scopes=["memory:write", "memory:read", "memory:read"]))
    profile = (await access.GetProfile(pb.GetProfileRequest(profile_id=house.profile_id))).profile
    listed = await access.ListKeys(pb.ListKeysRequest(profile_id=house.profile_id))
    stub, signed = verification(house_site)

    told = await stub.VerifyKey(verification_pb.VerifyKeyRequest(secret=made.secret), metadata=signed)

    assert (told.owner_id, told.workspace_id, told.profile_id, told.key_id) == (
        profile.owner_id,
        profile.workspace_id,
        profile.id,
        made.key.id,
    )
    assert list(told.scopes) == list(made.key.scopes) == ["memory:read", "memory:write"]
    assert made.key in listed.keys
    assert made.secret not in str(listed)


async def test_no_scopes_are_everything_but_admin(house: Caller, access: rpc.AccessServiceStub) -> None:
    """Such a key cannot make keys."""
    made = await access.CreateKey(key_request(house))
    caller = house.house.open(house.profile_id, made.key.id, made.secret)

    refusal = await refused(caller.access.CreateKey(key_request(house)))

    assert list(made.key.scopes) == ["*"]
    assert refusal == ("PERMISSION_DENIED", "SCOPE_MISSING", [])


@pytest.mark.parametrize("scope", ["internal", "memory:all", "ADMIN", "a\0b", "", "x" * 65])
async def test_an_unknown_scope_is_named(house: Caller, access: rpc.AccessServiceStub, scope: str) -> None:
    """By its place in the list."""
    code, _, fields = await refused(access.CreateKey(key_request(house, scopes=["memory:read", scope])))

    assert code == "INVALID_ARGUMENT"
    assert fields[0].startswith("scopes")


@pytest.mark.parametrize(
    "expires_at",
    [
        Timestamp(seconds=0),
        Timestamp(seconds=253_402_300_800),
        Timestamp(seconds=-62_135_596_801),
        Timestamp(seconds=2**63 - 1),
        Timestamp(seconds=4_000_000_000, nanos=1_000_000_000),
        Timestamp(seconds=4_000_000_000, nanos=-1),
    ],
)
async def test_a_bad_expiry_is_named(
    house: Caller, access: rpc.AccessServiceStub, expires_at: Timestamp
) -> None:
    """In the past, beyond the year 9999, or no time at all; nothing is kept."""
    before = await access.ListKeys(pb.ListKeysRequest(profile_id=house.profile_id))

    refusal = await refused(access.CreateKey(key_request(house, expires_at=expires_at)))

    assert refusal == ("INVALID_ARGUMENT", "INVALID_FIELD", ["expires_at"])
    assert await access.ListKeys(pb.ListKeysRequest(profile_id=house.profile_id)) == before


async def test_every_secret_that_is_not_good_is_answered_alike(house: Caller, house_site: House) -> None:
    """Unknown, garbage, the right id with another secret, expired, revoked: one code, one sentence."""
    access = house_site.admin.access
    soon = datetime.now(UTC) + timedelta(seconds=0.5)
    expired = await access.CreateKey(key_request(house, expires_at=soon))
    revoked = await access.CreateKey(key_request(house))
    await access.RevokeKey(pb.RevokeKeyRequest(key_id=revoked.key.id))
    other = await access.CreateKey(key_request(house))
    wrong = house.secret.replace(house.key_id, other.key.id)
    stub, signed = verification(house_site)
    await asyncio.sleep(0.6)

    answers: set[tuple[str, str | None]] = set()
    for secret in (expired.secret, revoked.secret, wrong, "tr_" + "a" * 64, "garbage", "é", "\n"):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.VerifyKey(verification_pb.VerifyKeyRequest(secret=secret), metadata=signed)
        answers.add((caught.value.code().name, caught.value.details()))

    assert len(answers) == 1
    assert next(iter(answers))[0] == "UNAUTHENTICATED"


async def test_only_services_may_ask_whose_a_key_is(house_site: House) -> None:
    """Not even the admin's key opens what is inside."""
    stub = house_site.admin.stub(verification_rpc.VerificationServiceStub)

    refusal = await refused(stub.VerifyKey(verification_pb.VerifyKeyRequest(secret=house_site.key)))

    assert refusal == ("PERMISSION_DENIED", "SCOPE_MISSING", [])


async def test_a_revoked_key_stops_within_a_second(house: Caller, access: rpc.AccessServiceStub) -> None:
    """Revoking again changes nothing; a key that was just used is forgotten in time."""
    made = await access.CreateKey(key_request(house, scopes=["admin"]))
    caller = house.house.open(house.profile_id, made.key.id, made.secret)
    await caller.access.ListKeys(pb.ListKeysRequest(page_size=1))

    revoked = await access.RevokeKey(pb.RevokeKeyRequest(key_id=made.key.id))
    await asyncio.sleep(REVOKED_WITHIN_SECONDS)
    refusal = await refused(caller.access.ListKeys(pb.ListKeysRequest(page_size=1)))
    again = await access.RevokeKey(pb.RevokeKeyRequest(key_id=made.key.id))

    assert refusal == ("UNAUTHENTICATED", "UNAUTHENTICATED", [])
    assert again == revoked
    assert revoked.key.HasField("revoked_at")


@pytest.mark.parametrize(
    ("key_id", "answer"),
    [
        ("nothing", ("NOT_FOUND", "KEY_NOT_FOUND", [])),
        (unknown_id(), ("NOT_FOUND", "KEY_NOT_FOUND", [])),
        ("", ("INVALID_ARGUMENT", "INVALID_FIELD", ["key_id"])),
        ("x" * 65, ("INVALID_ARGUMENT", "INVALID_FIELD", ["key_id"])),
        ("../../etc/passwd", ("INVALID_ARGUMENT", "INVALID_FIELD", ["key_id"])),
        ("a\0b", ("INVALID_ARGUMENT", "INVALID_FIELD", ["key_id"])),
    ],
    ids=("name", "unknown", "empty", "long", "path", "NUL"),
)
async def test_a_key_that_is_not_there(
    access: rpc.AccessServiceStub, key_id: str, answer: tuple[str, str, list[str]]
) -> None:
    """What could name a key and does not is missing; what could not is a bad field."""
    assert await refused(access.RevokeKey(pb.RevokeKeyRequest(key_id=key_id))) == answer


async def test_pages_hold_every_key_once(house: Caller, access: rpc.AccessServiceStub) -> None:
    """Newest first, and none twice, though others are made meanwhile."""
    made = [(await access.CreateKey(key_request(house, name=str(number)))).key for number in range(4)]

    seen: list[str] = []
    request = pb.ListKeysRequest(profile_id=house.profile_id, page_size=2)
    while True:
        page = await access.ListKeys(request)
        seen += [key.id for key in page.keys]
        await access.CreateKey(key_request(house, name="late"))
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token

    assert seen == [*(key.id for key in reversed(made)), house.key_id]


async def test_a_page_is_never_longer_than_two_hundred(house: Caller, access: rpc.AccessServiceStub) -> None:
    """0 asks for fifty, a million for two hundred."""
    for _ in range(5):
        await asyncio.gather(*(access.CreateKey(key_request(house)) for _ in range(41)))

    sizes = [
        len((await access.ListKeys(pb.ListKeysRequest(profile_id=house.profile_id, page_size=size))).keys)
        for size in (0, 1, 1_000_000)
    ]

    assert sizes == [50, 1, 200]


async def test_profiles_are_listed_in_pages(house: Caller, access: rpc.AccessServiceStub) -> None:
    """The newest first; the second page goes on after the first."""
    first = await access.ListProfiles(pb.ListProfilesRequest(page_size=1))
    newer = await access.CreateProfile(
        pb.CreateProfileRequest(owner=unknown_id(), workspace="w", profile="p")
    )
    other = await access.ListProfiles(pb.ListProfilesRequest(page_size=1))
    rest = await access.ListProfiles(pb.ListProfilesRequest(page_size=1, page_token=other.next_page_token))

    assert other.profiles[0] == newer.profile
    assert rest.profiles[0] == first.profiles[0]


async def test_a_page_token_is_good_for_its_list_only(
    house: Caller, neighbor: Caller, access: rpc.AccessServiceStub
) -> None:
    """Of another query, another rpc, another caller, altered, or made up: refused by name."""
    for _ in range(2):
        await access.CreateKey(key_request(house))
    mine = pb.ListKeysRequest(profile_id=house.profile_id, page_size=1)
    token = (await access.ListKeys(mine)).next_page_token
    admin = await access.CreateKey(key_request(neighbor, scopes=["admin"]))
    another = neighbor.house.open(neighbor.profile_id, admin.key.id, admin.secret).access
    flipped = token[:-1] + ("A" if token[-1] != "A" else "Q")

    refusals = [
        await refused(access.ListKeys(pb.ListKeysRequest(page_token=token))),
        await refused(access.ListKeys(pb.ListKeysRequest(profile_id=neighbor.profile_id, page_token=token))),
        await refused(access.ListProfiles(pb.ListProfilesRequest(page_token=token))),
        await refused(another.ListKeys(pb.ListKeysRequest(profile_id=house.profile_id, page_token=token))),
        await refused(
            access.ListKeys(pb.ListKeysRequest(profile_id=house.profile_id, page_token=token[:-20]))
        ),
        await refused(access.ListKeys(pb.ListKeysRequest(profile_id=house.profile_id, page_token=flipped))),
        await refused(access.ListKeys(pb.ListKeysRequest(page_token="garbage"))),
        await refused(access.ListKeys(pb.ListKeysRequest(page_token="x" * 513))),
    ]

    assert {(code, *fields) for code, _, fields in refusals} == {("INVALID_ARGUMENT", "page_token")}


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("CreateProfile", pb.CreateProfileRequest(owner="o", workspace="w", profile="p")),
        ("GetProfile", pb.GetProfileRequest(profile_id=unknown_id())),
        ("ListProfiles", pb.ListProfilesRequest()),
        ("CreateKey", pb.CreateKeyRequest(profile_id=unknown_id(), name="x")),
        ("ListKeys", pb.ListKeysRequest()),
        ("RevokeKey", pb.RevokeKeyRequest(key_id="x")),
    ],
)
async def test_access_is_for_admins(house: Caller, method: str, request_: Message) -> None:
    """A key without the scope learns nothing, not even what exists."""
    call = getattr(house.access, method)(request_)

    assert await refused(call) == ("PERMISSION_DENIED", "SCOPE_MISSING", [])

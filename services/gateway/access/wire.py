"""Messages of ``treering.access.v1`` to nouns and back."""

from __future__ import annotations

import re
from uuid import UUID

from treering.access.v1 import access_pb2 as pb
from treering.access.v1 import access_service_pb2 as requests
from treering.access.v1 import verification_service_pb2 as verification

from libs.errors import invalid
from libs.language.names import clean_name
from libs.messages import of_quota, to_id, to_time
from services.gateway.access.keys import Draft, Grant, Key
from services.gateway.access.profiles import NAME_CHARS_MAX, Names, Profile

KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What can stand for a key. Most of it stands for none, which is another answer."""


def to_names(request: requests.CreateProfileRequest) -> Names:
    """The names of a profile, cleaned."""
    return Names.clean(request.owner, request.workspace, request.profile)


def to_draft(request: requests.CreateKeyRequest) -> Draft:
    """What a key is to be."""
    return Draft(
        profile_id=to_id("profile_id", request.profile_id),
        name=clean_name("name", request.name, NAME_CHARS_MAX),
        scopes=tuple(request.scopes),
        expires_at=to_time("expires_at", request.expires_at) if request.HasField("expires_at") else None,
    )


def to_filter(field: str, text: str) -> UUID | None:
    """An id to select by; ``None`` for an empty text, which selects all."""
    return to_id(field, text) if text else None


def to_key_id(request: requests.RevokeKeyRequest) -> str:
    """A key's id, or ``Invalid``."""
    if not KEY_ID.fullmatch(request.key_id):
        raise invalid("key_id", "must be 1 to 64 of A-Z, a-z, 0-9, '-' and '_'", "string.pattern")
    return request.key_id


def profile_message(profile: Profile) -> pb.Profile:
    """A profile as it is shown."""
    return pb.Profile(
        id=str(profile.id),
        owner=profile.names.owner,
        workspace=profile.names.workspace,
        profile=profile.names.profile,
        owner_id=str(profile.owner_id),
        workspace_id=str(profile.workspace_id),
        created_at=profile.created_at,
    )


def key_message(key: Key) -> pb.Key:
    """A key as it is shown: without its secret, ``*`` as it was given."""
    return pb.Key(
        id=key.id,
        profile_id=str(key.profile_id),
        name=key.name,
        scopes=key.scopes,
        expires_at=key.expires_at,
        created_at=key.created_at,
        revoked_at=key.revoked_at,
    )


def verified_message(grant: Grant) -> verification.VerifyKeyResponse:
    """Whom a secret stands for."""
    return verification.VerifyKeyResponse(
        owner_id=str(grant.owner_id),
        workspace_id=str(grant.workspace_id),
        profile_id=str(grant.profile_id),
        key_id=grant.key_id,
        scopes=grant.scopes,
        expires_at=grant.expires_at,
        quota=of_quota(grant.quota),
    )

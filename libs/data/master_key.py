"""The one secret of an installation. Every other key comes from it, or is wrapped under it."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from pathlib import Path
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from libs.data.home import make_home, write_once
from libs.refusal import Refused

KEY_BYTES = 32
KEY_TEXT_BYTES_MAX = 1024
FILE_NAME = "master-key"
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class MasterKey:
    """32 secret bytes. ``id`` names them without telling anything of them."""

    __slots__ = ("_secret", "id")

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise Refused(f"The master key has {len(secret)} bytes; it must have {KEY_BYTES}.")
        self._secret = secret
        self.id = UUID(bytes=self.derive("key id")[:16])

    def derive(self, label: str) -> bytes:
        """A key of its own for each label: HKDF-SHA256 (RFC 5869), 32 bytes. Slow (10 us): derive once."""
        return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"treering " + label.encode()).derive(self._secret)

    def password(self, role: str) -> str:
        """The password of a database role."""
        return base64.urlsafe_b64encode(self.derive(f"role {role}")).decode().rstrip("=")


def load_master_key(home: Path, *, text: str = "", file: str = "") -> MasterKey:
    """The key given as text, else that in a file, else the one in ``home``, made on first start.

    The one in ``home`` must be its owner's alone. Who mounts a file, as a container's secret, sees to that.
    """
    if text:
        return MasterKey(_decode(text, "TREERING_MASTER_KEY"))
    if file:
        return _read(Path(file))[0]
    path = home / FILE_NAME
    if not path.exists():
        make_home(home)
        write_once(path, base64.b64encode(os.urandom(KEY_BYTES)) + b"\n")
    key, mode = _read(path)
    if mode & OTHERS:
        raise Refused(f"Others can read the master key {path}. Run: chmod 600 '{path}'")
    return key


def _read(path: Path) -> tuple[MasterKey, int]:
    try:
        with path.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read(KEY_TEXT_BYTES_MAX)
    except OSError as error:
        raise Refused(f"The master key {path} cannot be read: {error.strerror}.") from None
    return MasterKey(_decode(content.decode("ascii", "replace"), str(path))), mode


def _decode(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(
            text.strip(), altchars=b"-_" if set(text) & set("-_") else None, validate=True
        )
    except (binascii.Error, ValueError):
        raise Refused(f"{where} is not base64. A new key: openssl rand -base64 32") from None

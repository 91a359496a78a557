"""How ``jsonb`` and pgvector's ``halfvec`` go over the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

JSONB_VERSION = b"\x01"
HALFVEC_HEADER_BYTES = 4
HALFVEC_DIMENSION_MAX = 16_000

Vector = NDArray[np.float32]


def jsonb_out(value: Any) -> bytes:
    """A Python value as jsonb."""
    return JSONB_VERSION + orjson.dumps(value)


def jsonb_in(data: bytes) -> Any:
    """Jsonb as a Python value."""
    return orjson.loads(data[1:])


def halfvecs_out(vectors: Iterable[Vector]) -> list[bytes]:
    """Vectors for a ``halfvec[]`` argument: asyncpg would take numpy arrays for more dimensions of it."""
    return [halfvec_out(vector) for vector in vectors]


def halfvec_out(vector: Vector | bytes) -> bytes:
    """A vector in pgvector's binary form: dimension and zero (int16 each), then float16, big-endian.

    A number too large for float16 becomes infinite, which Postgres stores: check vectors before.
    """
    if isinstance(vector, bytes):
        return vector
    if vector.ndim != 1 or not 0 < vector.size <= HALFVEC_DIMENSION_MAX:
        raise ValueError(f"a vector of shape {vector.shape} is not one halfvec")
    with np.errstate(over="ignore"):
        return vector.size.to_bytes(2, "big") + b"\0\0" + vector.astype(">f2").tobytes()


def halfvec_in(data: bytes) -> Vector:
    """A vector out of pgvector's binary form."""
    return np.frombuffer(data, dtype=">f2", offset=HALFVEC_HEADER_BYTES).astype(np.float32)

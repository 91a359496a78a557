"""How values go over the wire."""

import numpy as np
import pytest

from libs.data.codecs import halfvec_in, halfvec_out


def test_halfvec_is_as_pgvector_sends_it() -> None:
    """Two int16 (dimension, zero) and float16, all big-endian: pgvector's halfvec_send, by hand."""
    sent = bytes.fromhex("0003 0000 3c00 c000 3800".replace(" ", ""))

    assert halfvec_out(np.array([1, -2, 0.5], dtype=np.float32)) == sent
    assert halfvec_in(sent).tolist() == [1.0, -2.0, 0.5]
    assert halfvec_in(sent).dtype == np.float32


@pytest.mark.parametrize("shape", [(0,), (2, 2), (16_001,)])
def test_what_is_not_one_vector_is_refused(shape: tuple[int, ...]) -> None:
    """Empty, of two dimensions, or longer than pgvector takes."""
    with pytest.raises(ValueError, match="not one halfvec"):
        halfvec_out(np.zeros(shape, dtype=np.float32))

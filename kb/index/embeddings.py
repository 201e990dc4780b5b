"""Similarity of texts that say the same in other words: vectors of terms, which ship with kb, and of entries and their causes.

A text is the sum of its terms, weighted by their information. It is compared in two ways: by the terms themselves, and by the vectors of the terms, which
are learnt so that a question is near the entry and the cause that answer it (so 显存 is near *GPU memory*). `python -m bench embed` learns and writes them.
"""

from __future__ import annotations

import json
import math
import os
from binascii import a2b_base64, b2a_base64
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import mul

from kb.index.storage import Store
from kb.startup.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kb.corpus.entry import Entry

__all__ = [
    "DIMENSIONS",
    "EMBEDDINGS_FILE",
    "TABLES",
    "Embedded",
    "Embeddings",
    "Similarity",
    "TermEmbedding",
    "cause_texts",
    "embed",
    "entry_rows",
    "own_texts",
    "read_vector",
    "shipped_rows",
    "text_weights",
    "weightiest",
    "write_vector",
]

TABLES = ("term_embeddings",)
EMBEDDINGS_FILE = os.path.join(os.path.dirname(__file__), "data", "term_embeddings.json")

DIMENSIONS = 128
"""The length of the vector of a term."""

_MAX_TERMS = 100
"""The number of a query's terms, the weightiest first, that count."""

_MAX_REPEATED = 2
"""How often a term counts in one text at most."""

_SCALE = 127
_MAX_CACHED_TERMS = 20_000
_MAX_CACHED_ENTRIES = 1_000


class TermEmbedding(NamedTuple):
    """What ships of a term: its inverse document frequency among the texts that `bench embed` reads, in nats, and its vector."""

    idf: float
    vector: Sequence[int]


class Similarity(NamedTuple):
    """Cosines of two texts: of their terms, and of their vectors."""

    terms: float
    meaning: float


class Embedded(NamedTuple):
    """A text as weighted terms, and as the sum of their vectors. Both have length 1, or 0 where no term is known."""

    weights: Mapping[str, float]
    vector: Sequence[float]

    def similarity(self, other: Embedded) -> Similarity:
        """Return how similar the two texts are."""
        weights = other.weights
        return Similarity(
            sum(weight * weights[term] for term, weight in self.weights.items() if term in weights),
            _cosine(self.vector, other.vector),
        )

    def cosines(self, vectors: Sequence[Sequence[float]]) -> tuple[float, ...]:
        """Return the cosine of the text's vector and of each of these, which have length 1."""
        return tuple(_cosine(self.vector, vector) for vector in vectors)


class Embeddings:
    """Reads the vectors of an index."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._term = lru_cache(_MAX_CACHED_TERMS)(self._read_term)
        self.entry = lru_cache(_MAX_CACHED_ENTRIES)(self._read_entry)
        """Returns the embedded title, answer and aliases of the entry with a slug."""

    def embed(self, weights: Mapping[str, float]) -> Embedded:
        """Return the embedding of a query, of whose terms these are the weights."""
        known = {term: embedding for term in weights if (embedding := self._term(term))}
        importance = {term: weights[term] * embedding.idf for term, embedding in known.items()}
        return embed(weightiest(importance), known)

    def knows(self, term: str) -> bool:
        """Tell whether the term has a vector."""
        return self._term(term) is not None

    def _read_term(self, term: str) -> TermEmbedding | None:
        row = self._store.get("term_embeddings", term)
        return TermEmbedding(row[0], read_vector(row[1])) if row else None

    def cause_vectors(self, slug: str, message: str) -> list[Sequence[float]]:
        """Return the vectors of the causes that an entry leaves open after a message, or after none where it is empty; nothing where there is no choice."""
        decided, vectors = self._store.get("cause_embeddings", slug)
        return [] if len(vectors) < 2 or message in decided else [_scaled(vector) for vector in vectors]

    def _read_entry(self, slug: str) -> Embedded:
        weights, vector = self._store.get("entry_embeddings", slug)
        return Embedded(weights, _scaled(vector))


def weightiest(importance: Mapping[str, float]) -> dict[str, float]:
    """Return the terms by which a query is compared, the weightiest first; `importance` has the weight of each times its inverse document frequency."""
    kept = sorted(importance, key=lambda term: -importance[term])[:_MAX_TERMS]
    return {term: importance[term] for term in kept}


def embed(weights: Mapping[str, float], terms: Mapping[str, TermEmbedding]) -> Embedded:
    """Return the embedding of a text, of whose terms these are the weights times the inverse document frequencies."""
    values = list(weights.values())
    by_dimension = zip(*(terms[term].vector for term in weights), strict=True)
    vector = [sum(map(mul, values, parts)) for parts in by_dimension] or [0.0] * DIMENSIONS
    return Embedded(_unit_weights(weights), _unit(vector))


def own_texts(entry: Entry) -> list[str]:
    """Return the texts of an entry that say what it is about: titles, answers and aliases in both languages."""
    from kb.text.languages import LANGUAGES

    return [text for lang in LANGUAGES for text in (entry.title[lang], entry.answer[lang], *entry.aliases[lang])]


def cause_texts(entry: Entry) -> list[str]:
    """Return what an entry says of each cause: how to know it and what to change, in both languages."""
    from kb.text.languages import LANGUAGES

    items = zip(*(entry.guidance[lang].items for lang in LANGUAGES), strict=False)
    return ["\n".join(f"{item.cause} {item.change}" for item in languages) for languages in items]


def text_weights(counts: Mapping[str, float], idf: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of a text's terms that are known, of length 1; `counts` has how often each occurs, or what it weighs."""
    return _unit_weights({term: idf[term] * min(count, _MAX_REPEATED) for term, count in counts.items() if term in idf})


def entry_rows(entry: Entry, row_of: Callable[[str], Any]) -> tuple[list[Any], list[Any]]:
    """Return what an index stores of an entry: its weighted terms and its vector; the messages that name their cause, and the vectors of the causes.

    `row_of` returns what ships of a term, or None.
    """
    from kb.text.analyzer import cached_terms

    own, causes = ([Counter(cached_terms(text)) for text in texts] for texts in (own_texts(entry), cause_texts(entry)))
    rows = {term: row for term in dict.fromkeys(chain(*own, *causes)) if (row := row_of(term))}
    idf = {term: row[0] for term, row in rows.items()}
    known = {term: TermEmbedding(row[0], read_vector(row[1])) for term, row in rows.items()}
    summed: Counter[str] = Counter()
    for count in own:
        summed.update(text_weights(count, idf))
    embedded = embed(summed, known)
    of_entry = [{term: round(weight, 4) for term, weight in embedded.weights.items()}, _written(embedded)]
    return of_entry, [list(entry.named_causes), [_written(embed(text_weights(count, idf), known)) for count in causes]]


def shipped_rows() -> dict[str, Any]:
    """Return what ships of each term: its inverse document frequency and its vectors, as an index stores them."""
    with open(EMBEDDINGS_FILE, encoding="utf-8") as file:
        rows: dict[str, Any] = json.load(file)
    return rows


def read_vector(text: str) -> Sequence[int]:
    """Return the whole numbers of a text that `write_vector` made."""
    return memoryview(a2b_base64(text)).cast("b")


def write_vector(values: Sequence[int]) -> str:
    """Return whole numbers from -127 to 127 as text."""
    return b2a_base64(bytes(value & 0xFF for value in values), newline=False).decode()


def _cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the cosine of two vectors of length 1."""
    total: float = sum(map(mul, first, second))
    return total


def _written(text: Embedded) -> str:
    return write_vector([round(value * _SCALE) for value in text.vector])


def _scaled(vector: str) -> Sequence[float]:
    return [value / _SCALE for value in read_vector(vector)]


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.hypot(*vector) or 1.0
    return [value / length for value in vector]


def _unit_weights(weights: Mapping[str, float]) -> dict[str, float]:
    return dict(zip(weights, _unit(list(weights.values())), strict=True))

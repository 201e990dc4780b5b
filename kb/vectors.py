"""What each entry says, as weighted terms, and how much a term tells: read from the store without Whoosh."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kb.store import Arrays, Blobs, StringTable, blob_sections, string_sections

__all__ = ["MESSAGE", "SATURATION", "Phrase", "Vectors", "vector_sections"]


SATURATION = 12.0
"""How slowly a term's weight in an entry saturates (BM25's k1): a title alone reaches a quarter of what is possible."""


_SHORTEST = 10.0
"""Added to the squares of a phrase, so that a single word in common does not make a short one alike."""

MESSAGE = "¶"
"""A term that begins with this is a word of an error's message, and counted among messages alone."""


class Phrase(NamedTuple):
    """A title, alias or message of an entry: its field, its terms, and a norm of how much they tell together.

    The norm is that by which `kb.guess` divides what a paste shares with it.
    """

    field: str
    norm: float
    terms: list[str]


def vector_sections(
    vectors: Sequence[Mapping[str, float]], phrases: Sequence[Sequence[tuple[str, Sequence[str]]]]
) -> dict[str, Any]:
    """Return the sections for `kb.store` of each entry's weighted terms and its phrases; entries are numbered in order."""
    lexicon: dict[str, int] = {}
    for vector, short in zip(vectors, phrases, strict=True):
        spoken = {MESSAGE + term for field, found in short if field == "message" for term in found}
        for term in (*vector, *spoken):
            lexicon[term] = lexicon.get(term, 0) + 1
    rows = [[(field, _norm(field, found, lexicon, len(vectors)), found) for field, found in short] for short in phrases]
    return {
        **string_sections("lexicon", lexicon),
        "lexicon.entries": array("I", [0, *lexicon.values()]),
        **blob_sections("vectors", vectors),
        **blob_sections("phrases", rows),
    }


class Vectors:
    """Reads what `vector_sections` wrote."""

    def __init__(self, arrays: Arrays) -> None:
        self._lexicon = StringTable(arrays, "lexicon")
        self._entries = arrays["lexicon.entries"]
        self._vectors, self._phrases = Blobs(arrays, "vectors"), Blobs(arrays, "phrases")
        self._size = len(self._vectors)

    def count(self, term: str) -> int:
        """Return in how many entries the term stands."""
        return int(self._entries[self._lexicon.number(term)])

    def idf(self, term: str) -> float:
        """Return how much the term tells, in nats: the fewer entries have it the more, and most where none has."""
        return _idf(self.count(term), self._size)

    def terms(self, number: int) -> dict[str, float]:
        """Return the weighted terms of the entry of that number."""
        found: dict[str, float] = self._vectors[number]
        return found

    def phrases(self, number: int) -> list[Phrase]:
        """Return the titles, aliases and messages of the entry of that number."""
        return [Phrase(*row) for row in self._phrases[number]]


def _idf(count: int, size: int) -> float:
    return math.log(1 + (size - count + 0.5) / (count + 0.5))


def _norm(field: str, terms: Sequence[str], lexicon: Mapping[str, int], size: int) -> float:
    """Of a message the squares of what its words tell, summed; of other phrases the length of that vector, not below a least one."""
    prefix = MESSAGE if field == "message" else ""
    squares = sum(_idf(lexicon.get(prefix + term, 0), size) ** 2 for term in terms)
    return round(squares if prefix else math.sqrt(_SHORTEST + squares), 4)

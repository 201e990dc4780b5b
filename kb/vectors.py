"""What each entry says, as weighted terms, and how much a term tells: read from the store without Whoosh."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kb.store import Arrays, Blobs, StringTable, blob_sections, string_sections

__all__ = ["MESSAGE", "SATURATION", "Said", "Vectors", "vector_sections"]


SATURATION = 8.0
"""How slowly a term's weight in an entry saturates (BM25's k1): a title alone reaches a third of what is possible."""


MESSAGE = "¶"
"""A term that begins with this is a word of an error's message, and counted among messages alone."""


class Said(NamedTuple):
    """An entry's weighted terms, and the terms of its titles, aliases and messages, each with the field's name."""

    terms: dict[str, float]
    phrases: list[tuple[str, list[str]]]


def vector_sections(
    vectors: Sequence[Mapping[str, float]], phrases: Sequence[Sequence[tuple[str, Sequence[str]]]]
) -> dict[str, Any]:
    """Return the sections for `kb.store`; entries are numbered in their order."""
    lexicon: dict[str, int] = {}
    for vector, short in zip(vectors, phrases, strict=True):
        spoken = {MESSAGE + term for field, found in short if field == "message" for term in found}
        for term in (*vector, *spoken):
            lexicon[term] = lexicon.get(term, 0) + 1
    return {
        **string_sections("lexicon", lexicon),
        "lexicon.entries": array("I", [0, *lexicon.values()]),
        **blob_sections("vectors", zip(vectors, phrases, strict=True)),
    }


class Vectors:
    """Reads what `vector_sections` wrote."""

    def __init__(self, arrays: Arrays) -> None:
        self._lexicon = StringTable(arrays, "lexicon")
        self._entries = arrays["lexicon.entries"]
        self._said = Blobs(arrays, "vectors")
        self._size = len(self._said)

    def count(self, term: str) -> int:
        """Return in how many entries the term stands."""
        return int(self._entries[self._lexicon.number(term)])

    def idf(self, term: str) -> float:
        """Return how much the term tells, in nats: the fewer entries have it the more, and most where none has."""
        count = self.count(term)
        return math.log(1 + (self._size - count + 0.5) / (count + 0.5))

    def said(self, number: int) -> Said:
        """Return what the entry of that number says."""
        return Said(*self._said[number])

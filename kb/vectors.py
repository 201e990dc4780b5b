"""What each entry says, as weighted terms, and how much a term tells: read from the store without Whoosh."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kb.store import Arrays, Blobs, StringTable, Texts

__all__ = ["MESSAGE", "SATURATION", "Phrase", "Phrases", "Vectors"]


SATURATION = 12.0
"""How slowly a term's weight in an entry saturates (BM25's k1): a title alone reaches a quarter of what is possible."""


_SHORTEST = 10.0
"""Added to the squares of a phrase, so that a single word in common does not make a short one alike."""

MESSAGE = "¶"
"""A term that begins with this is a word of an error's message, and counted among messages alone."""


_MAX_READ = 1_000
"""Entries whose phrases are kept once read."""


class Phrase(NamedTuple):
    """A title, alias or message of an entry: its field, its terms, and a norm of how much they tell together.

    The norm is that by which `kb.guess` divides what a paste shares with it.
    """

    field: str
    norm: float
    terms: list[str]


class Phrases:
    """The titles, aliases and messages of an entry."""

    def __init__(self, each: list[Phrase]) -> None:
        self.each = each
        self._having: dict[str, list[int]] = {}
        for number, phrase in enumerate(each):
            for term in phrase.terms:
                self._having.setdefault(term, []).append(number)

    def shared(self, worth: Mapping[str, float]) -> list[float]:
        """Return how much of each phrase, in their order, stands among terms of that worth: the sum over its terms divided by its norm."""
        sums = [0.0] * len(self.each)
        for term, value in worth.items():
            for number in self._having.get(term, ()):
                sums[number] += value
        return [total / (phrase.norm or 1.0) for total, phrase in zip(sums, self.each, strict=True)]


class _Told(dict[int, float]):
    """How much a term tells, in nats, by the number of entries that have it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def __missing__(self, count: int) -> float:
        self[count] = math.log(1 + (self._size - count + 0.5) / (count + 0.5))
        return self[count]


class Vectors:
    """Reads what `kb.generation` wrote of each entry's words.

    How much a phrase tells changes with every entry that comes or goes, so it is reckoned when it is asked for.
    """

    def __init__(self, arrays: Arrays, texts: Texts, size: int) -> None:
        self._lexicon = StringTable(arrays, "lexicon")
        self._entries = arrays["lexicon.entries"]
        self._vectors, self._phrases = Blobs(arrays, "vectors", texts), Blobs(arrays, "phrases", texts)
        self._told = _Told(size)
        self._read: dict[int, Phrases] = {}

    def count(self, term: str) -> int:
        """Return in how many entries the term stands."""
        return int(self._entries[self._lexicon.number(term)])

    def idf(self, term: str) -> float:
        """Return how much the term tells, in nats: the fewer entries have it the more, and most where none has."""
        return self._told[self.count(term)]

    def terms(self, number: int) -> dict[str, float]:
        """Return the weighted terms of the entry of that number."""
        found: dict[str, float] = self._vectors[number]
        return found

    def phrases(self, number: int) -> Phrases:
        """Return the titles, aliases and messages of the entry of that number."""
        found = self._read.get(number)
        if found is None:
            each = [Phrase(field, self._norm(field, numbers), terms) for field, terms, numbers in self._phrases[number]]
            if len(self._read) >= _MAX_READ:
                self._read.clear()
            found = self._read[number] = Phrases(each)
        return found

    def _norm(self, field: str, numbers: Sequence[int]) -> float:
        """Of a message the squares of what its words tell, summed; of other phrases the length of that vector, not below a least one."""
        told, entries = self._told, self._entries
        squares = sum([told[entries[number]] ** 2 for number in numbers])
        return round(squares if field == "message" else math.sqrt(_SHORTEST + squares), 4)

"""Finds entries by weighted terms: BM25F over the postings of each term, which LMDB keeps as sorted values of one size."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from heapq import nlargest
from typing import NamedTuple

from kb.index.storage import Store
from kb.index.term_vectors import SATURATION, TermVectors

__all__ = ["Candidate", "FullTextIndex"]

_MAX_POSTINGS = 6_000
"""The maximum number of postings read for one query."""

_MAX_CACHED_TERMS = 1_000
"""The maximum number of terms whose postings are kept once read: 16 bytes a posting."""

_MAX_TERMS = 60
"""The maximum number of terms of a query. Further terms of a long paste carry next to no information."""


class Candidate(NamedTuple):
    """An entry that has some of the query's terms: its slug and its BM25F score in nats."""

    slug: str
    score: float


class FullTextIndex:
    """Finds entries by weighted terms."""

    def __init__(self, store: Store, vectors: TermVectors) -> None:
        self._store = store
        self._vectors = vectors
        self._postings = lru_cache(_MAX_CACHED_TERMS)(partial(_read_postings, store))

    def search(self, weights: Mapping[str, float], limit: int) -> list[Candidate]:
        """Return the entries with the highest BM25F scores for these terms, best first; equals in the order of their slugs.

        Scores are summed term by term (term-at-a-time: Turtle and Flood 1995), the most informative terms first, until
        `_MAX_POSTINGS` postings were read. There is no length norm, because entries have similar lengths.
        """
        frequencies = {term: count for term in weights if (count := self._vectors.document_frequency(term))}
        importance = {term: weights[term] * self._vectors.idf(term) for term in frequencies}
        scores: dict[int, float] = {}
        room = _MAX_POSTINGS
        for term in sorted(importance, key=lambda term: (-importance[term], term))[:_MAX_TERMS]:
            room -= frequencies[term]
            if room < 0 and scores:
                break
            weight = importance[term]
            for number, saturated in zip(*self._postings(term), strict=True):
                scores[number] = scores.get(number, 0.0) + weight * saturated
        least = min(nlargest(limit, scores.values()), default=0.0)
        best = [(-score, self._store.get("slugs", str(number))) for number, score in scores.items() if score >= least]
        return [Candidate(slug, -score) for score, slug in sorted(best)[:limit]]


def _read_postings(store: Store, term: str) -> tuple[Sequence[int], Sequence[float]]:
    """Return the numbers of the entries that have the term, and its saturated weight in each, from 0 to 1."""
    numbers, saturated = array("L"), array("d")
    for number, weight in store.postings("postings", term):
        numbers.append(number)
        saturated.append(weight / (weight + SATURATION))
    return numbers, saturated

"""Rank entries by what a paste shares with them: BM25F, similarity of messages, titles and aliases."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kb.index.reader import Index
from kb.index.term_vectors import SATURATION, phrase_norm
from kb.search.calibration import Linear, WordsModel, model
from kb.search.message_matching import MessageMatch
from kb.search.query import Query
from kb.search.reading import Reading
from kb.search.signals import Features, entry_signals
from kb.text.analyzer import CONCEPT, message_terms

__all__ = ["compare_entries", "rank", "rank_ties", "words_model"]

CANDIDATES = 30
"""The number of entries with the highest BM25F scores that are compared more closely."""

NEAREST = 10
"""The number of entries nearest by a model of sentences that are compared as well."""

PHRASE_WEIGHT = 2.0
"""What the coverage of a title or alias counts, beside shared terms, among entries that have the same message."""

EXCESS_WEIGHT = 0.3
"""How much the information of an error beyond an entry's message counts against the entry."""

_ERRORS = frozenset(f"{CONCEPT}{name}" for name in ("error", "crash", "segfault"))
"""The concepts by which a question speaks of an error without showing it."""


def compare_entries(index: Index, reading: Reading, query: Query, *, by_sentences: bool = True) -> list[Features]:
    """Return what the most similar entries share with the paste, in no useful order; without `by_sentences` no model of sentences is asked."""
    comparison, nearness = _Comparison(index, reading, query), query.nearness if by_sentences else {}
    nearest = sorted(nearness, key=lambda slug: -nearness[slug])[:NEAREST]
    candidates = index.fulltext.search(query.weights, CANDIDATES, also=nearest)
    known = sorted(nearness[slug] for slug, _ in candidates if slug in nearness)
    middle = known[len(known) // 2] if known else None  # for an entry that the model has not learnt yet
    return [comparison.features(slug, bm25, nearness.get(slug, middle)) for slug, bm25 in candidates]


def words_model(compared: Sequence[Features]) -> WordsModel:
    """Return what was fitted for entries compared in this way: with a model of sentences, or without one."""
    return model().words if any(features.nearness is None for features in compared) else model().sentences


def rank(compared: Sequence[Features], by: Linear | None = None) -> list[tuple[float, Features]]:
    """Return the entries with their scores in nats, best first; `by` is what ships unless it is given."""
    linear = by or words_model(compared).ranking
    scored = [(linear(entry_signals(features)), features) for features in compared]
    return sorted(scored, key=lambda pair: (-pair[0], pair[1].slug))


def rank_ties(index: Index, query: Query, ties: Sequence[MessageMatch]) -> list[MessageMatch]:
    """Return matches of the same message in the order of what else the entries share with the paste, most first; of equals the most popular first."""
    popularity = model().popularity
    rest = query.rest(ties[0].hit.template.source)
    importance = {term: query.importance[term] for term in rest}

    def similarity(slug: str) -> float:
        vector = index.vectors.vector(slug)
        shared = sum(
            weight * vector[term] / (vector[term] + SATURATION) for term, weight in importance.items() if term in vector
        )
        overlaps = (phrase.overlap(importance) for phrase in index.vectors.phrases(slug))
        return shared + PHRASE_WEIGHT * max(overlaps, default=0.0)

    return sorted(ties, key=lambda match: (-round(similarity(match.slug), 9), -popularity.get(match.slug, 0)))


class _Comparison:
    """Compares one query with entries."""

    def __init__(self, index: Index, reading: Reading, query: Query) -> None:
        self._index, self._vectors = index, index.vectors
        self._has_errors = bool(reading.errors) or not _ERRORS.isdisjoint(query.importance)
        self._importance = query.importance
        idf = {term: index.vectors.idf(term) for term in query.importance}
        self._squared = {term: weight * idf[term] for term, weight in query.importance.items()}
        self._information = {term: idf[term] ** 2 for term in idf}
        self._by_importance = sorted(query.importance, key=lambda term: -query.importance[term])
        self._embedded = query.embedded
        self._length = math.hypot(*query.importance.values())
        self._total = sum(query.importance.values())
        cause = reading.root_cause()
        words = message_terms(cause.message[:400]) if cause else set()
        self._message = {word: index.vectors.message_idf(word) ** 2 for word in sorted(words)}
        self._message_total = sum(self._message.values())

    def features(self, slug: str, bm25: float, nearness: float | None) -> Features:
        message, (coverage, product) = self._messages(slug), self._titles_and_aliases(slug)
        vector = self._vectors.vector(slug)
        shared = [term for term in self._by_importance if term in vector]
        return Features(
            slug,
            bm25,
            self._total,
            message,
            coverage,
            product / (self._length or 1.0),
            tuple(shared),
            sum(self._importance[term] for term in shared) / (self._total or 1.0),
            self._embedded.similarity(self._index.embeddings.entry(slug)),
            nearness,
            model().popularity.get(slug, 0),
            self._index.summary(slug)["kind"] in ("silent", "symptom"),
            self._has_errors,
        )

    def _messages(self, slug: str) -> float:
        """Return the highest similarity of the error and a message of the entry."""
        best = 0.0
        for phrase in self._vectors.phrases(slug):
            if phrase.field == "message":
                common = sum([self._message[word] for word in phrase.terms if word in self._message])
                if common and self._of_message(common, common) > best:  # the norm is at least what both have
                    best = max(best, self._of_message(common, phrase.norm))
        return best

    def _of_message(self, common: float, norm: float) -> float:
        """Return the share of an entry's message that the error contains, by squared information; what the error says beyond it counts a little."""
        return common / (norm + EXCESS_WEIGHT * (self._message_total - common) or 1.0)

    def _titles_and_aliases(self, slug: str) -> tuple[float, float]:
        """Return the highest coverage of a title or alias by the query, and the highest product of both vectors, in which the query is not normalized.

        A norm takes as many reads as a phrase has terms, so it is asked for only where its lower bound does not rule the phrase out.
        """
        shared = [
            (sum([self._importance[term] for term in words]), phrase, words)
            for phrase in self._vectors.phrases(slug)
            if phrase.field != "message" and (words := [term for term in phrase.terms if term in self._importance])
        ]
        coverage = product = 0.0
        for covered, phrase, words in sorted(shared, key=lambda row: -row[0]):
            squared = sum([self._squared[term] for term in words])
            least = phrase_norm(sum([self._information[term] for term in words]))
            if covered / least > coverage or squared / least > product:
                coverage = max(coverage, covered / phrase.norm)
                product = max(product, squared / phrase.norm)
        return coverage, product

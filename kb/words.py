"""The Whoosh index of the entries' words, behind a small interface: weighted terms in, entries out.

BM25F as its authors defined it: an entry's term frequencies are weighted by field and added up before they saturate. So one posting list per term is
read, however many fields there are. What was pasted never meets a query parser: queries are terms.
"""

from __future__ import annotations

import json
import math
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from whoosh import index as whoosh_index
from whoosh.analysis import Token, Tokenizer
from whoosh.fields import ID, FieldType, Schema
from whoosh.formats import Frequency
from whoosh.query import Or, Term
from whoosh.scoring import BaseScorer, WeightingModel

from kb.analysis import terms
from kb.entry import LANGUAGES, Entry
from kb.store import StringTable, string_sections

__all__ = ["Candidate", "Searcher", "entry_texts", "write_words"]

WEIGHTS = {"title": 4.0, "alias": 3.0, "message": 2.5, "api": 2.0, "tag": 2.5, "slug": 3.0, "prose": 1.0, "code": 0.4}
"""How much a term counts in each field."""

_K1, _B = 1.6, 0.3
_MAX_POSTINGS = 12_000
"""Postings read for one query: the rarest terms come first, and what would go beyond is left out."""


class Candidate(NamedTuple):
    """An entry that has some of the query's terms: its number and its BM25F score."""

    entry: int
    score: float


class _Weighted(Tokenizer):  # type: ignore[misc]
    """Passes terms on that were cut and weighted before: `[(term, weight)]`."""

    def __call__(self, value: Sequence[tuple[str, float]], **_: Any) -> Iterator[Token]:
        token = Token()
        for text, weight in value:
            token.text, token.boost = text, weight
            yield token


class _Pooled(FieldType):  # type: ignore[misc]
    """A field of weighted terms."""

    def __init__(self) -> None:
        self.analyzer = _Weighted()
        self.format = Frequency()
        self.scorable = True
        self.stored = False
        self.unique = False
        self.vector = None
        self.spelling = False
        self.sortable_typecode = None
        self.column_type = None

    def index(self, value: Any, **kwargs: Any) -> Iterator[Any]:
        if not isinstance(value, list | tuple):
            raise TypeError(f"{value!r} is no list of weighted terms")
        weights: dict[str, float] = {}
        for term, weight in value:
            weights[term] = weights.get(term, 0.0) + weight
        return ((term.encode(), 1, weight, b"\0\0\0\1") for term, weight in sorted(weights.items()))


def entry_texts(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the entry's texts with the field each belongs to."""
    yield "slug", entry.id.replace("-", " ")
    for lang in LANGUAGES:
        yield "title", entry.title[lang]
        for alias in entry.aliases[lang]:
            yield "alias", alias
        yield "prose", entry.prose[lang].why
        yield "prose", entry.prose[lang].fix
    for message in entry.messages:
        yield "message", message.text
    for api in entry.apis:
        yield "api", api
    for tag in entry.tags:
        yield "tag", tag
    for case in entry.cases:
        yield "code", case.repro.source


def write_words(new: str, old: str, entries: Sequence[Entry], changed: set[str]) -> dict[str, Any]:
    """Write the Whoosh index into `new`, from `old` where there is one with only `changed` entries indexed again; return sections for the store."""
    rows = []
    vectors = []
    for entry in entries:
        vector: dict[str, float] = {}
        phrases = []
        for field, text in entry_texts(entry):
            found = terms(text)
            if field in ("title", "alias", "message"):
                phrases.append([field, sorted(set(found))])
            for term in found:
                vector[term] = vector.get(term, 0.0) + WEIGHTS[field]
        vectors.append(vector)
        rows.append({"terms": vector, "phrases": phrases})
    _write(new, entries, vectors)
    lexicon: dict[str, int] = {}
    for vector in vectors:
        for term in vector:
            lexicon[term] = lexicon.get(term, 0) + 1
    starts, blob = array("Q", [0]), bytearray()
    for row in rows:
        blob += json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
        starts.append(len(blob))
    lengths = array("d", [sum(vector.values()) for vector in vectors])
    return {
        **string_sections("lexicon", lexicon),
        "lexicon.entries": array("I", [0, *lexicon.values()]),
        "vectors.starts": starts,
        "vectors.text": bytes(blob),
        "vectors.length": lengths,
    }


def _write(folder: str, entries: Sequence[Entry], vectors: Sequence[Mapping[str, float]]) -> None:
    os.makedirs(folder)
    schema = Schema(slug=ID(stored=True, unique=True), terms=_Pooled())
    writer = whoosh_index.create_in(folder, schema).writer(limitmb=256)
    for entry, vector in zip(entries, vectors, strict=True):
        writer.add_document(slug=entry.id, terms=list(vector.items()))
    writer.commit()


class _Saturated(WeightingModel):  # type: ignore[misc]
    """BM25 over pooled weights, without a length norm that the entries' like lengths make needless."""

    def __init__(self, idf: Mapping[str, float]) -> None:
        self._idf = idf

    def scorer(self, searcher: Any, fieldname: str, text: bytes, qf: float = 1) -> BaseScorer:
        return _Scorer(self._idf[text.decode()])


class _Scorer(BaseScorer):  # type: ignore[misc]
    def __init__(self, idf: float) -> None:
        self._idf = idf

    def supports_block_quality(self) -> bool:
        return False

    def score(self, matcher: Any) -> float:
        weight = matcher.weight()
        return float(self._idf * weight * (_K1 + 1) / (weight + _K1))

    def max_quality(self) -> float:
        return self._idf * (_K1 + 1)


class Searcher:
    """Find entries by weighted terms."""

    def __init__(self, index: Any) -> None:
        arrays = index.arrays
        self._index = index
        self._searcher = whoosh_index.open_dir(os.path.join(index.folder, "words")).searcher()
        self._lexicon = StringTable(arrays, "lexicon")
        self._entries = arrays["lexicon.entries"]
        self._starts, self._text = arrays["vectors.starts"], arrays["vectors.text"]
        self.size = len(index)

    def idf(self, term: str) -> float:
        """Return how much the term tells, in nats: what the share of entries that have it leaves open; a term that none has tells the most."""
        number = self._lexicon.number(term)
        count = self._entries[number] if number else 0
        return math.log(1 + (self.size - count + 0.5) / (count + 0.5))

    def known(self, term: str) -> bool:
        """Tell whether an entry has the term."""
        return bool(self._lexicon.number(term))

    def count(self, term: str) -> int:
        """Return in how many entries the term stands."""
        number = self._lexicon.number(term)
        return int(self._entries[number]) if number else 0

    def search(self, weights: Mapping[str, float], limit: int) -> list[Candidate]:
        """Return the entries with the highest BM25F score for these terms, best first."""
        idf = {term: weight * self.idf(term) for term, weight in weights.items() if self.known(term)}
        chosen, room = [], _MAX_POSTINGS
        for term in sorted(idf, key=lambda term: -idf[term]):
            room -= self.count(term)
            if chosen and room < 0:
                continue
            chosen.append(term)
        if not chosen:
            return []
        query = Or([Term("terms", term) for term in chosen])
        found = self._searcher
        found.weighting = _Saturated(idf)
        results = found.search(query, limit=limit)
        return [Candidate(self._index.number(hit["slug"]), float(hit.score)) for hit in results]

    def entry(self, number: int) -> dict[str, Any]:
        """Return the entry's weighted terms (`terms`) and the terms of its titles, aliases and messages (`phrases`)."""
        loaded: dict[str, Any] = json.loads(bytes(self._text[self._starts[number] : self._starts[number + 1]]))
        return loaded

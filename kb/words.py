"""The Whoosh index of the entries' words, behind a small interface: weighted terms in, entries out.

BM25F as its authors defined it: an entry's term frequencies are weighted by field and added up before they saturate. So
one posting list per term is read, however many fields there are. What was pasted never meets a query parser: queries
are terms.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from pathlib import Path
from typing import Any, NamedTuple

from whoosh import index as whoosh_index
from whoosh.analysis import Token, Tokenizer
from whoosh.fields import ID, FieldType, Schema
from whoosh.formats import Frequency

from kb.analysis import message_terms, terms
from kb.entry import LANGUAGES, Entry
from kb.query import calls_in
from kb.vectors import MESSAGE, SATURATION, Vectors

__all__ = ["FOLDER", "Candidate", "Searcher", "Weighed", "entry_texts", "weighed", "write_words"]

FOLDER = "words"
"""The folder of the Whoosh index below that of an index."""

WEIGHTS = {
    "title": 4.0,
    "alias": 2.5,
    "slug": 3.0,
    "message": 2.5,
    "tag": 2.5,
    "api": 2.0,
    "prose": 1.0,
    "trace": 3.0,
    "code": 0.4,
}
"""How much a term counts in each field."""

_MAX_POSTINGS = 6_000
"""Postings read for one query."""

_MAX_KEPT = 200_000
"""Postings kept once read, by term: 16 bytes each."""

_MAX_TERMS = 60
"""Terms asked in one query: those of a long paste beyond that tell next to nothing."""

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


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

    def index(self, value: Any, **_: Any) -> Iterator[Any]:
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


class Weighed(NamedTuple):
    """What an entry says: its terms with their weights, and the terms of each title, alias and message with their field."""

    vector: dict[str, float]
    phrases: list[tuple[str, list[str]]]

    def counted(self) -> set[str]:
        """Return the terms that count as the entry's: those of its vector, and apart from them the words of its messages."""
        spoken = (MESSAGE + term for field, found in self.phrases if field == "message" for term in found)
        return {*self.vector, *spoken}


def weighed(entry: Entry, printed: Mapping[str, str]) -> Weighed:
    """Return what the entry says; `printed` is what each case's repro printed."""
    vector: dict[str, float] = {}
    phrases = []
    for field, text in [*entry_texts(entry), *_traces(entry, printed)]:
        found = terms(text)
        if field == "message":
            phrases.append((field, sorted(message_terms(_PLACEHOLDER.sub(" ", text.partition(": ")[2] or text)))))
        elif field in ("title", "alias"):
            phrases.append((field, sorted(set(found))))
        for term in found:
            vector[term] = vector.get(term, 0.0) + WEIGHTS[field]
    return Weighed(vector, phrases)


def _traces(entry: Entry, printed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the functions that the repros' tracebacks go through: a paste whose last lines are missing still has those."""
    for case in entry.cases:
        yield "trace", calls_in(printed.get(case.id, ""))


def write_words(
    folder: Path, gone: Iterable[str], new: Mapping[str, Mapping[str, float]], old: Path | None = None
) -> None:
    """Write the Whoosh index into `folder`: that in the folder `old`, if any, without the slugs `gone` and with the weighted terms of the new ones.

    Whoosh's segments never change, so those of `old` are linked; which of their entries are gone stands in its table of
    contents, which is written anew.
    """
    from kb.growing import link_or_copy

    folder.mkdir()
    if old:
        for path in old.iterdir():
            if path.suffix in (".seg", ".toc"):
                link_or_copy(path, folder / path.name)
        opened = whoosh_index.open_dir(str(folder))
    else:
        opened = whoosh_index.create_in(str(folder), Schema(slug=ID(stored=True, unique=True), terms=_Pooled()))
    writer = opened.writer(limitmb=256)
    for slug in gone:
        writer.delete_by_term("slug", slug)
    for slug, vector in new.items():
        writer.add_document(slug=slug, terms=list(vector.items()))
    writer.commit(mergetype=_merge_small)


def _merge_small(writer: Any, segments: Sequence[Any]) -> list[Any]:
    """Merge small segments as Whoosh does, but never the largest: that is what an index built anew is for."""
    from whoosh.writing import MERGE_SMALL

    *small, largest = sorted(segments, key=lambda segment: segment.doc_count_all()) or [None]
    return [*MERGE_SMALL(writer, small), *([largest] if largest else [])]


class Searcher:
    """Finds entries by weighted terms."""

    def __init__(self, folder: str, vectors: Vectors, number: Callable[[str], int]) -> None:
        self._reader = whoosh_index.open_dir(f"{folder}/{FOLDER}").reader()
        self._segments = list(self._reader.leaf_readers())
        self._vectors = vectors
        self._number = number
        self._read: dict[str, tuple[Sequence[int], Sequence[float]]] = {}
        self._kept = 0

    def search(self, weights: Mapping[str, float], limit: int) -> list[Candidate]:
        """Return the entries with the highest BM25F score for these terms, best first; equals in the order of their slugs.

        The terms that tell the most are asked, as many as stand in no more than `_MAX_POSTINGS` entries together. So few
        postings are added up term by term faster than Whoosh's matchers walk them document by document, and the sums do
        not depend on which segment an entry is in. There is no length norm: the entries' like lengths make it needless.
        """
        counts = {term: count for term in weights if (count := self._vectors.count(term))}
        worth = {term: weights[term] * self._vectors.idf(term) for term in counts}
        scores: dict[int, float] = {}
        room = _MAX_POSTINGS
        for term in sorted(worth, key=lambda term: -worth[term])[:_MAX_TERMS]:
            room -= counts[term]
            if room >= 0 or not scores:
                of_term = worth[term]
                for document, share in zip(*self._postings(term), strict=True):
                    scores[document] = scores.get(document, 0.0) + of_term * share
        least = min(nlargest(limit, scores.values()), default=0.0)
        best = [(-score, self._slug(document)) for document, score in scores.items() if score >= least]
        return [Candidate(self._number(slug), -score) for score, slug in sorted(best)[:limit]]

    def _postings(self, term: str) -> tuple[Sequence[int], Sequence[float]]:
        """Return the documents that have the term, and how saturated it is in each, from 0 to 1."""
        found = self._read.get(term)
        if found is None:
            documents, shares = array("L"), array("d")
            for segment, offset in self._segments:
                if ("terms", term) in segment:
                    matcher = segment.postings("terms", term)
                    while matcher.is_active():
                        weight = matcher.weight()
                        documents.append(offset + matcher.id())
                        shares.append(weight / (weight + SATURATION))
                        matcher.next()
            if self._kept > _MAX_KEPT:
                self._read.clear()
                self._kept = 0
            found = self._read[term] = documents, shares
            self._kept += len(documents)
        return found

    def _slug(self, document: int) -> str:
        return str(self._reader.stored_fields(document)["slug"])

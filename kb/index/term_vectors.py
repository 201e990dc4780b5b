"""What each entry says as weighted terms, and how much information a term carries: read from LMDB, without Whoosh."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kb.index.storage import Store, WriteBuffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.corpus.entry import Entry

__all__ = [
    "SATURATION",
    "TABLES",
    "EntryTerms",
    "Phrase",
    "Phrases",
    "TermVectors",
    "entry_terms",
    "entry_texts",
    "index_terms",
    "remove_terms",
]

TABLES = ("entry_terms", "document_frequency")

SATURATION = 12.0
"""BM25's k1. It is high, so a title alone reaches a quarter of the maximum weight of a term."""

FIELD_WEIGHTS = {
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
"""The weight of a term's occurrence in each field (BM25F: Robertson, Zaragoza and Taylor 2004)."""

MESSAGE_PREFIX = "¶"
"""A term with this prefix is a word of an error message. Its document frequency counts messages alone."""

_NORM_OFFSET = 10.0
"""Added to the squared length of a phrase, so that one common word does not make a short phrase similar."""

_MAX_CACHED_ENTRIES = 1_000
_MAX_CACHED_TERMS = 100_000
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


class EntryTerms(NamedTuple):
    """The terms of an entry with their weights, and the terms of each title, alias and message with its field."""

    vector: dict[str, float]
    phrases: list[tuple[str, list[str]]]

    def distinct(self) -> set[str]:
        """Return the terms that count for document frequencies: those of the vector, and the words of messages with a prefix."""
        message_words = (MESSAGE_PREFIX + term for field, terms in self.phrases if field == "message" for term in terms)
        return {*self.vector, *message_words}


class Phrase(NamedTuple):
    """A title, alias or message of an entry: its field, its norm, and its terms.

    The norm of a message is the sum of the squared information of its words; that of a title or alias is the length of
    that vector.
    """

    field: str
    norm: float
    terms: list[str]


class Phrases:
    """The titles, aliases and messages of an entry, with an inverted index of their terms."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        self.phrases = phrases
        self._containing: dict[str, list[int]] = {}
        for number, phrase in enumerate(phrases):
            for term in phrase.terms:
                self._containing.setdefault(term, []).append(number)

    def overlaps(self, weights: Mapping[str, float]) -> list[float]:
        """Return for each phrase the summed weights of its terms, divided by its norm."""
        sums = [0.0] * len(self.phrases)
        for term, weight in weights.items():
            for number in self._containing.get(term, ()):
                sums[number] += weight
        return [total / (phrase.norm or 1.0) for total, phrase in zip(sums, self.phrases, strict=True)]


class TermVectors:
    """Reads the terms of entries and the statistics of all terms."""

    def __init__(self, store: Store, size: int) -> None:
        self._store, self._size = store, size
        self._entries: dict[str, tuple[dict[str, float], Phrases]] = {}
        self._idf: dict[str, float] = {}

    def document_frequency(self, term: str) -> int:
        """Return the number of entries that contain the term."""
        count: int = self._store.get("document_frequency", term) or 0
        return count

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of the term in nats, as in BM25; a term that no entry contains has the highest."""
        idf = self._idf.get(term)
        if idf is None:
            count = self.document_frequency(term)
            idf = math.log(1 + (self._size - count + 0.5) / (count + 0.5))
            if len(self._idf) >= _MAX_CACHED_TERMS:
                self._idf.clear()
            self._idf[term] = idf
        return idf

    def message_idf(self, word: str) -> float:
        """Return the inverse document frequency, among messages, of a word of an error message."""
        return self.idf(MESSAGE_PREFIX + word)

    def vector(self, slug: str) -> dict[str, float]:
        """Return the weighted terms of an entry."""
        return self._entry(slug)[0]

    def phrases(self, slug: str) -> Phrases:
        """Return the titles, aliases and messages of an entry."""
        return self._entry(slug)[1]

    def _entry(self, slug: str) -> tuple[dict[str, float], Phrases]:
        entry = self._entries.get(slug)
        if entry is None:
            vector, rows = self._store.get("entry_terms", slug)
            phrases = Phrases([Phrase(field, self._norm(field, terms), terms) for field, terms in rows])
            if len(self._entries) >= _MAX_CACHED_ENTRIES:
                self._entries.clear()
            entry = self._entries[slug] = vector, phrases
        return entry

    def _norm(self, field: str, terms: Sequence[str]) -> float:
        if field == "message":
            return sum(self.message_idf(term) ** 2 for term in terms)
        return math.sqrt(_NORM_OFFSET + sum(self.idf(term) ** 2 for term in terms))


def entry_texts(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the texts of an entry with the field that each belongs to."""
    from kb.text.languages import LANGUAGES

    yield "slug", entry.id.replace("-", " ")
    for lang in LANGUAGES:
        yield "title", entry.title[lang]
        for alias in entry.aliases[lang]:
            yield "alias", alias
        yield "prose", entry.prose(lang)
    for message in entry.messages:
        yield "message", message.text
    for api in entry.apis:
        yield "api", api
    for tag in entry.tags:
        yield "tag", tag
    for case in entry.cases:
        yield "code", case.repro.source


def entry_terms(entry: Entry, printed: Mapping[str, str]) -> EntryTerms:
    """Return the terms of an entry; `printed` maps a case to what its repro printed."""
    from kb.text.analyzer import called_functions, message_terms, terms

    vector: dict[str, float] = {}
    phrases = []
    traces = [("trace", called_functions(printed.get(case.id, ""))) for case in entry.cases]
    for field, text in [*entry_texts(entry), *traces]:
        in_text = terms(text)
        if field == "message":
            phrases.append((field, sorted(message_terms(_PLACEHOLDER.sub(" ", text.partition(": ")[2] or text)))))
        elif field in ("title", "alias"):
            phrases.append((field, sorted(set(in_text))))
        for term in in_text:
            vector[term] = round(vector.get(term, 0.0) + FIELD_WEIGHTS[field], 4)
    return EntryTerms(vector, phrases)


def index_terms(buffer: WriteBuffer, slug: str, terms: EntryTerms) -> None:
    """Add the terms of one entry."""
    buffer.put("entry_terms", slug, terms)
    for term in terms.distinct():
        buffer.add("document_frequency", term, 1)


def remove_terms(buffer: WriteBuffer, slug: str) -> None:
    """Remove the terms of one entry."""
    row: Any = buffer.get("entry_terms", slug)
    for term in EntryTerms(*row).distinct():
        buffer.add("document_frequency", term, -1)
    buffer.put("entry_terms", slug, None)

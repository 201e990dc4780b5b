"""What each entry says as weighted terms, and how much information a term carries: read from LMDB, without Whoosh."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache

from kb.index.storage import Store, WriteBuffer
from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.corpus.entry import Entry

__all__ = [
    "SATURATION",
    "TABLES",
    "EntryTerms",
    "Phrase",
    "TermVectors",
    "count_terms",
    "entry_terms",
    "entry_texts",
    "phrase_norm",
]

TABLES = ("document_frequency",)

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
_PLACEHOLDER = lazy_pattern(r"\{[^{}]*\}")


class EntryTerms(NamedTuple):
    """The terms of an entry with their weights, and the terms of each title, alias and message with its field."""

    vector: dict[str, float]
    phrases: list[tuple[str, list[str]]]


class Phrase:
    """A title, alias or message of an entry: its field and its terms, of which `idf` tells the information."""

    def __init__(self, field: str, terms: list[str], idf: Callable[[str], float]) -> None:
        self.field, self.terms, self._idf = field, terms, idf

    @cached_property
    def norm(self) -> float:
        """The sum of the squared information of a message's words; of a title or alias the length of that vector."""
        squared = sum(self._idf(term) ** 2 for term in self.terms)
        return squared if self.field == "message" else phrase_norm(squared)

    def overlap(self, weights: Mapping[str, float]) -> float:
        """Return the summed weights of its terms, divided by its norm."""
        shared = [weights[term] for term in self.terms if term in weights]
        return sum(shared) / (self.norm or 1.0) if shared else 0.0


def phrase_norm(squared: float) -> float:
    """Return the norm of a title or alias from the sum of the squared information of its terms, or a lower bound from that of some of them."""
    return math.sqrt(_NORM_OFFSET + squared)


class TermVectors:
    """Reads the terms of entries and the statistics of all terms."""

    def __init__(self, store: Store, size: int) -> None:
        self._store, self._size = store, size
        self.idf = lru_cache(_MAX_CACHED_TERMS)(self._read_idf)
        """Returns the inverse document frequency of a term in nats, as in BM25; a term that no entry contains has the highest."""
        self._entry = lru_cache(_MAX_CACHED_ENTRIES)(self._read_entry)

    def document_frequency(self, term: str) -> int:
        """Return the number of entries that contain a term."""
        count: int = self._store.get("document_frequency", term) or 0
        return count

    def message_idf(self, word: str) -> float:
        """Return the inverse document frequency, among messages, of a word of an error message."""
        return self.idf(MESSAGE_PREFIX + word)

    def vector(self, slug: str) -> dict[str, float]:
        """Return the weighted terms of an entry."""
        return self._entry(slug)[0]

    def phrases(self, slug: str) -> list[Phrase]:
        """Return the titles, aliases and messages of an entry."""
        return self._entry(slug)[1]

    def _read_idf(self, term: str) -> float:
        count = self.document_frequency(term)
        return math.log(1 + (self._size - count + 0.5) / (count + 0.5))

    def _read_entry(self, slug: str) -> tuple[dict[str, float], list[Phrase]]:
        vector, rows = self._store.get("entry_terms", slug)
        idf = {"message": self.message_idf}
        return vector, [Phrase(field, terms, idf.get(field, self.idf)) for field, terms in rows]


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
    from kb.text.analyzer import cached_terms, called_functions, message_terms

    vector: dict[str, float] = {}
    phrases = []
    traces = [("trace", called_functions(printed.get(case.id, ""))) for case in entry.cases]
    for field, text in [*entry_texts(entry), *traces]:
        in_text = cached_terms(text)
        if field == "message":
            phrases.append((field, sorted(message_terms(_PLACEHOLDER.sub(" ", text.partition(": ")[2] or text)))))
        elif field in ("title", "alias"):
            phrases.append((field, sorted(set(in_text))))
        for term in in_text:
            vector[term] = round(vector.get(term, 0.0) + FIELD_WEIGHTS[field], 4)
    return EntryTerms(vector, phrases)


def count_terms(buffer: WriteBuffer, terms: EntryTerms, step: int = 1) -> None:
    """Add the terms of one entry to the document frequencies, or remove them (`step` is -1)."""
    message_words = (MESSAGE_PREFIX + term for field, terms_ in terms.phrases if field == "message" for term in terms_)
    for term in {*terms.vector, *message_words}:
        buffer.count("document_frequency", term, step)

"""The Whoosh index of the entries' weighted terms: BM25F over one stock field.

The field's analyzer is Whoosh's own: terms stand in the indexed text as `term^weight`. Pasted text never meets a query
parser, because a query is a set of analyzed terms.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from heapq import nlargest

from kb.index.storage import StorageError
from kb.index.term_vectors import SATURATION, TermVectors
from kb.startup.light_import import light_import
from kb.startup.named_tuple import NamedTuple

with light_import():
    from whoosh import index as whoosh_index
    from whoosh.analysis import DelimitedAttributeFilter, SpaceSeparatedTokenizer
    from whoosh.codec.whoosh3 import W3Codec  # noqa: F401 - else opening an index would import it, and the rest of Whoosh with it
    from whoosh.fields import ID, TEXT, Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

__all__ = ["FOLDER", "Candidate", "FullTextIndex", "write_fulltext"]

FOLDER = "fulltext"
"""The folder of the Whoosh index below that of a generation."""

_MAX_POSTINGS = 6_000
"""The maximum number of postings read for one query."""

_MAX_CACHED_TERMS = 1_000
"""The maximum number of terms whose postings are kept once read: 16 bytes a posting."""

_MAX_CACHED_SLUGS = 1_000

_MAX_TERMS = 60
"""The maximum number of terms of a query. Further terms of a long paste carry next to no information."""


class Candidate(NamedTuple):
    """An entry that has some of the query's terms: its slug and its BM25F score in nats."""

    slug: str
    score: float


def write_fulltext(
    folder: Path, removed: Iterable[str], added: Mapping[str, Mapping[str, float]], previous: Path | None = None
) -> None:
    """Write the Whoosh index into `folder`: that of `previous`, if given, without the slugs `removed` and with the weighted terms of `added`.

    Whoosh's segments are immutable, so those of `previous` are linked. Deletions stand in its table of contents.
    """
    from whoosh.filedb.filestore import FileStorage

    class ReproducibleStorage(FileStorage):  # type: ignore[misc] # Whoosh has no types
        """Lists files by name and without their times, because Whoosh packs both: the same entries give the same bytes."""

        def list(self) -> list[str]:
            return sorted(super().list())

        def file_modified(self, name: str) -> float:  # noqa: ARG002 - Whoosh calls it
            return 0.0

    folder.mkdir()
    storage = ReproducibleStorage(str(folder))
    if previous:
        for path in previous.iterdir():
            if path.suffix in (".seg", ".toc"):
                _link_or_copy(path, folder / path.name)
        opened = storage.open_index()
    else:
        analyzer = SpaceSeparatedTokenizer() | DelimitedAttributeFilter(delimiter="^", attribute="boost", type=float)
        schema = Schema(slug=ID(stored=True, unique=True), terms=TEXT(analyzer=analyzer, phrase=False))
        opened = storage.create_index(schema)
    writer = opened.writer(limitmb=256)
    for slug in removed:
        writer.delete_by_term("slug", slug)
    for slug, vector in added.items():
        writer.add_document(slug=slug, terms=" ".join(f"{term}^{weight:g}" for term, weight in sorted(vector.items())))
    writer.commit(mergetype=_merge_small)


class FullTextIndex:
    """Finds entries by weighted terms."""

    def __init__(self, folder: str, vectors: TermVectors) -> None:
        try:
            self._reader = whoosh_index.open_dir(folder).reader()
        except (whoosh_index.IndexError, OSError) as error:
            raise StorageError(f"{folder} cannot be read ({error})") from error
        self._vectors = vectors
        self._segments = list(self._reader.leaf_readers())
        self._postings = lru_cache(_MAX_CACHED_TERMS)(partial(_read_postings, self._segments))
        self._slug = lru_cache(_MAX_CACHED_SLUGS)(self._read_slug)

    def search(self, weights: Mapping[str, float], limit: int, also: Sequence[str] = ()) -> list[Candidate]:
        """Return the entries with the highest BM25F scores for these terms, best first; equals in the order of their slugs.

        Those of `also` come after them, if the index has them.

        Scores are summed term by term (term-at-a-time: Turtle and Flood 1995), the most informative terms first, until
        `_MAX_POSTINGS` postings were read. For a corpus of this size that takes an eighth of the time of Whoosh's own
        document-at-a-time `search()` at equal accuracy. There is no length norm, because entries have similar lengths.
        """
        frequencies = {term: count for term in weights if (count := self._vectors.document_frequency(term))}
        importance = {term: weights[term] * self._vectors.idf(term) for term in frequencies}
        scores = [0.0] * self._reader.doc_count_all()
        room = _MAX_POSTINGS
        for term in sorted(importance, key=lambda term: (-importance[term], term))[:_MAX_TERMS]:
            room -= frequencies[term]
            if room < 0 and any(scores):
                break
            weight = importance[term]
            for document, saturated in zip(*self._postings(term), strict=True):
                scores[document] += weight * saturated
        least = min(nlargest(limit, scores), default=0.0)
        best = [(-score, self._slug(document)) for document, score in enumerate(scores) if score and score >= least]
        candidates = [Candidate(slug, -score) for score, slug in sorted(best)[:limit]]
        known = {candidate.slug for candidate in candidates}
        further = {slug: self._document(slug) for slug in also if slug not in known}
        return candidates + [Candidate(slug, scores[number]) for slug, number in further.items() if number is not None]

    def _document(self, slug: str) -> int | None:
        for segment, offset in self._segments:
            if ("slug", slug) in segment and (matcher := segment.postings("slug", slug)).is_active():
                return int(offset + matcher.id())
        return None

    def _read_slug(self, document: int) -> str:
        return str(self._reader.stored_fields(document)["slug"])


def _read_postings(segments: Sequence[Any], term: str) -> tuple[Sequence[int], Sequence[float]]:
    """Return the documents that have the term, and its saturated weight in each, from 0 to 1."""
    documents, saturated = array("L"), array("d")
    for segment, offset in segments:
        if ("terms", term) in segment:
            matcher = segment.postings("terms", term)
            while matcher.is_active():
                weight = matcher.weight()
                documents.append(offset + matcher.id())
                saturated.append(weight / (weight + SATURATION))
                matcher.next()
    return documents, saturated


def _merge_small(writer: Any, segments: Sequence[Any]) -> list[Any]:
    """Merge small segments as Whoosh does, but never the largest one, which only a full build rewrites."""
    from whoosh.writing import MERGE_SMALL

    *small, largest = sorted(segments, key=lambda segment: segment.doc_count_all()) or [None]
    return [*MERGE_SMALL(writer, small), *([largest] if largest else [])]


def _link_or_copy(source: Path, target: Path) -> None:
    """Give an immutable file a second name, or copy it where the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        import shutil

        shutil.copyfile(source, target)

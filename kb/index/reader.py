"""An opened index: templates, full text, spelling, and what is shown of each entry. Each part is loaded when it is first used."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from kb.index.storage import StorageError, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.index.document import EntryDocument, EntrySummary
    from kb.index.fulltext import FullTextIndex
    from kb.index.spelling import Speller
    from kb.index.template_index import TemplateIndex
    from kb.index.term_vectors import TermVectors

__all__ = ["META_KEY", "Index", "Meta"]

META_KEY = "meta"


class Meta(NamedTuple):
    """What an index says of itself: its entries that have messages, the number of the next entry, and the entries changed since it was built from scratch.

    `has_slug_conflict` says that several entries claim the same slug.
    """

    with_messages: int = 0
    next_number: int = 0
    changed: int = 0
    has_slug_conflict: bool = False


class Index:
    """The index in one file. Threads and forked processes may share it."""

    def __init__(self, path: str) -> None:
        """Open the index; raises `StorageError` if it is missing, incomplete, or of another format."""
        self.path = path
        self.store = Store.open(path)
        try:
            self.meta = Meta(*self.store.get("meta", META_KEY))
        except (TypeError, ValueError) as error:
            raise StorageError(f"{path} holds no index of this version") from error

    def __len__(self) -> int:
        return self.store.size("summaries")

    def resolve(self, slug: str) -> str:
        """Return the slug of the entry that has this slug or had it before; KeyError if there is none."""
        current: str | None = self.store.get("redirects", slug)
        if current is None:
            raise KeyError(slug)
        return current

    def slugs(self) -> list[str]:
        """Return the slugs of all entries in order."""
        return [slug for slug, current in self.store.items("redirects") if slug == current]

    def summary(self, slug: str) -> EntrySummary:
        """Return title, kind and explain line of the entry with exactly this slug."""
        summary: EntrySummary = self.store.get("summaries", slug)
        return summary

    def summaries(self) -> list[EntrySummary]:
        """Return the summaries of all entries in the order of their slugs."""
        return [summary for _, summary in self.store.items("summaries")]

    def document(self, slug: str) -> EntryDocument:
        """Return what is shown of the entry, found by its slug or an old one, with the titles of related entries.

        KeyError if there is no such entry.
        """
        document: EntryDocument = self.store.get("documents", self.resolve(slug))
        related = [self.store.get("redirects", entry["id"]) for entry in document["related"]]
        document["related"] = [{"id": other, "title": self.summary(other)["title"]} for other in related if other]
        return document

    def source_path(self, slug: str) -> str:
        """Return the file of the entry with exactly this slug, or the empty string."""
        source: dict[str, Any] | None = self.store.get("sources", slug)
        return str(source["path"]) if source else ""

    @property
    def manifest(self) -> str:
        """The manifest of the files that the index is made of (see `kb.index.freshness`)."""
        return str(self.store.get("meta", "manifest") or "")

    @cached_property
    def templates(self) -> TemplateIndex:
        """The templates of all messages."""
        from kb.index.template_index import TemplateIndex

        return TemplateIndex(self.store, self.meta.with_messages)

    @cached_property
    def vectors(self) -> TermVectors:
        """The weighted terms of each entry, and the statistics of all terms."""
        from kb.index.term_vectors import TermVectors

        return TermVectors(self.store, len(self))

    @cached_property
    def fulltext(self) -> FullTextIndex:
        """The postings of all terms."""
        from kb.index.fulltext import FullTextIndex

        return FullTextIndex(self.store, self.vectors)

    @cached_property
    def speller(self) -> Speller:
        """The spelling corrector."""
        from kb.index.spelling import Speller

        return Speller(self.store)

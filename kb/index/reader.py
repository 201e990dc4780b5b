"""An opened index: templates, full text, spelling, and what is shown of each entry. Each part is loaded when it is first used."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from kb.index.storage import StorageError, open_store
from kb.startup.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kb.documents.shapes import EntryDocument, EntryHead, MessagesDocument
    from kb.index.embeddings import Embeddings
    from kb.index.fulltext import FullTextIndex
    from kb.index.sentences import SentenceModel
    from kb.index.spelling import Speller
    from kb.index.template_index import TemplateIndex
    from kb.index.term_vectors import TermVectors
    from kb.text.lexer import Token

__all__ = ["META_KEY", "STORE", "Index", "Meta"]

STORE = "index.mdb"
META_KEY = "meta"


class Meta(NamedTuple):
    """What an index says of itself: its entries, those of them that have messages, and those changed since it was built from scratch.

    `has_slug_conflict` says that several entries claim the same slug, `has_faults` that some file had faults when it was read, and perhaps still has.
    """

    size: int = 0
    with_messages: int = 0
    changed: int = 0
    has_slug_conflict: bool = False
    has_faults: bool = False


class Index:
    """The index in one folder. Threads and forked processes may share it."""

    def __init__(self, folder: str) -> None:
        """Open the index; raises `StorageError` if it is missing, incomplete, or of another format."""
        self.folder = folder
        self.store = open_store(os.path.join(folder, STORE))
        try:
            self.meta = Meta(*self.store.get("meta", META_KEY))
            self.store.get("messages", "")  # KeyError if an older version made the index, without that table
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"{folder} holds no index of this version") from error

    def __len__(self) -> int:
        return self.meta.size

    def resolve(self, slug: str) -> str:
        """Return the slug of the entry that has this slug or had it before; KeyError if there is none."""
        current: str | None = self.store.get("redirects", slug)
        if current is None:
            raise KeyError(slug)
        return current

    def slugs(self) -> list[str]:
        """Return the slugs of all entries in order."""
        return self.store.keys("summaries")

    def summary(self, slug: str) -> EntryHead:
        """Return title, kind and explain line of the entry with exactly this slug."""
        summary: EntryHead = self.store.get("summaries", slug)
        return summary

    def summaries(self) -> list[EntryHead]:
        """Return the summaries of all entries in the order of their slugs."""
        return [summary for _, summary in self.store.items("summaries")]

    def messages(self, slug: str) -> MessagesDocument:
        """Return what a match needs of the messages of an entry."""
        messages: MessagesDocument = self.store.get("messages", slug)
        return messages

    def document(self, slug: str) -> EntryDocument:
        """Return what is shown of the entry, found by its slug or an old one, with the titles of related entries.

        KeyError if there is no such entry.
        """
        document: EntryDocument = self.store.get("documents", self.resolve(slug))
        related = [self.store.get("redirects", entry["id"]) for entry in document["related"]]
        document["related"] = [{"id": other, "title": self.summary(other)["title"]} for other in related if other]
        return document

    def documents(self) -> list[EntryDocument]:
        """Return what is shown of each entry in the order of their slugs, related entries without titles."""
        return [document for _, document in self.store.items("documents")]

    def source_path(self, slug: str) -> str:
        """Return the file of the entry with exactly this slug, or the empty string."""
        source: dict[str, Any] | None = self.store.get("sources", slug)
        return str(source["path"]) if source else ""

    @property
    def manifest(self) -> str:
        """The manifest of the files that the index is made of (see `kb.index.freshness`)."""
        return str(self.store.get("meta", "manifest") or "")

    def is_made_of(self, manifest: str) -> bool:
        """Tell whether it is the manifest of this index, which is stored without the characters that UTF-8 does not have."""
        return self.manifest == manifest.encode("utf-8", "replace").decode("utf-8")

    def asked(self, tokens: Sequence[Token]) -> str:
        """Return the slug of the one entry of which the whole text is a title, an alias or a message without its values, or the empty string."""
        from kb.index.questions import find_question

        return find_question(self.store, tokens)

    @cached_property
    def templates(self) -> TemplateIndex:
        """The templates of all messages."""
        from kb.index.template_index import TemplateIndex

        return TemplateIndex(self.store, self.meta.with_messages)

    @cached_property
    def vectors(self) -> TermVectors:
        """The weighted terms of each entry, and the statistics of all terms."""
        from kb.index.term_vectors import TermVectors

        return TermVectors(self.store, self.meta.size)

    @cached_property
    def embeddings(self) -> Embeddings:
        """The vectors by which texts without a common word are compared."""
        from kb.index.embeddings import Embeddings

        return Embeddings(self.store)

    @cached_property
    def sentences(self) -> SentenceModel | None:
        """The model of sentences by which texts are compared with entries, or None where none is installed."""
        from kb.index.sentences import sentence_model

        return sentence_model()

    @cached_property
    def fulltext(self) -> FullTextIndex:
        """The Whoosh index. Loading it imports Whoosh."""
        from kb.index.fulltext import FOLDER, FullTextIndex

        return FullTextIndex(os.path.join(self.folder, FOLDER), self.vectors)

    @cached_property
    def speller(self) -> Speller:
        """The spelling corrector."""
        from kb.index.spelling import Speller

        return Speller(self.store)

"""Write a generation of the index: all entries at once, or the previous generation with some entries removed and some added.

What an entry contributes are rows that follow from it alone, so an index that followed changes step by step answers as one
that was built at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kb.corpus.entry import Entry
from kb.corpus.ledger import Ledgers
from kb.index.document import make_document, make_summary
from kb.index.reader import META_KEY, Index, Meta
from kb.index.spelling import word_counts, word_rows
from kb.index.storage import Row, Store, write_store
from kb.index.template_index import message_rows
from kb.index.term_vectors import EntryTerms, entry_terms, term_rows

__all__ = ["SlugConflictError", "write_generation"]

_SHARED_TABLES = ("first_words", "deletions")
"""Tables whose rows several entries share. Their rows stay when an entry goes, because a row that leads to nothing changes no answer."""


class SlugConflictError(Exception):
    """Two entries claim the same slug. Which of them gets it is decided among all entries."""


def write_generation(
    path: str,
    manifest: str,
    added: Sequence[Entry],
    ledgers: Ledgers,
    *,
    removed: Sequence[str] = (),
    previous: Index | None = None,
    has_slug_conflict: bool = False,
) -> None:
    """Write the index of `previous` without the slugs `removed` and with the entries `added` into the file; an entry that changed is in both.

    `manifest` says which files the index is made of. `has_slug_conflict` says that an entry was left out because another
    has its slug. Raises `SlugConflictError` if a change reveals one; nothing is written then.
    """
    meta = previous.meta if previous else Meta()
    with write_store(path, previous.path if previous else "", len(added)) as store:
        with_messages = meta.with_messages
        for slug in removed:
            names = (slug, *store.get("documents", slug)["also"])
            source = store.get("sources", slug)
            with_messages -= bool(source["messages"])
            rows = _rows(store, slug, source, EntryTerms(*store.get("terms", slug)))
            store.delete([row for row in rows if row[0] not in _SHARED_TABLES])
            store.delete(("redirects", name, slug) for name in names)
            store.delete((table, slug, None) for table in ("documents", "summaries", "sources", "terms"))
        has_slug_conflict |= _claim_slugs(store, added)
        if has_slug_conflict and previous:
            raise SlugConflictError
        printed = ledgers.printed()
        for number, entry in enumerate(added, meta.next_number):
            terms = entry_terms(entry, printed)
            source = {
                "number": number,
                "path": str(entry.path),
                "messages": [message.text for message in entry.messages],
                "words": word_counts(entry),
            }
            with_messages += bool(entry.messages)
            store.put(_rows(store, entry.id, source, terms))
            store.put(
                [
                    ("documents", entry.id, make_document(entry, ledgers)),
                    ("summaries", entry.id, make_summary(entry)),
                    ("sources", entry.id, source),
                    ("terms", entry.id, list(terms)),
                ]
            )
        meta = Meta(
            with_messages,
            meta.next_number + len(added),
            meta.changed + len({*removed, *(entry.id for entry in added)}) if previous else 0,
            has_slug_conflict,
        )
        store.put([("meta", META_KEY, list(meta)), ("meta", "manifest", manifest)])


def _rows(store: Store, slug: str, source: dict[str, Any], terms: EntryTerms) -> Iterator[Row]:
    """Yield by what an entry is found."""
    number = source["number"]
    yield "slugs", str(number), slug
    yield from message_rows(slug, number, source["messages"])
    yield from word_rows(store, number, source["words"])
    yield from term_rows(number, terms)


def _claim_slugs(store: Store, entries: Sequence[Entry]) -> bool:
    """Let slugs and old slugs lead to entries, an entry's own slug first; tell whether two entries claim the same one."""
    conflict = False
    for entry in entries:
        for name in (entry.id, *entry.also):
            owner = store.get("redirects", name)
            conflict |= owner is not None and (name == entry.id or owner != entry.id)
            if owner is None or name == entry.id:
                store.put([("redirects", name, entry.id)])
    return conflict

"""Write a generation of the index: all entries at once, or the previous generation with some entries removed and some added.

Both ways lead through `write_generation`, so an index that followed changes step by step answers as one that was built at once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kb.corpus.entry import Entry
from kb.corpus.ledger import Ledgers
from kb.documents.making import make_document, make_messages, make_summary
from kb.index import embeddings, questions, spelling, template_index, term_vectors
from kb.index.fulltext import FOLDER, write_fulltext
from kb.index.reader import META_KEY, STORE, Index, Meta
from kb.index.storage import WriteBuffer, write_store

__all__ = ["SlugConflictError", "write_generation"]


_ENTRY_TABLES = ("documents", "summaries", "messages", "sources", "entry_terms", "entry_embeddings", "cause_embeddings")
"""The tables with one row for each entry."""

_TABLES = (
    "meta",
    "redirects",
    *_ENTRY_TABLES,
    *template_index.TABLES,
    *term_vectors.TABLES,
    *embeddings.TABLES,
    *questions.TABLES,
    *spelling.TABLES,
)


class SlugConflictError(Exception):
    """Two entries claim the same slug. Which of them gets it is decided among all entries."""


def write_generation(
    folder: Path,
    manifest: str,
    added: Sequence[Entry],
    ledgers: Ledgers,
    *,
    removed: Sequence[str] = (),
    previous: Index | None = None,
    has_slug_conflict: bool = False,
    has_faults: bool = False,
) -> None:
    """Write the index of `previous` without the slugs `removed` and with the entries `added` into `folder`; an entry that changed is in both.

    `manifest` says which files the index is made of. `has_slug_conflict` says that an entry was left out because another
    has its slug, `has_faults` that a file has faults. Raises `SlugConflictError` if a change reveals a conflict; the folder is of no use then.
    """
    buffer = WriteBuffer(_TABLES, previous.store if previous else None)
    meta = previous.meta if previous else Meta()
    for slug in removed:
        meta = _count(buffer, slug, meta, -1)
        for name in (slug, *buffer.get("documents", slug)["also"]):
            buffer.put("redirects", name, None)
        for table in _ENTRY_TABLES:
            buffer.put(table, slug, None)
    has_slug_conflict |= _claim_slugs(buffer, added)
    if has_slug_conflict and previous:
        raise SlugConflictError
    printed = ledgers.printed()
    vectors = {}
    if not previous:
        buffer.changes["term_embeddings"] = embeddings.shipped_rows()
    term_row = partial(buffer.get, "term_embeddings")
    for entry in added:
        terms = term_vectors.entry_terms(entry, printed)
        vectors[entry.id] = terms.vector
        messages = [message.text for message in entry.messages]
        words, asked = spelling.word_counts(entry), questions.questions(entry)
        source = {"path": str(entry.path), "messages": messages, "words": words, "questions": asked}
        embedded = embeddings.entry_rows(entry, term_row)
        rows = make_document(entry, ledgers), make_summary(entry), make_messages(entry), source, terms, *embedded
        for table, row in zip(_ENTRY_TABLES, rows, strict=True):
            buffer.put(table, entry.id, row)
        meta = _count(buffer, entry.id, meta, 1)
    changed = meta.changed + len({*removed, *vectors}) if previous else 0
    meta = meta._replace(changed=changed, has_slug_conflict=has_slug_conflict, has_faults=has_faults or meta.has_faults)
    buffer.put("meta", META_KEY, meta)
    buffer.put("meta", "manifest", manifest)
    write_fulltext(folder / FOLDER, removed, vectors, Path(previous.folder, FOLDER) if previous else None)
    write_store(str(folder / STORE), buffer.changes, os.path.join(previous.folder, STORE) if previous else "")


def _count(buffer: WriteBuffer, slug: str, meta: Meta, step: int) -> Meta:
    """Add what an entry contributes to the tables of all entries, or take it away (`step` is -1)."""
    source = buffer.get("sources", slug)
    template_index.count_messages(buffer, slug, source["messages"], step)
    spelling.count_words(buffer, source["words"], step)
    questions.count_questions(buffer, slug, source["questions"], step)
    term_vectors.count_terms(buffer, term_vectors.EntryTerms(*buffer.get("entry_terms", slug)), step)
    with_messages = meta.with_messages + step * bool(source["messages"])
    return meta._replace(size=meta.size + step, with_messages=with_messages)


def _claim_slugs(buffer: WriteBuffer, entries: Sequence[Entry]) -> bool:
    """Let slugs and old slugs lead to entries, an entry's own slug first; tell whether two entries claim the same one."""
    conflict = False
    for entry in entries:
        conflict |= buffer.get("redirects", entry.id) is not None
        buffer.put("redirects", entry.id, entry.id)
    own = {entry.id for entry in entries}
    for entry in entries:
        for old_slug in entry.also:
            conflict |= buffer.get("redirects", old_slug) not in (None, entry.id)
            if old_slug not in own:
                buffer.put("redirects", old_slug, entry.id)
    return conflict

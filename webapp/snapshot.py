"""Entries, ledgers and index as one immutable snapshot, and the provider that loads a new one when files change.

This module, `webapp.presenters` and `webapp.answer_view` are the only ones of the web application that know how kb stores and looks up entries.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from kb.corpus.entry import Case, Entry
from kb.corpus.kinds import KINDS
from kb.corpus.ledger import Ledgers, load_ledgers
from kb.corpus.loader import Corpus, entry_folders, load
from kb.corpus.versions import release, sort_key
from kb.index.freshness import manifest
from kb.index.manager import open_index
from kb.index.reader import Index
from kb.search.answer import Answer, Match
from kb.search.lookup import lookup
from kb.text.languages import Lang
from kb.verify.version_drift import Printed, ReleaseRun, printed_by, release_runs
from webapp.feedback import public_words

__all__ = ["Answer", "Lookup", "Match", "Snapshot", "SnapshotProvider", "SnapshotSource", "lookup_in"]

log = logging.getLogger("webapp")
_WARM_UP = "显存 out of memory"
"""A query that makes the look-up load what it needs for words of both languages."""


class Lookup(Protocol):
    """`kb.lookup` bound to one open index."""

    def __call__(self, text: str, *, lang: Lang | None = None, limit: int = 5) -> Answer:
        """Return the answer to a pasted text: at most `limit` matches."""
        ...


@dataclass(frozen=True)
class Snapshot:
    """One consistent state of all entries. `version` changes when an entry or a ledger does."""

    corpus: Corpus
    ledgers: Ledgers
    lookup: Lookup
    version: str = ""

    def case(self, case_id: str) -> tuple[Entry, Case] | None:
        """Return the entry and its case of that id (`slug` or `slug/name`), or None."""
        entry = self.corpus.get(case_id.partition("/")[0])
        case = next((case for case in entry.cases if case.id == case_id), None) if entry else None
        return (entry, case) if entry and case else None

    @cached_property
    def topics(self) -> dict[str, list[Entry]]:
        """Entries by topic, in alphabetical order of topics."""
        topics: dict[str, list[Entry]] = {}
        for entry in sorted(self.corpus, key=lambda entry: (entry.topic, entry.id)):
            topics.setdefault(entry.topic, []).append(entry)
        return topics

    @cached_property
    def kinds(self) -> dict[str, list[Entry]]:
        """Entries by kind, for the kinds that there are, each in the order of topics."""
        listed = [entry for entries in self.topics.values() for entry in entries]
        kinds = {kind: [entry for entry in listed if entry.kind == kind] for kind in KINDS}
        return {kind: entries for kind, entries in kinds.items() if entries}

    @cached_property
    def tags(self) -> dict[str, list[Entry]]:
        """Entries by tag, the most frequent tag first."""
        tags: dict[str, list[Entry]] = {}
        for entry in self.corpus:
            for tag in entry.tags:
                tags.setdefault(tag, []).append(entry)
        return dict(sorted(tags.items(), key=lambda item: (-len(item[1]), item[0])))

    @cached_property
    def verified_cases(self) -> int:
        """The number of cases whose programs are in a ledger exactly as they are now."""
        return sum(self.ledgers.state(case) == "verified" for entry in self.corpus for case in entry.cases)

    @cached_property
    def case_count(self) -> int:
        """The number of cases of all entries, verified or not."""
        return sum(len(entry.cases) for entry in self.corpus)

    @cached_property
    def public_words(self) -> frozenset[str]:
        """The words that the entries publish, lower-cased."""
        return public_words(self.corpus)

    @cached_property
    def torch_versions(self) -> tuple[str, ...]:
        """The releases of torch that verified cases ran on, oldest first."""
        releases = {
            release(record.torch)
            for entry in self.corpus
            for case in entry.cases
            for record in self.ledgers.records(case)
        }
        return tuple(sorted(releases, key=sort_key))

    @cached_property
    def release_runs(self) -> list[ReleaseRun]:
        """The releases of torch that have CPU records, newest first, each with what changed since the one before."""
        return release_runs(self.ledgers)

    def printed_by(self, entry: Entry) -> Printed:
        """Return which releases printed which message of an entry."""
        if entry.id not in self._printed:
            self._printed[entry.id] = printed_by(entry, self.ledgers)
        return self._printed[entry.id]

    @cached_property
    def _printed(self) -> dict[str, Printed]:
        return {}


class SnapshotSource(Protocol):
    """Whatever gives the current snapshot."""

    def current(self) -> Snapshot:
        """Return the snapshot to answer from."""
        ...


class SnapshotProvider:
    """Holds the current `Snapshot`, and loads a new one in the background when an entry or a ledger has changed."""

    def __init__(self, folders: Iterable[Path] | None = None, *, refresh_seconds: float = 2.0) -> None:
        self.folders = entry_folders() if folders is None else tuple(folders)
        self.refresh_seconds = refresh_seconds
        self._refreshing = threading.Lock()
        self._next_check = time.monotonic() + refresh_seconds
        self._snapshot = _load(self.folders)

    def current(self) -> Snapshot:
        """Return the newest snapshot. At most every `refresh_seconds` this starts a check for changed files."""
        if self.refresh_seconds and time.monotonic() >= self._next_check and self._refreshing.acquire(blocking=False):
            self._next_check = time.monotonic() + self.refresh_seconds
            threading.Thread(target=self._refresh_and_release, name="refresh", daemon=True).start()
        return self._snapshot

    def refresh(self) -> bool:
        """Load a new snapshot if a file changed. Return whether one had."""
        if _version(self.folders) == self._snapshot.version:
            return False
        self._snapshot = _load(self.folders)
        log.info("entries changed: %d loaded", len(self._snapshot.corpus))
        return True

    def _refresh_and_release(self) -> None:
        try:
            self.refresh()
        except Exception as error:  # noqa: BLE001 - the current snapshot goes on serving, whatever is wrong with the new one
            log.error("entries changed and cannot be loaded (%s); those from before stay", error)  # noqa: TRY400 - one line says it
        finally:
            self._refreshing.release()


def lookup_in(folders: Iterable[Path]) -> Lookup:
    """Return a look-up in the index of these folders, which is built where needed."""
    return _lookup_with(open_index(folders))


def _lookup_with(index: Index) -> Lookup:
    def look_up(text: str, *, lang: Lang | None = None, limit: int = 5) -> Answer:
        return lookup(text, lang=lang, limit=limit, index=index)

    return look_up


def _load(folders: tuple[Path, ...]) -> Snapshot:
    version = _version(folders)  # before anything is read, so that what changes meanwhile is noticed later
    index = open_index(folders)
    corpus = load(folders)
    for fault in corpus.faults:
        log.warning("left out: %s", fault)
    look_up = _lookup_with(index)
    look_up(_WARM_UP)  # now, because otherwise the first reader would wait for it
    return Snapshot(corpus, load_ledgers(folders), look_up, version)


def _version(folders: tuple[Path, ...]) -> str:
    return manifest([str(folder) for folder in folders])

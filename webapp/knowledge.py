"""What the pages are made of: corpus, ledgers and index as one snapshot, taken again when files change."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from kb.answer import Answer, lookup
from kb.corpus import Corpus, entry_folders, load
from kb.entry import Case, Entry, Lang
from kb.index import open_index
from kb.ledger import Ledgers, load_ledgers
from kb.stamps import listing
from webapp.misses import vocabulary

__all__ = ["Knowledge", "Library"]

log = logging.getLogger("webapp")


class Lookup(Protocol):
    """`kb.lookup` over one open index."""

    def __call__(self, text: str, *, lang: Lang | None = None, limit: int = 5) -> Answer: ...


@dataclass(frozen=True)
class Knowledge:
    """One consistent state of all entries. `stamp` changes when they do."""

    corpus: Corpus
    ledgers: Ledgers
    lookup: Lookup
    stamp: str = ""
    _templates: dict[str, str] = field(default_factory=dict, repr=False)

    def template(self, case: Case) -> str:
        """Return the message that the case's repro printed when it was last run, as the template that it matches; empty when none does."""
        if case.id not in self._templates:
            printed = next((found.printed for found in self.ledgers.records(case)), "")
            matches = self.lookup(printed, limit=1).matches if printed else ()
            self._templates[case.id] = matches[0].evidence.template if matches and matches[0].id == case.entry else ""
        return self._templates[case.id]

    @cached_property
    def topics(self) -> dict[str, list[Entry]]:
        """Entries by topic, in alphabetical order of topics."""
        found: dict[str, list[Entry]] = {}
        for entry in sorted(self.corpus, key=lambda entry: (entry.topic, entry.id)):
            found.setdefault(entry.topic, []).append(entry)
        return found

    @cached_property
    def tags(self) -> dict[str, list[Entry]]:
        """Entries by tag, the commonest tag first."""
        found: dict[str, list[Entry]] = {}
        for entry in self.corpus:
            for tag in entry.tags:
                found.setdefault(tag, []).append(entry)
        return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))

    @cached_property
    def verified_cases(self) -> int:
        """The number of cases whose programs stand in a ledger just as they are."""
        return sum(self.ledgers.state(case) == "verified" for entry in self.corpus for case in entry.cases)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The words that the entries publish."""
        return vocabulary(self.corpus)

    @cached_property
    def torch_versions(self) -> tuple[str, ...]:
        """The torch versions that verified cases ran on, without a build's suffix, oldest first."""
        found = {
            proof.torch.partition("+")[0]
            for entry in self.corpus
            for case in entry.cases
            for proof in self.ledgers.records(case)
        }
        return tuple(sorted(found, key=_version_key))


class Library:
    """Holds the current `Knowledge` and takes it again, in the background, when an entry or a ledger has changed."""

    def __init__(self, folders: Iterable[Path] | None = None, *, refresh_seconds: float = 2.0) -> None:
        self.folders = entry_folders() if folders is None else tuple(folders)
        self.refresh_seconds = refresh_seconds
        self._lock = threading.Lock()
        self._next_look = time.monotonic() + refresh_seconds
        self._knowledge = _take(self.folders)

    def current(self) -> Knowledge:
        """Return what is known now; at most every `refresh_seconds` this looks for changed files."""
        if self.refresh_seconds and time.monotonic() >= self._next_look and self._lock.acquire(blocking=False):
            self._next_look = time.monotonic() + self.refresh_seconds
            threading.Thread(target=self._refresh_and_release, name="refresh", daemon=True).start()
        return self._knowledge

    def refresh(self) -> bool:
        """Take the knowledge again if a file changed; return whether one had."""
        if listing(map(str, self.folders)) == self._knowledge.stamp:
            return False
        self._knowledge = _take(self.folders)
        log.info("entries changed: %d loaded", len(self._knowledge.corpus))
        return True

    def _refresh_and_release(self) -> None:
        try:
            self.refresh()
        except Exception as error:  # noqa: BLE001 - the knowledge at hand goes on serving, whatever is wrong with the new one
            log.error("entries changed and cannot be loaded (%s); those from before stay", error)  # noqa: TRY400 - one line says it
        finally:
            self._lock.release()


def _take(folders: tuple[Path, ...]) -> Knowledge:
    index = open_index(folders)
    corpus = load(folders)
    for fault in corpus.faults:
        log.warning("left out: %s", fault)

    def ask(text: str, *, lang: Lang | None = None, limit: int = 5) -> Answer:
        return lookup(text, lang=lang, limit=limit, index=index)

    ask(
        "显存 out of memory"
    )  # loads what words of both languages need now, before workers fork and before anyone waits for it
    return Knowledge(corpus, load_ledgers(folders), ask, index.listing)


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())

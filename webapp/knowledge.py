"""What the pages are made of: corpus, ledgers and index as one snapshot, taken again when files change."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kb.corpus import Corpus, entry_files, entry_folders
from kb.corpus import load as load_corpus
from kb.entry import Entry, Lang
from kb.ledger import Ledgers, load_ledgers

if TYPE_CHECKING:
    from kb.answer import Answer

__all__ = ["Knowledge", "Library"]

log = logging.getLogger("webapp")


class Lookup(Protocol):
    """`kb.lookup` over one open index."""

    def __call__(self, text: str, *, lang: Lang | None = None, limit: int = 5) -> Answer: ...


@dataclass(frozen=True)
class Knowledge:
    """One consistent state of all entries. `stamp` changes when they do; `pages` keeps what was rendered from this state."""

    corpus: Corpus
    ledgers: Ledgers
    lookup: Lookup
    stamp: str = ""
    pages: dict[tuple[str, ...], tuple[bytes, str]] = field(default_factory=dict, repr=False)

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
    def torch_versions(self) -> tuple[str, ...]:
        """The torch versions that verified cases ran on, without a build's suffix, oldest first."""
        found = {proof.torch.partition("+")[0] for entry in self.corpus for case in entry.cases for proof in self.ledgers.records(case)}
        return tuple(sorted(found, key=_version_key))


class Library:
    """Holds the current `Knowledge` and takes it again, in the background, when an entry or a ledger has changed."""

    def __init__(self, folders: Iterable[Path] | None = None, *, refresh_seconds: float = 2.0) -> None:
        self.folders = entry_folders() if folders is None else tuple(folders)
        self.refresh_seconds = refresh_seconds
        self._lock = threading.Lock()
        self._next_look = time.monotonic() + refresh_seconds
        self._knowledge = self._take(self._fingerprint())

    def current(self) -> Knowledge:
        """Return what is known now; at most every `refresh_seconds` this looks for changed files."""
        if self.refresh_seconds and time.monotonic() >= self._next_look and self._lock.acquire(blocking=False):
            self._next_look = time.monotonic() + self.refresh_seconds
            threading.Thread(target=self._refresh_and_release, name="refresh", daemon=True).start()
        return self._knowledge

    def refresh(self) -> bool:
        """Take the knowledge again if a file changed; return whether one had."""
        stamp = self._fingerprint()
        if stamp == self._knowledge.stamp:
            return False
        self._knowledge = self._take(stamp)
        log.info("entries changed: %d loaded", len(self._knowledge.corpus))
        return True

    def _refresh_and_release(self) -> None:
        try:
            self.refresh()
        except Exception as error:  # the knowledge at hand goes on serving, whatever is wrong with the new one
            log.error("entries changed and cannot be loaded (%s); the ones from before stay", type(error).__name__)
        finally:
            self._lock.release()

    def _fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=12)
        for folder in self.folders:
            for path in (*entry_files(folder), *sorted((folder / "verified").glob("*.json"))):
                stat = path.stat()
                digest.update(f"{path}\0{stat.st_mtime_ns}\0{stat.st_size}\n".encode())
        return digest.hexdigest()

    def _take(self, stamp: str) -> Knowledge:
        from kb.answer import lookup
        from kb.index import open_index

        index = open_index(self.folders)
        corpus = load_corpus(self.folders)
        for fault in corpus.faults:
            log.warning("left out: %s", fault)

        def ask(text: str, *, lang: Lang | None = None, limit: int = 5) -> Answer:
            return lookup(text, lang=lang, limit=limit, index=index)

        return Knowledge(corpus, load_ledgers(self.folders), ask, stamp)


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())

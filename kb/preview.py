"""One entry while it is being written: what can be read of its file, what is wrong with it, and how its programs ran last."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import sandbox
from kb.check import check
from kb.corpus import Corpus, load, shown
from kb.entry import Entry, Fault
from kb.folder import placed, settings
from kb.index import open_index
from kb.ledger import Ledgers, case_hash, load_ledgers
from kb.parse import parse, parse_unfinished
from kb.stamps import listing
from kb.verify import Verdict, select, verify

__all__ = ["Look", "Preview", "Trial"]

_EVERY = 0.25
"""Seconds between two looks at the files."""


@dataclass(frozen=True, slots=True)
class Look:
    """The file as it stands. `corpus` holds the entry among all others, as far as it can be read; `lines` are those of the file."""

    entry: Entry
    corpus: Corpus
    ledgers: Ledgers
    faults: tuple[Fault, ...]
    lines: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """A run of the entry's cases. `proves` identifies the programs and messages that it ran; `why` says what kept it from running."""

    state: Literal["running", "done", "broken"]
    proves: tuple[object, ...]
    verdicts: tuple[Verdict, ...] = ()
    where: str = ""
    why: str = ""


class Preview:
    """Watches a file and runs its programs when asked. `version` changes whenever there is something new to see."""

    def __init__(self, path: Path, folders: Sequence[Path], *, backend: str = "auto") -> None:
        self.path = path.resolve()
        self.folders = tuple(folders)
        self.backend = backend
        self.version = 0
        self.trial: Trial | None = None
        self._lock = threading.Lock()
        self._cancel = threading.Event()
        self._others: tuple[str, Corpus, Ledgers] | None = None
        self._seen: tuple[int, int, str] | None = None
        self._look: Look | None = None

    def look(self) -> Look:
        """Return the file as it stands now; it is read again only when it, or another entry, has changed."""
        with self._lock:
            seen = self._stamp()
            if self._look is None or seen != self._seen:
                self._look = self._read(seen[2])
                self._seen = seen
                self.version += 1
            return self._look

    def wait(self, version: int, seconds: float) -> bool:
        """Look again and again until there is something newer than `version`, for at most so many seconds; return whether there is."""
        until = time.monotonic() + seconds
        self.look()
        while self.version == version and time.monotonic() < until and not self._cancel.wait(_EVERY):
            self.look()
        return self.version != version

    def proves(self, entry: Entry) -> tuple[object, ...]:
        """Return what a run of the entry as it stands would prove: programs and messages."""
        return (*map(case_hash, entry.cases), *(message.text for message in entry.messages), entry.kind)

    def run(self) -> bool:
        """Begin to verify the entry in the sandbox, and return at once; False when a run is under way or the file is not whole."""
        look = self.look()
        with self._lock:
            if not look.whole or (self.trial and self.trial.state == "running"):
                return False
            self._tell(Trial("running", self.proves(look.entry)))
        threading.Thread(target=self._verify, args=(look,), name="preview", daemon=True).start()
        return True

    @property
    def closed(self) -> bool:
        """Whether the preview has ended."""
        return self._cancel.is_set()

    def close(self) -> None:
        """End what waits and what runs."""
        self._cancel.set()

    def _tell(self, trial: Trial) -> None:
        self.trial = trial
        self.version += 1

    def _verify(self, look: Look) -> None:
        proves = self.proves(look.entry)
        try:
            done = verify(
                look.corpus,
                select(look.corpus, [look.entry.id]),
                open_index(self.folders),
                backend=self.backend,
                cancel=self._cancel,
            )
            where = f"torch {done.environment.torch}, {done.environment.backend}" if done.environment else ""
            trial = Trial("done", proves, done.verdicts, where)
        except sandbox.SandboxError as error:
            trial = Trial("broken", proves, why=str(error))
        except Exception as error:  # noqa: BLE001 - the page says it; a thread that dies would leave it saying "running"
            trial = Trial("broken", proves, why=f"{type(error).__name__}: {error}")
        with self._lock:
            self._tell(trial)

    def _stamp(self) -> tuple[int, int, str]:
        """When the file was changed and how large it is, zeros when it is gone, and the same of all others as one text."""
        lines = listing(map(os.fspath, self.folders)).split("\n")
        others = "\n".join(line for line in lines if not line.startswith(f"{self.path}\t"))
        try:
            status = self.path.stat()
        except OSError:
            return 0, 0, others
        return status.st_mtime_ns, status.st_size, others

    def _read(self, stamp: str) -> Look:
        others, ledgers = self._rest(stamp)
        name = shown(self.path)
        entry, faults = parse(self.path, name=name)
        source = entry.source if entry else self.path.read_text("utf-8", "replace") if self.path.is_file() else ""
        entry, whole = (entry, True) if entry else (parse_unfinished(source, self.path), False)
        entry = placed(entry, settings(self.path.parent.parent)[0])
        if entry.id in others.entries:
            taken = f"the slug {entry.id!r} is taken by {shown(others.entries[entry.id].path)}; choose another"
            faults.append(Fault(name, 1, "KB011", taken))
            whole = False
        redirects = {**others.redirects, **{slug: entry.id for slug in entry.also if slug not in others.redirects}}
        corpus = Corpus({**others.entries, entry.id: entry}, tuple(faults), redirects)
        if whole:
            faults = check(corpus, [self.path])
        return Look(entry, corpus, ledgers, tuple(sorted(faults)), tuple(source.split("\n")), whole)

    def _rest(self, stamp: str) -> tuple[Corpus, Ledgers]:
        """All other entries, and the ledgers; loaded again when one of their files changed."""
        if self._others is None or self._others[0] != stamp:
            found = load(self.folders)
            entries = {slug: entry for slug, entry in found.entries.items() if entry.path.resolve() != self.path}
            redirects = {slug: to for slug, to in found.redirects.items() if to in entries}
            self._others = stamp, Corpus(entries, (), redirects), load_ledgers(self.folders)
        return self._others[1:]

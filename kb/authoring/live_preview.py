"""An entry while it is being written: what can be read of its file, what is wrong with it, and the last run of its programs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import sandbox
from kb.corpus.collection import apply_settings, read_settings
from kb.corpus.diagnostic import Diagnostic, display_path
from kb.corpus.entry import Entry
from kb.corpus.files import ENTRY_BYTES, UnreadableFile, named_path, read_text
from kb.corpus.ledger import Ledgers, load_ledgers, program_hash
from kb.corpus.loader import Corpus, load, slug_conflict
from kb.corpus.parser import parse, parse_unfinished
from kb.index.freshness import manifest
from kb.index.manager import open_index
from kb.lint.linter import check
from kb.verify.verifier import Run, RunOptions, Verdict, select, verify

__all__ = ["Look", "Preview", "Trial"]

_INTERVAL = 0.25
"""Seconds between two looks at the files."""


@dataclass(frozen=True, slots=True)
class Look:
    """The file at one moment. `corpus` holds the entry, as far as it can be read, among all others; `whole` says whether it has no structural fault."""

    entry: Entry
    corpus: Corpus
    ledgers: Ledgers
    faults: tuple[Diagnostic, ...]
    lines: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """A run of the entry's cases. `proves` identifies the programs and messages that it ran; `why` says why it could not run."""

    state: Literal["running", "done", "broken"]
    proves: tuple[object, ...]
    verdicts: tuple[Verdict, ...] = ()
    where: str = ""
    why: str = ""


class Preview:
    """Watches a file and runs its programs when asked. `version` changes whenever there is something new to see."""

    def __init__(
        self, path: Path, folders: Sequence[Path], *, backend: str = "auto", verifier: Callable[..., Run] = verify
    ) -> None:
        self.path = named_path(path)
        self.folders = tuple(folders)
        self.backend = backend
        self._verify_cases = verifier
        self.version = 0
        self.trial: Trial | None = None
        self._lock = threading.Lock()
        self._cancel = threading.Event()
        self._other_entries: tuple[str, Corpus, Ledgers] | None = None
        self._state: tuple[int, int, str] | None = None
        self._look: Look | None = None

    def look(self) -> Look:
        """Return the file as it is now; it is read again only when it, or another entry, has changed."""
        with self._lock:
            state = self._file_state()
            if self._look is None or state != self._state:
                self._look = self._read(state[2])
                self._state = state
                self.version += 1
            return self._look

    def wait(self, version: int, seconds: float) -> bool:
        """Look repeatedly until there is something newer than `version`, for at most so many seconds; return whether there is."""
        until = time.monotonic() + seconds
        self.look()
        while self.version == version and time.monotonic() < until and not self._cancel.wait(_INTERVAL):
            self.look()
        return self.version != version

    def proves(self, entry: Entry) -> tuple[object, ...]:
        """Return what a run of the entry as it is would prove: its programs and messages."""
        return (
            *map(program_hash, entry.runnables),
            *(message.text for message in entry.messages),
            entry.kind,
        )

    def run(self) -> bool:
        """Start to verify the entry in the sandbox and return at once; return False when a run is under way or the file is not whole."""
        look = self.look()
        with self._lock:
            if not look.whole or (self.trial and self.trial.state == "running"):
                return False
            self._set_trial(Trial("running", self.proves(look.entry)))
        threading.Thread(target=self._verify, args=(look,), name="preview", daemon=True).start()
        return True

    @property
    def closed(self) -> bool:
        """Whether the preview has ended."""
        return self._cancel.is_set()

    def close(self) -> None:
        """End a `wait` and a run that are under way."""
        self._cancel.set()

    def _set_trial(self, trial: Trial) -> None:
        self.trial = trial
        self.version += 1

    def _verify(self, look: Look) -> None:
        proves = self.proves(look.entry)
        try:
            done = self._verify_cases(
                look.corpus,
                select(look.corpus, [look.entry.id]),
                open_index(self.folders),
                options=RunOptions(backend=self.backend),
                cancel=self._cancel,
            )
            where = str(done.environment or "")
            trial = Trial("done", proves, done.verdicts, where)
        except sandbox.SandboxError as error:
            trial = Trial("broken", proves, why=str(error))
        except Exception as error:  # noqa: BLE001 - the page shows it; if the thread died, the page would show "running" for ever
            trial = Trial("broken", proves, why=f"{type(error).__name__}: {error}")
        with self._lock:
            self._set_trial(trial)

    def _file_state(self) -> tuple[int, int, str]:
        """Return the file's time of change and size, zeros when it is gone, and the manifest of all other files."""
        lines = manifest(list(map(os.fspath, self.folders))).split("\n")
        others = "\n".join(line for line in lines if not line.startswith(f"{self.path}\t"))
        try:
            status = self.path.stat()
        except OSError:
            return 0, 0, others
        return status.st_mtime_ns, status.st_size, others

    def _read(self, others_listing: str) -> Look:
        others, ledgers = self._load_others(others_listing)
        entry, faults = parse(self.path, name=display_path(self.path))
        whole, source = entry is not None, self._text()
        entry = entry or parse_unfinished(source, self.path)
        entry = apply_settings(entry, read_settings(self.path.parent.parent)[0])
        if (owner := others.entries.get(entry.id)) is not None:
            faults.append(slug_conflict(self.path, owner))
            whole = False
        redirects = {**others.redirects, **{slug: entry.id for slug in entry.also if slug not in others.redirects}}
        corpus = Corpus({**others.entries, entry.id: entry}, tuple(faults), redirects)
        if whole:
            faults = check(corpus, [self.path])
        return Look(entry, corpus, ledgers, tuple(sorted(faults)), tuple(source.split("\n")), whole)

    def _text(self) -> str:
        """Return the file's text; empty where it cannot be read, which is a fault of its own."""
        try:
            return read_text(self.path, self.path.parent.parent, ENTRY_BYTES)
        except UnreadableFile:
            return ""

    def _load_others(self, others_listing: str) -> tuple[Corpus, Ledgers]:
        """Return all other entries, and the ledgers; they are loaded again when one of their files has changed."""
        if self._other_entries is None or self._other_entries[0] != others_listing:
            corpus = load(self.folders, programs_of=())
            entries = {slug: entry for slug, entry in corpus.entries.items() if named_path(entry.path) != self.path}
            redirects = {slug: target for slug, target in corpus.redirects.items() if target in entries}
            self._other_entries = others_listing, Corpus(entries, (), redirects), load_ledgers(self.folders)
        return self._other_entries[1:]

"""Which entries differ from a git revision: in their programs and messages, or in one language only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from kb.corpus.diagnostic import Diagnostic, display_path
from kb.corpus.entry import Entry
from kb.corpus.files import ENTRY_BYTES
from kb.corpus.ledger import program_hash
from kb.corpus.loader import Corpus
from kb.corpus.parser import parse_text
from kb.text.languages import LANGUAGES

__all__ = ["GitFailed", "changed_since", "stale_translations"]


class GitFailed(Exception):  # noqa: N818 - git failed, and says why
    """git could not answer; the text is its message."""


def changed_since(corpus: Corpus, revision: str) -> list[str]:
    """Return the slugs of entries that are new since `revision` or whose programs or messages differ from it.

    Raises `GitFailed` for an unknown revision.
    """
    return [
        entry.id
        for entry, before in _modified_entries(corpus, revision)
        if before is None or _hashes(before) != _hashes(entry) or before.messages != entry.messages
    ]


def stale_translations(corpus: Corpus, revision: str) -> list[Diagnostic]:
    """Return a fault for each entry of which only one language's text differs from `revision`. Raises `GitFailed` for an unknown revision."""
    faults = []
    for entry, before in _modified_entries(corpus, revision):
        if before is None:
            continue
        english, chinese = (before.prose(lang) != entry.prose(lang) for lang in LANGUAGES)
        if english != chinese:
            changed, unchanged = ("English", "Chinese") if english else ("Chinese", "English")
            what = f"the {changed} text changed and the {unchanged} did not; change both, or exempt it with the reason"
            faults.append(Diagnostic(display_path(entry.path), 1, "KB037", what))
    return faults


def _hashes(entry: Entry) -> list[str]:
    return [program_hash(runnable) for runnable in entry.runnables]


def _modified_entries(corpus: Corpus, revision: str) -> Iterator[tuple[Entry, Entry | None]]:
    """Yield each entry whose file differs from a revision, with the entry of that revision if it was whole."""
    for folder in sorted({entry.path.resolve().parent.parent for entry in corpus}):
        root = Path(_git_text(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
        base = _git_text(folder, "merge-base", "--end-of-options", revision, "HEAD").strip()
        modified = _git_text(folder, "diff", "--name-only", "-z", base, "--", str(folder))
        untracked = _git_text(
            folder, "ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", str(folder)
        )
        paths = {root / name for name in (modified + untracked).split("\0") if name}
        for entry in corpus:
            path = entry.path.resolve()
            if path in paths:
                yield entry, parse_text(_text_at(folder, base, path.relative_to(root)), path)[0]


def _text_at(folder: Path, revision: str, path: Path) -> str:
    """Return the file's text at a revision; empty where it was not there or was too large for an entry."""
    blob = f"{revision}:{path.as_posix()}"
    try:
        if int(_git(folder, "cat-file", "-s", blob)) > ENTRY_BYTES:
            return ""
        return _git(folder, "cat-file", "blob", blob).decode("utf-8", "replace")
    except GitFailed:
        return ""


def _git_text(folder: Path, *arguments: str) -> str:
    return os.fsdecode(_git(folder, *arguments))


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)  # noqa: S607 - the user's own git
    except OSError as error:
        raise GitFailed(f"git cannot be started ({error.strerror}); install it") from error
    if done.returncode:
        raise GitFailed(done.stderr.decode("utf-8", "replace").strip().partition("\n")[0] or "git failed")
    return done.stdout

"""Which entries' programs differ from a git revision."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from kb.corpus import Corpus, shown
from kb.entry import LANGUAGES, Entry, Fault
from kb.ledger import case_hash
from kb.parse import parse_text

__all__ = ["GitFailed", "changed_since", "left_behind"]


class GitFailed(Exception):  # noqa: N818 - git failed, and says why
    """git could not answer; the text is what it said."""


def changed_since(corpus: Corpus, revision: str) -> list[str]:
    """Return the slugs of entries that are new since `revision` or whose programs or messages differ from it.

    Raises `GitFailed` for an unknown revision.
    """
    slugs = []
    for entry, before in _touched(corpus, revision):
        now = [case_hash(case) for case in entry.cases]
        if before is None or [case_hash(case) for case in before.cases] != now or before.messages != entry.messages:
            slugs.append(entry.id)
    return slugs


def left_behind(corpus: Corpus, revision: str) -> list[Fault]:
    """Return a fault for each entry of which only one language's text differs from `revision`. Raises `GitFailed` for an unknown revision."""
    faults = []
    for entry, before in _touched(corpus, revision):
        if before is None:
            continue
        english, chinese = (before.prose[lang] != entry.prose[lang] for lang in LANGUAGES)
        if english != chinese:
            said = (
                "English text changed and the Chinese did not"
                if english
                else "Chinese text changed and the English did not"
            )
            faults.append(
                Fault(shown(entry.path), 1, "KB037", f"the {said}; bring the other along, or exempt it with the reason")
            )
    return faults


def _touched(corpus: Corpus, revision: str) -> Iterator[tuple[Entry, Entry | None]]:
    """Yield each entry whose file differs from a revision, with the entry it was then."""
    folders = {entry.path.resolve().parent.parent for entry in corpus}
    for folder in sorted(folders):
        top = Path(_git(folder, "rev-parse", "--show-toplevel").strip())
        base = _git(folder, "merge-base", "--end-of-options", revision, "HEAD").strip()
        names = _git(folder, "diff", "--name-only", "-z", base, "--", str(folder)).split("\0")
        names += _git(
            folder, "ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", str(folder)
        ).split("\0")
        touched = {(top / name).resolve() for name in names if name}
        for entry in corpus:
            path = entry.path.resolve()
            if path not in touched:
                continue
            yield entry, parse_text(_before(folder, base, path.relative_to(top)), path)[0]


def _before(folder: Path, base: str, path: Path) -> str:
    """The file's text at a revision, empty where it was not there."""
    try:
        return _git(folder, "show", f"{base}:{path.as_posix()}")
    except GitFailed:
        return ""


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)  # noqa: S607 - the user's own git
    except OSError as error:
        raise GitFailed(f"git cannot be started ({error.strerror}); install it") from error
    if done.returncode:
        raise GitFailed((done.stderr.strip().split("\n") or ["git failed"])[0])
    return done.stdout

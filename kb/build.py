"""Build the index in a new folder and swap it in: a reader sees the old one or the new one, never half of one.

Where few files changed, the new index is the old one with those entries changed: what stays is linked or copied as
bytes. Otherwise it is built from nothing, and only files that changed are parsed again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from whoosh.index import IndexError as BrokenWords

from kb.corpus import entry_files
from kb.generation import Generation, Parsed, TakenError, remembered
from kb.index import CURRENT, LISTING, Index
from kb.ledger import load_ledgers
from kb.parse import parse
from kb.stamps import code_listing, listing
from kb.store import StoreError

__all__ = ["build"]

_FEW = 64
"""Changes that are always few: a change costs its share of them, an index built from nothing its share of all entries."""

_SHARE = 4
"""When one in so many entries came or went since the index was built from nothing, it is built from nothing again: what is gone wastes room."""


def build(folders: Sequence[str], place: str, *, waiting: bool, anew: bool = False) -> None:
    """Build the index of `folders` in `place` unless it is fresh; when another process is building, wait for it, or leave it to that one.

    `anew` builds in any case, and from nothing.
    """
    os.makedirs(place, exist_ok=True)
    with _locked(os.path.join(place, "lock"), waiting=waiting) as mine:
        if not mine:
            return
        current = _current(place)
        stamps = listing(folders)
        usable = bool(current) and not anew and _whole(current)
        if usable and _read(os.path.join(current, LISTING)) == stamps:
            return
        new = tempfile.mkdtemp(prefix="gen-", dir=place)
        try:
            _fill(new, current if usable else "", folders, stamps)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
        _swap(place, new, current)


def _fill(new: str, current: str, folders: Sequence[str], stamps: str) -> None:
    if current and _follow(new, current, folders, stamps):
        return
    entries, shared = _all(folders, current)
    with Generation(Path(new)) as generation:
        generation.change((), entries, load_ledgers(map(Path, folders)), shared=shared)
        generation.write(stamps)


def _follow(new: str, current: str, folders: Sequence[str], stamps: str) -> bool:
    """Write the current generation with what changed into `new`; return False, with `new` empty, when it is to be built from nothing."""
    before, after = set(_read(os.path.join(current, LISTING)).split("\n")), set(stamps.split("\n"))
    changed = sorted({line.partition("\t")[0] for line in before ^ after})
    if not all(path.endswith(".md") and os.path.dirname(os.path.dirname(path)) in folders for path in changed):
        return False
    try:
        with Generation(Path(new), Path(current)) as generation:
            few = generation.changed + len(changed) <= max(_FEW, len(generation) // _SHARE)
            if few and not generation.shared:
                gone = [slug for path in changed if generation.path(slug := Path(path).stem) == path]
                there = {line.partition("\t")[0] for line in after}
                entries = [one for path in changed if path in there and (one := _parsed(Path(path))) is not None]
                generation.change(gone, entries, load_ledgers(map(Path, folders)))
                generation.write(stamps)
                return True
    except (TakenError, StoreError, LookupError, FileNotFoundError, BrokenWords):
        pass
    shutil.rmtree(new)
    os.mkdir(new)
    return False


def _all(folders: Sequence[str], current: str) -> tuple[list[Parsed], bool]:
    """Return all entries, parsed now or before by this very code, and whether a slug was claimed twice."""
    recall = remembered(current) if current and _read(os.path.join(current, LISTING)).endswith(code_listing()) else None
    entries: dict[str, Parsed] = {}
    shared = False
    for path in (path for folder in folders for path in entry_files(Path(folder))):
        entry = recall(path, _stamp(path)) if recall else None
        one = Parsed(entry, _stamp(path)) if entry else _parsed(path)
        if one is None:
            continue
        if one.entry.id in entries:
            shared = True
        else:
            entries[one.entry.id] = one
    return list(entries.values()), shared


def _parsed(path: Path) -> Parsed | None:
    """Return the entry in the file, or None when it is not whole, which `kb check` tells; the stamp is older than what was read, never newer."""
    stamp = _stamp(path)
    entry, _ = parse(path)
    return Parsed(entry, stamp) if entry else None


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:  # it vanished since it was listed, or never was readable
        return ""
    return f"{status.st_mtime_ns}-{status.st_size}"


def _current(place: str) -> str:
    name = _read(os.path.join(place, CURRENT)).strip()
    return os.path.join(place, name) if name and os.path.isdir(os.path.join(place, name)) else ""


def _whole(folder: str) -> bool:
    try:
        Index(folder)
    except (OSError, StoreError, ValueError, KeyError):
        return False
    return True


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except OSError:
        return ""


def _swap(place: str, new: str, old: str) -> None:
    """Make `new` the current generation; the one before stays for those who have it open, older ones go."""
    pointer = os.path.join(place, f"{CURRENT}.{os.getpid()}")
    Path(pointer).write_text(os.path.basename(new), "utf-8")
    os.replace(pointer, os.path.join(place, CURRENT))
    for name in os.listdir(place):
        path = os.path.join(place, name)
        if name.startswith("gen-") and path not in (new, old):
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _locked(path: str, *, waiting: bool) -> Iterator[bool]:
    """Hold the lock file; yield False when another process holds it and we do not wait. The system frees it when a process dies."""
    import fcntl

    with open(path, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if waiting else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True

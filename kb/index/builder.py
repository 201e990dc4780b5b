"""Bring an index up to date with its entries: from the previous generation where few files changed, else from scratch."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from kb.corpus.ledger import load_ledgers
from kb.corpus.loader import load
from kb.corpus.parser import parse
from kb.index.freshness import changed_paths, manifest
from kb.index.generations import POINTER, file_states, open_current
from kb.index.reader import Index
from kb.index.storage import StorageError
from kb.index.writer import SlugConflictError, write_generation
from kb.startup.named_tuple import NamedTuple

__all__ = ["BuildReport", "build", "build_for_package"]

_PREFIX = "generation-"
_MIN_CHANGES = 64
_MAX_CHANGED_SHARE = 0.25
"""Rebuild from scratch once more than this share of the entries, and more than `_MIN_CHANGES`, changed incrementally.

That reclaims the space of deleted records.
"""

_KEPT = 5
"""Generations that stay, the new one included."""


class BuildReport(NamedTuple):
    """What a build did: nothing, because the index was fresh or another process is building it, or with the slugs of the entries that it parsed."""

    built: bool = False
    from_scratch: bool = False
    parsed: tuple[str, ...] = ()


def build(
    folders: Sequence[str],
    place: str,
    *,
    block: bool,
    force: bool = False,
    shipped: str = "",
    base: Index | None = None,
) -> BuildReport:
    """Bring the index of `folders` in `place` up to date and return what was done.

    If another process is building it, wait for that one (`block`) or leave it to it. `force` builds from scratch in any
    case. `shipped` is the folder of an installed package, and `base` an index of a part of the folders to begin with. Raises
    `StorageError` if the index cannot be written.
    """
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        _check_owner(place)
        with _lock(os.path.join(place, "lock"), block=block) as acquired:
            if not acquired:
                return BuildReport()
            wanted = manifest(folders, shipped)
            current = None if force else open_current(place)
            if current is not None and current.is_made_of(wanted):
                return BuildReport()
            starts = [] if force else [index for index in (current, base) if index]
            with _new_generation(place) as folder:
                return _fill(folder, wanted, folders, starts)
    except OSError as error:
        raise StorageError(
            f"the index cannot be written to {place} ({error.strerror or error}); set KB_CACHE to a folder that can be written"
        ) from error


def build_for_package(entries: Path, folder: Path) -> None:
    """Write the index that a package brings of its entries into the empty folder: the same bytes for the same entries."""
    random.seed(0)  # Whoosh names its files by chance
    _write_all(folder, manifest([str(entries)], str(entries)), [str(entries)])


def _fill(folder: Path, wanted: str, folders: Sequence[str], starts: Sequence[Index]) -> BuildReport:
    """Write the generation into `folder`, from the first of the indexes `starts` that few changes lead on from, else from scratch."""
    for previous in starts:
        try:
            parsed = _follow(folder, wanted, folders, previous)
        except (SlugConflictError, StorageError, LookupError, TypeError):
            parsed = None
        if parsed is not None:
            return BuildReport(built=True, parsed=parsed)
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return BuildReport(built=True, from_scratch=True, parsed=_write_all(folder, wanted, folders))


def _write_all(folder: Path, wanted: str, folders: Sequence[str]) -> tuple[str, ...]:
    """Write the generation of all entries into `folder` and return their slugs."""
    paths = [Path(name) for name in folders]
    corpus = load(paths)
    ledgers = load_ledgers(paths)
    has_slug_conflict = any(fault.rule == "KB011" for fault in corpus.faults)
    has_faults = bool(corpus.faults or ledgers.faults)
    write_generation(folder, wanted, list(corpus), ledgers, has_slug_conflict=has_slug_conflict, has_faults=has_faults)
    return tuple(corpus.entries)


def _follow(folder: Path, wanted: str, folders: Sequence[str], previous: Index) -> tuple[str, ...] | None:
    """Write the previous generation with what changed into `folder` and return the slugs parsed; None if it has to be built from scratch."""
    paths = changed_paths(previous.manifest, wanted)
    too_many = previous.meta.changed + len(paths) > max(_MIN_CHANGES, _MAX_CHANGED_SHARE * len(previous))
    if too_many or previous.meta.has_slug_conflict or not all(_is_entry_file(path, folders) for path in paths):
        return None
    present = {line.partition("\t")[0] for line in wanted.split("\n")}
    removed = [slug for path in paths if previous.source_path(slug := Path(path).stem) == path]
    parsed = [parse(Path(path)) for path in paths if path in present]
    added = [entry for entry, _ in parsed if entry is not None]
    has_faults = any(faults for _, faults in parsed)
    ledgers = load_ledgers(map(Path, folders))
    write_generation(folder, wanted, added, ledgers, removed=removed, previous=previous, has_faults=has_faults)
    return tuple(entry.id for entry in added)


def _is_entry_file(path: str, folders: Sequence[str]) -> bool:
    return path.endswith(".md") and os.path.dirname(os.path.dirname(path)) in folders


@contextlib.contextmanager
def _new_generation(place: str) -> Iterator[Path]:
    """Yield an empty folder for a new generation, and publish it at the end; if anything is raised, the folder is removed.

    Some generations before it stay for those who have one open, because a reader opens the Whoosh index only when a question needs it.
    """
    folder = tempfile.mkdtemp(prefix=_PREFIX, dir=place)
    try:
        yield Path(folder)
        _publish(place, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    generations = [
        (entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(place) if entry.name.startswith(_PREFIX)
    ]
    for _, path in sorted(generations, reverse=True)[_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def _check_owner(place: str) -> None:
    """Raise `StorageError` if another user could have written the folder: an index is read by code that trusts it."""
    if not hasattr(os, "geteuid"):
        return
    status = os.stat(place)
    if status.st_uid not in (os.geteuid(), 0) or status.st_mode & 0o002:
        raise StorageError(
            f"the index is not kept in {place}, because other users can write to it; set KB_CACHE to a folder of your own"
        )


def _publish(place: str, folder: str) -> None:
    pointer = os.path.join(place, f"{POINTER}.{os.getpid()}")
    with open(pointer, "w", encoding="utf-8") as file:
        json.dump({"generation": os.path.basename(folder), "files": file_states(folder)}, file)
    target = os.path.join(place, POINTER)
    if os.path.isdir(target):
        shutil.rmtree(target)
    os.replace(pointer, target)


@contextlib.contextmanager
def _lock(path: str, *, block: bool) -> Iterator[bool]:
    """Hold the lock file; yield False if another process holds it and we do not block. The system frees it when a process dies."""
    import fcntl

    with open(path, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if block else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True

"""Bring an index up to date with its entries: from the previous generation where few files changed, else from scratch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kb.corpus.ledger import load_ledgers
from kb.corpus.loader import load
from kb.corpus.parser import parse
from kb.index.freshness import changed_paths, manifest
from kb.index.generations import hold_lock, new_generation, open_current
from kb.index.reader import Index
from kb.index.storage import StorageError
from kb.index.writer import SlugConflictError, write_generation
from kb.text.chinese import use_jieba

__all__ = ["BuildReport", "build", "build_for_package"]

_MIN_CHANGES = 64
_MAX_CHANGED_SHARE = 0.25
"""Rebuild from scratch once more than this share of the entries, and more than `_MIN_CHANGES`, changed incrementally.

That reclaims the space of rows that lead to nothing any more.
"""


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
    case. `shipped` is the folder of an installed package, and `base` the index that the package brings of it. Raises
    `StorageError` if the index cannot be written.
    """
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        _check_owner(place)
        with hold_lock(place, block=block) as acquired:
            if not acquired:
                return BuildReport()
            wanted = manifest(folders, shipped)
            current = None if force else open_current(place)
            if current is not None and current.manifest == wanted:
                return BuildReport()
            with new_generation(place) as path:
                for previous in (current, base):
                    if previous is not None and (parsed := _follow(path, wanted, folders, previous)) is not None:
                        return BuildReport(built=True, parsed=parsed)
                use_jieba(os.path.join(os.path.dirname(place), "jieba"))
                return BuildReport(built=True, from_scratch=True, parsed=_write_all(path, wanted, folders))
    except OSError as error:
        raise StorageError(
            f"the index cannot be written to {place} ({error.strerror or error}); set KB_CACHE to a folder that can be written"
        ) from error


def build_for_package(entries: Path, path: Path) -> None:
    """Write the index that a package brings of its entries into the file: the same bytes for the same entries."""
    use_jieba(str(path.parent / "jieba"))
    _write_all(str(path), manifest([str(entries)], str(entries)), [str(entries)])


def _write_all(path: str, wanted: str, folders: Sequence[str]) -> tuple[str, ...]:
    """Write the generation of all entries into the file and return their slugs."""
    paths = [Path(name) for name in folders]
    corpus = load(paths)
    has_slug_conflict = any(fault.rule == "KB011" for fault in corpus.faults)
    write_generation(path, wanted, list(corpus), load_ledgers(paths), has_slug_conflict=has_slug_conflict)
    return tuple(corpus.entries)


def _follow(path: str, wanted: str, folders: Sequence[str], previous: Index) -> tuple[str, ...] | None:
    """Write the previous generation with what changed into the file and return the slugs parsed; None if it has to be built from scratch."""
    changed = changed_paths(previous.manifest, wanted)
    too_many = previous.meta.changed + len(changed) > max(_MIN_CHANGES, _MAX_CHANGED_SHARE * len(previous))
    if too_many or previous.meta.has_slug_conflict or not all(_is_entry_file(name, folders) for name in changed):
        return None
    present = {line.partition("\t")[0] for line in wanted.split("\n")}
    removed = [slug for name in changed if previous.source_path(slug := Path(name).stem) == name]
    added = [entry for name in changed if name in present and (entry := parse(Path(name))[0]) is not None]
    try:
        write_generation(path, wanted, added, load_ledgers(map(Path, folders)), removed=removed, previous=previous)
    except (SlugConflictError, StorageError, LookupError, TypeError):
        Path(path).write_bytes(b"")
        return None
    return tuple(entry.id for entry in added)


def _is_entry_file(path: str, folders: Sequence[str]) -> bool:
    return path.endswith(".md") and os.path.dirname(os.path.dirname(path)) in folders


def _check_owner(place: str) -> None:
    """Raise `StorageError` if another user could have written the folder: an index is read by code that trusts it."""
    if not hasattr(os, "geteuid"):
        return
    status = os.stat(place)
    if status.st_uid not in (os.geteuid(), 0) or status.st_mode & 0o002:
        raise StorageError(
            f"the index is not kept in {place}, because other users can write to it; set KB_CACHE to a folder of your own"
        )

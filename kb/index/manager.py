"""Open the index of all entries: fresh if the entries did not change, else brought up to date beside the old one, which goes on serving.

The index is a cache. It is built from the Markdown on this machine, or comes with the installed package; one from elsewhere
is never opened, because Whoosh's files are pickles.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from kb.corpus.paths import cache_folder, entry_folder_names, shipped_folders
from kb.index.freshness import manifest
from kb.index.generations import file_states, open_current
from kb.index.reader import Index
from kb.index.storage import StorageError
from kb.startup.named_tuple import NamedTuple

__all__ = ["IndexState", "build_index", "index_state", "open_existing_index", "open_index"]

_Folders = Iterable[str | os.PathLike[str]]
_Path = str | os.PathLike[str]


class IndexState(NamedTuple):
    """Whether an index is fresh, and a line for people: where, how many entries, built when, its size."""

    fresh: bool
    description: str


def open_index(
    folders: _Folders | None = None,
    cache: _Path | None = None,
    *,
    on_first_build: Callable[[], object] = lambda: None,
    wait: bool = False,
) -> Index:
    """Return the index of the entries in `folders`, by default those of `entry_folder_names()`.

    If entries changed since it was built, it is brought up to date; while another process does that, the index as it was
    is returned at once, or with `wait` the new one when it is there. If there is none yet, `on_first_build` is called
    before it is built, which takes seconds. Raises `StorageError` if it cannot be written.
    """
    names = _names(folders)
    index, fresh = _open(names, cache)
    if index is not None and fresh:
        return index
    if index is None:
        on_first_build()
    return _build(names, cache, block=wait or index is None)


def build_index(folders: _Folders | None = None, cache: _Path | None = None) -> Index:
    """Build the index from scratch and return it."""
    return _build(_names(folders), cache, block=True, force=True)


def open_existing_index(folders: _Folders | None = None, cache: _Path | None = None) -> Index | None:
    """Return the index as it is, fresh or not, or None if there is none that can be read. Nothing is built."""
    return _open(_names(folders), cache)[0]


def index_state(cache: _Path | None = None) -> IndexState:
    """Return the state of the index of `entry_folder_names()`."""
    from datetime import UTC, datetime

    names = _names(None)
    index, fresh = _open(names, cache)
    if index is None:
        return IndexState(False, f"none in {cache_folder(names, cache)}; the first look-up builds it")
    size = sum(size for size, _ in file_states(index.folder).values()) / (1 << 20)
    built = datetime.fromtimestamp(os.path.getmtime(index.folder), UTC)
    note = "" if fresh else "; entries changed since, the next look-up brings it up to date"
    line = f"{len(index)} entries, {size:.1f} MiB, built {built:%Y-%m-%d %H:%M} UTC in {index.folder}{note}"
    return IndexState(fresh, line)


def _names(folders: _Folders | None) -> list[str]:
    return entry_folder_names() if folders is None else [os.path.abspath(folder) for folder in folders]


def _open(names: Sequence[str], cache: _Path | None) -> tuple[Index | None, bool]:
    """Return the index that can be opened without building, and whether it is fresh."""
    shipped, _ = shipped_folders()
    if list(names) == [shipped] and (index := _open_shipped()):
        return index, True
    index = open_current(cache_folder(names, cache))
    return index, index is not None and index.is_made_of(manifest(names, shipped))


def _open_shipped() -> Index | None:
    """Return the index that an installed package brings, or None if there is none, another version made it, or it cannot be read here.

    It is fresh, because the files of a package do not change.
    """
    shipped, place = shipped_folders()
    try:
        index = Index(place) if place else None
    except StorageError:
        return None
    return index if index and index.is_made_of(manifest([shipped], shipped)) else None


def _build(names: Sequence[str], cache: _Path | None, *, block: bool, force: bool = False) -> Index:
    from kb.index.builder import build

    place = cache_folder(names, cache)
    shipped, _ = shipped_folders()
    # One's own entries are added to the index of those that ship.
    base = _open(names[:1], cache)[0] if len(names) > 1 else None
    build(names, place, block=block, force=force, shipped=shipped, base=base)
    index = open_current(place)
    if index is None:
        raise StorageError(f"the index in {place} could not be built; delete that folder and try again")
    return index

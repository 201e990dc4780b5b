"""Where entries and indexes live, and whether an index still belongs to the entries: decided in about a millisecond, without reading a file."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterable, Sequence

__all__ = ["cache_folder", "cache_root", "code_listing", "entry_folder_names", "listing"]

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def entry_folder_names(extra: Iterable[str | os.PathLike[str]] = ()) -> list[str]:
    """Return the folders that hold entries: the one that ships, those in KB_ENTRIES (separated as in PATH), then `extra`.

    In a checkout the entries stand beside the package; installed, inside it.
    """
    places = (os.path.join(_PACKAGE, "_entries"), os.path.join(os.path.dirname(_PACKAGE), "entries"))
    shipped = [folder for folder in places if os.path.isdir(folder)][:1]
    named = [part for part in os.environ.get("KB_ENTRIES", "").split(os.pathsep) if part]
    return [os.path.abspath(part) for part in [*shipped, *named, *(os.fspath(part) for part in extra)]]


def cache_root() -> str:
    """Return the folder for all that kb can make again: KB_CACHE, else one in the user's cache folder."""
    if root := os.environ.get("KB_CACHE", ""):
        return root
    own = ("Library", "Caches") if sys.platform == "darwin" else (".cache",)
    return os.path.join(os.environ.get("XDG_CACHE_HOME", "") or os.path.join(os.path.expanduser("~"), *own), "kb")


def cache_folder(folders: Sequence[str], cache: str | os.PathLike[str] | None = None) -> str:
    """Return the folder for the index of these entries, below `cache` or else `cache_root()`."""
    root = os.fspath(cache) if cache else cache_root()
    return os.path.join(root, f"{zlib.crc32(os.pathsep.join(folders).encode()):08x}")


def listing(folders: Iterable[str]) -> str:
    """Return a line for each file that the index is made of, with its time of change and its size: any change changes the text.

    Those files are the entries, the ledgers, and kb's own modules and data, which decide what an index looks like.
    """
    lines = []
    for folder in folders:
        for topic in _scan(folder):
            if topic.is_dir():
                lines += [_stamp(file) for file in _scan(topic.path) if file.name.endswith((".md", ".json"))]
    return "\n".join([*sorted(lines), code_listing()])


def code_listing() -> str:
    """Return such a line for each of kb's own modules and data files."""
    files = [file for file in _scan(_PACKAGE) if file.name.endswith(".py")]
    return "\n".join(sorted(map(_stamp, [*files, *_scan(os.path.join(_PACKAGE, "data"))])))


def _stamp(file: os.DirEntry[str]) -> str:
    status = file.stat()
    return f"{file.path}\t{status.st_mtime_ns}\t{status.st_size}"


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []

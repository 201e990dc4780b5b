"""Where entries and indexes live. Every look-up needs this module, so it imports nothing that is slow."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterable, Sequence

__all__ = ["SETTINGS_FILE", "cache_folder", "cache_root", "entry_folder_names", "shipped_folders"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INSTALLED_ENTRIES = os.path.join(_PACKAGE, "_entries")
_INSTALLED_INDEX = os.path.join(_PACKAGE, "_index")

SETTINGS_FILE = "kb.yaml"
"""The settings of a folder of entries (see `kb.corpus.collection`)."""


def entry_folder_names(extra: Iterable[str | os.PathLike[str]] = ()) -> list[str]:
    """Return the folders that hold entries: the one that ships, those in KB_ENTRIES (separated as in PATH), then `extra`.

    In a checkout the entries stand beside the package; installed, inside it.
    """
    places = (_INSTALLED_ENTRIES, os.path.join(os.path.dirname(_PACKAGE), "entries"))
    shipped = [folder for folder in places if os.path.isdir(folder)][:1]
    named = [part for part in os.environ.get("KB_ENTRIES", "").split(os.pathsep) if part]
    return [os.path.abspath(part) for part in [*shipped, *named, *(os.fspath(part) for part in extra)]]


def shipped_folders() -> tuple[str, str]:
    """Return the folders of the entries and of their index that an installed package brings; empty in a checkout."""
    if os.path.isdir(_INSTALLED_INDEX):
        return _INSTALLED_ENTRIES, _INSTALLED_INDEX
    return "", ""


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

"""The folder of an index: immutable generations, and the pointer to the current one. `kb.index.builder` writes both.

A generation is written beside the current one and published by replacing the pointer, so a reader never sees half an index
and a builder that is killed leaves the old one.
"""

from __future__ import annotations

import json
import os

from kb.index.reader import Index
from kb.index.storage import StorageError

__all__ = ["POINTER", "file_states", "open_current"]

POINTER = "current.json"
_MAX_POINTER_BYTES = 1 << 20


def open_current(place: str) -> Index | None:
    """Return the current generation in the folder, or None if there is none that can be read.

    One that was replaced while it was being opened is looked up again.
    """
    for _ in range(5):
        folder = _current_generation(place)
        try:
            return Index(folder) if folder else None
        except StorageError:
            if os.path.isdir(folder):
                return None
    return None


def file_states(folder: str) -> dict[str, list[int]]:
    """Return the size and the modification time in nanoseconds of each file below a generation's folder: a damaged file has others."""
    paths = [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names]
    states = {os.path.relpath(path, folder): os.stat(path) for path in paths}
    return {name: [status.st_size, status.st_mtime_ns] for name, status in states.items()}


def _current_generation(place: str) -> str:
    """Return the folder of the current generation, or the empty string if there is none or its files are not those that were published."""
    path = os.path.join(place, POINTER)
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            pointer = json.loads(file.read(_MAX_POINTER_BYTES))
        folder = os.path.join(place, os.path.basename(pointer["generation"]))
        return folder if pointer["files"] and pointer["files"].items() <= file_states(folder).items() else ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""

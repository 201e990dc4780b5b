"""The folder of an index: immutable generations, and the pointer to the current one. `kb.index.builder` writes both.

A generation is written beside the current one and published by replacing the pointer, so a reader never sees half an index
and a builder that is killed leaves the old one. The pointer records the size, the modification time and a checksum of every
file. A file that differs from the record is compared by its checksum, and a damaged generation is refused.
"""

from __future__ import annotations

import json
import os
import stat
import zlib

from kb.index.reader import Index
from kb.index.storage import StorageError

__all__ = ["POINTER", "PREFIX", "current_generation", "fingerprint", "open_current"]

POINTER = "current.json"
PREFIX = "generation-"
_MAX_POINTER_BYTES = 1 << 20


def open_current(place: str) -> Index | None:
    """Return the current generation in the folder, or None if there is none that can be read.

    One that was replaced while it was being opened is looked up again.
    """
    for _ in range(5):
        folder = current_generation(place)
        if not folder:
            return None
        try:
            return Index(folder)
        except StorageError:
            if os.path.isdir(folder):
                return None
    return None


def current_generation(place: str) -> str:
    """Return the folder of the current generation, or the empty string if there is none or it is damaged."""
    try:
        path = os.path.join(place, POINTER)
        if not stat.S_ISREG(os.stat(path).st_mode):
            return ""
        with open(path, encoding="utf-8") as file:
            pointer = json.loads(file.read(_MAX_POINTER_BYTES))
        folder = os.path.join(place, os.path.basename(pointer["generation"]))
        files = pointer["files"]
        intact = all(_is_intact(os.path.join(folder, name), *record) for name, record in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    return folder if intact and files else ""


def fingerprint(path: str) -> tuple[int, int, int]:
    """Return the size of a file, its modification time in nanoseconds, and its CRC-32."""
    status = os.stat(path)
    checksum = 0
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            checksum = zlib.crc32(chunk, checksum)
    return status.st_size, status.st_mtime_ns, checksum


def _is_intact(path: str, size: int, modified: int, checksum: int) -> bool:
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_size != size:
        return False
    return status.st_mtime_ns == modified or fingerprint(path)[2] == checksum

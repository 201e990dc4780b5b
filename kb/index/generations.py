"""The folder of an index: immutable generations, each of one file, and the pointer to the current one.

A generation is written beside the current one and published by replacing the pointer, so a reader never sees half an index
and a builder that is killed leaves the old one. The pointer records the size, the modification time and a checksum of the
file. A file that differs from the record is compared by its checksum, and a damaged generation is refused.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kb.index.reader import Index
from kb.index.storage import StorageError

__all__ = ["current_generation", "hold_lock", "new_generation", "open_current"]

_POINTER = "current.json"
_PREFIX = "generation-"
_MAX_POINTER_BYTES = 1 << 16


def open_current(place: str) -> Index | None:
    """Return the current generation in the folder, or None if there is none that can be read.

    One that was replaced while it was being opened is looked up again.
    """
    for _ in range(5):
        path = current_generation(place)
        if not path:
            return None
        try:
            return Index(path)
        except StorageError:
            if os.path.exists(path):
                return None
    return None


def current_generation(place: str) -> str:
    """Return the file of the current generation, or the empty string if there is none or it is damaged."""
    try:
        pointer = os.path.join(place, _POINTER)
        if not stat.S_ISREG(os.stat(pointer).st_mode):
            return ""
        with open(pointer, encoding="utf-8") as file:
            name, *recorded, checksum = json.loads(file.read(_MAX_POINTER_BYTES))
        path = os.path.join(place, os.path.basename(name))
        status = os.stat(path)
        is_same = [status.st_size, status.st_mtime_ns] == recorded
        intact = stat.S_ISREG(status.st_mode) and (is_same or _checksum(path) == checksum)
    except (OSError, ValueError, TypeError):
        return ""
    return path if intact else ""


@contextmanager
def new_generation(place: str) -> Iterator[str]:
    """Yield an empty file for a new generation, and publish it at the end; if anything is raised, the file is removed.

    The generation before stays for those who have it open; older ones are removed.
    """
    import tempfile

    previous = current_generation(place)
    handle, path = tempfile.mkstemp(prefix=_PREFIX, suffix=".mdb", dir=place)
    os.close(handle)
    try:
        yield path
        _publish(place, path)
    except BaseException:
        _remove(path)
        raise
    for name in os.listdir(place):
        other = os.path.join(place, name)
        if name.startswith(_PREFIX) and other not in (path, previous):
            _remove(other)


@contextmanager
def hold_lock(place: str, *, block: bool) -> Iterator[bool]:
    """Hold the lock of the folder; yield False if another process holds it and we do not block. The system frees it when a process dies."""
    import fcntl

    with open(os.path.join(place, "lock"), "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if block else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True


def _publish(place: str, path: str) -> None:
    status = os.stat(path)
    record = [os.path.basename(path), status.st_size, status.st_mtime_ns, _checksum(path)]
    pointer = os.path.join(place, f"{_POINTER}.{os.getpid()}")
    with open(pointer, "w", encoding="utf-8") as file:
        json.dump(record, file)
    target = os.path.join(place, _POINTER)
    if os.path.isdir(target):
        _remove(target)
    os.replace(pointer, target)


def _checksum(path: str) -> int:
    checksum = 0
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            checksum = zlib.crc32(chunk, checksum)
    return checksum


def _remove(path: str) -> None:
    """Remove a file, or a folder with all that is in it."""
    import shutil

    with suppress(OSError):
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

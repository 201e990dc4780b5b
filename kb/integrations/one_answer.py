"""Of several processes that die of the same, one prints the whole answer and the others name it.

They meet at a file. The process that answers holds a lock on the entry's record there until it has answered, and the others wait for it. If it is killed,
the system takes the lock from it and the next process answers. The ranks that torchrun starts meet in the folder in which it collects the errors of one
attempt, which it removes. Processes of multiprocessing meet at a small file in kb's cache, which stays there: its records say whose they are, and are
written over.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

try:
    import fcntl
except ImportError:  # Windows: there the first to write a record answers
    fcntl = None  # type: ignore[assignment]

__all__ = ["answering"]

_SIZE, _RECORDS = 256, 64
"""Bytes of the record of an entry and the process that answers with it, and for how many entries there is room."""
_PATIENCE = 2.0
"""Seconds that a process waits for the one that answers."""
_STEP = 0.01


class _Meeting(NamedTuple):
    """The file at which processes meet, which of its records is the entry's, whose the record has to be, and the kind and the name of this process."""

    path: str
    start: int
    family: str
    kind: str
    name: str


@contextmanager
def answering(slug: str) -> Iterator[tuple[str, str]]:
    """Yield which other process answers with the entry, as what it is (`process` or `rank`) and its name; two empty strings if this one does.

    Where processes cannot meet, rank 0 answers, or the process that is none of several.
    """
    meeting = _meeting(slug)
    if meeting is None:
        rank = os.environ.get("RANK", "0")
        yield ("", "") if rank == "0" else ("rank", "0")
        return
    try:
        file = os.open(meeting.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError:
        yield ("", "")
        return
    try:
        other = _other(file, meeting)
        yield (meeting.kind, other) if other else ("", "")
        if not other:
            _write(file, meeting, "answered")
    finally:
        os.close(file)


def _meeting(slug: str) -> _Meeting | None:
    """Return where this process meets others that may die of the same, or None if it is none of several."""
    errors = os.environ.get("TORCHELASTIC_ERROR_FILE", "")
    if errors:
        attempt = os.path.dirname(os.path.dirname(errors))  # noqa: PTH120 - no pathlib here: it costs milliseconds
        path = os.path.join(attempt, f"kb-{slug}")  # noqa: PTH118
        return _Meeting(path, 0, slug, "rank", os.environ.get("RANK", "0"))
    multiprocessing = sys.modules.get("multiprocessing.process")
    parent = multiprocessing.parent_process() if multiprocessing else None
    if multiprocessing is None or parent is None:
        return None
    from kb.corpus.paths import cache_root

    process = multiprocessing.current_process()
    family = f"{slug} {zlib.crc32(process.authkey):08x} {parent.pid}"
    root = cache_root()
    with suppress(OSError):
        os.makedirs(root, exist_ok=True)  # noqa: PTH103
    start = zlib.crc32(slug.encode()) % _RECORDS * _SIZE
    return _Meeting(os.path.join(root, "answering"), start, family, "process", process.name)  # noqa: PTH118


def _other(file: int, meeting: _Meeting) -> str:
    """Return the name of the other process that has answered or is about to; empty if this one is to, which it then has a lock for."""
    patience = time.monotonic() + _PATIENCE
    while not (locked := _lock(file, meeting.start)) and time.monotonic() < patience:
        time.sleep(_STEP)
    process, name, state = _read(file, meeting)
    if process not in ("", str(os.getpid())) and (state == "answered" or not locked or fcntl is None):
        return name
    if locked:
        _write(file, meeting, "answers")
    return ""


def _lock(file: int, start: int) -> bool:
    """Return whether this process has the record for itself now, or cannot have it because the system has no locks for this file."""
    if fcntl is None:
        return True
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SIZE, start)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def _read(file: int, meeting: _Meeting) -> tuple[str, str, str]:
    """Return the id and the name of the process that the record is about, and what it does; three empty strings if it is none that this one knows."""
    os.lseek(file, meeting.start, os.SEEK_SET)
    fields = os.read(file, _SIZE).decode("utf-8", "replace").rstrip().split("\t")
    if len(fields) != 4 or fields[0] != meeting.family:
        return "", "", ""
    return fields[1], fields[2], fields[3]


def _write(file: int, meeting: _Meeting, state: str) -> None:
    name = meeting.name.encode("utf-8", "replace")[:100].decode("utf-8", "ignore").replace("\t", " ")
    record = "\t".join((meeting.family, str(os.getpid()), name, state)).encode()
    os.lseek(file, meeting.start, os.SEEK_SET)
    os.write(file, record[:_SIZE].ljust(_SIZE))

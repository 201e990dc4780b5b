"""Processes of `multiprocessing`: each dies below a traceback that no hook sees, and of several that die of the same one answers.

`BaseProcess` catches what its process dies of and prints it by `traceback.print_exc()`, in every version of Python. So that function is put inside one
that answers when it is `BaseProcess` that calls it. A wrapper around the process's `run` would stand in the reader's traceback.
"""

from __future__ import annotations

import functools
import mmap
import sys
import time
import traceback
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["answering_process", "share", "watch"]

_SLOT, _SLOTS = 128, 64
"""Bytes for an entry and the process that answers with it, and for how many entries there is room."""
_SETTLED = 0.05
"""Seconds after which every process that wrote into a slot at the same time as this one has written."""

_shared: mmap.mmap | None = None
"""Memory of this process and those forked from it."""


def share() -> None:
    """Have the processes that are forked from now on agree which of them answers."""
    global _shared  # noqa: PLW0603 - a process has one
    if _shared is None:
        _shared = mmap.mmap(-1, _SLOT * _SLOTS)


def watch(answer: Callable[[BaseException | None], None]) -> None:
    """Have `answer` called with what this process dies of, and with what those forked from it do, if multiprocessing runs them."""
    from multiprocessing.process import BaseProcess

    plain = traceback.print_exc
    if hasattr(plain, "_kb"):
        return
    last_resort = BaseProcess._bootstrap.__code__  # type: ignore[attr-defined]  # noqa: SLF001 - only compared

    @functools.wraps(plain)
    def print_exc(*args: Any, **options: Any) -> None:
        plain(*args, **options)
        if sys._getframe(1).f_code is last_resort:  # noqa: SLF001 - the one way to tell who calls
            answer(sys.exc_info()[1])

    print_exc._kb = True  # type: ignore[attr-defined]  # noqa: SLF001 - marks the function as ours
    traceback.print_exc = print_exc


def answering_process(slug: str) -> str | None:
    """Return the name of the process that answers with the entry, empty if it is this one; None where this is none of several that were forked.

    The first to write its name into the entry's slot answers. Of several that write at once it is the last, by Fischer's algorithm: each looks again when
    all have written. Where another entry has the slot, every process answers.
    """
    from multiprocessing import current_process, parent_process

    if _shared is None or parent_process() is None:
        return None
    process = current_process()
    own = f"{slug} {process.pid} {process.name}".encode()[:_SLOT].ljust(_SLOT)
    start = zlib.crc32(slug.encode()) % _SLOTS * _SLOT
    slot = slice(start, start + _SLOT)
    if not _shared[start]:
        _shared[slot] = own
        time.sleep(_SETTLED)
    answering, _, name = _shared[slot].decode("utf-8", "replace").rstrip().split(" ", 2)
    return name if answering == slug and _shared[slot] != own else ""

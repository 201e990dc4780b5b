"""Traces that a program can leave on its worker, and the folders that both can write to.

A program runs as the worker's user, so the kernel lets it change the worker's priority, scheduling class and processors. The worker compares its state
after each program with its state before the first one, and is replaced when they differ.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import shutil
from typing import Any

MANY_FILES = 2000  # a folder with more leftovers takes longer to empty than a new worker takes to start
_IOPRIO_GET = {"x86_64": 252, "aarch64": 31}
_IOPRIO_WHO_PROCESS = 1


def state(folders: list[str]) -> tuple[Any, ...]:
    """Return all that another process of the same user could change about the worker and about the folders it hands to programs."""
    limits = tuple(resource.getrlimit(limit) for limit in range(16) if _readable(limit))
    return limits, os.getcwd(), _scheduling(), tuple(_attributes(folder) for folder in folders)


def _readable(limit: int) -> bool:
    try:
        resource.getrlimit(limit)
    except (ValueError, OSError):
        return False
    return True


def _scheduling() -> tuple[Any, ...]:
    """Return priority, scheduling class, processors and I/O priority of this process, as far as the system has them."""
    priority = os.getpriority(os.PRIO_PROCESS, 0)
    if not hasattr(os, "sched_getscheduler"):
        return (priority,)
    scheduler: tuple[Any, ...] = ()
    with contextlib.suppress(OSError):  # a kernel without these calls has nothing that they could change
        scheduler = (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority)
    return priority, scheduler, tuple(sorted(os.sched_getaffinity(0))), _io_priority()


def _io_priority() -> int:
    """Return class and level as ioprio_get(2) does, -1 where there is no such call; Python's standard library does not offer it."""
    number = _IOPRIO_GET.get(platform.machine())
    return -1 if number is None else int(ctypes.CDLL(None).syscall(number, _IOPRIO_WHO_PROCESS, 0))


def _attributes(folder: str) -> tuple[Any, ...]:
    status = os.stat(folder)
    names: list[str] = []
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            names = os.listxattr(folder)
    return status.st_mode, status.st_uid, status.st_gid, names


def empty(folder: str, kept: set[str]) -> bool:
    """Remove everything but `kept` from a folder; return False when there is too much of it or something cannot be removed."""
    with contextlib.suppress(OSError):
        usage = os.statvfs(folder)
        if os.path.ismount(folder) and usage.f_files - usage.f_ffree > MANY_FILES:
            return False
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name in kept:
                    continue
                try:
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path)
                    else:
                        os.unlink(entry.path)
                except (OSError, RecursionError):
                    return False
        return True
    return False

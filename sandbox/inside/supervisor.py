"""Watches one running program from the worker: its output, deadline, memory and processes, and what it leaves behind."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

POLL = 0.05  # seconds between two readings of memory and processes where no control group counts them
FINAL = 2.0  # seconds in which all processes of a program must be gone
MAX_RECORD = 256 * 1024  # bytes kept of the record of a program's end; an honest one is shorter
CGROUP = "/sys/fs/cgroup"


@dataclass
class Ending:
    """How the program's first process ended, and the limit for which the worker ended it, if it did."""

    status: int | None = None
    reason: str = ""
    peak: int = 0
    record: bytearray = field(default_factory=bytearray)
    truncated: bool = False


class Supervisor:
    """Supervises one program from its start until all processes that it has started are gone.

    `pipes` maps descriptors to "stdout", "stderr" and "record". `wakeup` becomes readable when a child ends. A hang-up of `control` means that the
    host is gone. `emit` is called with the output.
    """

    def __init__(
        self, pid: int, pipes: dict[int, str], job: dict[str, Any], emit: Callable[[str, bytes], None]
    ) -> None:
        self._pid = pid
        self._pipes = pipes
        self._job = job
        self._emit = emit
        self._ending = Ending()
        self._sizes = dict.fromkeys(pipes.values(), 0)
        self._deadline = time.monotonic() + job["seconds"]

    def run(self, wakeup: int, control: int) -> Ending:
        """Serve the pipes until the program's first process has ended, then end all that it has started."""
        poller = select.poll()
        for descriptor in (*self._pipes, wakeup):
            poller.register(descriptor, select.POLLIN)
        poller.register(control, 0)
        before = counters()
        while self._ending.status is None and self._within_limits():
            pause = max(self._deadline - time.monotonic(), 0)
            for descriptor, _ in poller.poll(1000 * (min(pause, POLL) if self._job["watch"] else pause)):
                if descriptor == control:
                    end_all(self._pid)
                    os._exit(1)
                if descriptor == wakeup:
                    os.read(wakeup, 4096)
                elif not self._read(descriptor):
                    poller.unregister(descriptor)
            self._reap()
        end_all(self._pid)
        self._reap()
        self._drain()
        after = counters()
        self._ending.reason = self._ending.reason or next((kind for kind in before if after[kind] > before[kind]), "")
        return self._ending

    def _within_limits(self) -> bool:
        """End a program that has met a limit; return False when it is still there FINAL seconds later."""
        overdue = time.monotonic() >= self._deadline
        if self._ending.reason:
            return not overdue
        if overdue:
            self._stop("time")
        elif self._job["watch"] and (limit := _exceeded(self._job)):
            self._stop(limit)
        return True

    def _stop(self, reason: str) -> None:
        self._ending.reason = reason
        self._deadline = time.monotonic() + FINAL
        end_all(self._pid)

    def _read(self, descriptor: int) -> bool:
        """Read one piece of a stream; return False at its end, or when the program has printed more than it may."""
        data = os.read(descriptor, 65536)
        name = self._pipes[descriptor]
        if name == "record":
            self._ending.record += data[: MAX_RECORD - len(self._ending.record)]
            return bool(data)
        room = self._job["output"] - self._sizes[name]
        self._sizes[name] += len(data)
        if data and room > 0:
            self._emit(name, data[:room])
        if len(data) <= room:
            return bool(data)
        self._ending.truncated = True
        if not self._ending.reason:
            self._stop("output")
        return False

    def _drain(self) -> None:
        """Read what is left in the pipes: at most 64 KiB in each, because all writers are gone."""
        for descriptor in self._pipes:
            os.set_blocking(descriptor, False)
            with contextlib.suppress(BlockingIOError):
                while self._read(descriptor):
                    pass

    def _reap(self) -> None:
        """Collect every child that has ended; as the first process of its namespace the worker inherits orphans."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.wait4(-1, os.WNOHANG))[0]:
                if ended[0] == self._pid:
                    self._ending.status = ended[1]
                    self._ending.peak = ended[2].ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def end_all(group: int | None = None) -> None:
    """Kill all processes below the worker, and the program's process group where there is no /proc to find them in.

    In a namespace of its own the worker is process 1, and one signal reaches all other processes at once.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.getpid() == 1:
            os.kill(-1, signal.SIGKILL)
        elif group:
            os.killpg(group, signal.SIGKILL)
    for child in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)


def all_gone() -> bool:
    """Kill and collect until no child is left; return False when one is left after FINAL seconds."""
    limit = time.monotonic() + FINAL
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < limit:
            if os.wait4(-1, os.WNOHANG)[0] == 0:
                end_all()
                time.sleep(0.001)
        return False
    return True


def descendants(pid: int) -> list[int]:
    """Return all processes below `pid`; none where there is no /proc to find them in."""
    children = _listed_children if os.path.exists(f"/proc/{pid}/task/{pid}/children") else _scanned_children()
    processes: list[int] = []
    queue = [pid]
    while queue:
        below = children(queue.pop())
        processes += below
        queue += below
    return processes


def _listed_children(pid: int) -> list[int]:
    """Return the children that the kernel lists for each thread of a process."""
    listed: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                listed += [int(child) for child in file.read().split()]
    return listed


def _scanned_children() -> Callable[[int], list[int]]:
    """Find the same from every process's parent, for gVisor and for kernels without those lists."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{int(name)}/stat", "rb") as file:
            children.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(name))
    return lambda pid: children.get(pid, [])


def _usage(pid: int) -> tuple[int, int]:
    """Return the threads and the private resident bytes of a process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        with open(f"/proc/{pid}/statm", "rb") as file:
            sizes = file.read().split()
    except OSError:
        return 0, 0
    return int(fields[17]), (int(sizes[1]) - int(sizes[2])) * os.sysconf("SC_PAGE_SIZE")


def _exceeded(job: dict[str, Any]) -> str:
    """Return the limit that the program exceeds together with all that it has started, or nothing."""
    usage = [_usage(child) for child in descendants(os.getpid())]
    if sum(resident for _, resident in usage) + _held(job["shared"]) > job["memory"]:
        return "memory"
    if sum(threads for threads, _ in usage) > job["pids"]:
        return "pids"
    return ""


def _held(folders: list[str]) -> int:
    """Return the bytes in memory-backed file systems, which no process's resident size counts."""
    total = 0
    for folder in folders:
        with contextlib.suppress(OSError):
            state = os.statvfs(folder)
            total += (state.f_blocks - state.f_bfree) * state.f_frsize
    return total


def counters() -> dict[str, int]:
    """Return how often the kernel has killed for memory and refused new processes here, where a control group is visible."""
    counts = {"memory": 0, "pids": 0}
    for kind, key, paths in (
        ("memory", "oom_kill", ("memory/memory.oom_control", "memory.events")),
        ("pids", "max", ("pids/pids.events", "pids.events")),
    ):
        for path in paths:
            with contextlib.suppress(OSError), open(f"{CGROUP}/{path}") as file:
                counts[kind] += sum(int(line.split()[1]) for line in file if line.split()[0] == key)
    return counts

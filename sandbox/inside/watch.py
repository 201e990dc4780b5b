"""Watches one running program from the worker: its output, deadline, memory and processes, and everything it leaves."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

POLL = 0.05  # seconds between two looks at memory and processes where no cgroup counts them
FINAL = 2.0  # seconds in which everything a program started must be gone
CGROUP = "/sys/fs/cgroup"


@dataclass
class Ending:
    """How the program's first process ended, and why it was ended where the worker did that."""

    status: int | None = None
    reason: str = ""
    peak: int = 0
    record: bytes = b""
    truncated: bool = False
    sizes: dict[str, int] = field(default_factory=dict)


def watch(
    pid: int,
    pipes: dict[int, str],
    wakeup: int,
    control: int,
    job: dict[str, Any],
    emit: Callable[[str, bytes], None],
) -> Ending:
    """Serves the program's pipes until its first process has ended, then ends all it has started.

    `pipes` maps the descriptors to "stdout", "stderr" and "record". `emit` is called with what was printed.
    """
    ending = Ending(sizes=dict.fromkeys(pipes.values(), 0))
    deadline = time.monotonic() + job["seconds"]
    poller = select.poll()
    for descriptor in (*pipes, wakeup):
        poller.register(descriptor, select.POLLIN)
    poller.register(control, 0)  # only a hang-up: whoever asked for this program is gone
    before = counters()
    ended_by: str = ""
    while ending.status is None:
        left = deadline - time.monotonic()
        if not ended_by and left <= 0:
            ended_by = "time"
        if not ended_by and job["watch"]:
            ended_by = _over(job, pid)
        if ended_by and not ending.reason:
            ending.reason = ended_by
            deadline = time.monotonic() + FINAL
            end_all(pid)
        elif ended_by and left <= 0:
            break
        pause = min(max(left, 0.0), POLL) if job["watch"] else max(left, 0.0)
        for descriptor, event in poller.poll(pause * 1000):
            if descriptor == control:
                end_all(pid)
                os._exit(1)
            if descriptor == wakeup:
                os.read(wakeup, 4096)
            elif not _read(descriptor, pipes[descriptor], job["output"], ending, emit):
                poller.unregister(descriptor)
                if event & select.POLLIN:
                    ended_by = ended_by or "output"
        _reap(pid, ending)
    end_all(pid)
    _reap(pid, ending)
    _drain(pipes, job["output"], ending, emit)
    after = counters()
    if not ending.reason and after["oom"] > before["oom"]:
        ending.reason = "memory"
    elif not ending.reason and after["pids"] > before["pids"]:
        ending.reason = "pids"
    return ending


def _read(descriptor: int, name: str, limit: int, ending: Ending, emit: Callable[[str, bytes], None]) -> bool:
    """Takes what is there; False at the end of the stream or past its limit."""
    data = os.read(descriptor, 65536)
    if name == "record":
        ending.record = (ending.record + data)[:64]
        return bool(data)
    room = limit - ending.sizes[name]
    ending.sizes[name] += len(data)
    if data and room > 0:
        emit(name, data[:room])
    if ending.sizes[name] > limit:
        ending.truncated = True
        return False
    return bool(data)


def _drain(pipes: dict[int, str], limit: int, ending: Ending, emit: Callable[[str, bytes], None]) -> None:
    """Reads what is left in the pipes, which hold at most 64 KiB each once all writers are gone."""
    for descriptor, name in pipes.items():
        os.set_blocking(descriptor, False)
        with contextlib.suppress(BlockingIOError):
            while _read(descriptor, name, limit, ending, emit):
                pass


def _reap(pid: int, ending: Ending) -> None:
    """Collects every child that has ended; as the first process of its namespace the worker inherits orphans."""
    with contextlib.suppress(ChildProcessError):
        while True:
            ended, status, usage = os.wait4(-1, os.WNOHANG)
            if not ended:
                return
            if ended == pid:
                ending.status = status
                ending.peak = usage.ru_maxrss * (1024 if os.uname().sysname == "Linux" else 1)


def end_all(pid: int) -> None:
    """Kills the program and all it started. What is killed is collected by the caller, except what it leaves behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
    for child in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)


def all_gone() -> bool:
    """Kills and collects until no child is left; False when some outlive the attempt."""
    limit = time.monotonic() + FINAL
    while time.monotonic() < limit:
        try:
            if os.wait4(-1, os.WNOHANG)[0] == 0:
                if os.getpid() == 1:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(-1, signal.SIGKILL)
                else:
                    end_all_children()
                time.sleep(0.001)
        except ChildProcessError:
            return True
    return False


def end_all_children() -> None:
    for child in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)


def processes() -> dict[int, tuple[int, int, int]]:
    """Parent, threads and private resident bytes of each process in /proc; empty where there is no /proc."""
    found: dict[int, tuple[int, int, int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return found
    page = os.sysconf("SC_PAGE_SIZE")
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                with open(f"/proc/{name}/statm", "rb") as file:
                    sizes = file.read().split()
            except OSError:
                continue
            found[int(name)] = (int(fields[1]), int(fields[17]), (int(sizes[1]) - int(sizes[2])) * page)
    return found


def descendants(pid: int) -> list[int]:
    """All processes below `pid`."""
    children: dict[int, list[int]] = {}
    for child, (parent, _, _) in processes().items():
        children.setdefault(parent, []).append(child)
    found: list[int] = []
    queue = [pid]
    while queue:
        below = children.pop(queue.pop(), [])
        found += below
        queue += below
    return found


def _over(job: dict[str, Any], pid: int) -> str:
    """The limit that the program and all it started exceed together, or nothing."""
    table = processes()
    mine = [table[child] for child in descendants(os.getpid()) if child in table]
    if sum(resident for _, _, resident in mine) + _held(job["shared"]) > job["memory"]:
        return "memory"
    if sum(threads for _, threads, _ in mine) > job["pids"]:
        return "pids"
    return ""


def _held(folders: list[str]) -> int:
    """Bytes that lie in memory-backed file systems, which no process's resident size counts."""
    total = 0
    for folder in folders:
        with contextlib.suppress(OSError):
            state = os.statvfs(folder)
            total += (state.f_blocks - state.f_bfree) * state.f_frsize
    return total


def counters() -> dict[str, int]:
    """How often the kernel killed for memory and refused a new process here, where a cgroup is visible."""
    found = {"oom": 0, "pids": 0}
    for kind, key, paths in (
        ("oom", "oom_kill", ("memory/memory.oom_control", "memory.events")),
        ("pids", "max", ("pids/pids.events", "pids.events")),
    ):
        for path in paths:
            with contextlib.suppress(OSError), open(f"{CGROUP}/{path}") as file:
                found[kind] += sum(int(line.split()[1]) for line in file if line.split()[0] == key)
    return found

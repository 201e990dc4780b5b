"""Control groups made by this process, version 1 or 2: memory without swap, processes, CPU time.

Only where they are writable, which in practice means root; elsewhere the bubblewrap backend falls back to rlimits. `systemd-run --scope` needs systemd
as process 1, which containers and CI runners lack, and libcgroup's tools know version 2 only in part; both write the same few files.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from sandbox.leftovers import owned_name, stale
from sandbox.policy import NAME

ROOT = Path("/sys/fs/cgroup")
PERIOD = 100_000  # microseconds, the kernel's default period of CPU bandwidth


@dataclass(frozen=True)
class Group:
    """The folders of one control group: one under version 2, one per controller under version 1."""

    folders: tuple[Path, ...]
    version: int

    def entrances(self) -> list[str]:
        """Return the files into which a process writes 0 to enter the group."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    def visible(self) -> list[tuple[str, str]]:
        """Return (file of the host, file in the sandbox) of each counter that a worker reads."""
        if self.version == 2:
            return [(str(self.folders[0] / name), str(ROOT / name)) for name in ("memory.events", "pids.events")]
        memory, pids = self.folders[0], self.folders[1]
        return [
            (str(memory / "memory.oom_control"), str(ROOT / "memory/memory.oom_control")),
            (str(pids / "pids.events"), str(ROOT / "pids/pids.events")),
        ]

    def killed_for_memory(self) -> bool:
        """Return whether the kernel has killed a process of this group because its memory was used up."""
        folder = self.folders[0]
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        with contextlib.suppress(OSError, ValueError):
            for line in (folder / name).read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1]) > 0
        return False

    def remove(self) -> None:
        """Kill all processes of the group and remove it; the kernel needs a moment before it allows that."""
        for folder in self.folders:
            for _ in range(100):
                _kill(folder)
                try:
                    folder.rmdir()
                except (FileNotFoundError, NotADirectoryError):
                    break
                except OSError:
                    time.sleep(0.01)
                else:
                    break


def create(memory: int, pids: int, cpus: float) -> Group | None:
    """Return a new group with these limits, or None where control groups cannot be made.

    `memory` is in bytes. Under version 1 the CPU groups have no common parent, because all of them together would get no more time than one process
    outside of it.
    """
    limits2: dict[str, object] = {
        "memory.max": memory,
        "memory.swap.max": 0,
        "pids.max": pids,
        "cpu.max": f"{int(cpus * PERIOD)} {PERIOD}",
    }
    limits1: dict[str, dict[str, object]] = {
        "memory": {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory, "memory.swappiness": 0},
        "pids": {"pids.max": pids},
        "cpu": {"cpu.cfs_period_us": PERIOD, "cpu.cfs_quota_us": int(cpus * PERIOD)},
    }
    name = owned_name()
    if (ROOT / "cgroup.controllers").exists():
        return _make(2, {ROOT / NAME / name: limits2})
    folders = {ROOT / controller / NAME / name: limits for controller, limits in limits1.items() if controller != "cpu"}
    return _make(1, {**folders, ROOT / "cpu" / name: limits1["cpu"]})


def _make(version: int, limits_by_folder: dict[Path, dict[str, object]]) -> Group | None:
    group = Group(tuple(limits_by_folder), version)
    try:
        for folder, limits in limits_by_folder.items():
            folder.parent.mkdir(exist_ok=True)
            if version == 2:
                with contextlib.suppress(OSError):
                    (folder.parent / "cgroup.subtree_control").write_text("+memory +pids +cpu")
            folder.mkdir()
            for file, value in limits.items():
                if (folder / file).exists() or file in ("memory.max", "memory.limit_in_bytes", "pids.max"):
                    (folder / file).write_text(f"{value}\n")
    except OSError:
        group.remove()
        return None
    return group


def sweep() -> None:
    """Remove groups whose maker is gone."""
    for parent in (ROOT / NAME, ROOT / "memory" / NAME, ROOT / "pids" / NAME, ROOT / "cpu"):
        with contextlib.suppress(OSError):
            for folder in parent.iterdir():
                if folder.is_dir() and stale(folder.name):
                    Group((folder,), 1).remove()


def _kill(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for line in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                os.kill(int(line), 9)

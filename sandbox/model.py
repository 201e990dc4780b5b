"""What goes into the sandbox and what comes back: plain data, so that a queue could carry it to another machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Ended = Literal["exit", "signal", "time", "memory", "output", "pids", "cancelled", "refused"]
Stream = Literal["stdout", "stderr"]

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use."""

    seconds: float = 20  # wall clock, from its first line
    memory: int = 2048 * MIB  # bytes, without swap; the worker's own imports count
    output: int = 256 * 1024  # bytes kept of each stream; more ends the program
    pids: int = 64  # processes and threads, the worker's included
    shm: int = 64 * MIB  # bytes of /dev/shm
    tmp: int = 256 * MIB  # bytes of /tmp, in which the working directory lies
    cpus: float = 1
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """One whole Python program."""

    source: str
    limits: Limits = Limits()
    name: str = "program"
    group: str = ""  # programs of one group may share a worker
    fresh: bool = False  # a new interpreter instead of a fork of the worker that has imported torch
    device: Literal["cpu", "cuda"] = "cpu"  # "cuda" always gets a worker of its own
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one program."""

    name: str
    ended: Ended
    exit_code: int | None = None
    signal: int | None = None
    finished: bool = False  # it ran past its last statement: no early sys.exit or os._exit
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    seconds: float = 0.0
    peak_memory: int | None = None  # bytes, of the largest process
    backend: str = ""
    detail: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)  # of Python and the preloaded modules inside

    @property
    def passed(self) -> bool:
        """True for a program that ran to its end and exited with 0."""
        return self.ended == "exit" and self.exit_code == 0 and self.finished


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is started with; programs that need another setup need another worker."""

    memory: int
    pids: int
    shm: int
    tmp: int
    cpus: float
    gpus: int
    device: str
    preload: tuple[str, ...]
    trust_gpu: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """What a backend is made with: the interpreter of process and bubblewrap, runtime and image of docker."""

    python: str | None = None
    runtime: str | None = None
    image: str | None = None


DEFAULTS = Options()


@dataclass(frozen=True, slots=True)
class BackendStatus:
    """Whether a backend works on this machine; `detail` is one line: its version, or why not and what to do."""

    name: str
    works: bool
    detail: str


class SandboxError(Exception):
    """Something the sandbox needs is missing or broken; the message says what to do."""


class BackendUnavailable(SandboxError):
    """The backend asked for does not work here."""


class WorkerFailed(SandboxError):
    """A worker did not start."""

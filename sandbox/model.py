"""What goes into the sandbox and what comes back: plain data, so that a queue can carry it to another machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sandbox.environments import Installation

Ended = Literal["exit", "signal", "time", "memory", "output", "pids", "cancelled", "refused"]
Stream = Literal["stdout", "stderr"]
Origin = Literal["program", "beside", "library", "other"]
"""Whose code a frame runs: the program's, that of a file in the program's folder, an installed package's, or none of them (`<string>`)."""

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use."""

    seconds: float = 20  # wall clock, from its first line
    memory: int = 2048 * MIB  # bytes, without swap; the worker's own imports count
    output: int = 256 * 1024  # bytes kept of each stream; more ends the program
    pids: int = 64  # processes and threads, the worker's included
    shm: int = 64 * MIB  # bytes of /dev/shm
    tmp: int = 256 * MIB  # bytes of /tmp, which holds the working directory
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
    preload: tuple[str, ...] = ()  # modules that its worker imports beside those for all programs


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of an uncaught exception. `module` is the dotted module of a library frame, such as `torch.nn.modules.linear`, else empty."""

    origin: Origin
    module: str
    line: int
    function: str
    text: str = ""  # the source line, for a file in the program's folder


@dataclass(frozen=True, slots=True)
class Raised:
    """The uncaught exception that ended a program, as its interpreter held it and not as the program printed it.

    `frames` run from the outermost to the innermost; the middle of a deep stack is left out. `causes` are (type, message) of the exceptions that
    it was raised from or while handling, nearest first.
    """

    type: str  # the full name of its class; without module for a builtin
    message: str
    frames: tuple[Frame, ...] = ()
    causes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one program ended, and what it printed."""

    name: str
    ended: Ended
    exit_code: int | None = None
    signal: int | None = None
    finished: bool = False  # it ran past its last statement: no early sys.exit or os._exit
    raised: Raised | None = None
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    seconds: float = 0.0
    peak_memory: int | None = None  # bytes, of the largest process
    backend: str = ""
    detail: str = ""
    versions: Mapping[str, str] = field(
        default_factory=dict
    )  # inside, of Python, the preloaded modules and the packages asked for

    @property
    def passed(self) -> bool:
        """True for a program that ran to its end and exited with 0."""
        return self.ended == "exit" and self.exit_code == 0 and self.finished


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """What a worker is started with; programs that need another specification need another worker."""

    memory: int
    pids: int
    shm: int
    tmp: int
    cpus: float
    gpus: int
    device: str
    preload: tuple[str, ...]
    trust_gpu: bool = False
    packages: tuple[str, ...] = ()  # whose versions it reports


@dataclass(frozen=True, slots=True)
class Options:
    """What a backend is made with: the interpreter for process and bubblewrap, runtime and image for docker, and packages beside those of every sandbox.

    An image that is named has its own packages.
    """

    python: str | None = None
    runtime: str | None = None
    image: str | None = None
    environment: Installation | None = None


DEFAULTS = Options()


@dataclass(frozen=True, slots=True)
class BackendStatus:
    """Whether a backend works on this machine; `detail` is one line: its version, or why it does not work and what to do."""

    name: str
    works: bool
    detail: str


class SandboxError(Exception):
    """Something that the sandbox needs is missing or broken; the message says what to do."""


class BackendUnavailable(SandboxError):
    """The requested backend does not work here."""


class WorkerFailed(SandboxError):
    """A worker did not start."""

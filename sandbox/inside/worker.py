"""The worker: imports once, then forks one process per program, and reports how each ended in JSON lines.

Its first request describes the worker, each further one a program. Responses are `ready`, `output` and `outcome` lines on the descriptor that was its
standard output. Between two programs it ends all processes, empties its folders and looks for traces that a program has left on it. When any remain
it reports that it is not clean, and the host replaces it.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import gc
import importlib
import io
import json
import os
import resource
import secrets
import signal
import sys
import time
import weakref
from importlib import metadata
from typing import Any

from sandbox.inside import confine, supervisor, traces
from sandbox.inside.program import REPORT_FD, ProgramRun, prepare, seed_loaded

DESCRIPTORS = 1024  # the worker keeps its own descriptors just below this number


def main(pipe: io.BufferedReader) -> ProgramRun:
    """Serve until the pipe ends; return only in a process that is to run a program."""
    first = json.loads(pipe.readline())
    if "source" in first:
        return _fresh(first, pipe)
    return Worker(first, pipe).serve()


def _fresh(job: dict[str, Any], pipe: io.BufferedReader) -> ProgramRun:
    """Prepare the program's process after it has become a new interpreter."""
    os.close(pipe.fileno())
    os.set_inheritable(REPORT_FD, False)
    return prepare(job)


class Worker:
    """The worker's settings, both ends of the conversation, and its state before any program ran."""

    def __init__(self, settings: dict[str, Any], pipe: io.BufferedReader) -> None:
        self._settings = settings
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < DESCRIPTORS:
            resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))
        self._responses = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, REPORT_FD + 1)
        null = os.open(os.devnull, os.O_RDWR)
        self._control = fcntl.fcntl(pipe.fileno(), fcntl.F_DUPFD_CLOEXEC, REPORT_FD + 1)
        for standard in (0, 1):
            os.dup2(null, standard)
        if null > 2:
            os.close(null)
        self._requests = os.fdopen(self._control, "rb", closefd=False)
        self._wakeup, wakeup_writer = os.pipe()
        for end in (self._wakeup, wakeup_writer):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
        self._key = bytearray(os.urandom(16))

    def serve(self) -> ProgramRun:
        """Answer requests; return in the forked process of a program."""
        settings = self._settings
        started = time.monotonic()
        confine.give_up(settings["uid"], settings["seccomp"])
        os.umask(0o022)
        versions = {"python": sys.version.split()[0]}
        for name in settings["preload"]:
            with contextlib.suppress(ImportError):
                versions[name] = str(getattr(importlib.import_module(name), "__version__", ""))
        for name in settings["packages"]:
            with contextlib.suppress(metadata.PackageNotFoundError):
                versions[name] = metadata.version(name)
        _settle()
        self._kept = {folder: set(os.listdir(folder)) for folder in (settings["tmp"], *settings["shared"])}
        self._state = traces.state(list(self._kept))
        self._respond(event="ready", versions=versions, seconds=time.monotonic() - started)
        for line in self._requests:
            run = self._program(json.loads(line))
            if run is not None:
                return run
        os._exit(0)

    def _respond(self, **response: Any) -> None:
        """Send one response; the key shows that it comes from the worker and not from a program that found the pipe."""
        line = json.dumps({"key": self._key.hex(), **response}).encode() + b"\n"
        while line:
            line = line[os.write(self._responses, line) :]

    def _emit(self, stream: str, data: bytes) -> None:
        self._respond(event="output", stream=stream, data=base64.b64encode(data).decode())

    def _program(self, job: dict[str, Any]) -> ProgramRun | None:
        """Run one program and respond with its outcome; return its run in the child."""
        folder = os.path.join(self._settings["tmp"], "run")
        os.makedirs(folder, exist_ok=True)
        job["path"] = os.path.join(folder, "program.py")
        with open(job["path"], "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(job["source"])
        finished, failed = job["nonces"] = [secrets.token_hex(16), secrets.token_hex(16)]
        pipes = {name: os.pipe() for name in ("stdout", "stderr", "record")}
        handover = os.pipe() if job["fresh"] else None
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            return self._child(job, pipes, handover)
        for _, writer in pipes.values():
            os.close(writer)
        if handover:
            os.close(handover[0])
            self._hand_over(handover[1], job)
        readers = {reader: name for name, (reader, _) in pipes.items()}
        ending = supervisor.Supervisor(pid, readers, job, self._emit).run(self._wakeup, self._control)
        seconds = time.monotonic() - started
        for reader in readers:
            os.close(reader)
        self._respond(
            event="outcome",
            id=job["id"],
            **_status(ending),
            finished=ending.record == finished.encode(),
            raised=ending.record.partition(failed.encode())[2].decode("ascii", "replace"),
            truncated=ending.truncated,
            seconds=seconds,
            peak=ending.peak,
            clean=self._clean(),
        )
        return None

    def _hand_over(self, descriptor: int, job: dict[str, Any]) -> None:
        """Send a new interpreter the modules and its program; the supervisor notices a process that has died before."""
        with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as pipe:
            pipe.write(json.dumps(self._settings["modules"]).encode() + b"\n")
            pipe.write(json.dumps(job).encode() + b"\n")

    def _child(
        self, job: dict[str, Any], pipes: dict[str, tuple[int, int]], handover: tuple[int, int] | None
    ) -> ProgramRun:
        """Turn the forked copy of the worker into the program's process."""
        self._key[:] = bytes(len(self._key))
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(pipes["stdout"][1], 1)
        os.dup2(pipes["stderr"][1], 2)
        os.dup2(pipes["record"][1], REPORT_FD, inheritable=job["fresh"])
        _own_stdin()
        kept = {0, 1, 2, REPORT_FD}
        if handover:
            os.dup2(handover[0], 3)
            kept.add(3)
        _close_all_but(kept)
        confine.hide(False)
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
        if handover:
            os.environ.update(job["env"])
            os.execv(sys.executable, [*sys.orig_argv[:-1], "3"])  # noqa: S606
        return prepare(job)

    def _clean(self) -> bool:
        """Empty what programs can write to; return False when something stays that the next program could meet."""
        clean = supervisor.all_gone()
        for folder, kept in self._kept.items():
            clean = traces.empty(folder, kept) and clean
        return clean and traces.state(list(self._kept)) == self._state


def _own_stdin() -> None:
    """Open the null device anew: flags such as O_NONBLOCK belong to the open file, which the worker and its next programs would share."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def _status(ending: supervisor.Ending) -> dict[str, Any]:
    """Return what ended the program, with its exit code or signal; a program that could not be ended has neither."""
    code = signalled = None
    if ending.status is not None and os.WIFEXITED(ending.status):
        code = os.WEXITSTATUS(ending.status)
    elif ending.status is not None:
        signalled = os.WTERMSIG(ending.status)
    return {"ended": ending.reason or ("signal" if code is None else "exit"), "exit_code": code, "signal": signalled}


def _settle() -> None:
    """Make forks cheap: load what every program would load, and leave out what only the end of a worker needs.

    torch has registered some 130 finalizers that would take 20 ms at the end of each program.
    """
    seed_loaded()
    for info in weakref.finalize._registry.values():  # type: ignore[attr-defined]
        info.atexit = False
    gc.collect()
    gc.freeze()


def _close_all_but(kept: set[int]) -> None:
    highest = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1 << 16)
    low = 0
    for descriptor in [*sorted(kept), highest]:
        if low < descriptor:  # closerange(n, n) closes everything
            os.closerange(low, descriptor)
        low = descriptor + 1

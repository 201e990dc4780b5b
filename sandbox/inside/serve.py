"""The worker: imports once, then forks one process per program, and says in JSON lines what became of each.

Its first request describes the worker, each further one a program. Answers are `ready`, `output` and `outcome` lines on
what was its standard output. Between two programs it ends all processes, empties its folders and looks for traces that
a program left on the worker itself; where any remain it says that it is not clean, and is replaced.
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
import shutil
import signal
import sys
import time
import weakref
from typing import Any

from sandbox.inside import confine, watch
from sandbox.inside.run import REPORT_FD, Run, prepare, seed_loaded

DESCRIPTORS = 1024  # a worker's own lie just below this number
MANY_FILES = 2000  # more leftovers than this are not worth the time: a new worker is quicker


def main(pipe: io.BufferedReader) -> Run:
    """Serves until the pipe ends; returns only in a process that is to run a program."""
    first = json.loads(pipe.readline())
    if "source" in first:
        return _fresh(first, pipe)
    return Worker(first, pipe).serve()


def _fresh(job: dict[str, Any], pipe: io.BufferedReader) -> Run:
    """The program's process after it has become a new interpreter."""
    os.close(pipe.fileno())
    os.set_inheritable(REPORT_FD, False)
    return prepare(job)


class Worker:
    """Settings, the two ends of the conversation, and how the worker looked before any program ran."""

    def __init__(self, settings: dict[str, Any], pipe: io.BufferedReader) -> None:
        self._settings = settings
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < DESCRIPTORS:
            resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))
        self._answers = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, REPORT_FD + 1)
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

    def serve(self) -> Run:
        """Answers requests; returns in the forked process of a program."""
        settings = self._settings
        started = time.monotonic()
        confine.give_up(settings["uid"], settings["seccomp"])
        os.umask(0o022)
        versions = {"python": sys.version.split()[0]}
        for name in settings["preload"]:
            with contextlib.suppress(ImportError):
                versions[name] = str(getattr(importlib.import_module(name), "__version__", ""))
        _settle()
        self._state = _state()
        self._found = {folder: set(os.listdir(folder)) for folder in (settings["tmp"], *settings["shared"])}
        self._answer(event="ready", versions=versions, seconds=time.monotonic() - started)
        for line in self._requests:
            run = self._program(json.loads(line))
            if run is not None:
                return run
        os._exit(0)

    def _answer(self, **answer: Any) -> None:
        """Sends one answer; the key shows that it comes from the worker and not from a program that found the pipe."""
        line = json.dumps({"key": self._key.hex(), **answer}).encode() + b"\n"
        while line:
            line = line[os.write(self._answers, line) :]

    def _emit(self, stream: str, data: bytes) -> None:
        self._answer(event="output", stream=stream, data=base64.b64encode(data).decode())

    def _program(self, job: dict[str, Any]) -> Run | None:
        """Runs one program and answers with its outcome; returns its Run in the child."""
        folder = os.path.join(self._settings["tmp"], "run")
        os.makedirs(folder, exist_ok=True)
        job["path"] = os.path.join(folder, "program.py")
        with open(job["path"], "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(job["source"])
        job["nonce"] = secrets.token_hex(16)
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
        ending = watch.Watch(pid, readers, job, self._emit).run(self._wakeup, self._control)
        seconds = time.monotonic() - started
        for reader in readers:
            os.close(reader)
        self._answer(
            event="outcome",
            id=job["id"],
            **_status(ending),
            finished=ending.record == job["nonce"].encode(),
            truncated=ending.truncated,
            seconds=seconds,
            peak=ending.peak,
            clean=self._clean(),
        )
        return None

    def _hand_over(self, descriptor: int, job: dict[str, Any]) -> None:
        """Gives a new interpreter the modules and its program; a process that died first is the watch's affair."""
        with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as pipe:
            pipe.write(json.dumps(self._settings["modules"]).encode() + b"\n")
            pipe.write(json.dumps(job).encode() + b"\n")

    def _child(self, job: dict[str, Any], pipes: dict[str, tuple[int, int]], handover: tuple[int, int] | None) -> Run:
        """Turns the forked copy of the worker into the program's process."""
        self._key[:] = bytes(len(self._key))
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(pipes["stdout"][1], 1)
        os.dup2(pipes["stderr"][1], 2)
        os.dup2(pipes["record"][1], REPORT_FD, inheritable=job["fresh"])
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
        """Empties what programs can write to; False when something stays that the next program could meet."""
        clean = watch.all_gone()
        for folder, found in self._found.items():
            clean = _empty(folder, found) and clean
        return clean and _state() == self._state


def _status(ending: watch.Ending) -> dict[str, Any]:
    """What ended the program, with its exit code or signal; one that could not be ended has neither."""
    code = signalled = None
    if ending.status is not None and os.WIFEXITED(ending.status):
        code = os.WEXITSTATUS(ending.status)
    elif ending.status is not None:
        signalled = os.WTERMSIG(ending.status)
    return {"ended": ending.reason or ("signal" if code is None else "exit"), "exit_code": code, "signal": signalled}


def _settle() -> None:
    """Makes forks cheap: loads what every program would load, and leaves alone what only the end of a worker needs.

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


def _state() -> tuple[Any, ...]:
    """What another process of the same user could change about the worker."""
    limits = tuple(resource.getrlimit(which) for which in range(16) if _readable(which))
    affinity = tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
    return limits, affinity, os.getpriority(os.PRIO_PROCESS, 0), os.getcwd()


def _readable(which: int) -> bool:
    try:
        resource.getrlimit(which)
    except (ValueError, OSError):
        return False
    return True


def _empty(folder: str, found: set[str]) -> bool:
    """Removes all but `found` from `folder`; False when it is too much to bother or cannot be removed."""
    with contextlib.suppress(OSError):
        state = os.statvfs(folder)
        if os.path.ismount(folder) and state.f_files - state.f_ffree > MANY_FILES:
            return False
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name in found:
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

"""One worker from the host's side: started by a backend, given programs one after the other, replaced when it breaks."""

from __future__ import annotations

import base64
import codecs
import functools
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any, Protocol

from sandbox import policy
from sandbox.link import Death, Link
from sandbox.model import BackendStatus, Ended, Outcome, Program, Setup, Stream, WorkerFailed

MODULES = ("confine", "run", "watch", "serve")
_ENDED: dict[str, Ended] = {name: name for name in ("exit", "signal", "time", "memory", "output", "pids")}
OnText = Callable[[Stream, str], None]


@dataclass(frozen=True)
class Started:
    """A worker that a backend has started: its link, its settings, and what it is told of each program."""

    link: Link
    settings: dict[str, Any]
    job: Callable[[Program], dict[str, Any]]


class Backend(Protocol):
    """A way to start a worker in isolation."""

    name: str

    def status(self) -> BackendStatus:
        """Whether it works here, found by trying."""

    def sweep(self) -> None:
        """Removes what interrupted runs left behind."""

    def launch(self, setup: Setup) -> Started:
        """Starts `python -c BOOT 0` in isolation; does not wait for it."""


@functools.cache
def boot() -> str:
    """The source that `python -c` gets in every worker."""
    return (resources.files("sandbox.inside") / "boot.py").read_text(encoding="utf-8")


@functools.cache
def modules() -> list[list[str]]:
    """Name and source of each module that a worker loads, in order of their imports."""
    folder = resources.files("sandbox.inside")
    sources = [[f"sandbox.inside.{name}", (folder / f"{name}.py").read_text(encoding="utf-8")] for name in MODULES]
    return [["sandbox", ""], ["sandbox.inside", ""], *sources]


def arguments() -> list[str]:
    """What follows the interpreter on a worker's command line."""
    return [*policy.PYTHON_OPTIONS, "-c", boot(), "0"]


class Worker:
    """A started worker. `usable` turns False when it died or a program left traces on it."""

    def __init__(self, backend: Backend, setup: Setup) -> None:
        self._backend = backend
        started = backend.launch(setup)
        self._link, self._job = started.link, started.job
        self.setup = setup
        self.usable = True
        self.versions: dict[str, str] = {}
        self._ready = False
        self._key = ""
        self._started = time.monotonic()
        self._count = 0
        first = {**started.settings, "preload": list(setup.preload), "modules": modules()}
        try:
            self._link.send(json.dumps(modules()).encode() + b"\n" + json.dumps(first).encode() + b"\n")
        except OSError:
            self._fail("it ended at once")

    def _fail(self, why: str) -> None:
        self.usable = False
        death = self._link.close()
        raise WorkerFailed(f"the {self._backend.name} worker did not start: {death.detail or why}")

    def wait_ready(self, cancel: threading.Event) -> bool:
        """Waits until the worker has imported all; False when cancelled; raises WorkerFailed."""
        while not self._ready:
            if cancel.is_set():
                return False
            if time.monotonic() - self._started > policy.START_TIMEOUT:
                self._fail(f"no answer in {policy.START_TIMEOUT} s")
            try:
                answer = self._link.receive(0.1)
            except EOFError:
                self._fail("it ended while importing")
            if answer and answer["event"] == "ready":
                versions = answer.get("versions")
                self._key = str(answer.get("key"))
                if isinstance(versions, dict):
                    self.versions = {str(name)[:40]: str(version)[:40] for name, version in versions.items()}
                self._ready = True
        return True

    def run(self, program: Program, cancel: threading.Event, on_text: OnText) -> Outcome:
        """Runs one program; every way in which it or the worker can end becomes an outcome."""
        if not self.wait_ready(cancel):
            return Outcome(program.name, "cancelled", backend=self._backend.name)
        self._count += 1
        heard = _Heard(on_text)
        started = time.monotonic()
        limit = started + program.limits.seconds + policy.GRACE
        job = {**self._job(program), "id": self._count}
        try:
            self._link.send(json.dumps(job).encode() + b"\n")
            answer = self._await(limit, program.limits.output, cancel, heard)
        except (OSError, EOFError):
            answer = None
            self.usable = False
        seconds = time.monotonic() - started
        if answer is None:
            self.usable = False
            return self._lost(program, self._link.close(), heard, seconds, cancel.is_set(), time.monotonic() > limit)
        self.usable = answer.get("clean") is True
        return self._outcome(program, answer, heard, seconds)

    def _await(self, limit: float, room: int, cancel: threading.Event, heard: _Heard) -> dict[str, Any] | None:
        """The outcome's answer; None when the program was cancelled or is overdue, or when an answer is not the worker's."""
        while not cancel.is_set() and time.monotonic() < limit:
            answer = self._link.receive(min(0.1, max(limit - time.monotonic(), 0.001)))
            if answer is None:
                continue
            if answer.get("key") != self._key:
                return None
            if answer["event"] == "outcome" and answer.get("id") == self._count:
                return answer
            if answer["event"] == "output" and not heard.take(answer, room):
                return None
        return None

    def _outcome(self, program: Program, answer: dict[str, Any], heard: _Heard, seconds: float) -> Outcome:
        ended = _ENDED.get(str(answer.get("ended")), "signal")
        exit_code, signal = _number(answer.get("exit_code")), _number(answer.get("signal"))
        inside = answer.get("seconds")
        return Outcome(
            name=program.name,
            ended=ended,
            exit_code=exit_code,
            signal=signal,
            finished=answer.get("finished") is True and ended == "exit",
            stdout=heard.text("stdout"),
            stderr=heard.text("stderr"),
            truncated=answer.get("truncated") is True,
            seconds=min(float(inside), seconds) if isinstance(inside, int | float) else seconds,
            peak_memory=_number(answer.get("peak")),
            backend=self._backend.name,
            detail=_explain(ended, program),
            versions=self.versions,
        )

    def _lost(
        self, program: Program, death: Death, heard: _Heard, seconds: float, cancelled: bool, overdue: bool
    ) -> Outcome:
        """The outcome of a program whose worker ended, or had to be ended, with it."""
        ended: Ended = "signal"
        if cancelled:
            ended = "cancelled"
        elif death.out_of_memory:
            ended = "memory"
        elif overdue:
            ended = "time"
        explanation = _explain(ended, program) or f"it took its worker down: {death.detail or 'no reason given'}"
        return Outcome(
            name=program.name,
            ended=ended,
            signal=9 if ended == "signal" else None,
            stdout=heard.text("stdout"),
            stderr=heard.text("stderr"),
            seconds=seconds,
            backend=self._backend.name,
            detail="" if cancelled else explanation,
            versions=self.versions,
        )

    def close(self) -> None:
        """Ends the worker and all it runs."""
        self.usable = False
        self._link.close()


class _Heard:
    """What a program has printed so far, decoded as it comes."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        self._parts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._sizes = {"stdout": 0, "stderr": 0}

    def take(self, answer: dict[str, Any], room: int) -> bool:
        """Adds one answer's bytes; False when it is malformed or more than a worker would send."""
        stream = answer.get("stream")
        if stream not in ("stdout", "stderr"):
            return False
        try:
            data = base64.b64decode(str(answer.get("data")), validate=True)
        except ValueError:
            return False
        self._sizes[stream] += len(data)
        if self._sizes[stream] > room:
            return False
        self._add(stream, self._decoders[stream].decode(data))
        return True

    def _add(self, stream: Stream, text: str) -> None:
        if text:
            self._parts[stream].append(text)
            self._on_text(stream, text)

    def text(self, stream: Stream) -> str:
        """All that was printed; what ends within a character ends in a replacement character."""
        self._add(stream, self._decoders[stream].decode(b"", final=True))
        return "".join(self._parts[stream])


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _explain(ended: Ended, program: Program) -> str:
    """One line on a limit that was met."""
    limits = program.limits
    return {
        "time": f"still running after {limits.seconds:g} s",
        "memory": f"used more than {limits.memory >> 20} MiB",
        "output": f"printed more than {limits.output} bytes",
        "pids": f"started more than {limits.pids} processes and threads",
    }.get(ended, "")

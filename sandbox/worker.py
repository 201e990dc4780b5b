"""One worker from the host's side: a backend starts it, it runs programs one after the other, and it is replaced when it breaks."""

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
from sandbox.model import BackendStatus, Ended, Outcome, Program, Stream, WorkerFailed, WorkerSpec
from sandbox.raised import read_raised
from sandbox.transport import ExitReport, Transport

MODULES = ("confine", "record", "traces", "program", "supervisor", "worker")
_ENDED: dict[str, Ended] = {name: name for name in ("exit", "signal", "time", "memory", "output", "pids")}
OnText = Callable[[Stream, str], None]


@dataclass(frozen=True)
class WorkerHandle:
    """A worker that a backend has started: the way to talk to it, its settings, and what it is sent for each program."""

    transport: Transport
    settings: dict[str, Any]
    job: Callable[[Program], dict[str, Any]]


class Backend(Protocol):
    """A way to start a worker in isolation."""

    name: str

    def status(self) -> BackendStatus:
        """Return whether it works here, found by trying."""

    def sweep(self) -> None:
        """Remove what interrupted runs left behind."""

    def launch(self, spec: WorkerSpec) -> WorkerHandle:
        """Start `python -c BOOT 0` in isolation without waiting for it."""


@functools.cache
def boot() -> str:
    """Return the source that `python -c` gets in every worker."""
    return (resources.files("sandbox.inside") / "boot.py").read_text(encoding="utf-8")


@functools.cache
def modules() -> list[list[str]]:
    """Return name and source of each module that a worker loads, in the order of their imports."""
    folder = resources.files("sandbox.inside")
    sources = [[f"sandbox.inside.{name}", (folder / f"{name}.py").read_text(encoding="utf-8")] for name in MODULES]
    return [["sandbox", ""], ["sandbox.inside", ""], *sources]


def arguments() -> list[str]:
    """Return what follows the interpreter on a worker's command line."""
    return [*policy.PYTHON_OPTIONS, "-c", boot(), "0"]


class Worker:
    """A started worker. `usable` turns False when it has died or a program has left traces on it."""

    def __init__(self, backend: Backend, spec: WorkerSpec) -> None:
        self._backend = backend
        handle = backend.launch(spec)
        self._transport, self._job = handle.transport, handle.job
        self.spec = spec
        self.usable = True
        self.versions: dict[str, str] = {}
        self._ready = False
        self._key = ""
        self._started = time.monotonic()
        self._programs_run = 0
        first = {
            **handle.settings,
            "preload": list(spec.preload),
            "packages": list(spec.packages),
            "modules": modules(),
        }
        try:
            self._transport.send(json.dumps(modules()).encode() + b"\n" + json.dumps(first).encode() + b"\n")
        except OSError:
            self._fail("it ended at once")

    def _fail(self, why: str) -> None:
        self.usable = False
        report = self._transport.close()
        raise WorkerFailed(f"the {self._backend.name} worker did not start: {report.detail or why}")

    def wait_ready(self, cancel: threading.Event) -> bool:
        """Wait until the worker has imported all modules; return False when cancelled. Raises WorkerFailed."""
        while not self._ready:
            if cancel.is_set():
                return False
            if time.monotonic() - self._started > policy.START_TIMEOUT:
                self._fail(f"no response in {policy.START_TIMEOUT} s")
            try:
                response = self._transport.receive(0.1)
            except EOFError:
                self._fail("it ended while importing")
            if response and response["event"] == "ready":
                versions = response.get("versions")
                self._key = str(response.get("key"))
                if isinstance(versions, dict):
                    self.versions = {str(name)[:40]: str(version)[:40] for name, version in versions.items()}
                self._ready = True
        return True

    def run(self, program: Program, cancel: threading.Event, on_text: OnText) -> Outcome:
        """Run one program; every way in which it or the worker can end becomes an outcome."""
        if not self.wait_ready(cancel):
            return Outcome(program.name, "cancelled", backend=self._backend.name)
        self._programs_run += 1
        output = OutputBuffer(on_text)
        started = time.monotonic()
        deadline = started + program.limits.seconds + policy.GRACE
        job = {**self._job(program), "id": self._programs_run}
        try:
            self._transport.send(json.dumps(job).encode() + b"\n")
            response = self._await_outcome(deadline, program.limits.output, cancel, output)
        except (OSError, EOFError):
            response = None
            self.usable = False
        seconds = time.monotonic() - started
        if response is None:
            self.usable = False
            overdue = time.monotonic() > deadline
            return self._lost(program, self._transport.close(), output, seconds, cancel.is_set(), overdue)
        self.usable = response.get("clean") is True
        return self._outcome(program, response, output, seconds)

    def _await_outcome(
        self, deadline: float, limit: int, cancel: threading.Event, output: OutputBuffer
    ) -> dict[str, Any] | None:
        """Return the outcome's response; None when the program was cancelled or is overdue, or for a response that no worker sends."""
        while not cancel.is_set() and time.monotonic() < deadline:
            response = self._transport.receive(min(0.1, max(deadline - time.monotonic(), 0.001)))
            if response is None:
                continue
            if response.get("key") != self._key:
                return None
            if response["event"] == "outcome" and response.get("id") == self._programs_run:
                return response
            if response["event"] == "output" and not output.take(response, limit):
                return None
        return None

    def _outcome(self, program: Program, response: dict[str, Any], output: OutputBuffer, seconds: float) -> Outcome:
        ended = _ENDED.get(str(response.get("ended")), "signal")
        return Outcome(
            name=program.name,
            ended=ended,
            exit_code=_integer(response.get("exit_code")),
            signal=_integer(response.get("signal")),
            finished=response.get("finished") is True and ended == "exit",
            raised=read_raised(response.get("raised")) if ended == "exit" else None,
            stdout=output.text("stdout"),
            stderr=output.text("stderr"),
            truncated=response.get("truncated") is True,
            seconds=_seconds(response.get("seconds"), seconds),
            peak_memory=_integer(response.get("peak")),
            backend=self._backend.name,
            detail=_explain(ended, program),
            versions=self.versions,
        )

    def _lost(
        self, program: Program, report: ExitReport, output: OutputBuffer, seconds: float, cancelled: bool, overdue: bool
    ) -> Outcome:
        """Return the outcome of a program whose worker ended, or had to be ended, with it."""
        ended: Ended = "signal"
        if cancelled:
            ended = "cancelled"
        elif report.out_of_memory:
            ended = "memory"
        elif overdue:
            ended = "time"
        explanation = _explain(ended, program) or f"it took its worker down: {report.detail or 'no reason given'}"
        return Outcome(
            name=program.name,
            ended=ended,
            signal=9 if ended == "signal" else None,
            stdout=output.text("stdout"),
            stderr=output.text("stderr"),
            seconds=seconds,
            backend=self._backend.name,
            detail="" if cancelled else explanation,
            versions=self.versions,
        )

    def close(self) -> None:
        """End the worker and all that it runs."""
        self.usable = False
        self._transport.close()


class OutputBuffer:
    """What a program has printed so far, decoded as it arrives."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        self._parts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._sizes = {"stdout": 0, "stderr": 0}

    def take(self, response: dict[str, Any], limit: int) -> bool:
        """Add the bytes of one response; return False when it is malformed or the stream exceeds `limit` bytes, as no worker would send."""
        stream = response.get("stream")
        if stream not in ("stdout", "stderr"):
            return False
        try:
            data = base64.b64decode(str(response.get("data")), validate=True)
        except ValueError:
            return False
        self._sizes[stream] += len(data)
        if self._sizes[stream] > limit:
            return False
        self._add(stream, self._decoders[stream].decode(data))
        return True

    def _add(self, stream: Stream, text: str) -> None:
        if text:
            self._parts[stream].append(text)
            self._on_text(stream, text)

    def text(self, stream: Stream) -> str:
        """Return all that was printed; a character cut in two at the end becomes a replacement character."""
        self._add(stream, self._decoders[stream].decode(b"", final=True))
        return "".join(self._parts[stream])


def _seconds(inside: object, outside: float) -> float:
    """Return the time that the worker measured, or the host's own where the worker's cannot be right."""
    return inside if isinstance(inside, float) and 0 <= inside <= outside else outside


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _explain(ended: Ended, program: Program) -> str:
    """Return one line about the limit that was met, or nothing."""
    limits = program.limits
    return {
        "time": f"still running after {limits.seconds:g} s",
        "memory": f"used more than {limits.memory >> 20} MiB",
        "output": f"printed more than {limits.output} bytes",
        "pids": f"started more than {limits.pids} processes and threads",
    }.get(ended, "")

"""The host's end of a conversation with a worker, over a pipe or a container's streams. What arrives is checked, never trusted."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from sandbox.policy import MAX_RESPONSE

KEPT_ERRORS = 4096  # bytes of a worker's own standard error that explain why it failed
QUEUED_RESPONSES = 64


@dataclass
class ExitReport:
    """How a worker ended: whether the kernel killed it for memory, and one line with what else is known."""

    out_of_memory: bool = False
    detail: str = ""


class Transport(Protocol):
    """A started worker process and the conversation with it."""

    def send(self, line: bytes) -> None:
        """Send one line. Raises OSError when the worker is gone."""

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """Return the next response, or None after `timeout` seconds. Raises EOFError when there are no more."""

    def close(self) -> ExitReport:
        """End the worker with all that it runs, release its resources, and return how it ended. May be called again."""


class ResponseReader:
    """A thread that reads a worker's responses into a short queue, so that the host can wait for one with a time limit."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue(maxsize=QUEUED_RESPONSES)
        self._stopped = threading.Event()
        threading.Thread(target=self._pump, daemon=True, name="sandbox-responses").start()

    def _pump(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in self._lines():
                response = parse(line)
                if response is None or not self._put(response):
                    break
        self._put(None)

    def _lines(self) -> Iterator[bytes]:
        pieces: list[bytes] = []
        size = 0
        while size <= MAX_RESPONSE and (data := self._read()):
            *lines, rest = data.split(b"\n")
            if lines:
                yield b"".join(pieces) + lines[0]
                yield from lines[1:]
                pieces, size = [], 0
            pieces.append(rest)
            size += len(rest)

    def _put(self, response: dict[str, Any] | None) -> bool:
        while not self._stopped.is_set():
            with contextlib.suppress(queue.Full):
                self._queue.put(response, timeout=0.2)
                return True
        return False

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """Return the next response, or None after `timeout` seconds. Raises EOFError at the end."""
        try:
            response = self._queue.get(timeout=max(timeout, 0.001))
        except queue.Empty:
            return None
        if response is None:
            self._stopped.set()
            raise EOFError
        return response

    def stop(self) -> None:
        """Let the thread end although nobody reads its queue any more."""
        self._stopped.set()


def parse(line: bytes) -> dict[str, Any] | None:
    """Return one response, or None for a line that no worker of ours would send."""
    try:
        response = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return response if isinstance(response, dict) and isinstance(response.get("event"), str) else None


class PipeTransport:
    """A worker that is a child process; `cleanup` releases what the backend made for it and returns how it ended."""

    def __init__(self, process: subprocess.Popen[bytes], cleanup: Callable[[], ExitReport]) -> None:
        assert process.stdin
        assert process.stdout
        self._process = process
        self._cleanup = cleanup
        self._report: ExitReport | None = None
        self._stdin, self._errors = process.stdin, b""
        self._responses = ResponseReader(process.stdout.read1)  # type: ignore[attr-defined]
        self._error_reader = threading.Thread(target=self._collect_errors, daemon=True, name="sandbox-errors")
        self._error_reader.start()

    def _collect_errors(self) -> None:
        assert self._process.stderr
        with contextlib.suppress(OSError, ValueError):
            while data := self._process.stderr.read1():  # type: ignore[attr-defined]
                self._errors = (self._errors + data)[-KEPT_ERRORS:]

    def send(self, line: bytes) -> None:
        """Send one line; see Transport."""
        self._stdin.write(line)
        self._stdin.flush()

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """Return the next response; see Transport."""
        return self._responses.receive(timeout)

    def close(self) -> ExitReport:
        """End the worker; see Transport."""
        if self._report is None:
            self._responses.stop()
            self._process.kill()
            self._process.wait()
            self._report = self._cleanup()
            self._error_reader.join(timeout=1)
            if not self._report.detail:
                self._report.detail = last_line(self._errors)
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
                with contextlib.suppress(OSError):
                    if stream:
                        stream.close()
        return self._report


def last_line(data: bytes) -> str:
    """Return the last line that is not blank, at most 300 characters of it."""
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else ""

"""The host's end of a conversation with a worker, whatever carries it. What arrives is checked, never trusted."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from sandbox.policy import LINE

KEPT_ERRORS = 4096  # bytes of a worker's own standard error kept to say why it failed


class Link(Protocol):
    """A started worker process with its conversation."""

    def send(self, line: bytes) -> None:
        """Sends one line; raises OSError when the worker is gone."""

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """The next answer, or None after `timeout` seconds; raises EOFError when there are no more."""

    def close(self) -> Death:
        """Ends the worker with all it runs, frees what it held, and tells how it had ended. Safe to call again."""


class Death:
    """How a worker ended: whether the kernel killed it for memory, and what is known beside that."""

    def __init__(self, out_of_memory: bool = False, detail: str = "") -> None:
        self.out_of_memory = out_of_memory
        self.detail = detail


class Answers:
    """A thread that reads a worker's answers into a short queue, so that a reader can wait with a time limit."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue(maxsize=64)
        self._stopped = threading.Event()
        threading.Thread(target=self._pump, daemon=True, name="sandbox-answers").start()

    def _pump(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in self._lines():
                answer = parse(line)
                if answer is None or not self._put(answer):
                    break
        self._put(None)

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        while len(rest) <= LINE and (data := self._read()):
            *lines, rest = (rest + data).split(b"\n")
            yield from lines

    def _put(self, answer: dict[str, Any] | None) -> bool:
        while not self._stopped.is_set():
            with contextlib.suppress(queue.Full):
                self._queue.put(answer, timeout=0.2)
                return True
        return False

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """Returns the next answer, or None after `timeout` seconds; raises EOFError at the end."""
        try:
            answer = self._queue.get(timeout=max(timeout, 0.001))
        except queue.Empty:
            return None
        if answer is None:
            self._stopped.set()
            raise EOFError
        return answer

    def stop(self) -> None:
        """Lets the thread end although nobody reads any more."""
        self._stopped.set()


def parse(line: bytes) -> dict[str, Any] | None:
    """One answer, or None for what no worker of ours would say."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) and isinstance(answer.get("event"), str) else None


class PipeLink:
    """A worker that is a child process; `bury` frees what the backend made for it and tells how it ended."""

    def __init__(self, process: subprocess.Popen[bytes], bury: Callable[[], Death]) -> None:
        assert process.stdin
        assert process.stdout
        self._process = process
        self._bury = bury
        self._death: Death | None = None
        self._stdin, self._errors = process.stdin, b""
        self._answers = Answers(process.stdout.read1)  # type: ignore[attr-defined]
        self._error_reader = threading.Thread(target=self._collect_errors, daemon=True, name="sandbox-errors")
        self._error_reader.start()

    def _collect_errors(self) -> None:
        assert self._process.stderr
        with contextlib.suppress(OSError, ValueError):
            while data := self._process.stderr.read1():  # type: ignore[attr-defined]
                self._errors = (self._errors + data)[-KEPT_ERRORS:]

    def send(self, line: bytes) -> None:
        """Sends one line."""
        self._stdin.write(line)
        self._stdin.flush()

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """Returns the next answer; see Link."""
        return self._answers.receive(timeout)

    def close(self) -> Death:
        """Ends the worker; see Link."""
        if self._death is None:
            self._answers.stop()
            self._process.kill()
            self._process.wait()
            self._death = self._bury()
            self._error_reader.join(timeout=1)
            if not self._death.detail:
                self._death.detail = last_line(self._errors)
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
                with contextlib.suppress(OSError):
                    if stream:
                        stream.close()
        return self._death


def last_line(data: bytes) -> str:
    """The last line that says something, for a one-line report."""
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else ""

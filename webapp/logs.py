"""One line per request on standard error, for people or as JSON. Nothing that a reader sent stands in it: no text, no query, no unknown path."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections import deque
from multiprocessing.util import Finalize
from typing import TextIO

from flask import Flask, Response, g, request

__all__ = ["configure", "init_app", "write"]

log = logging.getLogger("webapp.requests")
_MOMENT = 0.1
"""Seconds that a line of the log may wait for others."""


def configure(kind: str) -> None:
    """Write the application's log to standard error as `json` or `text`; `off` leaves warnings and errors."""
    handler = _Batches()
    handler.setFormatter(_Json() if kind == "json" else _Text())
    logger = logging.getLogger("webapp")
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(logging.WARNING if kind == "off" else logging.INFO)


def init_app(app: Flask) -> None:
    """Log every request of the application."""
    app.before_request(_start)
    app.after_request(_log)


def write(method: str, route: str, status: int, seconds: float, **more: str) -> None:
    """Log one request."""
    if log.isEnabledFor(logging.INFO):
        what = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1), **more}
        log.info("request", extra={"what": what})


def _start() -> None:
    g.started = time.perf_counter()


def _log(response: Response) -> Response:
    rule = request.url_rule.rule if request.url_rule else "-"
    more = {name: g.get(name) for name in ("lang", "confidence") if g.get(name)}
    write(request.method, rule, response.status_code, time.perf_counter() - g.started, **more)
    return response


class _Batches(logging.StreamHandler[TextIO]):
    """Writes what is logged within a moment at once, from a thread of its own: a write for each request takes as long as the request.

    Warnings and errors do not wait.
    """

    def __init__(self) -> None:
        super().__init__()
        self._begin()

    def emit(self, record: logging.LogRecord) -> None:
        if self._process != os.getpid():
            self._begin()
        self._lines.append(self.format(record) + self.terminator)
        if record.levelno >= logging.WARNING:
            self.flush()
        else:
            self._wake.set()

    def flush(self) -> None:
        with self._writing:
            lines = [self._lines.popleft() for _ in range(len(self._lines))]
            self.stream.write("".join(lines))
            self.stream.flush()

    def _begin(self) -> None:
        """Begin afresh in this process: threads do not survive the fork of a worker, and what waits is its parent's to write."""
        self._process = os.getpid()
        self._lines: deque[str] = deque(maxlen=10_000)
        self._writing = threading.Lock()
        self._wake = threading.Event()
        threading.Thread(target=self._flush_now_and_then, name="log", daemon=True).start()
        Finalize(self, self.flush, exitpriority=1)  # a worker ends without running what atexit holds

    def _flush_now_and_then(self) -> None:
        while self._wake.wait():
            time.sleep(_MOMENT)
            self._wake.clear()
            self.flush()


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _when(record), "level": record.levelname.lower()}
        return json.dumps(line | getattr(record, "what", {"message": record.getMessage()}), ensure_ascii=False)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        what = getattr(record, "what", None)
        text = " ".join(str(value) for value in what.values()) if what else record.getMessage()
        return (
            f"{_when(record)} {text}"
            if record.levelno < logging.WARNING
            else f"{_when(record)} {record.levelname.lower()}: {text}"
        )


def _when(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))

"""Several worker processes behind one listening socket: started, replaced when one dies, and stopped together."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from typing import Any

__all__ = ["Serve", "WorkerError", "supervise"]

log = logging.getLogger("webapp")
Serve = Callable[[socket.socket, Mapping[str, Any], Callable[[], None]], None]
"""A worker's work: serve on the socket with these settings until SIGTERM, and call the function once it is ready."""
_CHECK_SECONDS = 0.5
"""Time between two checks whether to stop."""
_STOP_SECONDS = 15.0
"""Time for all workers to end before they are killed."""


class WorkerError(RuntimeError):
    """A worker could not start."""


class _Worker:
    """A worker process and whether it has become ready. It is spawned and not forked, because threads and open indexes do not survive a fork."""

    def __init__(self, serve: Serve, listener: socket.socket, settings: Mapping[str, Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.ready: Event = context.Event()
        self.process: SpawnProcess = context.Process(
            target=_work, args=(serve, listener, dict(settings), self.ready), name="kb-worker"
        )
        self.process.start()


def supervise(count: int, serve: Serve, listener: socket.socket, settings: Mapping[str, Any]) -> None:
    """Keep `count` workers running until SIGINT or SIGTERM. Raises WorkerError when one ends before it is ready."""
    stopping = threading.Event()
    previous = {
        number: signal.signal(number, lambda _number, _frame: stopping.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    workers: list[_Worker] = []
    try:
        while not stopping.is_set():
            workers += [_Worker(serve, listener, settings) for _ in range(count - len(workers))]
            wait([worker.process.sentinel for worker in workers], timeout=_CHECK_SECONDS)
            workers = [worker for worker in workers if stopping.is_set() or _is_alive(worker)]
    finally:
        _stop(workers)
        for number, handler in previous.items():
            signal.signal(number, handler)


def _is_alive(worker: _Worker) -> bool:
    """Return whether a worker runs, and log its end. Raises WorkerError for one that was never ready."""
    if worker.process.is_alive():
        return True
    if not worker.ready.is_set():
        raise WorkerError("a worker ended before it was ready; its error is above")
    log.error("worker %d ended with status %s and is replaced", worker.process.pid, worker.process.exitcode)
    return False


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.process.terminate()
    deadline = time.monotonic() + _STOP_SECONDS
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _work(serve: Serve, listener: socket.socket, settings: Mapping[str, Any], ready: Event) -> None:
    serve(listener, settings, ready.set)

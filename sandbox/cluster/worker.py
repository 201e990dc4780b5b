"""The worker: takes batches for its device and its version of torch, runs them in the sandbox of its machine, and returns the outcomes."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from celery import Celery
from redis import Redis, RedisError

from sandbox.cluster.app import (
    HEARTBEAT,
    REDELIVER_AFTER,
    TASK,
    alive_key,
    make_app,
    queue_name,
    redis_client,
    started_key,
    wanted_key,
)
from sandbox.cluster.messages import Batch, decode_batch, encode_outcomes
from sandbox.model import Limits, Outcome, Program, SandboxError
from sandbox.scheduler import run

__all__ = ["WorkerSettings", "add_task", "start_worker", "torch_version"]

_BEAT_SECONDS = 1


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What the operator of a worker decides; no message can change it.

    `concurrency` batches run side by side. `backend`, `runtime`, `image`, `python` and `trust_gpu` mean what they mean in `sandbox.run`.
    """

    device: Literal["cpu", "cuda"] = "cpu"
    concurrency: int = 1
    backend: str = "auto"
    runtime: str | None = None
    image: str | None = None
    python: str | None = None
    trust_gpu: bool = False
    redeliver_after: int = REDELIVER_AFTER


def start_worker(broker: str, settings: WorkerSettings) -> int:
    """Work until a signal ends it; return the exit status. Raises `SandboxError` where the sandbox does not work or has no torch."""
    queue = queue_name(torch_version(settings), settings.device)
    app = make_app(broker, redeliver_after=settings.redeliver_after)
    add_task(app, settings)
    worker = app.Worker(
        hostname=f"kb-{os.getpid()}@{socket.gethostname()}",  # two on one machine are two
        queues=[queue],
        concurrency=settings.concurrency,
        pool="prefork",
        optimization="fair",
        loglevel="WARNING",
    )
    worker.start()
    return int(worker.exitcode or 0)


def torch_version(settings: WorkerSettings) -> str:
    """Return the version of torch that programs have in the sandbox of this machine."""
    limits = Limits(gpus=1 if settings.device == "cuda" else 0)
    program = Program("import torch\nprint(torch.__version__)", name="probe", device=settings.device, limits=limits)
    (outcome,) = _run(Batch((program,)), settings, threading.Event())
    version = outcome.stdout.strip().partition("+")[0]
    if outcome.passed and version:
        return version
    raise SandboxError(
        f"the sandbox here has no torch: {outcome.detail or outcome.stderr.strip()[-300:] or outcome.ended}"
    )


def add_task(app: Celery, settings: WorkerSettings) -> None:
    """Give the application the task that runs a batch."""

    @app.task(name=TASK, bind=True)  # type: ignore[untyped-decorator] # Celery has no types
    def run_batch(task: Any, message: object) -> list[dict[str, Any]]:
        batch = decode_batch(message)
        with _heartbeat(redis_client(app), task.request.id) as cancel:
            return encode_outcomes(_run(batch, settings, cancel))


def _run(batch: Batch, settings: WorkerSettings, cancel: threading.Event) -> list[Outcome]:
    return run(
        batch.programs,
        backend=settings.backend,
        isolation=batch.isolation,
        preload=batch.preload,
        cancel=cancel,
        python=settings.python,
        runtime=settings.runtime,
        image=settings.image,
        trust_gpu=settings.trust_gpu,
    )


@contextlib.contextmanager
def _heartbeat(redis: Redis, batch: str) -> Iterator[threading.Event]:
    """Show each second that the batch is in good hands; give an event that is set once nobody waits for it."""
    cancel, ended = threading.Event(), threading.Event()

    def beat() -> None:
        with contextlib.suppress(RedisError):  # a broker that is away has no news
            redis.set(alive_key(batch), "1", ex=HEARTBEAT)
            redis.set(started_key(batch), "1", ex=86_400)
            if not redis.exists(wanted_key(batch)):
                cancel.set()

    def watch() -> None:
        while not ended.wait(_BEAT_SECONDS):
            beat()

    beat()
    watcher = threading.Thread(target=watch, name="heartbeat", daemon=True)
    watcher.start()
    try:
        yield cancel
    finally:
        ended.set()
        watcher.join()

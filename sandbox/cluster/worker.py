"""The worker: takes batches for its device and its version of torch, runs them in the sandbox of its machine, and returns the outcomes."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from celery import Celery
from celery.signals import heartbeat_sent
from redis import Redis, RedisError

from sandbox.cluster.app import (
    HEARTBEAT,
    QUEUES,
    REDELIVER_AFTER,
    TASK,
    Queue,
    alive_key,
    busy_key,
    here_key,
    host_key,
    make_app,
    output_key,
    redis_client,
    started_key,
    wanted_key,
)
from sandbox.cluster.client import AWAY, ClusterError, not_reached
from sandbox.cluster.messages import Batch, Event, decode_batch, encode_event, encode_outcomes
from sandbox.environments import Installation
from sandbox.model import Limits, Outcome, Program, SandboxError, Stream
from sandbox.redis_address import why_refused
from sandbox.scheduler import run

__all__ = ["WorkerSettings", "add_task", "is_alive", "start_worker", "torch_version"]

_BEAT_SECONDS = 1
_LIVE_SECONDS = 0.2
"""Time between two pieces of output of a live batch."""
_MAX_LIVE = 65_536
"""Characters of each program that are passed on while it runs."""
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What the operator of a worker decides; no message can change it.

    `concurrency` batches run side by side. `environments` are those that are built here. `backend`, `runtime`, `image`, `python` and `trust_gpu` mean what
    they mean in `sandbox.run`.
    """

    device: Literal["cpu", "cuda"] = "cpu"
    concurrency: int = 1
    backend: str = "auto"
    runtime: str | None = None
    image: str | None = None
    python: str | None = None
    trust_gpu: bool = False
    redeliver_after: int = REDELIVER_AFTER
    environments: tuple[Installation, ...] = ()


def start_worker(broker: str, settings: WorkerSettings) -> int:
    """Work until a signal ends it; return the exit status. A broker that is away is waited for.

    Raises `SandboxError` where the broker refuses the password or has a certificate that is not trusted, where the sandbox does not work or has no torch.
    """
    _require_admission(broker)
    labels = ["", *(installation.environment.label for installation in settings.environments)]
    version = torch_version(settings)
    queues = [Queue(version, settings.device, label).name for label in labels]
    app = make_app(broker, redeliver_after=settings.redeliver_after)
    add_task(app, settings)

    def tell_that_it_is_here(**_: object) -> None:
        with contextlib.suppress(RedisError):
            _show(redis_client(app), queues)

    heartbeat_sent.connect(
        tell_that_it_is_here, weak=False
    )  # Celery's own, which the process that takes the messages sends every two seconds
    worker = app.Worker(
        hostname=f"kb-{os.getpid()}@{socket.gethostname()}",  # two on one machine are two
        queues=queues,
        concurrency=settings.concurrency,
        pool="prefork",
        optimization="fair",
        loglevel="WARNING",
    )
    worker.start()
    return int(worker.exitcode or 0)


def _require_admission(broker: str) -> None:
    with make_app(broker) as app:
        try:
            redis_client(app).ping()
        except AWAY as error:
            if why_refused(error):
                raise ClusterError(not_reached(error)) from error


def is_alive(broker: str) -> bool:
    """Return whether a worker of this host has given a sign of life within `HEARTBEAT` seconds; False without the broker."""
    with make_app(broker) as app:
        try:
            return bool(redis_client(app).exists(host_key(socket.gethostname())))
        except RedisError:
            return False


def torch_version(settings: WorkerSettings) -> str:
    """Return the version of torch that programs have in the sandbox of this machine."""
    limits = Limits(gpus=1 if settings.device == "cuda" else 0)
    program = Program("import torch\nprint(torch.__version__)", name="probe", device=settings.device, limits=limits)
    (outcome,) = _run(Batch((program,)), settings)
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
        queue = task.request.delivery_info["routing_key"]
        with _Report(redis_client(app), task.request.id, queue, is_live=batch.live) as report:
            return encode_outcomes(_run(batch, settings, report))


def _show(redis: Redis, queues: Sequence[str]) -> None:
    """Show for `HEARTBEAT` seconds that a worker takes from these queues."""
    with redis.pipeline() as pipeline:
        pipeline.sadd(QUEUES, *queues)
        for key in (host_key(socket.gethostname()), *map(here_key, queues)):
            pipeline.set(key, "1", ex=HEARTBEAT)
        pipeline.execute()


def _run(batch: Batch, settings: WorkerSettings, report: _Report | None = None) -> list[Outcome]:
    """Run a batch in the sandbox here. Raises `SandboxError` where its environment is not built, or a reader waits and there is no isolation."""
    built = {installation.environment.label: installation for installation in settings.environments}
    if batch.environment and batch.environment not in built:
        raise SandboxError(f"the environment {batch.environment} is not built here")
    if batch.live and settings.backend == "process":
        raise SandboxError("readers' runs need a sandbox; start kb worker with --backend auto, docker or bubblewrap")
    return run(
        batch.programs,
        backend=settings.backend,
        isolation=batch.isolation,
        preload=batch.preload,
        cancel=report.cancel if report else None,
        on_output=report.add_output if report else None,
        on_outcome=report.add_outcome if report else None,
        python=settings.python,
        runtime=settings.runtime,
        image=settings.image,
        environment=built.get(batch.environment),
        packages=batch.packages,
        trust_gpu=settings.trust_gpu,
    )


class _Report:
    """Tells those who wait for a batch each second that it is in good hands, and of a live one what its programs print. `cancel` is set once nobody waits."""

    def __init__(self, redis: Redis, batch: str, queue: str, *, is_live: bool) -> None:
        self.cancel = threading.Event()
        self._redis, self._batch, self._queue, self._is_live = redis, batch, queue, is_live
        self._events: list[Event] = []
        self._room: dict[int, int] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        """Begin to tell."""
        self._beat()
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Tell what is left."""
        self._ended.set()
        self._watcher.join(2 * HEARTBEAT)
        self._beat()

    def add_output(self, program: int, stream: Stream, text: str) -> None:
        """Keep what a program of a live batch has printed until the next beat."""
        with self._lock:
            room = self._room.get(program, _MAX_LIVE)
            if self._is_live and room > 0:
                self._events.append(Event(program, stream, text[:room]))
                self._room[program] = room - len(text)

    def add_outcome(self, program: int, outcome: Outcome) -> None:
        """Keep how a program of a live batch ended until the next beat."""
        with self._lock:
            if self._is_live:
                self._events.append(Event(program, "end", outcome=outcome))

    def _watch(self) -> None:
        while not self._ended.wait(_LIVE_SECONDS if self._is_live else _BEAT_SECONDS):
            self._beat()

    def _beat(self) -> None:
        with self._lock:
            events, self._events = self._events, []
        try:
            with self._redis.pipeline() as pipeline:
                pipeline.exists(wanted_key(self._batch))
                pipeline.set(alive_key(self._batch), "1", ex=HEARTBEAT)
                pipeline.set(busy_key(self._queue), "1", ex=HEARTBEAT)
                pipeline.set(started_key(self._batch), "1", ex=_DAY)
                if events:
                    pipeline.rpush(output_key(self._batch), *map(encode_event, events))
                    pipeline.expire(output_key(self._batch), _DAY)
                if not pipeline.execute()[0]:
                    self.cancel.set()
        except RedisError:  # a broker that is away has no news
            with self._lock:
                self._events[:0] = events

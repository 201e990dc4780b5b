"""The client: sends batches to the workers and reports each outcome as it comes back, in any order."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from celery import Celery
from celery.states import READY_STATES, SUCCESS
from kombu.exceptions import OperationalError
from redis import RedisError

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
from sandbox.cluster.messages import Batch, MessageError, decode_outcomes, encode_batch
from sandbox.model import Outcome, Program, SandboxError
from sandbox.scheduler import Isolation, OnOutcome

__all__ = ["ClusterError", "run"]

MAX_KILLS = 2
"""How often a batch may kill the process that runs it before it is refused."""

MAX_SILENCES = 5
"""How often the worker of a batch may fall silent before the batch is refused: machines go down, but it may be what takes them down."""

_PROGRAMS_OF_ALL = 40
"""The programs of one batch where all may share a worker."""
_START_SECONDS = 120
"""What a batch may take beyond its programs, for the start of sandboxes."""
_POLL_SECONDS = 0.1
_WANTED_SECONDS = 86_400
_AWAY = (RedisError, OperationalError, ConnectionError, TimeoutError)


class ClusterError(SandboxError):
    """The broker or its workers cannot do what was asked; the message says what to do."""


@dataclass
class _Pending:
    """A batch that was sent: where its programs stand in the caller's list, and how often it was lost."""

    batch: Batch
    indices: list[int]
    kills: int = 0
    silences: int = 0


def run(
    programs: Sequence[Program],
    *,
    broker: str,
    torch: str = "",
    device: str = "cpu",
    isolation: Isolation = "group",
    preload: Sequence[str] = ("torch",),
    on_outcome: OnOutcome | None = None,
    cancel: threading.Event | None = None,
    redeliver_after: int = REDELIVER_AFTER,
) -> list[Outcome]:
    """Run every program on the workers of a broker and return their outcomes in the same order.

    `torch` names the version; it may be left out where all workers for the device have the same. `on_outcome` is called in this thread with the
    program's index. Setting `cancel` takes back what is queued and ends what runs; those programs are reported as cancelled. A broker that goes away
    is waited for; what it forgot is sent again.

    Raises `ClusterError` where the broker cannot be reached or has no worker for this device and version.
    """
    if not programs:
        return []
    app = make_app(broker, redeliver_after=redeliver_after)
    queue = queue_name(torch or _only_version(app, device), device)
    session = _Session(app, queue, programs, on_outcome or (lambda _index, _outcome: None), redeliver_after)
    try:
        session.send(_batches(programs, isolation, tuple(preload)))
        session.wait(cancel or threading.Event())
    finally:
        session.close()
    return [session.outcomes[index] for index in range(len(programs))]


def _batches(programs: Sequence[Program], isolation: Isolation, preload: tuple[str, ...]) -> Iterator[_Pending]:
    """Yield the programs in batches: those of one group together, in their order."""
    if isolation == "group":
        in_order = sorted(range(len(programs)), key=lambda index: programs[index].group)
        together = [list(indices) for _, indices in groupby(in_order, key=lambda index: programs[index].group)]
    else:
        size = 1 if isolation == "each" else _PROGRAMS_OF_ALL
        together = [list(range(len(programs)))[start : start + size] for start in range(0, len(programs), size)]
    for indices in together:
        yield _Pending(Batch(tuple(programs[index] for index in indices), isolation, preload), indices)


def _only_version(app: Celery, device: str) -> str:
    """Return the version of torch that the workers for this device have."""
    try:
        replies = app.control.inspect(timeout=2).active_queues() or {}
    except _AWAY as error:
        raise ClusterError(f"the broker cannot be reached: {error}") from error
    before, after = queue_name("\0", device).split("\0")
    names = {queue["name"] for queues in replies.values() for queue in queues}
    versions = sorted(name.removeprefix(before).removesuffix(after) for name in names if name.endswith(after))
    if not versions:
        raise ClusterError(
            f"no worker for {device} answers at this broker; start one: kb worker --broker URL --device {device}"
        )
    if len(versions) > 1:
        raise ClusterError(f"the workers have several versions of torch; name one with --torch: {', '.join(versions)}")
    return str(versions[0])


class _Session:
    """One call of `run`: what was sent and has not come back, and the outcomes so far."""

    def __init__(
        self, app: Celery, queue: str, programs: Sequence[Program], on_outcome: OnOutcome, redeliver_after: int
    ) -> None:
        self.outcomes: dict[int, Outcome] = {}
        self._app, self._queue, self._programs = app, queue, programs
        self._on_outcome = on_outcome
        self._redeliver_after = redeliver_after
        self._pending: dict[str, _Pending] = {}
        self._look_after = 0.0

    def send(self, batches: Iterable[_Pending]) -> None:
        """Queue batches for the first time. Raises `ClusterError` where the broker cannot be reached."""
        try:
            for pending in batches:
                self._queue_batch(pending)
        except _AWAY as error:
            raise ClusterError(f"the broker cannot be reached: {error}") from error

    def wait(self, cancel: threading.Event) -> None:
        """Report the outcomes as they come back until none is missing."""
        while self._pending and not cancel.is_set():
            try:
                self._take_results()
                if time.monotonic() >= self._look_after:
                    self._send_what_was_lost()
                    self._look_after = time.monotonic() + HEARTBEAT / 3
            except _AWAY:
                self._look_after = time.monotonic() + 2 * HEARTBEAT  # workers have to find the broker again, too
            if self._pending:
                cancel.wait(_POLL_SECONDS)
        for pending in self._pending.values():
            self._report(pending, "cancelled")

    def close(self) -> None:
        """Tell the workers that nobody waits for what has not come back, and leave the broker."""
        with contextlib.suppress(*_AWAY):
            if self._pending:
                redis_client(self._app).delete(*map(wanted_key, self._pending))
        self._app.close()

    def _queue_batch(self, pending: _Pending) -> None:
        limit = pending.batch.seconds + _START_SECONDS
        if limit >= self._redeliver_after:
            first = pending.batch.programs[0].name
            raise ClusterError(
                f"{first} and what shares its worker may take {limit:.0f} s, and another worker gets it after {self._redeliver_after} s"
            )
        task_id = uuid.uuid4().hex
        redis_client(self._app).set(wanted_key(task_id), "1", ex=_WANTED_SECONDS)
        self._app.send_task(TASK, [encode_batch(pending.batch)], queue=self._queue, time_limit=limit, task_id=task_id)
        self._pending[task_id] = pending

    def _take_results(self) -> None:
        for task_id, meta in self._app.backend.get_many(list(self._pending), interval=0, max_iterations=1):
            pending = self._pending.get(task_id)
            if pending is None or meta["status"] not in READY_STATES:
                continue
            if meta["status"] == SUCCESS:
                self._take_outcomes(pending, meta["result"])
            elif type(meta["result"]).__name__ == "WorkerLostError" and pending.kills + 1 < MAX_KILLS:
                self._queue_batch(pending)
                pending.kills += 1
            else:
                self._report(pending, "refused", f"the worker could not run it: {_named(meta['result'])}")
            self._drop(task_id)
            self._app.backend.forget(task_id)

    def _take_outcomes(self, pending: _Pending, result: object) -> None:
        try:
            outcomes = decode_outcomes(result, pending.batch)
        except MessageError as error:
            self._report(pending, "refused", f"a worker answered in another form: {error}")
            return
        if any(outcome.ended == "cancelled" for outcome in outcomes):
            self._queue_batch(pending)  # its worker found that a broker without memory wants nothing any more
            return
        for index, outcome in zip(pending.indices, outcomes, strict=True):
            self._tell(index, outcome)

    def _send_what_was_lost(self) -> None:
        """Send again what the broker has forgotten, and what was begun by a worker that gives no sign of life."""
        redis = redis_client(self._app)
        ids = list(self._pending)
        wanted, started, alive = (redis.mget(map(key, ids)) for key in (wanted_key, started_key, alive_key))
        for task_id, *state in zip(ids, wanted, started, alive, strict=True):
            is_wanted, is_started, is_alive = map(bool, state)
            if is_wanted and (is_alive or not is_started):
                continue
            if redis.exists(self._app.backend.get_key_for_task(task_id)):
                continue  # it has ended meanwhile
            pending = self._pending[task_id]
            pending.silences += is_wanted
            if pending.silences < MAX_SILENCES:
                self._queue_batch(pending)
            else:
                self._report(pending, "refused", f"{MAX_SILENCES} workers fell silent while they ran it")
            self._drop(task_id)

    def _drop(self, task_id: str) -> None:
        del self._pending[task_id]
        redis_client(self._app).delete(wanted_key(task_id))

    def _report(self, pending: _Pending, ended: Literal["cancelled", "refused"], detail: str = "") -> None:
        for index in pending.indices:
            self._tell(index, Outcome(self._programs[index].name, ended, detail=detail))

    def _tell(self, index: int, outcome: Outcome) -> None:
        self.outcomes[index] = outcome
        self._on_outcome(index, outcome)


def _named(error: object) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}"

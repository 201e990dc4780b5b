"""The client: sends batches to the workers and reports each outcome as it comes back, in any order."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

from celery import Celery
from celery.states import READY_STATES, SUCCESS
from kombu.exceptions import OperationalError
from redis import RedisError

from sandbox.cluster.app import (
    HEARTBEAT,
    REDELIVER_AFTER,
    TASK,
    Queue,
    alive_key,
    busy_key,
    live_queues,
    make_app,
    redis_client,
    started_key,
    waiting_key,
    wanted_key,
)
from sandbox.cluster.messages import (
    Answer,
    Batch,
    MessageError,
    decode_answer,
    decode_outcomes,
    encode_batch,
)
from sandbox.model import Outcome, Program, SandboxError
from sandbox.redis_address import why_refused
from sandbox.scheduler import Isolation, OnOutcome

__all__ = ["AWAY", "START_SECONDS", "ClusterError", "not_reached", "offers", "run"]

MAX_KILLS = 2
"""How often a batch may kill the process that runs it before it is refused."""

MAX_SILENCES = 5
"""How often the worker of a batch may fall silent before the batch is refused: machines go down, but it may be what takes them down."""

_PROGRAMS_OF_ALL = 40
"""The programs of one batch where all may share a worker."""
START_SECONDS = 120
"""What a batch may take beyond its programs, for the start of sandboxes."""
_POLL_SECONDS = 0.1
_WANTED_SECONDS = 86_400
PATIENCE = 600
"""Seconds without a sign of life of any worker after which the batches that remain are refused, so that no run waits for ever."""

_READERS_FIRST = 6
"""The priority of batches that no reader waits for; with Redis, those of a lower number are taken first."""
AWAY = (RedisError, OperationalError, ConnectionError, TimeoutError)
"""What is raised where the broker cannot be reached."""


class ClusterError(SandboxError):
    """The broker or its workers cannot do what was asked; the message says what to do."""


@dataclass
class _Pending:
    """A batch that was sent: where its programs stand in the caller's list, how often it was lost, and its place in the order of all that were sent."""

    batch: Batch
    indices: list[int]
    kills: int = 0
    silences: int = 0
    number: int = 0
    overtaken: float | None = None  # since when it should have begun


def run(
    programs: Sequence[Program],
    *,
    broker: str,
    torch: str = "",
    device: str = "cpu",
    environment: str = "",
    packages: Sequence[str] = (),
    isolation: Isolation = "group",
    preload: Sequence[str] = ("torch",),
    on_outcome: OnOutcome | None = None,
    cancel: threading.Event | None = None,
    redeliver_after: int = REDELIVER_AFTER,
    patience: float = PATIENCE,
) -> list[Outcome]:
    """Run every program on the workers of a broker and return their outcomes in the same order.

    `torch` names the version; it may be left out where all workers for the device have the same. `environment` is the label of packages beside those of
    every sandbox; outcomes report the versions of the `packages` named. `on_outcome` is called in this thread with the program's index. Setting `cancel`
    takes back what is queued and ends what runs; those programs are reported as cancelled. A broker that goes away, and workers, are waited for; what
    they forgot is sent again. After `patience` seconds without a sign of life of any of them, what remains is refused.

    Raises `ClusterError` where the broker cannot be reached or has no worker for this device, version and environment.
    """
    if not programs:
        return []
    app = make_app(broker, redeliver_after=redeliver_after)
    queue = Queue(torch or _only_version(app, device, environment), device, environment)
    on_outcome = on_outcome or (lambda _index, _outcome: None)
    session = _Session(app, queue.name, programs, on_outcome, redeliver_after, patience)
    try:
        longest = redeliver_after - START_SECONDS
        session.send(_batches(programs, isolation, tuple(preload), environment, tuple(packages), longest))
        session.wait(cancel or threading.Event())
    finally:
        session.close()
    return [session.outcomes[index] for index in range(len(programs))]


def offers(broker: str) -> list[Queue]:
    """Return for which versions of torch, devices and environments there are workers now. Raises `ClusterError` where the broker cannot be reached."""
    app = make_app(broker)
    try:
        return _offers(app)
    finally:
        app.close()


def _offers(app: Celery) -> list[Queue]:
    try:
        return live_queues(redis_client(app))
    except AWAY as error:
        raise ClusterError(not_reached(error)) from error


def not_reached(error: BaseException) -> str:
    """Return in one line why the broker did not answer: it refuses this address, or is not there."""
    reason = why_refused(error)
    return f"the broker {reason}" if reason else f"the broker cannot be reached: {error}"


def _only_version(app: Celery, device: str, environment: str) -> str:
    """Return the version of torch that the workers for this device and environment have."""
    versions = [queue.torch for queue in _offers(app) if queue[1:] == (device, environment)]
    if not versions:
        needed = f"{device} with the environment {environment}" if environment else device
        raise ClusterError(
            f"no worker for {needed} answers at this broker; start one: kb worker --broker URL --device {device}"
        )
    if len(versions) > 1:
        raise ClusterError(f"the workers have several versions of torch; name one with --torch: {', '.join(versions)}")
    return versions[0]


def _batches(
    programs: Sequence[Program],
    isolation: Isolation,
    preload: tuple[str, ...],
    environment: str,
    packages: tuple[str, ...],
    longest: float,
) -> Iterator[_Pending]:
    """Yield the programs in batches: those of one group together, in their order, as many as together may take less than `longest` seconds."""
    if isolation == "group":
        in_order = sorted(range(len(programs)), key=lambda index: programs[index].group)
        together = [list(indices) for _, indices in groupby(in_order, key=lambda index: programs[index].group)]
    else:
        size = 1 if isolation == "each" else _PROGRAMS_OF_ALL
        together = [list(range(len(programs)))[start : start + size] for start in range(0, len(programs), size)]
    for whole in together:
        for indices in _in_time(whole, programs, longest):
            batch = Batch(tuple(programs[index] for index in indices), isolation, preload, environment, packages)
            yield _Pending(batch, indices)


def _in_time(indices: Sequence[int], programs: Sequence[Program], longest: float) -> Iterator[list[int]]:
    """Yield the indices in parts whose programs together may take less than `longest` seconds. A program that takes longer stands alone."""
    part: list[int] = []
    seconds = 0.0
    for index in indices:
        needed = programs[index].limits.seconds
        if part and seconds + needed >= longest:
            yield part
            part, seconds = [], 0.0
        part.append(index)
        seconds += needed
    yield part


class _Session:
    """One call of `run`: what was sent and has not come back, and the outcomes so far."""

    def __init__(
        self,
        app: Celery,
        queue: str,
        programs: Sequence[Program],
        on_outcome: OnOutcome,
        redeliver_after: int,
        patience: float,
    ) -> None:
        self.outcomes: dict[int, Outcome] = {}
        self._app, self._queue, self._programs = app, queue, programs
        self._on_outcome = on_outcome
        self._redeliver_after = redeliver_after
        self._patience = patience
        # not of Celery's pools: what they hold is closed in every process that is forked later, and kombu may wait there for ever
        self._connection = app.connection_for_write()
        self._producer = app.amqp.Producer(self._connection, auto_declare=False)
        self._pending: dict[str, _Pending] = {}
        self._look_after = 0.0
        self._last_sign = time.monotonic()
        self._sent = self._last_begun = 0  # numbers of batches in the order in which they were sent

    def send(self, batches: Iterable[_Pending]) -> None:
        """Queue batches for the first time. Raises `ClusterError` where the broker cannot be reached."""
        try:
            for pending in batches:
                self._queue_batch(pending)
        except AWAY as error:
            raise ClusterError(not_reached(error)) from error

    def wait(self, cancel: threading.Event) -> None:
        """Report the outcomes as they come back until none is missing, or for `patience` seconds nobody has worked on any."""
        while self._pending and not cancel.is_set() and self._seconds_of_silence() < self._patience:
            try:
                self._take_results()
                if time.monotonic() >= self._look_after:
                    self._send_what_was_lost()
                    self._look_after = time.monotonic() + HEARTBEAT / 3
            except AWAY:
                self._look_after = time.monotonic() + 2 * HEARTBEAT  # workers have to find the broker again, too
            if self._pending:
                cancel.wait(_POLL_SECONDS)
        for pending in self._pending.values():
            if cancel.is_set():
                self._report(pending, "cancelled")
            else:
                self._report(pending, "refused", f"no worker gave a sign of life for {self._patience:g} s")

    def _seconds_of_silence(self) -> float:
        return time.monotonic() - self._last_sign

    def close(self) -> None:
        """Tell the workers that nobody waits for what has not come back, take back what they have not taken, and leave the broker."""
        with contextlib.suppress(*AWAY):
            if self._pending:
                redis_client(self._app).delete(*map(wanted_key, self._pending))
                self._take_back()
        self._connection.release()
        self._app.close()

    def _take_back(self) -> None:
        """Remove from the queue what is pending, because a queue that no worker takes from would keep it for ever."""
        redis = redis_client(self._app)
        key = waiting_key(self._queue, _READERS_FIRST)
        messages: Any = redis.lrange(key, 0, -1)
        for message in messages:
            if json.loads(message)["headers"].get("id") in self._pending:
                redis.lrem(key, 1, message)

    def _queue_batch(self, pending: _Pending) -> None:
        limit = pending.batch.seconds + START_SECONDS
        if limit >= self._redeliver_after:
            name = pending.batch.programs[0].name
            raise ClusterError(
                f"{name} may take {limit:.0f} s, and another worker gets it after {self._redeliver_after} s"
            )
        task_id = uuid.uuid4().hex
        redis_client(self._app).set(wanted_key(task_id), "1", ex=_WANTED_SECONDS)
        message = encode_batch(pending.batch)
        self._app.send_task(
            TASK,
            [message],
            queue=self._queue,
            time_limit=limit,
            task_id=task_id,
            priority=_READERS_FIRST,
            producer=self._producer,
        )
        self._sent += 1
        self._pending[task_id] = replace(pending, number=self._sent, overtaken=None)

    def _take_results(self) -> None:
        ids = list(self._pending)
        answers = redis_client(self._app).mget(map(self._app.backend.get_key_for_task, ids))
        for task_id, answer in zip(ids, answers, strict=True):
            if answer is None:
                continue
            pending = self._pending[task_id]
            try:
                is_ready = self._take_answer(pending, decode_answer(answer))
            except MessageError as error:
                is_ready = True
                self._report(pending, "refused", f"a worker answered in another form: {error}")
            if is_ready:
                self._drop(task_id)
                self._app.backend.forget(task_id)

    def _take_answer(self, pending: _Pending, answer: Answer) -> bool:
        """Report how a batch came out, or send it again; return whether it has come to an end. Raises `MessageError`."""
        if answer.state not in READY_STATES:
            return False
        self._note_sign(pending.number)
        if answer.state == SUCCESS:
            self._take_outcomes(pending, decode_outcomes(answer.result, pending.batch))
        elif answer.error == "WorkerLostError" and pending.kills + 1 < MAX_KILLS:
            pending.kills += 1
            self._queue_batch(pending)
        else:
            self._report(pending, "refused", f"the worker could not run it: {answer.error}: {answer.text[:300]}")
        return True

    def _take_outcomes(self, pending: _Pending, outcomes: Sequence[Outcome]) -> None:
        if any(outcome.ended == "cancelled" for outcome in outcomes):
            self._queue_batch(pending)  # its worker found that a broker without memory wants nothing any more
            return
        for index, outcome in zip(pending.indices, outcomes, strict=True):
            self._tell(index, outcome)

    def _send_what_was_lost(self) -> None:
        """Send again what the broker has forgotten, what was begun by a worker that gives no sign of life, and what somebody took and never began."""
        redis = redis_client(self._app)
        if redis.exists(busy_key(self._queue)):
            self._note_sign()
        ids = list(self._pending)
        wanted, started, alive = (redis.mget(map(key, ids)) for key in (wanted_key, started_key, alive_key))
        begun = [self._pending[task_id].number for task_id, begun in zip(ids, started, strict=True) if begun]
        self._last_begun = max(self._last_begun, *begun, 0)
        is_queue_empty = not all(started) and self._is_queue_empty()
        for task_id, *state in zip(ids, wanted, started, alive, strict=True):
            is_wanted, is_started, is_alive = map(bool, state)
            pending = self._pending[task_id]
            if is_wanted and not is_started and not self._was_taken(pending, is_queue_empty=is_queue_empty):
                continue
            if (is_wanted and is_alive) or redis.exists(self._app.backend.get_key_for_task(task_id)):
                continue  # it runs, or has ended meanwhile
            pending.silences += is_wanted and is_started
            if pending.silences < MAX_SILENCES:
                self._queue_batch(pending)
            else:
                self._report(pending, "refused", f"{MAX_SILENCES} workers fell silent while they ran it")
            self._drop(task_id)

    def _was_taken(self, pending: _Pending, *, is_queue_empty: bool) -> bool:
        """Return whether a batch that nobody has begun has been missing at the broker for as long as a worker may be silent.

        A worker that dies between taking a message and beginning the batch leaves no trace. The queue keeps its order, so a batch is missing when a later
        one has begun or the queue is empty.
        """
        if not is_queue_empty and self._last_begun < pending.number:
            pending.overtaken = None
            return False
        if pending.overtaken is None:
            pending.overtaken = time.monotonic()
        return time.monotonic() - pending.overtaken >= HEARTBEAT

    def _is_queue_empty(self) -> bool:
        self._connection.ensure_connection(max_retries=1, timeout=HEARTBEAT)
        try:
            count: int = self._connection.default_channel.queue_declare(self._queue, passive=True).message_count
        except self._connection.channel_errors:
            return True  # no worker has ever taken from it, or the broker has forgotten it
        return count == 0

    def _note_sign(self, begun: int = 0) -> None:
        """Note that somebody works on the queue, and that this batch was begun."""
        self._last_sign = time.monotonic()
        self._last_begun = max(self._last_begun, begun)

    def _drop(self, task_id: str) -> None:
        del self._pending[task_id]
        redis_client(self._app).delete(wanted_key(task_id))

    def _report(self, pending: _Pending, ended: Literal["cancelled", "refused"], detail: str = "") -> None:
        for index in pending.indices:
            self._tell(index, Outcome(self._programs[index].name, ended, detail=detail))

    def _tell(self, index: int, outcome: Outcome) -> None:
        self.outcomes[index] = outcome
        self._on_outcome(index, outcome)

"""Stored programs that readers run on the workers of `kb worker`: every web process sees the same jobs, because none keeps any.

A job is a live batch of `sandbox.cluster`. Whatever process is asked for it puts it together from what Redis has: the job as it was started, the signs
of life of its worker, and what the programs have printed. Redis forgets a job after a day.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from celery.states import FAILURE
from packaging.version import Version
from redis import RedisError
from redis.exceptions import LockError

from kb.corpus.entry import Case
from kb.corpus.environments import environment_for, package_names
from kb.corpus.ledger import program_hash
from kb.verify.case_jobs import preloads, programs
from sandbox.cluster.app import (
    TASK,
    alive_key,
    live_queues,
    make_app,
    output_key,
    started_key,
    wanted_key,
)
from sandbox.cluster.client import AWAY, START_SECONDS
from sandbox.cluster.messages import Batch, MessageError, decode_answer, decode_event, encode_batch
from webapp.jobs import ABANDONED_SECONDS, MAX_QUEUED, Busy, Job, JobEvents, State, Unavailable
from webapp.redis_store import connect

__all__ = ["ClusterJobs"]

log = logging.getLogger("webapp")
_DAY = 86_400
_LOCK = "kb:run:lock"
_LOCK_SECONDS = 10
_LOCK_WAIT_SECONDS = 2
_WAITING = "kb:run:waiting"
"""A sorted set of the jobs that were started, in their order. What has begun or is not wanted any more is taken out when somebody counts."""
_ORDER = "kb:run:order"


class ClusterJobs:
    """A `JobQueue` in Redis, with the programs run by the workers that take from its queues.

    `on_end` is called with the outcome of each program as `kb_runs_total` counts it, in the process that sees first that a job is over.
    """

    def __init__(self, url: str, *, on_end: Callable[[str], None] = lambda _outcome: None) -> None:
        self._redis = connect(url)
        self._app = make_app(url)
        self._on_end = on_end

    def start(self, case: Case, client: str, *, repro_fails: bool) -> Job:
        """Return the job that runs this case: one that is done with the same programs, or this client's own, else a new one.

        Raises Busy when this client has another job in progress or the queue is full, Unavailable without Redis or a worker for the case.
        """
        digest = program_hash(case)
        with self._reached(), self._redis.lock(_LOCK, timeout=_LOCK_SECONDS, blocking_timeout=_LOCK_WAIT_SECONDS):
            known = self._stored(_case_key(digest))
            if known and (known.state == "done" or (known.client == client and not known.over)):
                return known
            own = self._stored(_client_key(client))
            if own and not own.over:
                raise Busy("run.one")
            if len(self._waiting()) >= MAX_QUEUED:
                raise Busy("run.full")
            job = Job(case.id, client)
            self._send(job, case, digest, repro_fails=repro_fails)
            return job

    def get(self, job_id: str) -> Job | None:
        """Return the job of that id and note that somebody asked for it; None when it is unknown or was dropped."""
        with self._reached():
            job = self._read(job_id)
            if job and job.state == "queued":
                self._redis.expire(wanted_key(job_id), round(ABANDONED_SECONDS), gt=True)
            elif job and job.state == "running":
                self._redis.expire(wanted_key(job_id), _DAY)
            return job

    def position(self, job: Job) -> int:
        """Return the number of queued jobs before this one."""
        with self._reached():
            waiting = self._waiting()
        return waiting.index(job.id) if job.id in waiting else 0

    def cancel(self, job: Job) -> None:
        """Cancel a job: a queued one is never started, a running one is killed by its worker."""
        with self._reached():
            if not job.over and self._redis.delete(wanted_key(job.id)):
                job.state = "cancelled"

    def close(self) -> None:
        """Leave the broker. The jobs go on; another process shows them."""
        self._app.close()
        self._redis.close()

    def _send(self, job: Job, case: Case, digest: str, *, repro_fails: bool) -> None:
        """Queue the batch of a job, and keep what has to be known of it. A fault in the middle leaves nothing that somebody would run."""
        queue, label = self._queue(case)
        batch = Batch(
            programs(case, preloads(case)), "each", environment=label, packages=package_names(case.requires), live=True
        )
        stored = {"case": job.case_id, "client": job.client, "repro_fails": repro_fails, "roles": list(case.blocks)}
        with self._redis.pipeline() as pipeline:
            pipeline.set(_job_key(job.id), json.dumps(stored), ex=_DAY)
            pipeline.set(_case_key(digest), job.id, ex=_DAY)
            pipeline.set(_client_key(job.client), job.id, ex=_DAY)
            pipeline.set(wanted_key(job.id), "1", ex=round(ABANDONED_SECONDS))
            pipeline.execute()
        limit = batch.seconds + START_SECONDS
        try:
            with self._app.connection_for_write() as connection:
                self._app.send_task(
                    TASK,
                    [encode_batch(batch)],
                    queue=queue,
                    time_limit=limit,
                    task_id=job.id,
                    priority=0,
                    retry=False,
                    connection=connection,
                )
            self._redis.zadd(_WAITING, {job.id: self._redis.incr(_ORDER)})
        except AWAY:
            with suppress(RedisError):
                self._redis.delete(wanted_key(job.id))
            raise

    def _queue(self, case: Case) -> tuple[str, str]:
        """Return the queue for a case, that of the newest torch, and the label of its environment. Raises Unavailable where no worker takes from one."""
        environment = environment_for(case)
        label = environment.label if environment else ""
        queues = [queue for queue in live_queues(self._redis) if queue[1:] == (case.device, label)]
        if case.image or not queues:
            log.warning("no worker for %s: it needs %s", case.id, case.image or label or case.device)
            raise Unavailable("run.away")
        return max(queues, key=lambda queue: Version(queue.torch)).name, label

    def _stored(self, key: str) -> Job | None:
        job_id: Any = self._redis.get(key)
        return self._read(job_id.decode()) if job_id else None

    def _read(self, job_id: str) -> Job | None:
        with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.get(_job_key(job_id))
            for key in (wanted_key, started_key, alive_key):
                pipeline.exists(key(job_id))
            pipeline.lrange(output_key(job_id), 0, -1)
            pipeline.get(self._app.backend.get_key_for_task(job_id))
            stored, is_wanted, is_started, is_alive, output, result = pipeline.execute()
        if stored is None:
            return None
        fields = json.loads(stored)
        job = Job(fields["case"], fields["client"], job_id)
        outcomes: list[str] = []
        try:
            _replay(
                output,
                JobEvents(job.events, repro_fails=fields["repro_fails"], on_end=outcomes.append),
                fields["roles"],
            )
        except MessageError as error:
            log.error("a worker told of %s in another form: %s", job.case_id, error)  # noqa: TRY400 - one line says it
            job.state = "failed"
            return job
        job.state = _state(
            [event.text for event in job.events if event.stream == "end"],
            programs=len(fields["roles"]),
            is_wanted=bool(is_wanted),
            is_started=bool(is_started),
            is_alive=bool(is_alive),
            result=result,
        )
        if job.over and outcomes and self._redis.set(f"kb:run:counted:{job_id}", "1", nx=True, ex=_DAY):
            for outcome in outcomes:
                self._on_end(outcome)
        return job

    def _waiting(self) -> list[str]:
        """Return the jobs that wait for a worker, in their order."""
        members: Any = self._redis.zrange(_WAITING, 0, -1)
        ids = [member.decode() for member in members]
        with self._redis.pipeline(transaction=False) as pipeline:
            for job_id in ids:
                pipeline.exists(started_key(job_id))
                pipeline.exists(wanted_key(job_id))
            states = pipeline.execute()
        waiting = [
            job_id
            for job_id, is_started, is_wanted in zip(ids, states[::2], states[1::2], strict=True)
            if is_wanted and not is_started
        ]
        if gone := set(ids) - set(waiting):
            self._redis.zrem(_WAITING, *gone)
        return waiting

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Raise Unavailable where Redis does not answer, and Busy where other processes hold the lock too long."""
        try:
            yield
        except LockError as error:
            raise Busy("run.full") from error
        except (*AWAY, RedisError) as error:
            log.warning("runs: Redis is away: %s", error)
            raise Unavailable("run.away") from error


def _replay(output: list[bytes], events: JobEvents, roles: list[str]) -> None:
    """Turn what a worker has told into events. Raises MessageError."""
    for line in output:
        event = decode_event(line)
        if event.program >= len(roles):
            raise MessageError("it is about no program of the job")
        if event.outcome:
            events.end(roles[event.program], event.outcome)
        else:
            events.add(roles[event.program], event.stream, event.text)


def _state(
    endings: list[str], *, programs: int, is_wanted: bool, is_started: bool, is_alive: bool, result: bytes | None
) -> State:
    """Return the state of a job from how its programs have ended so far and what Redis knows of its worker."""
    if "refused" in endings:
        return "failed"
    if "cancelled" in endings:
        return "cancelled"
    if len(endings) == programs:
        return "done"
    if result is not None:  # the worker has come to an end that no program of the job tells of
        _log_failure(result)
        return "failed"
    if not is_wanted:
        return "cancelled"
    if is_started:
        return "running" if is_alive else "failed"
    return "queued"


def _log_failure(result: bytes) -> None:
    try:
        answer = decode_answer(result)
    except MessageError as error:
        log.error("a worker answered in another form: %s", error)  # noqa: TRY400 - one line says it
        return
    if answer.state == FAILURE:
        log.error("a worker could not run a job: %s: %s", answer.error, answer.text[:300])


def _job_key(job_id: str) -> str:
    return f"kb:run:job:{job_id}"


def _case_key(digest: str) -> str:
    return f"kb:run:case:{digest}"


def _client_key(client: str) -> str:
    return f"kb:run:client:{client}"

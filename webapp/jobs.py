"""Stored programs that readers run: what a job is, and a pool in this process that runs a few at a time, queues the others, and keeps the results."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from kb.corpus.entry import Case
from kb.corpus.ledger import program_hash
from kb.templates.program_output import shorten_paths
from kb.verify.case_runner import run_case
from kb.verify.environments import NotBuilt

__all__ = [
    "ABANDONED_SECONDS",
    "MAX_QUEUED",
    "Busy",
    "Event",
    "Job",
    "JobEvents",
    "JobPool",
    "JobQueue",
    "Unavailable",
    "run_case",
]

log = logging.getLogger("webapp")
State = Literal["queued", "running", "done", "cancelled", "failed"]

MAX_QUEUED = 50
_MAX_KEPT = 512
"""Jobs kept, the oldest dropped first."""
_MAX_OUTPUT = 32_768
"""Characters of a program's output that are shown and kept."""
ABANDONED_SECONDS = 15.0
"""A queued job that nobody has asked for during this time is not started."""


class Busy(Exception):  # noqa: N818 - it is no fault
    """No job can be started now: this client has one in progress, or the queue is full. The text is a key of the catalogue."""


class Unavailable(Exception):  # noqa: N818 - it is no fault of the reader's
    """Nothing can be run at present. The text is a key of the catalogue."""


@dataclass(frozen=True, slots=True)
class Event:
    """Output of a program (`stream` stdout or stderr), or its end (`stream` end, `text` how it ended, `seconds` its duration)."""

    role: str
    stream: str
    text: str
    seconds: float = 0.0


@dataclass(slots=True, eq=False)
class Job:
    """A case that a client wants to see run, and what has come of it so far."""

    case_id: str
    client: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: State = "queued"
    events: list[Event] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether no more events will come."""
        return self.state in ("done", "cancelled", "failed")


@dataclass(slots=True, eq=False, kw_only=True)
class _PoolJob(Job):
    """A job of this process."""

    case: Case
    repro_fails: bool
    cancel: threading.Event = field(default_factory=threading.Event)
    last_asked: float = field(default_factory=time.monotonic)


class JobQueue(Protocol):
    """Starts, finds and cancels jobs. Each method raises Unavailable where the jobs are kept elsewhere and cannot be reached."""

    def start(self, case: Case, client: str, *, repro_fails: bool) -> Job:
        """Return the job that runs this case. Raises Busy."""
        ...

    def get(self, job_id: str) -> Job | None:
        """Return the job of that id, or None."""
        ...

    def position(self, job: Job) -> int:
        """Return the number of queued jobs before this one."""
        ...

    def cancel(self, job: Job) -> None:
        """Cancel a job."""
        ...

    def close(self) -> None:
        """Start no more jobs from this process."""
        ...


class JobPool:
    """A `JobQueue` in this process: `slots` threads, each of which runs one case at a time in a sandbox.

    `on_end` is called with the outcome of each program as `kb_runs_total` counts it. `run` has the signature of
    `kb.verify.case_runner.run_case`.
    """

    def __init__(
        self,
        slots: int,
        backend: str,
        *,
        on_end: Callable[[str], None] = lambda _outcome: None,
        run: Callable[..., object] = run_case,
    ) -> None:
        self._backend = backend
        self._on_end = on_end
        self._run_case = run
        self._executor = ThreadPoolExecutor(slots, thread_name_prefix="job")
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, _PoolJob] = OrderedDict()
        self._by_programs: dict[str, _PoolJob] = {}
        self._queued: dict[str, Future[None]] = {}

    def start(self, case: Case, client: str, *, repro_fails: bool) -> Job:
        """Return the job that runs this case: a finished one with the same programs if there is one, else a new one.

        Raises Busy when this client has another job in progress or the queue is full.
        """
        with self._lock:
            known = self._by_programs.get(program_hash(case))
            if known and (known.state == "done" or (known.client == client and not known.over)):
                return known
            if any(job.client == client and not job.over for job in self._jobs.values()):
                raise Busy("run.one")
            if len(self._queued) >= MAX_QUEUED:
                raise Busy("run.full")
            job = _PoolJob(case.id, client, case=case, repro_fails=repro_fails)
            self._keep(job)
            self._queued[job.id] = self._executor.submit(self._work, job)
            return job

    def get(self, job_id: str) -> Job | None:
        """Return the job of that id and note that somebody asked for it; None when it is unknown or was dropped."""
        with self._lock:
            job = self._jobs.get(job_id)
        if job:
            job.last_asked = time.monotonic()
        return job

    def position(self, job: Job) -> int:
        """Return the number of queued jobs before this one."""
        with self._lock:
            return list(self._queued).index(job.id) if job.id in self._queued else 0

    def cancel(self, job: Job) -> None:
        """Cancel a job: a queued one is never started, a running one is killed."""
        with self._lock:
            if own := self._jobs.get(job.id):
                own.cancel.set()
            if (future := self._queued.get(job.id)) and future.cancel():
                del self._queued[job.id]
                job.state = "cancelled"

    def close(self) -> None:
        """Cancel every job and start no more."""
        with self._lock:
            jobs = [job for job in self._jobs.values() if not job.over]
        for job in jobs:
            self.cancel(job)
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _keep(self, job: _PoolJob) -> None:
        self._jobs[job.id] = self._by_programs[program_hash(job.case)] = job
        while len(self._jobs) > _MAX_KEPT and next(iter(self._jobs.values())).over:
            _, oldest = self._jobs.popitem(last=False)
            digest = program_hash(oldest.case)
            if self._by_programs.get(digest) is oldest:
                del self._by_programs[digest]

    def _work(self, job: _PoolJob) -> None:
        with self._lock:
            self._queued.pop(job.id, None)
            abandoned = time.monotonic() - job.last_asked > ABANDONED_SECONDS
            job.state = "cancelled" if abandoned or job.cancel.is_set() else "running"
        if job.state == "cancelled":
            return
        output = JobEvents(job.events, repro_fails=job.repro_fails, on_end=self._on_end)
        try:
            self._run_case(
                job.case,
                backend=self._backend,
                cancel=job.cancel,
                on_output=output.add,
                on_outcome=output.end,
            )
        except NotBuilt as error:
            output.add("repro", "stderr", f"{error}\n")
            job.state = "failed"
            return
        except Exception as error:  # noqa: BLE001 - the page shows that it failed, the log says why, the next job is run
            log.error("running %s failed: %s", job.case.id, error)  # noqa: TRY400 - one line says it
            job.state = "failed"
            return
        job.state = "cancelled" if job.cancel.is_set() else "done"


class JobEvents:
    """Turns what the sandbox reports into a job's events: whole lines, with short paths, up to `_MAX_OUTPUT` characters a program.

    `on_end` is called with the outcome of each program as `kb_runs_total` counts it.
    """

    def __init__(self, events: list[Event], *, repro_fails: bool, on_end: Callable[[str], None]) -> None:
        self._events = events
        self._repro_fails = repro_fails
        self._on_end = on_end
        self._room: dict[str, int] = {}
        self._partial_lines: dict[tuple[str, str], str] = {}

    def add(self, role: str, stream: str, text: str) -> None:
        """Add text that a program printed."""
        lines, newline, rest = (self._partial_lines.get((role, stream), "") + text).rpartition("\n")
        self._partial_lines[role, stream] = rest[-_MAX_OUTPUT:]
        self._show(role, stream, lines + newline)

    def end(self, role: str, outcome: Any) -> None:
        """Add how a program ended."""
        for stream in ("stdout", "stderr"):
            self._show(role, stream, self._partial_lines.pop((role, stream), ""))
        ending = _ending(outcome)
        self._events.append(Event(role, "end", ending, round(outcome.seconds, 2)))
        should_fail = role == "repro" and self._repro_fails
        self._on_end({"passed": "failed", "failed": "passed"}.get(ending, ending) if should_fail else ending)

    def _show(self, role: str, stream: str, text: str) -> None:
        room = self._room.setdefault(role, _MAX_OUTPUT)
        self._room[role] = room - len(text)
        if room > 0 and text:
            self._events.append(Event(role, stream, shorten_paths(text)[:room]))


def _ending(outcome: Any) -> str:
    """Return how a program ended: passed (ran to its last line), failed (ended before), or what ended it."""
    if outcome.passed:
        return "passed"
    return "failed" if outcome.ended == "exit" else str(outcome.ended)

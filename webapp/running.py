"""Running stored programs for readers: a few at a time, the others in a queue, and what came out kept so that it is run once."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from kb.entry import Case
from kb.ledger import case_hash
from kb.printed import shorten_paths
from kb.run import run_case

__all__ = ["Busy", "Event", "Job", "Runner"]

log = logging.getLogger("webapp")
State = Literal["queued", "running", "done", "cancelled", "failed"]

_LONGEST_QUEUE = 50
_KEPT = 512
"""Jobs remembered, the oldest forgotten first."""
_KEPT_TEXT = 32_768
"""Characters of a program's output that are shown and kept."""
_GONE_SECONDS = 15.0
"""A queued job that nobody has asked after for so long is not begun."""


class Busy(Exception):  # noqa: N818 - it is no fault
    """Not now: this reader has a job under way, or the queue is full. Its text is a key of the catalogue."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a program printed (`stream` stdout or stderr), or how it ended (`stream` end, `text` the way, `seconds` long)."""

    role: str
    stream: str
    text: str
    seconds: float = 0.0


@dataclass(slots=True, eq=False)
class Job:
    """A case that a reader wants to see run."""

    case: Case
    client: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: State = "queued"
    events: list[Event] = field(default_factory=list)
    cancel: threading.Event = field(default_factory=threading.Event)
    asked_after: float = field(default_factory=time.monotonic)

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ("done", "cancelled", "failed")


class Runner:
    """Runs at most `slots` cases at a time in a sandbox. `on_end` hears how each program ended."""

    def __init__(self, slots: int, backend: str, on_end: Callable[[str], None] = lambda _way: None) -> None:
        self.slots = slots
        self.backend = backend
        self._on_end = on_end
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._by_programs: dict[str, Job] = {}
        self._queue: deque[Job] = deque()
        self._running = 0

    def start(self, case: Case, client: str) -> Job:
        """Return the job that runs this case: a finished one with the same programs if there is one, else a new one.

        Raises Busy when this client has another job under way or the queue is full.
        """
        with self._lock:
            known = self._by_programs.get(case_hash(case))
            if known and (known.state == "done" or (known.client == client and not known.over)):
                return known
            if any(job.client == client and not job.over for job in self._jobs.values()):
                raise Busy("run.one")
            if len(self._queue) >= _LONGEST_QUEUE:
                raise Busy("run.full")
            job = Job(case, client)
            self._remember(job)
            self._queue.append(job)
            if self._running < self.slots:
                self._running += 1
                threading.Thread(target=self._work, name="runner", daemon=True).start()
            return job

    def get(self, job_id: str) -> Job | None:
        """Return the job of that id and note that somebody wants it; None when there is none (any more)."""
        with self._lock:
            job = self._jobs.get(job_id)
        if job:
            job.asked_after = time.monotonic()
        return job

    def ahead(self, job: Job) -> int:
        """Return how many queued jobs will be run before this one."""
        with self._lock:
            return self._queue.index(job) if job in self._queue else 0

    def cancel(self, job: Job) -> None:
        """End a job: not begun if it is queued, killed if it is running."""
        job.cancel.set()
        with self._lock:
            if job in self._queue:
                self._queue.remove(job)
                job.state = "cancelled"

    def _remember(self, job: Job) -> None:
        self._jobs[job.id] = self._by_programs[case_hash(job.case)] = job
        while len(self._jobs) > _KEPT and next(iter(self._jobs.values())).over:
            _, old = self._jobs.popitem(last=False)
            digest = case_hash(old.case)
            if self._by_programs.get(digest) is old:
                del self._by_programs[digest]

    def _work(self) -> None:
        while True:
            with self._lock:
                job = self._queue.popleft() if self._queue else None
                if job is None:
                    self._running -= 1
                    return
            if time.monotonic() - job.asked_after > _GONE_SECONDS:
                job.state = "cancelled"
            else:
                self._run(job)

    def _run(self, job: Job) -> None:
        room: dict[str, int] = {}
        begun: dict[tuple[str, str], str] = {}

        def show(role: str, stream: str, lines: str) -> None:
            left = room.setdefault(role, _KEPT_TEXT)
            room[role] = left - len(lines)
            if left > 0 and lines:
                job.events.append(Event(role, stream, shorten_paths(lines)[:left]))

        def on_output(role: str, stream: str, text: str) -> None:
            lines, newline, rest = (begun.get((role, stream), "") + text).rpartition("\n")
            begun[role, stream] = rest[-_KEPT_TEXT:]
            show(role, stream, lines + newline)

        def on_outcome(role: str, outcome: Any) -> None:
            for stream in ("stdout", "stderr"):
                show(role, stream, begun.pop((role, stream), ""))
            way = _way(outcome)
            job.events.append(Event(role, "end", way, round(outcome.seconds, 2)))
            self._on_end(way)

        job.state = "running"
        try:
            run_case(job.case, backend=self.backend, cancel=job.cancel, on_output=on_output, on_outcome=on_outcome)
        except Exception as error:  # noqa: BLE001 - the reader is told, the operator reads why, the next job is run
            log.error("running %s failed: %s", job.case.id, error)  # noqa: TRY400 - one line says it
            job.state = "failed"
            return
        job.state = "cancelled" if job.cancel.is_set() else "done"


def _way(outcome: Any) -> str:
    """Return how a program ended: passed (ran to its last line), failed (ended before), or what ended it."""
    if outcome.passed:
        return "passed"
    return "failed" if outcome.ended == "exit" else str(outcome.ended)

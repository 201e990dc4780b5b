"""Runs many programs: decides which of them share a worker, starts workers ahead, and replaces those that break."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sandbox.backends import choose
from sandbox.environments import Installation
from sandbox.model import Options, Outcome, Program, SandboxError, Stream, WorkerSpec
from sandbox.worker import Backend, Worker

ATTEMPTS = 2  # to start a worker
Isolation = Literal["each", "group", "all"]
OnOutput = Callable[[int, Stream, str], None]
OnOutcome = Callable[[int, Outcome], None]


@dataclass
class Batch:
    """Programs, by their index in the caller's list, that one worker may run one after the other."""

    spec: WorkerSpec
    indices: deque[int] = field(default_factory=deque)


def run(
    programs: Sequence[Program],
    *,
    backend: str = "auto",
    isolation: Isolation = "each",
    jobs: int = 1,
    preload: Sequence[str] = ("torch",),
    on_output: OnOutput | None = None,
    on_outcome: OnOutcome | None = None,
    cancel: threading.Event | None = None,
    python: str | None = None,
    runtime: str | None = None,
    image: str | None = None,
    environment: Installation | None = None,
    packages: Sequence[str] = (),
    trust_gpu: bool = False,
) -> list[Outcome]:
    """Run every program and return their outcomes in the same order.

    `isolation` says which programs may share a worker: none ("each"), those of one group ("group"), or all that need the same limits ("all"). `jobs`
    workers run at a time, and each slot starts its next worker while it still uses the present one. `python` is the interpreter for the process and
    bubblewrap backends; `runtime` and `image` are docker's. `environment` has packages beside those of every sandbox; outcomes
    report the versions of the `packages` named. `on_output` and `on_outcome` are called from one thread at a time, with the program's
    index. Setting `cancel` ends the programs that run; they, and those not started, are reported as cancelled. An exception in a callback and Ctrl-C
    do the same and are then raised.

    Raises BackendUnavailable when the backend does not work here. A program that could not be run for another reason gets an outcome that has ended
    as "refused", with the reason in `detail`.
    """
    if isolation not in ("each", "group", "all"):
        raise ValueError(f"isolation is each, group or all, not {isolation!r}")
    if not programs:
        return []
    chosen = choose(backend, Options(python, runtime, image, environment))
    chosen.sweep()
    batches = _batches(programs, isolation, max(jobs, 1), tuple(preload), tuple(packages), trust_gpu)
    return _Session(programs, chosen, batches, on_output, on_outcome, cancel or threading.Event()).run(max(jobs, 1))


def _batches(
    programs: Sequence[Program],
    isolation: Isolation,
    jobs: int,
    preload: tuple[str, ...],
    packages: tuple[str, ...],
    trust_gpu: bool,
) -> deque[Batch]:
    """Return the programs in batches, in their order; a batch that several workers share is listed once for each of them."""
    by_key: dict[object, Batch] = {}
    for index, program in enumerate(programs):
        limits = program.limits
        spec = WorkerSpec(
            memory=limits.memory,
            pids=limits.pids,
            shm=limits.shm,
            tmp=limits.tmp,
            cpus=limits.cpus,
            gpus=max(limits.gpus, 1) if program.device == "cuda" else 0,
            device=program.device,
            preload=preload if program.fresh or program.device == "cuda" else (*preload, *program.preload),
            trust_gpu=trust_gpu,
            packages=packages,
        )
        alone = isolation == "each" or program.device == "cuda"
        key = index if alone else (program.group if isolation == "group" else "", spec)
        by_key.setdefault(key, Batch(spec)).indices.append(index)
    batches = deque(by_key.values())
    if isolation == "all":
        batches.extend(batch for batch in by_key.values() for _ in range(min(jobs, len(batch.indices)) - 1))
    return batches


class _Session:
    """One call of `run`: the batches that remain, the outcomes so far, and the threads that share them."""

    def __init__(
        self,
        programs: Sequence[Program],
        backend: Backend,
        batches: deque[Batch],
        on_output: OnOutput | None,
        on_outcome: OnOutcome | None,
        cancel: threading.Event,
    ) -> None:
        self._programs = programs
        self._backend = backend
        self._batches = batches
        self._on_output = on_output
        self._on_outcome = on_outcome
        self._cancel = _CancelEvent(cancel)
        self._lock = threading.RLock()
        self._outcomes: dict[int, Outcome] = {}
        self._error: BaseException | None = None

    def run(self, jobs: int) -> list[Outcome]:
        threads = [
            threading.Thread(target=self._work, name=f"sandbox-{number}")
            for number in range(min(jobs, len(self._batches)))
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:
            self._cancel.set()
            for thread in threads:
                thread.join()
            raise
        if self._error is not None:
            raise self._error
        for index, program in enumerate(self._programs):
            if index not in self._outcomes:
                self._report(index, Outcome(program.name, "cancelled", backend=self._backend.name))
        return [self._outcomes[index] for index in range(len(self._programs))]

    def _work(self) -> None:
        """Run batch after batch; a worker dies with the thread that started it, so the thread outlives its workers."""
        slot = _WorkerSlot(self._backend, self._cancel)
        try:
            batch = self._next_batch()
            while batch is not None and not self._cancel.is_set():
                following = self._next_batch()
                self._run_batch(batch, slot, following)
                batch = following
        except BaseException as error:  # noqa: BLE001  # run raises it again, in the caller's thread
            self._cancel.set()
            self._error = self._error or error
        finally:
            slot.close()

    def _run_batch(self, batch: Batch, slot: _WorkerSlot, following: Batch | None) -> None:
        """Run a batch to its end; when a worker fails to start twice in a row the rest is refused."""
        refusals: list[str] = []
        while (index := self._next_index(batch)) is not None:
            program = self._programs[index]
            outcome = None
            while outcome is None and len(refusals) < ATTEMPTS:
                try:
                    worker = slot.worker(batch.spec)
                    slot.start_ahead(following)
                    outcome = worker.run(program, self._cancel, self._listener(index))
                    refusals.clear()
                except SandboxError as error:
                    refusals.append(str(error))
            if outcome is None:
                outcome = Outcome(program.name, "refused", backend=self._backend.name, detail=refusals[-1])
            self._report(index, outcome)
        slot.release()

    def _next_batch(self) -> Batch | None:
        with self._lock:
            while self._batches:
                batch = self._batches.popleft()
                if batch.indices:
                    return batch
        return None

    def _next_index(self, batch: Batch) -> int | None:
        with self._lock:
            return batch.indices.popleft() if batch.indices and not self._cancel.is_set() else None

    def _listener(self, index: int) -> Callable[[Stream, str], None]:
        def on_text(stream: Stream, text: str) -> None:
            if self._on_output:
                with self._lock:
                    self._on_output(index, stream, text)

        return on_text

    def _report(self, index: int, outcome: Outcome) -> None:
        with self._lock:
            self._outcomes[index] = outcome
            if self._on_outcome:
                self._on_outcome(index, outcome)


class _WorkerSlot:
    """The worker of one thread, and its next worker, which imports meanwhile."""

    def __init__(self, backend: Backend, cancel: threading.Event) -> None:
        self._backend = backend
        self._cancel = cancel
        self._present: Worker | None = None
        self._ahead: Worker | None = None
        self._closing: list[threading.Thread] = []

    def worker(self, spec: WorkerSpec) -> Worker:
        """Return the present worker, or a new one when there is none that can go on. Raises SandboxError."""
        if self._present and not self._present.usable:
            self.release()
        if self._present is None and self._ahead and self._ahead.spec == spec:
            self._present, self._ahead = self._ahead, None
        if self._present is None:
            self._present = Worker(self._backend, spec)
        self._present.wait_ready(self._cancel)
        return self._present

    def start_ahead(self, following: Batch | None) -> None:
        """Start the next batch's worker; a failure is reported when that batch asks for it again."""
        if self._ahead is None and following is not None and following.indices:
            with contextlib.suppress(SandboxError):
                self._ahead = Worker(self._backend, following.spec)

    def release(self) -> None:
        """End the present worker in the background, because removing a container takes a moment."""
        if self._present:
            closing = threading.Thread(target=self._present.close, name="sandbox-close")
            closing.start()
            self._closing.append(closing)
            self._present = None

    def close(self) -> None:
        """End both workers and wait until all are gone."""
        self.release()
        for closing in self._closing:
            closing.join()
        if self._ahead:
            self._ahead.close()
            self._ahead = None


class _CancelEvent(threading.Event):
    """Set when it was set itself, or when the caller's event is set."""

    def __init__(self, callers: threading.Event) -> None:
        super().__init__()
        self._callers = callers

    def is_set(self) -> bool:
        return super().is_set() or self._callers.is_set()

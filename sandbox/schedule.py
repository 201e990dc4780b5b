"""Runs many programs: which share a worker, which worker is started ahead, what happens when one breaks."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sandbox.backends import choose
from sandbox.model import Options, Outcome, Program, SandboxError, Setup, Stream
from sandbox.worker import Backend, Worker

ATTEMPTS = 2  # to start a worker
Isolation = Literal["each", "group", "all"]
OnOutput = Callable[[int, Stream, str], None]
OnOutcome = Callable[[int, Outcome], None]


@dataclass
class Batch:
    """Programs, by their place in the list, that one worker may run one after the other."""

    setup: Setup
    places: deque[int] = field(default_factory=deque)


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
    trust_gpu: bool = False,
) -> list[Outcome]:
    """Runs every program and returns their outcomes in the same order.

    `isolation` says which programs may share a worker: none ("each"), those of one group ("group"), or all that want
    the same limits ("all"). `jobs` workers run at a time, and each starts its next worker while it still uses the
    present one. `python` is the interpreter for the process and bubblewrap backends, `runtime` and `image` are
    docker's. `on_output` and `on_outcome` are called from one thread at a time, with the program's place in the list.
    Setting `cancel` ends what runs; those programs, and those not started, are reported as cancelled. So does an
    exception in a callback or Ctrl-C, which are then raised.

    Raises BackendUnavailable when the backend does not work here. A program that could not be run for another reason
    gets an outcome that has ended as "refused", with the reason in `detail`.
    """
    if isolation not in ("each", "group", "all"):
        raise ValueError(f"isolation is each, group or all, not {isolation!r}")
    if not programs:
        return []
    chosen = choose(backend, Options(python, runtime, image))
    chosen.sweep()
    batches = _batches(programs, isolation, max(jobs, 1), tuple(preload), trust_gpu)
    return _Session(programs, chosen, batches, on_output, on_outcome, cancel or threading.Event()).run(max(jobs, 1))


def _batches(
    programs: Sequence[Program],
    isolation: Isolation,
    jobs: int,
    preload: tuple[str, ...],
    trust_gpu: bool,
) -> deque[Batch]:
    """The programs in batches, in their order; a batch that several workers share stands there once for each."""
    found: dict[object, Batch] = {}
    for place, program in enumerate(programs):
        limits = program.limits
        setup = Setup(
            memory=limits.memory,
            pids=limits.pids,
            shm=limits.shm,
            tmp=limits.tmp,
            cpus=limits.cpus,
            gpus=max(limits.gpus, 1) if program.device == "cuda" else 0,
            device=program.device,
            preload=() if program.fresh or program.device == "cuda" else preload,
            trust_gpu=trust_gpu,
        )
        own = isolation == "each" or program.device == "cuda"
        key = place if own else (program.group if isolation == "group" else "", setup)
        found.setdefault(key, Batch(setup)).places.append(place)
    batches = deque(found.values())
    if isolation == "all":
        batches.extend(batch for batch in found.values() for _ in range(min(jobs, len(batch.places)) - 1))
    return batches


class _Session:
    """One call of `run`: the batches still to do, the outcomes so far, and the threads that share them."""

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
        self._cancel = _Either(cancel)
        self._lock = threading.RLock()
        self._outcomes: dict[int, Outcome] = {}
        self._error: BaseException | None = None

    def run(self, jobs: int) -> list[Outcome]:
        threads = [
            threading.Thread(target=self._slot, name=f"sandbox-{n}") for n in range(min(jobs, len(self._batches)))
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
        for place, program in enumerate(self._programs):
            if place not in self._outcomes:
                self._report(place, Outcome(program.name, "cancelled", backend=self._backend.name))
        return [self._outcomes[place] for place in range(len(self._programs))]

    def _slot(self) -> None:
        """Takes batch after batch; a worker's parent thread must live as long as the worker does."""
        slot = _Slot(self._backend, self._cancel)
        try:
            batch = self._next_batch()
            while batch is not None and not self._cancel.is_set():
                following = self._next_batch()
                self._serve(batch, slot, following)
                batch = following
        except BaseException as error:  # noqa: BLE001  # run raises it again, in the caller's thread
            self._cancel.set()
            self._error = self._error or error
        finally:
            slot.close()

    def _serve(self, batch: Batch, slot: _Slot, following: Batch | None) -> None:
        """Runs a batch to its end; a worker that fails to start twice running means that the rest is refused."""
        refusals: list[str] = []
        while (place := self._next_place(batch)) is not None:
            program = self._programs[place]
            outcome = None
            while outcome is None and len(refusals) < ATTEMPTS:
                try:
                    worker = slot.worker(batch.setup)
                    slot.start_ahead(following)
                    outcome = worker.run(program, self._cancel, self._listener(place))
                    refusals.clear()
                except SandboxError as error:
                    refusals.append(str(error))
            if outcome is None:
                outcome = Outcome(program.name, "refused", backend=self._backend.name, detail=refusals[-1])
            self._report(place, outcome)
        slot.release()

    def _next_batch(self) -> Batch | None:
        with self._lock:
            while self._batches:
                batch = self._batches.popleft()
                if batch.places:
                    return batch
        return None

    def _next_place(self, batch: Batch) -> int | None:
        with self._lock:
            return batch.places.popleft() if batch.places and not self._cancel.is_set() else None

    def _listener(self, place: int) -> Callable[[Stream, str], None]:
        def heard(stream: Stream, text: str) -> None:
            if self._on_output:
                with self._lock:
                    self._on_output(place, stream, text)

        return heard

    def _report(self, place: int, outcome: Outcome) -> None:
        with self._lock:
            self._outcomes[place] = outcome
            if self._on_outcome:
                self._on_outcome(place, outcome)


class _Slot:
    """One place at the table: the worker in use, and the next one, which imports meanwhile."""

    def __init__(self, backend: Backend, cancel: threading.Event) -> None:
        self._backend = backend
        self._cancel = cancel
        self._present: Worker | None = None
        self._ahead: Worker | None = None
        self._burials: list[threading.Thread] = []

    def worker(self, setup: Setup) -> Worker:
        """The present worker, or a new one where there is none that can go on; raises SandboxError."""
        if self._present and not self._present.usable:
            self.release()
        if self._present is None and self._ahead and self._ahead.setup == setup:
            self._present, self._ahead = self._ahead, None
        if self._present is None:
            self._present = Worker(self._backend, setup)
        self._present.wait_ready(self._cancel)
        return self._present

    def start_ahead(self, following: Batch | None) -> None:
        """Starts the next batch's worker; if that fails, it is that batch's affair."""
        if self._ahead is None and following is not None and following.places:
            with contextlib.suppress(SandboxError):
                self._ahead = Worker(self._backend, following.setup)

    def release(self) -> None:
        """Ends the present worker, in the background: removing a container takes a moment."""
        if self._present:
            burial = threading.Thread(target=self._present.close, name="sandbox-burial")
            burial.start()
            self._burials.append(burial)
            self._present = None

    def close(self) -> None:
        """Ends both workers and waits until all are gone."""
        self.release()
        for burial in self._burials:
            burial.join()
        if self._ahead:
            self._ahead.close()
            self._ahead = None


class _Either(threading.Event):
    """Set when it was set itself or when the caller's event is."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        return super().is_set() or self._other.is_set()

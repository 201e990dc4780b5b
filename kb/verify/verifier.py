"""Runs the cases and checks of entries in the sandbox and has them judged."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple

import sandbox
from kb.corpus.entry import Case, Check, Runnable
from kb.corpus.environments import environment_for, package_names
from kb.corpus.loader import Corpus
from kb.index.reader import Index
from kb.lint.exemptions import is_exempt
from kb.verify.case_jobs import Isolation, Job, make_job, not_runnable, select
from kb.verify.case_runner import image_backend
from kb.verify.environments import NotBuilt, installation, required_installation
from kb.verify.judge import EditedOutcome, MutantOutcome, judge, judge_check
from kb.verify.proof_faults import proof_faults
from kb.verify.results import Environment, Run, Verdict
from sandbox.environments import Installation

if TYPE_CHECKING:
    from sandbox.cluster import Queue

__all__ = ["Environment", "Run", "RunOptions", "Verdict", "select", "verify"]

_PRELOAD: dict[Isolation, tuple[str, ...]] = {"entry": ("torch",), "corpus": ("torch", "torch._dynamo")}
"""Every optimizer imports torch._dynamo, which takes as long as torch itself: one worker for all imports it once."""

_MAX_RETRIED = 10
"""Failures that are run again. More than these are no accident."""

_RANDOM = random.SystemRandom()

_GPU_PROBE = """
import subprocess, torch
driver = subprocess.run(
    ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True
).stdout.split()
print(f"{torch.cuda.get_device_name(0)}, driver {' '.join(driver[:1])}, CUDA {torch.version.cuda}")
"""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How cases and checks are run.

    With isolation "entry" nothing is taken on trust: each entry has a worker of its own, and mutants of each fix must fail. `image` replaces the image
    that an entry's folder names. `jobs` workers run side by side. A `python` or an `image` has what entries require,
    because a person who names it knows its packages; one that is `bare` has not. With `broker`, the address of a Redis,
    the programs run on its workers, which choose the sandbox; `torch` says on those of which version.
    """

    device: str = "cpu"
    backend: str = "auto"
    isolation: Isolation = "entry"
    jobs: int = 1
    runtime: str | None = None
    trust_gpu: bool = False
    python: str | None = None
    image: str | None = None
    bare: bool = False
    fail_fast: bool = False
    broker: str = ""
    torch: str = ""


DEFAULTS = RunOptions()


def verify(
    corpus: Corpus,
    subjects: Sequence[Runnable],
    index: Index,
    *,
    options: RunOptions = DEFAULTS,
    cancel: threading.Event | None = None,
    on_verdict: Callable[[Verdict], None] = lambda _verdict: None,
) -> Run:
    """Run and judge every case and check that this device can run; `on_verdict` is called with each verdict as it is known.

    With isolation "corpus" the few that failed run once more, alone: programs that share a machine can starve each other. The second verdict counts.
    Setting `cancel` stops the run, as the first failure does with `fail_fast`. Raises `sandbox.BackendUnavailable` when that sandbox does not work here.
    """
    session = _Session(corpus, index, options, cancel or threading.Event(), on_verdict)
    runnable = []
    for subject in subjects:
        if reason := not_runnable(subject, options.device, options.backend, options.torch) or session.not_built(
            subject
        ):
            session.report(Verdict(subject, "not run here", reason=reason))
        else:
            runnable.append(subject)
    jobs = [make_job(corpus.entries[subject.entry], subject, options.isolation) for subject in runnable]
    environment = session.run(jobs)
    if options.isolation == "corpus":
        session.run_failed_again(jobs)
    verdicts = tuple(session.verdicts[subject.id] for subject in subjects if subject.id in session.verdicts)
    return Run(verdicts, environment, complete=len(verdicts) == len(subjects))


class _Place(NamedTuple):
    """Where the programs of a case or a check run: an image that a person or the settings of a folder name, or an environment."""

    image: str = ""
    installation: Installation | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What sorts the places of a run."""
        return self.image, self.installation.environment.name if self.installation else ""


class _Session:
    """One call of `verify`: the options that all jobs share, and the verdicts so far."""

    def __init__(
        self,
        corpus: Corpus,
        index: Index,
        options: RunOptions,
        cancel: threading.Event,
        on_verdict: Callable[[Verdict], None],
    ) -> None:
        self._corpus = corpus
        self._index = index
        self._options = options
        self._cancel = cancel
        self._on_verdict = on_verdict
        self._gpu_name = ""
        self._places: dict[str, _Place] = {}
        self._installations: dict[tuple[str, tuple[str, ...]], Installation | str | None] = {}
        self.verdicts: dict[str, Verdict] = {}

    def not_built(self, subject: Runnable) -> str:
        """Find out where a case or a check runs; return what is missing for it here."""
        options = self._options
        image = options.image or subject.image
        if options.broker:
            return self._without_worker(subject)
        if options.bare and subject.requires:
            return _beside_another_torch(subject)
        if options.python or image:
            self._places[subject.id] = _Place(image)
            return ""
        required = subject.environments, subject.requires
        if required not in self._installations:
            try:
                self._installations[required] = (
                    required_installation(subject, self._backend) if subject.requires else None
                )
            except NotBuilt as error:
                self._installations[required] = str(error)
        known = self._installations[required]
        if isinstance(known, str):
            return known
        self._places[subject.id] = _Place("", known)
        return ""

    def _without_worker(self, subject: Runnable) -> str:
        """Find out on which workers a case or a check runs; return why none of them has what it needs."""
        if subject.image:
            return f"needs the image {subject.image}, which no worker has"
        environment = environment_for(subject)
        if environment is None:
            self._places[subject.id] = _Place()
            return f"no environment has {', '.join(subject.requires)}" if subject.requires else ""
        self._places[subject.id] = _Place("", installation(environment))
        versions = {queue.torch for queue in self._offers if queue[1:] == (self._options.device, environment.label)}
        if self._options.torch in versions or (versions and not self._options.torch):
            return ""
        if self._options.torch:
            return _beside_another_torch(subject)
        return (
            f"no worker has the environment {environment.name}; kb env build {environment.name} there, then kb worker"
        )

    @cached_property
    def _offers(self) -> list[Queue]:
        """What the workers have at the beginning of the run."""
        from sandbox import cluster

        return cluster.offers(self._options.broker)

    @cached_property
    def _backend(self) -> str:
        """The sandbox that programs without an image run in."""
        return sandbox.choose(self._options.backend, sandbox.Options(runtime=self._options.runtime)).name

    def report(self, verdict: Verdict) -> None:
        """Keep a verdict; pass it on if it is the first of its case or check."""
        if verdict.subject.id in self.verdicts:
            self.verdicts[verdict.subject.id] = replace(verdict, attempts=2)
            return
        self.verdicts[verdict.subject.id] = verdict
        self._on_verdict(verdict)
        if self._options.fail_fast and verdict.outcome == "failed":
            self._cancel.set()

    def run(self, jobs: Sequence[Job]) -> Environment | None:
        """Run the jobs, those of one place at a time; return where the first of them ran, with the packages of all."""
        if jobs and self._options.device == "cuda":
            self._gpu_name = self._gpu(self._places[jobs[0].subject.id])
        by_place = sorted(jobs, key=lambda job: self._places[job.subject.id].key)
        for _, group in groupby(by_place, key=lambda job: self._places[job.subject.id].key):
            self._run_in(list(group))
        environments = [verdict.environment for verdict in self.verdicts.values() if verdict.environment]
        packages = {name: version for place in environments for name, version in place.packages.items()}
        return replace(environments[0], packages=dict(sorted(packages.items()))) if environments else None

    def run_failed_again(self, jobs: Sequence[Job]) -> None:
        """Run the jobs that failed once more, one after another, unless there are many of them."""
        failed = {verdict.subject.id for verdict in self.verdicts.values() if verdict.outcome == "failed"}
        if len(failed) > _MAX_RETRIED:
            return
        for job in jobs:
            if job.subject.id in failed:
                self._run_in([job])

    def _run_in(self, jobs: Sequence[Job]) -> None:
        """Run all programs of these jobs, which share a place, and judge each case or check when its last one has ended.

        The programs of a case run in random order, because a program that counts the processes before it could else know which of them it is.
        """
        queue = [
            (job, position) for job in jobs for position in _RANDOM.sample(range(len(job.programs)), len(job.programs))
        ]
        ended: dict[str, dict[int, sandbox.Outcome]] = {job.subject.id: {} for job in jobs}

        def on_outcome(number: int, outcome: sandbox.Outcome) -> None:
            job, position = queue[number]
            outcomes = ended[job.subject.id]
            outcomes[position] = outcome
            if len(outcomes) == len(job.programs):
                self._judge(job, [outcomes[index] for index in range(len(outcomes))])

        packages = sorted({name for job in jobs for name in package_names(job.subject.requires)})
        programs = [job.programs[position] for job, position in queue]
        self._run_programs(programs, self._places[jobs[0].subject.id], packages, on_outcome)

    def _run_programs(
        self,
        programs: Sequence[sandbox.Program],
        place: _Place,
        packages: Sequence[str] = (),
        on_outcome: Callable[[int, sandbox.Outcome], None] | None = None,
    ) -> list[sandbox.Outcome]:
        options = self._options
        isolation: Literal["group", "all"] = "group" if options.isolation == "entry" else "all"
        if options.broker:
            from sandbox import cluster

            return cluster.run(
                programs,
                broker=options.broker,
                torch=options.torch,
                device=options.device,
                environment=place.installation.environment.label if place.installation else "",
                packages=packages,
                isolation=isolation,
                preload=_PRELOAD[options.isolation],
                cancel=self._cancel,
                on_outcome=on_outcome,
            )
        return sandbox.run(
            programs,
            backend=self._backend if place.installation else image_backend(options.backend, place.image),
            isolation=isolation,
            jobs=options.jobs,
            preload=_PRELOAD[options.isolation],
            runtime=options.runtime,
            trust_gpu=options.trust_gpu,
            python=options.python,
            image=place.image or None,
            environment=place.installation,
            packages=packages,
            cancel=self._cancel,
            on_outcome=on_outcome,
        )

    def _judge(self, job: Job, outcomes: Sequence[sandbox.Outcome]) -> None:
        """Judge a case or a check by the outcomes of all its programs. One that was cancelled gets no verdict."""
        if any(outcome.ended == "cancelled" for outcome in outcomes):
            return
        environment = self._environment(job, outcomes)
        if environment and (reason := not_runnable(job.subject, self._options.device, "", environment.torch)):
            self.report(Verdict(job.subject, "not run here", reason=reason))
            return
        entry = self._corpus.entries[job.subject.entry]
        torch = environment.torch if environment else "0"
        may_warn = is_exempt(entry.path.parent.parent, entry.id, "KB082", torch)
        match job.subject:
            case Case() as subject:
                repro, fix, *derived = outcomes
                count = len(job.edited)
                edited = [EditedOutcome(*pair) for pair in zip(job.edited, derived[:count], strict=True)]
                mutants = [MutantOutcome(*pair) for pair in zip(job.mutants, derived[count:], strict=True)]
                verdict = judge(entry, subject, self._index, repro, fix, mutants, edited, may_warn=may_warn)
            case Check() as subject:
                verdict = judge_check(subject, outcomes[0], may_warn=may_warn)
            case subject:
                raise TypeError(f"{subject.id} is neither a case nor a check")
        if faults := proof_faults(entry, job.subject):
            verdict = replace(verdict, outcome="failed", faults=(*faults, *verdict.faults))
        self.report(replace(verdict, environment=environment))

    def _environment(self, job: Job, outcomes: Sequence[sandbox.Outcome]) -> Environment | None:
        """Return where the programs of a job ran, as their workers reported; None when no worker started."""
        required = package_names(job.subject.requires)
        for outcome in outcomes:
            versions = outcome.versions
            if "torch" in versions:
                packages = {name: versions[name] for name in required if name in versions}
                return Environment(versions["torch"], outcome.backend, self._gpu_name, packages)
        return None

    def _gpu(self, place: _Place) -> str:
        """Return the name of the GPU with its driver and CUDA version, empty where the probe fails."""
        limits = sandbox.Limits(gpus=1)
        probe = sandbox.Program(_GPU_PROBE, name="probe", group="probe", device="cuda", limits=limits)
        (outcome,) = self._run_programs([probe], place)
        return sandbox.printable(outcome.stdout).strip()[:120] if outcome.exit_code == 0 else ""


def _beside_another_torch(subject: Runnable) -> str:
    return f"needs {', '.join(subject.requires)} beside another torch"

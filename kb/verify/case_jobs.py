"""What has to be run to prove a case or a check.

A case has its repro, its fix, its repro with the changes that are shown on the reader's own line, and, where nothing is taken on trust, mutants of the
fix. A check has its program.
"""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import sandbox
from kb.corpus.entry import Case, Entry, Runnable
from kb.corpus.environments import environment_for, package_names
from kb.corpus.loader import Corpus
from kb.corpus.versions import holds, is_cpu_build
from kb.verify.edited import EditedProgram, edited_programs
from kb.verify.mutants import Mutant, mutants

__all__ = ["Isolation", "Job", "make_job", "not_runnable", "preloads", "programs", "select"]

Isolation = Literal["entry", "corpus"]

_CUDA_MEMORY = 8 << 30
"""Bytes that a program on a GPU may have on the host: the libraries of CUDA and the processes that compile kernels need more than 2 GiB."""


@dataclass(frozen=True, slots=True)
class Job:
    """The programs of a case or a check: those of its blocks in their order, then the repros with a change, then the mutants of a fix."""

    subject: Runnable
    programs: tuple[sandbox.Program, ...]
    edited: tuple[EditedProgram, ...] = ()
    mutants: tuple[Mutant, ...] = ()


def make_job(entry: Entry, subject: Runnable, isolation: Isolation) -> Job:
    """Return what has to be run for a case or a check. Entries that share a worker have been reviewed, so their fixes run without mutants."""
    blocks = programs(subject, preloads(subject, isolation))
    if not isinstance(subject, Case):
        return Job(subject, blocks)
    edited = edited_programs(entry, subject)
    changed = () if isolation == "corpus" else mutants(subject, entry.kind)
    derived = [("edited repro", program.source) for program in edited]
    derived += [(f"{mutant.kind} fix", mutant.source) for mutant in changed]
    others = (dataclasses.replace(blocks[-1], source=source, name=f"{subject.id}:{role}") for role, source in derived)
    return Job(subject, (*blocks, *others), edited, changed)


def preloads(subject: Runnable, isolation: Isolation = "entry") -> tuple[str, ...]:
    """Return what a worker imports for a case or a check besides torch: of the required packages, or of all that entries share in its environment."""
    environment = None if subject.image else environment_for(subject)
    if environment is None:
        return ()
    return environment.preloads(environment.packages if isolation == "corpus" else package_names(subject.requires))


def programs(subject: Runnable, preload: tuple[str, ...] = ()) -> tuple[sandbox.Program, ...]:
    """Return the programs of a case or a check as the sandbox takes them; `preload` are modules that their worker imports besides torch."""
    defaults = sandbox.Limits()
    limits = sandbox.Limits(
        seconds=defaults.seconds if subject.timeout is None else subject.timeout,
        memory=subject.memory or (_CUDA_MEMORY if subject.device == "cuda" else defaults.memory),
        shm=defaults.shm if subject.shm is None else subject.shm,
        gpus=subject.gpus,
    )
    return tuple(
        sandbox.Program(
            block.source,
            name=f"{subject.id}:{role}",
            group=subject.entry,
            limits=limits,
            fresh=subject.fresh,
            device="cuda" if subject.device == "cuda" else "cpu",
            preload=preload,
        )
        for role, block in subject.blocks.items()
    )


def select(corpus: Corpus, names: Sequence[str] = ()) -> list[Runnable]:
    """Return the cases and checks of these entries (`slug`, `slug/case` or `slug/check`), of all when none are named.

    Raises KeyError with a name that does not exist.
    """
    if not names:
        return [runnable for entry in corpus for runnable in entry.runnables]
    selected = []
    for name in names:
        entry = corpus.get(name.partition("/")[0])
        named = [runnable for runnable in entry.runnables if "/" not in name or name == runnable.id] if entry else []
        if not named:
            raise KeyError(name)
        selected += named
    return selected


def not_runnable(subject: Runnable, device: str, backend: str, torch: str = "") -> str:
    """Return why a case or a check cannot run on this device in this sandbox, whatever is built here, or nothing when it can.

    `torch` is the version that it would run on, empty where a run has to show it.
    """
    if subject.os:
        return f"needs {subject.os}"
    if subject.device != device:
        return f"needs {subject.device}" + (f" with {subject.gpus} GPUs" if subject.gpus > 1 else "")
    if torch and not holds(subject.torch, torch):
        return f"needs torch {subject.torch}"
    if torch and subject.build == "cpu" and not is_cpu_build(torch):
        return "needs a build of torch for the CPU alone"
    if subject.gpus > 1 and 0 < (count := _gpus_here()) < subject.gpus:
        return f"needs cuda with {subject.gpus} GPUs, and here {'is one' if count == 1 else f'are {count}'}"
    if backend == "process" and (subject.shm or subject.memory):
        return "needs a sandbox that holds memory: docker or bubblewrap"
    return ""


@cache
def _gpus_here() -> int:
    """Return how many GPUs the driver of this machine lists, 0 where that is not known."""
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    try:
        return len(subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.split())
    except (OSError, subprocess.SubprocessError):
        return 0

"""Proving the corpus: one worker that forks per program, a worker per entry, and one fresh interpreter per program, in one run.

`python -m bench verify [--sample N]`: the fresh interpreters run a sample of N programs, and their time is scaled to the corpus; the other two run it all.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sandbox
from kb.corpus.loader import load
from kb.index.manager import open_index
from kb.verify.case_jobs import not_runnable, programs, select
from kb.verify.verifier import RunOptions, verify

IMPORT = "import torch"


def run_fresh(source: str) -> float:
    """Return the seconds that a new interpreter takes for a program."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(source, "utf-8")
        started = time.perf_counter()
        subprocess.run([sys.executable, str(path)], cwd=folder, capture_output=True, check=False, timeout=120)
        return time.perf_counter() - started


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench verify", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=40, help="programs that fresh interpreters run (default 40)")
    parser.add_argument("--backend", default="auto")
    arguments = parser.parse_args(argv)
    corpus, index, cores = load(), open_index(), os.cpu_count() or 1
    backend = sandbox.choose(arguments.backend).name
    subjects = [
        subject for subject in select(corpus) if not (subject.requires or not_runnable(subject, "cpu", backend))
    ]
    sources = [program.source for subject in subjects for program in programs(subject)]

    torch_import = min(run_fresh(IMPORT) for _ in range(3))
    measured = {}
    for isolation in ("corpus", "entry"):
        started = time.perf_counter()
        done = verify(corpus, subjects, index, options=RunOptions(backend=backend, isolation=isolation, jobs=cores))
        measured[isolation] = time.perf_counter() - started
        if isolation == "corpus":
            program_seconds = sum(verdict.seconds for verdict in done.verdicts)
    sample = random.Random(0).sample(sources, arguments.sample)
    fresh_seconds = sum(map(run_fresh, sample)) / len(sample) * len(sources)

    bound = torch_import + program_seconds / cores
    print(f"{len(subjects)} cases and checks, {len(sources)} programs, {cores} cores, {backend}\n")
    print("| | seconds | against the first line |\n|---|---|---|")
    for name, seconds in (
        ("one torch import + the programs' own time on these cores", bound),
        ("kb verify --isolation corpus", measured["corpus"]),
        ("kb verify --isolation entry (with mutants: twice as many programs)", measured["entry"]),
        (f"a fresh interpreter per program (from {len(sample)})", fresh_seconds),
    ):
        print(f"| {name} | {seconds:.1f} | {seconds / bound:.2f} |")
    print(f"\nfresh interpreters / --isolation corpus: {fresh_seconds / measured['corpus']:.1f}")

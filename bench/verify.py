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
from kb.corpus import load
from kb.index import open_index
from kb.run import programs
from kb.verify import select, verify

IMPORT = "import torch"


def fresh(source: str) -> float:
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
    cases = [case for case in select(corpus) if case.device == "cpu" and not case.os]
    backend = sandbox.choose(arguments.backend).name

    torch_import = min(fresh(IMPORT) for _ in range(3))
    measured = {}
    for isolation in ("corpus", "entry"):
        started = time.perf_counter()
        done = verify(corpus, cases, index, backend=backend, isolation=isolation, jobs=cores)
        measured[isolation] = time.perf_counter() - started
        if isolation == "corpus":
            own = sum(verdict.seconds for verdict in done.verdicts)
    sample = random.Random(0).sample([program.source for case in cases for program in programs(case)], arguments.sample)
    one_by_one = sum(map(fresh, sample)) / len(sample) * 2 * len(cases)

    bound = torch_import + own / cores
    print(f"{len(cases)} cases, {2 * len(cases)} programs, {cores} cores, {backend}\n")
    print("| | seconds | against the first line |\n|---|---|---|")
    for name, seconds in (
        ("one torch import + the programs' own time on these cores", bound),
        ("kb verify --isolation corpus", measured["corpus"]),
        ("kb verify --isolation entry (with the counter-check: half as many programs again)", measured["entry"]),
        (f"a fresh interpreter per program (from {len(sample)})", one_by_one),
    ):
        print(f"| {name} | {seconds:.1f} | {seconds / bound:.2f} |")
    print(f"\nfresh interpreters / --isolation corpus: {one_by_one / measured['corpus']:.1f}")

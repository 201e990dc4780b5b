"""Fuzz everything that reads what strangers write: `python -m bench fuzz --seconds 3600`; with the same --seed it makes the same inputs.

Each case of each target has its own random numbers, made from seed, target and the case's number, so a failure is repeated with the options that it
prints. `--guided` lets atheris (`pip install .[bench]`) look for new paths through one target instead.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.fuzz.targets import TARGETS, Target, empty

__all__ = ["Failure", "main", "run_case"]

CPU_SECONDS = 5.0
"""What one case may cost. A case reads a handful of files of at most 64 KiB and takes milliseconds as a rule."""

STUCK_SECONDS = 60
"""After so long a case is waiting for something that never comes, such as the other end of a FIFO."""

MEMORY = 3 << 30
"""Bytes of address space that a run may take beyond what the process has when it begins."""


@dataclass(frozen=True)
class Failure:
    """A case that went wrong: how, and the input."""

    target: str
    number: int
    what: str
    data: bytes


class StuckError(Exception):
    """A case does not end."""


def run_case(
    target: Target, seed: int, number: int, folder: Path, *, cpu_seconds: float = CPU_SECONDS
) -> tuple[Failure | None, float]:
    """Run one case in an empty folder; return the failure, if any, and the CPU seconds that it took."""
    data = target.make(Random(f"{seed}:{target.name}:{number}"))
    return check(target, data, number, folder, cpu_seconds=cpu_seconds)


def check(
    target: Target,
    data: bytes,
    number: int,
    folder: Path,
    *,
    cpu_seconds: float = CPU_SECONDS,
    stuck_seconds: int = STUCK_SECONDS,
) -> tuple[Failure | None, float]:
    """Let a target check an input; return the failure, if any, and the CPU seconds that it took."""
    start = time.process_time()
    what = ""
    try:
        with deadline(stuck_seconds):
            target.check(data, folder)
    except Exception as error:  # noqa: BLE001 - any of them is what the fuzzer looks for
        what = f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-6)}"
    finally:
        empty(folder)
    seconds = time.process_time() - start
    if not what and seconds > cpu_seconds:
        what = f"{seconds:.1f} s of CPU"
    return (Failure(target.name, number, what, data) if what else None), seconds


@contextlib.contextmanager
def deadline(seconds: int) -> Iterator[None]:
    """Raise `StuckError` in the body after so many seconds."""

    def stop(*_: object) -> None:
        raise StuckError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def limited_memory() -> Iterator[None]:
    """Let an allocation of more than `MEMORY` raise MemoryError in the body."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def main(argv: Sequence[str]) -> int:
    """Run the cases of the chosen targets in turn; return 1 when one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m bench fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--target", choices=TARGETS, action="append", help="only this one (repeatable)")
    parser.add_argument("--seconds", type=float, default=60, help="how long, over all targets (default 60)")
    parser.add_argument("--cases", type=int, help="this many cases of each target instead")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=None, help="repeat a run (default: a new one)")
    parser.add_argument(
        "--guided", action="store_true", help="by atheris, one target, until it fails or the time is over"
    )
    arguments = parser.parse_args(argv)
    targets = [TARGETS[name] for name in arguments.target or TARGETS]
    if arguments.guided:
        from bench.fuzz.guided import run_guided

        return run_guided(targets[0], int(arguments.seconds))
    seed = Random().randrange(1 << 32) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    numbers = range(arguments.first, arguments.first + arguments.cases) if arguments.cases else None
    with limited_memory():
        failures = run(targets, seed, numbers, arguments.seconds)
    for failure in failures:
        report(failure, seed)
    return 1 if failures else 0


def run(targets: Sequence[Target], seed: int, numbers: range | None, seconds: float) -> list[Failure]:
    """Run the numbered cases of each target, or as many as the seconds allow; a target ends at its first failure. Prints a table."""
    until = time.monotonic() + seconds
    failures: dict[str, Failure] = {}
    cases, slowest = Counter[str](), dict.fromkeys((target.name for target in targets), 0.0)
    with tempfile.TemporaryDirectory(prefix="kb-fuzz-") as name:
        for number in numbers if numbers is not None else itertools.count():
            if numbers is None and time.monotonic() > until:
                break
            for target in targets:
                if target.name in failures:
                    continue
                failure, took = run_case(target, seed, number, Path(name))
                cases[target.name] += 1
                slowest[target.name] = max(slowest[target.name], took)
                if failure:
                    failures[target.name] = failure
    print(f"{'target':<20} {'cases':>8} {'slowest case, CPU':>18}")
    for target in targets:
        print(
            f"{target.name:<20} {cases[target.name]:>8} {slowest[target.name]:>16.2f} s"
            + ("  FAILED" if target.name in failures else "")
        )
    return list(failures.values())


def report(failure: Failure, seed: int) -> None:
    """Print a failure and keep its input."""
    path = Path(
        tempfile.gettempdir(), f"kb-fuzz-{failure.target.replace(' ', '-')}-{seed}-{failure.number}-{os.getpid()}"
    )
    path.write_bytes(failure.data)
    print(f"\n{failure.target}: {failure.what}", file=sys.stderr)
    print(
        f"input in {path}; again: --target {failure.target!r} --seed {seed} --first {failure.number} --cases 1",
        file=sys.stderr,
    )

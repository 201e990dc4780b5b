"""Fuzz one target guided by coverage: atheris changes inputs until they take new paths through kb."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from random import Random

import atheris

from bench.fuzz import check
from bench.fuzz.targets import Target

__all__ = ["run_guided"]

_BEGINNINGS = 50
"""Inputs that atheris begins with."""


def run_guided(target: Target, seconds: int) -> int:
    """Fuzz until something fails, which ends the process with a report, or until the seconds are over."""
    atheris.instrument_all()

    def test(data: bytes) -> None:
        with tempfile.TemporaryDirectory(prefix="kb-fuzz-") as folder:
            failure, _ = check(target, data, 0, Path(folder))
        if failure:
            raise RuntimeError(failure.what)

    with tempfile.TemporaryDirectory(prefix="kb-fuzz-corpus-") as corpus:
        for number in range(_BEGINNINGS):
            Path(corpus, str(number)).write_bytes(target.make(Random(number)))
        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=70000", "-rss_limit_mb=4096", corpus], test)
        atheris.Fuzz()
    return 0

"""Fuzz `kb.lookup` with atheris: any bytes, and mutations of tracebacks; stops at the first exception or the first paste that takes too long.

`python -m bench.fuzz --seconds 60` (needs `pip install .[bench]`). Inputs that were found interesting are kept in a temporary folder for the run.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["kb"]):
    import kb.guess  # noqa: F401 - only what is imported here is watched, and a look-up imports this when it needs it
    from kb.answer import lookup

from kb.corpus import load
from kb.index import open_index

LIMIT = 0.25
"""Seconds of CPU that a paste may take."""
SLOWER = 20
"""The factor, about, by which atheris' instrumentation multiplies that."""


def seeds(folder):
    """Write a traceback for each message of the entries, for the fuzzer to begin with."""
    for entry in load():
        for number, message in enumerate(entry.messages[:2]):
            text = f'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g(x)\n{message.text}\n'
            Path(folder, f"{entry.id}-{number}").write_text(text, "utf-8")


def main():
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--longest", type=int, default=4096, help="bytes of an input (default 4096)")
    arguments = parser.parse_args()
    index = open_index()

    def one(data):
        text = data.decode("utf-8", "replace")
        start = time.process_time()
        answer = lookup(text, index=index)
        took = time.process_time() - start
        if took > LIMIT * SLOWER:
            raise RuntimeError(f"{took:.2f} s for {len(data)} bytes")
        lines = text.count("\n") + 1
        for match in answer.matches:
            if match.evidence.line_number > lines or not 0 <= match.score <= 1:
                raise RuntimeError(f"evidence outside the paste: {match}")

    with tempfile.TemporaryDirectory(prefix="kb-fuzz-") as folder:
        seeds(folder)
        options = [
            f"-max_total_time={arguments.seconds}",
            f"-max_len={arguments.longest}",
            "-print_final_stats=1",
            folder,
        ]
        atheris.Setup([sys.argv[0], *options], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

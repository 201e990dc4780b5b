"""A cold `kb lookup` beside a bare interpreter, and a Chinese one beside jieba loading its dictionary.

The programs take turns, so that whatever else the machine does meets all of them alike; the least of many times is the
one without that. Python keeps compiled modules, as it does for an installed package.
"""

import os
import subprocess
import sys
import tempfile
import time

ERROR = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)"
QUESTION = "显存一直涨，是什么原因"
PROGRAMS = {
    "python -c pass": ["-c", "pass"],
    "kb lookup, an English error": ["-m", "kb", "lookup", ERROR],
    "kb lookup, an English question": ["-m", "kb", "lookup", "my loss becomes nan after some steps"],
    "kb lookup, a Chinese question": ["-m", "kb", "lookup", QUESTION],
    "import jieba; jieba.initialize()": ["-c", "import jieba; jieba.initialize()"],
}


def measure(runs: int) -> dict[str, tuple[float, float]]:
    """Return the least and the median wall time in seconds of each program."""
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        compiled = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        for turn in range(runs + 1):
            for name, arguments in PROGRAMS.items():
                start = time.perf_counter()
                subprocess.run(
                    [sys.executable, *arguments], capture_output=True, check=False, env=os.environ | compiled
                )
                if turn:
                    times[name].append(time.perf_counter() - start)
    return {name: (min(seconds), sorted(seconds)[len(seconds) // 2]) for name, seconds in times.items()}


def main(argv: list[str]) -> None:
    """Print the table; an argument is the number of runs."""
    measured = measure(int(argv[0]) if argv else 20)
    bare_least, bare_median = measured["python -c pass"]
    print("| program | least ms | median ms | times a bare start (least) | (median) |\n|---|---:|---:|---:|---:|")
    for name, (least, median) in measured.items():
        print(
            f"| `{name}` | {1000 * least:.1f} | {1000 * median:.1f} | {least / bare_least:.2f} | {median / bare_median:.2f} |"
        )

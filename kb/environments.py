"""Interpreters with another version of torch: a virtual environment for each, in the user's cache folder, made when it is first asked for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from kb.stamps import cache_root

__all__ = ["EnvironmentFailed", "interpreter"]

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_NUMPY_2 = (2, 3)
"""The first torch whose wheels were built against NumPy 2."""


class EnvironmentFailed(Exception):  # noqa: N818 - said to a person
    """The environment could not be made; the text says why."""


def interpreter(version: str, say: Callable[[str], None] = lambda _line: None) -> Path:
    """Return the Python of an environment that has this version of torch, made now if it is not there; `say` hears what takes long.

    Raises `EnvironmentFailed` for what is no version, and when pip cannot install it.
    """
    if not _VERSION.fullmatch(version):
        raise EnvironmentFailed(f"{version!r} is no version of torch; write it as 2.4.1")
    folder = Path(cache_root()) / "torch" / version
    python = folder / "bin" / "python"
    done = folder / "done"
    if done.exists():
        return python
    say(f"Making an environment with torch {version} in {folder}; this downloads a lot …")
    numpy = "numpy" if tuple(map(int, version.split(".")[:2])) >= _NUMPY_2 else "numpy<2"
    _call([sys.executable, "-m", "venv", "--clear", str(folder)])
    _call(
        [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            f"torch=={version}",
            numpy,
            "setuptools<80",
        ]
    )
    done.touch()
    return python


def _call(command: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.startswith("ERROR")] or [
            done.stderr.strip()[-300:]
        ]
        raise EnvironmentFailed(said[-1])

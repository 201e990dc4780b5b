"""Interpreters with another version of torch: a virtual environment for each, in the user's cache folder, made at its first use."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from kb.corpus.paths import cache_root
from kb.corpus.versions import holds

__all__ = ["EnvironmentFailed", "interpreter"]

_RELEASE = re.compile(r"\d{1,4}\.\d{1,4}(\.\d{1,4})?")
_NUMPY_2 = ">=2.3"
"""The torch whose wheels were built against NumPy 2."""


class EnvironmentFailed(Exception):  # noqa: N818 - shown to a person
    """The environment could not be made; the text says why."""


def interpreter(version: str, say: Callable[[str], None] = lambda _line: None) -> Path:
    """Return the Python of an environment that has this release of torch, made now if it is not there; `say` is called before what takes long.

    Raises `EnvironmentFailed` for a text that is no release, and when pip cannot install it.
    """
    if not _RELEASE.fullmatch(version):
        raise EnvironmentFailed(f"{version!r} is no version of torch; write it as 2.4.1")
    folder = Path(cache_root()) / "torch" / version
    python = folder / "bin" / "python"
    done = folder / "done"
    if done.exists():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(folder.parent / f"{version}.lock"):
        if not done.exists():  # nobody has made it while this process waited
            say(f"Making an environment with torch {version} in {folder}; this downloads a lot …")
            _make(version, folder, python)
            done.touch()
    return python


def _make(version: str, folder: Path, python: Path) -> None:
    numpy = "numpy" if holds(_NUMPY_2, version) else "numpy<2"
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


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock file, because workers that start together want the same environment. The system frees it when a process dies."""
    import fcntl  # not on Windows, which none of the commands that run programs supports

    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _call(command: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        errors = [line for line in (done.stderr + done.stdout).splitlines() if line.startswith("ERROR")]
        raise EnvironmentFailed(errors[-1] if errors else done.stderr.strip()[-300:])

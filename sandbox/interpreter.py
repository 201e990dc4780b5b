"""Finds the parts of a Python installation that a sandbox must see to run it: the interpreter, its library and its packages."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sandbox.model import SandboxError

_QUERY = """
import importlib.util, json, os, site, sys, sysconfig
folders = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
folders += [sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")] + site.getsitepackages()
spec = importlib.util.find_spec("torch")
extra = os.path.dirname(os.path.dirname(spec.origin)) if spec and spec.origin else ""
print(json.dumps([sys.executable, folders, extra, os.path.realpath(sys.executable)]))
"""


@dataclass(frozen=True)
class Interpreter:
    """An interpreter, the folders that it needs, and one more folder of packages (a user's, for instance) if torch is there."""

    executable: str
    folders: tuple[str, ...]
    extra: str


@functools.cache
def inspect(python: str | None = None) -> Interpreter:
    """Return where `python` (this interpreter by default) and its packages are. Raises SandboxError when it does not run."""
    command = [python or sys.executable, "-c", _QUERY]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd="/").stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"{command[0]} is no Python that runs here ({error}); name another interpreter") from error
    executable, listed, extra, real = json.loads(printed)
    folders = {folder for folder in (*listed, str(Path(real).parent)) if Path(folder).is_dir()}
    inside = extra and any(extra.startswith(f"{folder}/") or extra == folder for folder in folders)
    if extra and not inside:
        folders.add(extra)
    return Interpreter(executable, tuple(outermost(folders)), "" if inside else extra)


def outermost(folders: set[str]) -> list[str]:
    """Return the folders that lie in none of the others, sorted."""
    return sorted(
        folder
        for folder in folders
        if not any(folder != parent and folder.startswith(parent.rstrip("/") + "/") for parent in folders)
    )

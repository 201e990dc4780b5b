"""Makes the lock file of an environment: uv resolves its packages for the torch that is installed here."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from sandbox.environments.definition import Environment

__all__ = ["LockFailed", "make_lock"]

_OPTIONS = ("--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate", "--quiet")
_TORCH_NEEDS = ("filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions")
"""What torch requires besides the CUDA libraries, which no program on a CPU needs."""


class LockFailed(Exception):
    """The packages cannot be resolved; the text says why."""


def make_lock(environment: Environment, torch: str = "") -> str:
    """Return the text of the lock file: every package that it needs, with version and hashes. Raises `LockFailed`.

    `torch` is the version that the sandbox has, this interpreter's by default. It is left out of the lock unless the environment has its own.
    """
    requirements = [*map(str, environment.packages.values())]
    options = list(_OPTIONS)
    config = ""
    if not environment.has_own_torch:
        version = torch or metadata.version("torch").partition("+")[0]
        requirements.append(f"torch=={version}")
        options += ["--no-emit-package", "torch"]
        needs = ", ".join(f'"{name}"' for name in _TORCH_NEEDS)
        config = f'[[dependency-metadata]]\nname = "torch"\nversion = "{version}"\nrequires-dist = [{needs}]\n'
    with tempfile.TemporaryDirectory(prefix="kb-lock-") as name:
        folder = Path(name)
        (folder / "uv.toml").write_text(config, "utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "uv", "pip", "compile", "-", "--config-file", "uv.toml", *options],
            cwd=folder,
            input="\n".join(requirements),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise LockFailed(done.stderr.strip()[-600:] or "uv ended without a word")
    return done.stdout

"""A plain child process with rlimits: no isolation. For one's own checkout, and only when asked for by name."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from sandbox import interpreter, policy
from sandbox.backends.leftovers import owned_name, stale
from sandbox.link import Death, PipeLink
from sandbox.model import DEFAULTS, BackendStatus, Options, Program, SandboxError, Setup
from sandbox.worker import Started, arguments


class Process:
    """See the module's docstring."""

    name = "process"

    def __init__(self, options: Options = DEFAULTS) -> None:
        self._python = options.python

    def status(self) -> BackendStatus:
        """Tells whether it works here, found by trying."""
        return BackendStatus(self.name, True, "no isolation: for your own checkout only, never chosen by itself")

    def sweep(self) -> None:
        """Removes what interrupted runs left behind."""
        for folder in Path(tempfile.gettempdir()).glob(f"{policy.NAME}-*"):
            if folder.is_dir() and not folder.is_symlink() and stale(folder.name):
                shutil.rmtree(folder, ignore_errors=True)

    def launch(self, setup: Setup) -> Started:  # noqa: ARG002  # nothing here holds a worker to it
        """Starts a worker; does not wait for it."""
        python = interpreter.inspect(self._python)
        folder = tempfile.mkdtemp(prefix=owned_name() + "-")
        process = subprocess.Popen(
            [python.executable, *arguments()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=policy.environment(folder, python.extra),
            start_new_session=True,
        )

        def bury() -> Death:
            shutil.rmtree(folder, ignore_errors=True)
            return Death()

        settings: dict[str, Any] = {
            "uid": None,
            "seccomp": False,
            "tmp": folder,
            "shared": [],
        }
        return Started(PipeLink(process, bury), settings, lambda program: job(program, watched=True, shared=[]))


def job(program: Program, *, watched: bool, shared: list[str], processes: bool = False) -> dict[str, Any]:
    """What a worker is told of one program; `watched` where it has to count memory and processes itself."""
    limits = program.limits
    return {
        "source": program.source,
        "fresh": program.fresh or program.device != "cpu",
        "env": dict(program.env),
        "seconds": limits.seconds,
        "output": limits.output,
        "memory": limits.memory,
        "pids": limits.pids,
        "watch": watched,
        "shared": shared,
        "rlimits": policy.rlimits(limits, data=watched, processes=processes),
    }


def require_trust(setup: Setup) -> None:
    """Raises SandboxError for a worker that would get a GPU without the caller's word that its programs are reviewed."""
    if not setup.trust_gpu:
        raise SandboxError("a GPU is no security boundary: only for reviewed programs, with trust_gpu (--trust-gpu)")

"""A plain child process with rlimits and no isolation: for your own checkout, and only when named explicitly."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from sandbox import interpreter, policy
from sandbox.environments import Installation
from sandbox.leftovers import owned_name, stale
from sandbox.model import DEFAULTS, BackendStatus, Options, Program, SandboxError, WorkerSpec
from sandbox.transport import ExitReport, PipeTransport
from sandbox.worker import WorkerHandle, arguments


class Process:
    """See the module's docstring."""

    name = "process"

    def __init__(self, options: Options = DEFAULTS) -> None:
        self._python = options.python
        self._environment = options.environment

    def status(self) -> BackendStatus:
        """Return that it works everywhere; see Backend."""
        if self._environment and not self._environment.packages().is_dir():
            return BackendStatus(self.name, False, not_installed(self._environment))
        return BackendStatus(self.name, True, "no isolation: for your own checkout only, never chosen by itself")

    def sweep(self) -> None:
        """Remove what interrupted runs left behind; see Backend."""
        for folder in Path(tempfile.gettempdir()).glob(f"{policy.NAME}-*"):
            if folder.is_dir() and not folder.is_symlink() and stale(folder.name):
                shutil.rmtree(folder, ignore_errors=True)

    def launch(self, spec: WorkerSpec) -> WorkerHandle:  # noqa: ARG002  # nothing here enforces it
        """Start a worker; see Backend."""
        python = interpreter.inspect(self._python)
        folder = tempfile.mkdtemp(prefix=owned_name() + "-")
        process = subprocess.Popen(
            [python.executable, *arguments()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=policy.environment(folder, *package_folders(self._environment), python.extra),
            start_new_session=True,
        )

        def cleanup() -> ExitReport:
            shutil.rmtree(folder, ignore_errors=True)
            return ExitReport()

        settings: dict[str, Any] = {
            "uid": None,
            "seccomp": False,
            "tmp": folder,
            "shared": [],
        }
        return WorkerHandle(PipeTransport(process, cleanup), settings, _job)


def _job(program: Program) -> dict[str, Any]:
    """Return what a worker is sent for one program; one that asks for no GPU sees none, as in the other sandboxes."""
    request = job(program, watched=True, shared=[])
    if program.device != "cuda":
        request["env"] = {"CUDA_VISIBLE_DEVICES": "", **request["env"]}
    return request


def package_folders(installation: Installation | None) -> list[str]:
    """Return the folder with the packages of an environment, in a list; none where there is no environment."""
    return [str(installation.packages())] if installation else []


def not_installed(installation: Installation) -> str:
    """Return why a backend without images cannot run programs of this environment."""
    return f"there is no folder {installation.folder()}, which is of an environment"


def job(program: Program, *, watched: bool, shared: list[str], processes: bool = False) -> dict[str, Any]:
    """Return what a worker is sent for one program; `watched` where the worker has to count memory and processes itself."""
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


def require_trust(spec: WorkerSpec) -> None:
    """Raise SandboxError for a worker that would get a GPU although the caller has not declared its programs reviewed."""
    if not spec.trust_gpu:
        raise SandboxError("a GPU is no security boundary: only for reviewed programs, with trust_gpu (--trust-gpu)")

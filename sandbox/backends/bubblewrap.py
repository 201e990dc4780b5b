"""Namespaces by bubblewrap: no network, a read-only system, private /tmp, /proc and /dev, nothing of the user's home."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from sandbox import cgroup, interpreter, policy
from sandbox.backends.process import job, not_installed, package_folders, require_trust
from sandbox.model import DEFAULTS, BackendStatus, Limits, Options, WorkerSpec
from sandbox.transport import ExitReport, PipeTransport
from sandbox.worker import WorkerHandle, arguments

ENTER = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 1; shift; done; shift; exec "$@"'
INSTALL = "install the package bubblewrap (apt, dnf, pacman and apk know it by that name)"


class Bubblewrap:
    """See the module's docstring."""

    name = "bubblewrap"

    def __init__(self, options: Options = DEFAULTS) -> None:
        self._python = options.python
        self._environment = options.environment

    def status(self) -> BackendStatus:
        """Return whether bubblewrap starts a Python here; see Backend."""
        if self._environment and not self._environment.packages().is_dir():
            return BackendStatus(self.name, False, not_installed(self._environment))
        return BackendStatus(self.name, *_try(self._python))

    def sweep(self) -> None:
        """Remove what interrupted runs left behind; see Backend."""
        cgroup.sweep()

    def launch(self, spec: WorkerSpec) -> WorkerHandle:
        """Start a worker; see Backend."""
        if spec.device == "cuda":
            require_trust(spec)
        python = interpreter.inspect(self._python)
        group = cgroup.create(spec.memory, spec.pids, spec.cpus)
        etc = {name: _memory_file(text) for name, text in policy.ETC.items()}
        packages = package_folders(self._environment)
        command = [*_command(spec, python, group, etc, packages), python.executable, *arguments()]
        if group:
            command = ["/bin/sh", "-c", ENTER, "sh", *group.entrances(), "--", *command]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={"PATH": policy.ENVIRONMENT["PATH"]},
                pass_fds=list(etc.values()),
                start_new_session=True,
            )
        finally:
            for descriptor in etc.values():
                os.close(descriptor)

        def cleanup() -> ExitReport:
            if not group:
                return ExitReport()
            report = ExitReport(group.killed_for_memory())
            group.remove()
            return report

        settings = {
            "uid": policy.UID,
            "seccomp": True,
            "tmp": policy.TMP,
            "shared": list(policy.SHARED),
        }
        shared = [policy.TMP, *policy.SHARED]
        unlimited = group is None
        return WorkerHandle(
            PipeTransport(process, cleanup),
            settings,
            lambda program: job(program, watched=unlimited, shared=shared, processes=unlimited),
        )


def _command(
    spec: WorkerSpec,
    python: interpreter.Interpreter,
    group: cgroup.Group | None,
    etc: dict[str, int],
    packages: Sequence[str] = (),
) -> list[str]:
    """Return bubblewrap's command line up to the program to start; `packages` are folders to import from, beside the interpreter's own.

    As root it keeps the right to change user, and the worker uses it first of all to become nobody. For other users a user namespace does that.
    """
    user = policy.BUBBLEWRAP_ROOT if os.geteuid() == 0 else policy.BUBBLEWRAP_USER
    command = [shutil.which("bwrap") or "bwrap", *policy.BUBBLEWRAP, *user]
    for name, value in policy.environment(policy.TMP, *packages, python.extra).items():
        command += ["--setenv", name, value]
    command += _system_mounts()
    for folder, size in ((policy.TMP, spec.tmp), ("/dev/shm", spec.shm)):
        command += ["--perms", "1777", "--size", str(size), "--tmpfs", folder]
    for folder in (*python.folders, *packages):
        if not any(folder == system or folder.startswith(system + "/") for system in policy.SYSTEM):
            command += [*_parents(folder), "--ro-bind", folder, folder]
    for device in sorted(Path("/dev").glob("nvidia*")) if spec.device == "cuda" else []:
        command += ["--dev-bind", str(device), str(device)]
    for name, descriptor in etc.items():
        command += ["--perms", "0444", "--ro-bind-data", str(descriptor), f"/etc/{name}"]
    for source, target in group.visible() if group else []:
        command += [*_parents(target), "--ro-bind-try", source, target]
    return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]


def _system_mounts() -> list[str]:
    """Return the options for the host's system folders, a new /proc and /dev, and the few files beside them that Python reads."""
    options = []
    for folder in policy.SYSTEM:
        if Path(folder).is_symlink():
            options += ["--symlink", str(Path(folder).readlink()), folder]
        elif Path(folder).is_dir():
            options += ["--ro-bind", folder, folder]
    options += ["--proc", "/proc", "--dev", "/dev", "--perms", "0755", "--dir", "/etc"]
    for path in policy.SYSTEM_FILES:
        options += [*_parents(path), "--ro-bind-try", path, path]
    return options


def _parents(folder: str) -> list[str]:
    """Return the options that make the folders above a mount; bubblewrap by itself would close them to all but root."""
    above = [str(parent) for parent in reversed(PurePosixPath(folder).parents)][1:]
    return [option for parent in above for option in ("--perms", "0755", "--dir", parent)]


def _memory_file(text: str) -> int:
    descriptor = os.memfd_create("etc")
    os.write(descriptor, text.encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


@functools.cache
def _try(python: str | None) -> tuple[bool, str]:
    """Return whether bubblewrap starts a Python here, and one line about it."""
    if sys.platform != "linux":
        return False, "needs Linux"
    bwrap = shutil.which("bwrap")
    if not bwrap:
        return False, INSTALL
    try:
        printed = subprocess.run([bwrap, "--version"], capture_output=True, text=True, timeout=10, check=True)
        version = printed.stdout.split()[-1]
        etc: dict[str, int] = {}
        limits = Limits()
        spec = WorkerSpec(limits.memory, limits.pids, limits.shm, limits.tmp, limits.cpus, 0, "cpu", ())
        inside = interpreter.inspect(python)
        command = [*_command(spec, inside, None, etc), inside.executable, "-c", "print(42)"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, IndexError, subprocess.SubprocessError) as error:
        return False, f"bwrap does not run: {error}"
    if done.stdout.strip() != "42":
        reasons = done.stderr.strip().splitlines() or ["no reason given"]
        return False, f"bwrap {version} refuses: {reasons[-1][:200]}; it needs unprivileged user namespaces or root"
    group = cgroup.create(limits.memory, limits.pids, limits.cpus)
    if group:
        group.remove()
        limits_by = f"memory and processes held by control groups (v{group.version})"
    else:
        limits_by = "memory and processes held by rlimits and by watching, as no control group is writable"
    return True, f"bwrap {version}, {limits_by}"

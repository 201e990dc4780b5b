"""Namespaces by bubblewrap: no network, a read-only system, private /tmp, /proc and /dev, nothing of the user's home."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

from sandbox import cgroup, interpreter, policy
from sandbox.backends.process import job, require_trust
from sandbox.link import Death, PipeLink
from sandbox.model import DEFAULTS, BackendStatus, Limits, Options, Setup
from sandbox.worker import Started, arguments

ENTER = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 1; shift; done; shift; exec "$@"'
INSTALL = "install the package bubblewrap (apt, dnf, pacman and apk know it by that name)"


class Bubblewrap:
    """See the module's docstring."""

    name = "bubblewrap"

    def __init__(self, options: Options = DEFAULTS) -> None:
        self._python = options.python

    def status(self) -> BackendStatus:
        """Tells whether it works here, found by trying."""
        return BackendStatus(self.name, *_try(self._python))

    def sweep(self) -> None:
        """Removes what interrupted runs left behind."""
        cgroup.sweep()

    def launch(self, setup: Setup) -> Started:
        """Starts a worker; does not wait for it."""
        if setup.device == "cuda":
            require_trust(setup)
        python = interpreter.inspect(self._python)
        group = cgroup.create(setup.memory, setup.pids, setup.cpus)
        etc = {name: _memory_file(text) for name, text in policy.ETC.items()}
        command = [*_command(setup, python, group, etc), python.executable, *arguments()]
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

        def bury() -> Death:
            if not group:
                return Death()
            death = Death(group.killed_for_memory())
            group.remove()
            return death

        settings = {
            "uid": policy.UID,
            "seccomp": True,
            "tmp": policy.TMP,
            "shared": list(policy.SHARED),
        }
        shared = [policy.TMP, *policy.SHARED]
        unlimited = group is None
        return Started(
            PipeLink(process, bury),
            settings,
            lambda program: job(program, watched=unlimited, shared=shared, processes=unlimited),
        )


def _command(
    setup: Setup, python: interpreter.Interpreter, group: cgroup.Group | None, etc: dict[str, int]
) -> list[str]:
    """bubblewrap with its options, up to the program to start.

    As root it keeps the right to change user, which the worker uses first of all to become nobody; as anybody else a
    user namespace does that.
    """
    user = policy.BUBBLEWRAP_ROOT if os.geteuid() == 0 else policy.BUBBLEWRAP_USER
    command = [shutil.which("bwrap") or "bwrap", *policy.BUBBLEWRAP, *user]
    for name, value in policy.environment(policy.TMP, python.extra).items():
        command += ["--setenv", name, value]
    command += _system_mounts()
    for folder, size in ((policy.TMP, setup.tmp), ("/dev/shm", setup.shm)):
        command += ["--perms", "1777", "--size", str(size), "--tmpfs", folder]
    for folder in python.folders:
        if not any(folder == system or folder.startswith(system + "/") for system in policy.SYSTEM):
            command += [*_parents(folder), "--ro-bind", folder, folder]
    for device in sorted(Path("/dev").glob("nvidia*")) if setup.device == "cuda" else []:
        command += ["--dev-bind", str(device), str(device)]
    for name, descriptor in etc.items():
        command += ["--perms", "0444", "--ro-bind-data", str(descriptor), f"/etc/{name}"]
    for source, target in group.visible() if group else []:
        command += [*_parents(target), "--ro-bind-try", source, target]
    return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]


def _system_mounts() -> list[str]:
    """Options for the host's system folders, a new /proc and /dev, and the few files beside them that Python reads."""
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
    """Options that make the folders above a mount, which bubblewrap alone would close to all but root."""
    above = [str(parent) for parent in reversed(PurePosixPath(folder).parents)][1:]
    return [option for parent in above for option in ("--perms", "0755", "--dir", parent)]


def _memory_file(text: str) -> int:
    descriptor = os.memfd_create("etc")
    os.write(descriptor, text.encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


@functools.cache
def _try(python: str | None) -> tuple[bool, str]:
    """Whether bubblewrap starts a Python here, and one line about it."""
    if sys.platform != "linux":
        return False, "needs Linux"
    bwrap = shutil.which("bwrap")
    if not bwrap:
        return False, INSTALL
    try:
        asked = subprocess.run([bwrap, "--version"], capture_output=True, text=True, timeout=10, check=True)
        version = asked.stdout.split()[-1]
        etc: dict[str, int] = {}
        limits = Limits()
        setup = Setup(limits.memory, limits.pids, limits.shm, limits.tmp, limits.cpus, 0, "cpu", ())
        inside = interpreter.inspect(python)
        command = [*_command(setup, inside, None, etc), inside.executable, "-c", "print(42)"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, IndexError, subprocess.SubprocessError) as error:
        return False, f"bwrap does not run: {error}"
    if done.stdout.strip() != "42":
        said = done.stderr.strip().splitlines() or ["no reason given"]
        return False, f"bwrap {version} refuses: {said[-1][:200]}; it needs unprivileged user namespaces or root"
    group = cgroup.create(limits.memory, limits.pids, limits.cpus)
    if group:
        group.remove()
        held = f"memory and processes held by control groups (v{group.version})"
    else:
        held = "memory and processes held by rlimits and by watching, as no control group is writable"
    return True, f"bwrap {version}, {held}"

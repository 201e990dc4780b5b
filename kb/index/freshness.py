"""Whether an index still belongs to the entries and to this version of kb: decided in about a millisecond, without reading a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from kb.corpus.paths import SETTINGS_FILE

__all__ = ["changed_paths", "manifest"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_DECISIVE = (
    "corpus",
    "documents",
    "index",
    "templates",
    "text",
    *(os.path.join(name, "data") for name in ("index", "text")),
)
"""The sub-packages whose code and data decide what an index contains."""


def manifest(folders: Sequence[str], shipped: str = "") -> str:
    """Return a text that changes whenever an index of these folders has to change: a line for each file that it is made of.

    Those files are the entries, their folder's settings, the ledgers, and in a checkout kb's own modules. A line holds the path, the modification
    time in nanoseconds and the size in bytes. The files of an installed package do not change, so the package's version
    stands for its modules and for the folder `shipped`.
    """
    if shipped:
        from kb import __version__

        lines = [f"kb {__version__}"]
    else:
        lines = [line for name in _DECISIVE for line in _lines(os.path.join(_PACKAGE, name), (".py", ".txt", ".json"))]
    for folder in folders:
        if folder != shipped:
            lines += _lines(folder, (SETTINGS_FILE,))
            for topic in _scan(folder):
                if topic.is_dir():
                    lines += _lines(topic.path, (".md", ".json"))
    return "\n".join(sorted(lines))


def changed_paths(before: str, after: str) -> list[str]:
    """Return the paths whose lines differ between two manifests; the line of the package's version counts as a path."""
    return sorted({line.partition("\t")[0] for line in set(before.split("\n")) ^ set(after.split("\n"))})


def _lines(folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    for file in _scan(folder):
        if file.name.endswith(suffixes):
            try:
                status = file.stat()
            except OSError:  # it was removed since the folder was read, or is a broken link
                continue
            yield f"{file.path}\t{status.st_mtime_ns}\t{status.st_size}"


def _scan(folder: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []

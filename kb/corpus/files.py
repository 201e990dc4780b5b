"""List and read the files of a folder of entries. Nothing else opens them, because the folder may come from a stranger.

Only regular files of bounded size are opened: a FIFO would block the reader, a device could be endless. A link is followed where it leads to a
regular file inside the same folder of entries, and refused elsewhere: an entry must not show what lies on the reader's disk.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = [
    "ENTRY_BYTES",
    "LEDGER_BYTES",
    "YAML_BYTES",
    "UnreadableFile",
    "entry_files",
    "environment_files",
    "is_there",
    "ledger_files",
    "named_path",
    "read_text",
]

ENTRY_BYTES = 64 << 10
"""The largest entry. The longest that ships has 10 KiB."""

YAML_BYTES = 1 << 20
"""The largest `kb.yaml`, `exemptions.yaml` or `seeds.yaml`."""

LEDGER_BYTES = 16 << 20
"""The largest ledger. One of 515 cases has 0.4 MiB."""

ENVIRONMENTS = "environments"
"""The folder below a folder of entries that holds its own environments."""

LEDGERS = "verified"
"""The folder below a folder of entries that holds its ledgers."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class UnreadableFile(Exception):  # noqa: N818 - a diagnostic is made of it
    """A file is refused or cannot be read; the text says why and what to do."""


def entry_files(folder: Path) -> list[Path]:
    """Return the paths `<topic>/<slug>.md` of a folder of entries, in order; topics and files whose names begin with a dot are left out."""
    return [Path(path) for topic in _names(folder) for path in _paths(os.path.join(folder, topic), ".md")]


def ledger_files(folder: Path) -> list[Path]:
    """Return the paths of a folder's ledgers, in order of their names."""
    return [Path(path) for path in _paths(os.path.join(folder, LEDGERS), ".json")]


def environment_files(folder: Path) -> list[Path]:
    """Return the paths of the definitions of a folder's own environments, in order of their names."""
    return [Path(path) for path in _paths(os.path.join(folder, ENVIRONMENTS), ".toml")]


def is_there(path: Path) -> bool:
    """Return whether there is something of that name, readable or not: a link that leads nowhere counts."""
    try:
        return os.path.lexists(path)
    except ValueError:  # a name that no system call takes
        return False


def named_path(path: Path) -> Path:
    """Return the absolute path with the links in its folders followed; the file itself may be a link, which is not followed."""
    real = os.path.realpath
    return Path(real(path.parent), path.name) if path.name not in ("", "..") else Path(real(path))


def read_text(path: Path, folder: Path, max_bytes: int) -> str:
    """Return the text of a file that belongs to this folder of entries; every line ends in a line feed.

    Raises `UnreadableFile` for what is no regular file inside the folder, is longer than `max_bytes`, is not UTF-8 or cannot be read.
    """
    try:
        data = _read_bytes(path, folder, max_bytes)
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"not UTF-8 at byte {error.start}; save the file as UTF-8") from error
    except (OSError, ValueError) as error:  # ValueError: a name that no system call takes
        reason = error.strerror if isinstance(error, OSError) else error
        raise UnreadableFile(f"cannot be read ({reason}); check the path") from error


def _read_bytes(path: Path, folder: Path, max_bytes: int) -> bytes:
    real = os.path.realpath(path, strict=True)
    root = os.path.realpath(folder)
    if os.path.commonpath([root, real]) != root:
        raise UnreadableFile("leads out of its folder of entries; put the file itself there")
    _require_regular(os.stat(real), max_bytes)
    descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY)
    with open(descriptor, "rb") as file:
        _require_regular(os.fstat(descriptor), max_bytes)  # it may have been exchanged since
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UnreadableFile(_too_large(max_bytes))
    return data


def _require_regular(status: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a special file")
        raise UnreadableFile(f"is {kind}; only regular files are read")
    if status.st_size > max_bytes:
        raise UnreadableFile(_too_large(max_bytes))


def _too_large(max_bytes: int) -> str:
    return f"has more than {max_bytes >> 10} KiB; divide it"


def _paths(folder: str, ending: str) -> list[str]:
    return [os.path.join(folder, name) for name in _names(folder) if name.endswith(ending)]


def _names(folder: str | Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except (OSError, ValueError):  # no folder, or none that may be listed
        return []

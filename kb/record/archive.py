"""The Python files, stubs and compiled libraries in a wheel or a source archive, read in memory: nothing is unpacked, nothing is run."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from kb.record.internal_modules import is_test
from kb.startup.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

__all__ = ["ArchiveFile", "archive_files", "metadata_text"]

_SUFFIXES = (".py", ".pyi", ".so", ".pyd", ".dylib", ".dll")
_MAX_SOURCE = 4 << 20


class ArchiveFile(NamedTuple):
    """A file of a package: its path below the folder that is installed, and its bytes, or an open stream for a compiled library."""

    path: str
    data: bytes
    stream: IO[bytes] | None = None

    @property
    def module(self) -> str:
        """The dotted name of the module that the file defines."""
        stem = self.path.rpartition("/")[2].partition(".")[0]
        folder = self.path.rpartition("/")[0].replace("/", ".")
        return folder if stem == "__init__" else f"{folder}.{stem}" if folder else stem

    @property
    def is_package(self) -> bool:
        """Whether the file is the `__init__` of a package."""
        return self.path.rpartition("/")[2].startswith("__init__.")


def archive_files(path: Path, roots: tuple[str, ...]) -> Iterator[ArchiveFile]:
    """Yield the files that belong to the top-level modules `roots`, without tests and examples, in the order of their paths."""
    if path.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if inner := _installed_path(name, roots, is_wheel=True):
                    with archive.open(name) as stream:
                        yield _file(inner, stream)
        return
    with tarfile.open(path) as archive:
        members = {member.name: member for member in archive.getmembers() if member.isfile()}
        for name in sorted(members):
            inner = _installed_path(name, roots, is_wheel=False)
            content = archive.extractfile(members[name]) if inner else None
            if content is not None:
                yield _file(inner, content)


def metadata_text(path: Path) -> str:
    """Return the core metadata (METADATA or PKG-INFO) of an archive, the empty string if it has none."""
    if path.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith((".dist-info/METADATA", "/PKG-INFO"))]
            return archive.read(min(names, key=len)).decode("utf-8", "replace") if names else ""
    with tarfile.open(path) as archive:
        names = [name for name in archive.getnames() if name.endswith("/PKG-INFO")]
        stream = archive.extractfile(min(names, key=len)) if names else None
        return stream.read().decode("utf-8", "replace") if stream else ""


def _file(path: str, stream: IO[bytes]) -> ArchiveFile:
    if path.endswith((".py", ".pyi")):
        return ArchiveFile(path, stream.read(_MAX_SOURCE))
    return ArchiveFile(path, b"", stream)


def _installed_path(name: str, roots: tuple[str, ...], *, is_wheel: bool) -> str:
    """Return the path that a member has once installed, or the empty string if it is none of the package's code."""
    if not name.endswith(_SUFFIXES):
        return ""
    parts = name.split("/")
    if is_wheel and parts[0].endswith(".data") and len(parts) > 2:
        parts = parts[2:]
    elif not is_wheel:
        parts = parts[1:]
        while parts and parts[0] in ("src", "python", "py_src", "Lib", "lib"):
            parts = parts[1:]
    top = parts[0].partition(".")[0] if parts else ""
    path = "/".join(parts)
    return path if top in roots and not is_test(path) else ""

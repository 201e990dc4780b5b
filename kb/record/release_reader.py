"""Read one archive of a release into the history of its package."""

from __future__ import annotations

import gc
import hashlib
from pathlib import Path

from kb.record.archive import ArchiveFile, archive_files
from kb.record.history import PackageHistory
from kb.record.libraries import message_fragments
from kb.record.messages import Message, messages_in
from kb.record.module_names import resolve
from kb.record.packages import Package
from kb.record.source import UNREADABLE, ModuleSource, read_source
from kb.record.syntax import parse

__all__ = ["ReleaseReader"]

_Parsed = tuple[ModuleSource, list[Message]]


class ReleaseReader:
    """Reads the releases of a package one after the other, and parses a file that did not change only once."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._parsed: dict[tuple[bytes, str], _Parsed] = {}

    def read(self, path: Path, version: str, history: PackageHistory) -> None:
        """Add the release in the archive at `path` to the history."""
        sources, stubs, compiled = {}, {}, set()
        messages, fragments = {}, {}
        parsed: dict[tuple[bytes, str], _Parsed] = {}
        gc.disable()  # syntax trees are many small objects that die young: collecting them takes half of the time
        try:
            for file in archive_files(path, self._package.modules):
                if file.stream is not None:
                    compiled.add(file.module)
                    if self._package.reads_libraries:
                        fragments[_library_name(file.path)] = sorted(set(message_fragments(file.stream)))
                    continue
                source, texts = self._parse(file, parsed)
                if file.path.endswith(".pyi"):
                    stubs[file.module] = source
                else:
                    sources[file.module] = source
                    messages[file.module] = texts
        finally:
            gc.enable()
        self._parsed = parsed
        history.add_release(version, path.name, resolve(sources, stubs, compiled), messages, fragments)

    def _parse(self, file: ArchiveFile, parsed: dict[tuple[bytes, str], _Parsed]) -> _Parsed:
        key = hashlib.blake2b(file.data, digest_size=16).digest(), file.path
        if key not in self._parsed:
            is_stub = file.path.endswith(".pyi")
            tree = parse(file.data.decode("utf-8-sig", "replace"))
            source = (
                UNREADABLE
                if tree is None
                else read_source(tree, file.module, is_package=file.is_package, is_stub=is_stub)
            )
            self._parsed[key] = source, [] if tree is None or is_stub else messages_in(tree)
        parsed[key] = self._parsed[key]
        return parsed[key]


def _library_name(path: str) -> str:
    """Return `libtorch_cpu` for the path of a library: without its folder, its version and its platform."""
    return path.rpartition("/")[2].partition(".")[0]

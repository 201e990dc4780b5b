"""Make and extend the record: choose releases, download an archive, read it, write the package's file.

python -m kb.record build [PACKAGE ...]
python -m kb.record add PACKAGE==VERSION ...
python -m kb.record update [PACKAGE ...]
python -m kb.record ranges [--write]     compare the versions of entries' wordings with the record, and write what it proves
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from kb.corpus.loader import load
from kb.record.data_folder import record_path
from kb.record.history import PackageHistory
from kb.record.message_index import build_index, index_path
from kb.record.message_ranges import range_differences, write_range
from kb.record.package_file import load_history, save_history
from kb.record.package_index import PackageIndex, open_index
from kb.record.packages import PACKAGES, Package
from kb.record.query import recorded_packages
from kb.record.release_reader import ReleaseReader
from kb.record.releases import Release, minor_releases, releases
from kb.record.requirements_build import build_requirements

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        packages = _chosen(arguments.packages)
    except ValueError as error:
        print(f"python -m kb.record: {error}", file=sys.stderr)
        return 2
    if arguments.command == "index":
        return _index()
    if arguments.command == "ranges":
        return _ranges(write=arguments.write)
    if arguments.command == "requirements":
        print(f"requirements of {build_requirements()} releases", flush=True)
        return 0
    folder = Path(arguments.downloads or tempfile.mkdtemp(prefix="kb-record-"))
    folder.mkdir(parents=True, exist_ok=True)
    with open_index() as index:
        for package, wanted in packages.items():
            if arguments.command == "build":
                _build(index, package, folder, keep=arguments.keep)
            else:
                _add(index, package, wanted, folder, keep=arguments.keep)
    return _index()


def _index() -> int:
    """Make the index of messages from all packages' files."""
    count = build_index(recorded_packages())
    print(f"index of {count} messages: {os.path.getsize(index_path()):,} bytes", flush=True)
    return 0


def _ranges(*, write: bool) -> int:
    """Print the wordings of entries that torch prints in other releases than they say; write the ranges that are proven."""
    entries = load()
    differences = list(range_differences(entries))
    for difference in sorted(differences, key=lambda difference: (difference.entry, -difference.line)):
        mark = f"differs for {', '.join(difference.releases)}"
        if write and difference.proven not in (None, difference.stated):
            path = next(entry.path for entry in entries if entry.id == difference.entry)
            mark = "written" if write_range(path, difference.line, difference.proven or "") else "cannot be written"
        print(
            f'{difference.entry}: "{difference.wording}": "{difference.stated}" -> "{difference.recorded}" ({mark})',
            flush=True,
        )
    print(f"{len(differences)} wordings differ from the record", flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kb.record", description="Make and extend the record of released packages."
    )
    parser.add_argument("command", choices=("build", "add", "update", "index", "requirements", "ranges"))
    parser.add_argument(
        "packages", nargs="*", help="names of packages; PACKAGE==VERSION for add; default: all packages"
    )
    parser.add_argument("--write", action="store_true", help="with ranges: write those that the record proves")
    parser.add_argument("--downloads", help="keep archives in this folder (default: a temporary one)")
    parser.add_argument("--keep", action="store_true", help="do not delete an archive after it was read")
    return parser


def _chosen(given: Sequence[str]) -> dict[Package, Version | None]:
    chosen: dict[Package, Version | None] = {}
    for word in given or [package.name for package in PACKAGES.values() if package.reads_names]:
        try:
            requirement = Requirement(word)
        except InvalidRequirement as error:
            raise ValueError(f"{word!r} is no requirement: {error}") from error
        name = requirement.name.replace("_", "-").lower()
        if name not in PACKAGES:
            raise ValueError(f"{name} is not in the record; kb/record/packages.py lists its packages")
        pinned = [Version(part.version) for part in requirement.specifier if part.operator == "=="]
        chosen[PACKAGES[name]] = pinned[0] if pinned else None
    return chosen


def _build(index: PackageIndex, package: Package, folder: Path, *, keep: bool) -> None:
    """Read every minor release of a package from nothing."""
    history, reader = PackageHistory(package.name), ReleaseReader(package)
    for release in minor_releases(package, index.files(package.name)):
        _read(index, package, release, reader, history, folder, keep=keep)
    save_history(record_path(package.name), history)
    print(
        f"{package.name}: {len(history.versions)} releases, {os.path.getsize(record_path(package.name)):,} bytes",
        flush=True,
    )


def _add(index: PackageIndex, package: Package, wanted: Version | None, folder: Path, *, keep: bool) -> None:
    """Add a release to the record, or those that are newer than what it has.

    A release that takes the place of an older patch of the same minor version, or that is older than the newest one, needs a build.
    """
    history = load_history(record_path(package.name))
    newest = Version(history.versions[-1])
    files = index.files(package.name)
    new = [r for r in releases(files) if r.version == wanted] if wanted else minor_releases(package, files)
    line = newest.release[: package.parts]
    added = [r for r in new if r.version > newest and (wanted or r.version.release[: package.parts] != line)]
    if wanted and not added:
        raise SystemExit(
            f"{package.name} {wanted} is not newer than {newest}, or is not on the index; build {package.name} anew"
        )
    reader = ReleaseReader(package)
    for release in added:
        _read(index, package, release, reader, history, folder, keep=keep)
    if added:
        save_history(record_path(package.name), history)
    print(f"{package.name}: {len(added)} releases added", flush=True)


def _read(
    index: PackageIndex,
    package: Package,
    release: Release,
    reader: ReleaseReader,
    history: PackageHistory,
    folder: Path,
    *,
    keep: bool,
) -> None:
    start = time.monotonic()
    path = index.download(release.files[0], folder)
    reader.read(path, str(release.version), history)
    if not keep:
        path.unlink()
    seconds = time.monotonic() - start
    print(
        f"{package.name} {release.version}: {len(history.names)} names, {len(history.messages)} messages, {seconds:.1f} s",
        flush=True,
    )

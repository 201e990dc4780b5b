"""Choose the releases of a package that the record reads, and for each the archive that is the smallest to fetch."""

from __future__ import annotations

import re
from collections.abc import Iterable

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from kb.record.package_index import RemoteFile
from kb.record.packages import Package
from kb.startup.named_tuple import NamedTuple

__all__ = ["Release", "minor_releases", "releases"]


class Release(NamedTuple):
    """A release and its archives, the one to read first."""

    version: Version
    files: tuple[RemoteFile, ...]


def releases(files: Iterable[RemoteFile]) -> list[Release]:
    """Return every final release that was not withdrawn, oldest first, with its archives in order of preference."""
    by_version: dict[Version, list[RemoteFile]] = {}
    for file in files:
        version = _version(file.filename)
        if version is not None and not version.is_prerelease and not version.local and not file.is_yanked:
            by_version.setdefault(version, []).append(file)
    return [Release(version, tuple(sorted(by_version[version], key=_preference))) for version in sorted(by_version)]


def minor_releases(package: Package, files: Iterable[RemoteFile]) -> list[Release]:
    """Return the last release of each minor version since `package.since`, oldest first.

    As in the data of browser compatibility, a record by release line is enough: names come and go with minor releases.
    """
    by_line: dict[tuple[int, ...], Release] = {}
    for release in releases(files):
        if release.version >= Version(package.since):
            by_line[(release.version.epoch, *release.version.release[: package.parts])] = release
    return list(by_line.values())


def _version(filename: str) -> Version | None:
    try:
        if filename.endswith(".whl"):
            return parse_wheel_filename(filename)[1]
        return parse_sdist_filename(filename)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def _preference(file: RemoteFile) -> tuple[int, int, str]:
    """Order archives: pure wheels, then those for macOS because they carry no CUDA libraries, then others, then source archives.

    Of several Pythons the newest comes first: wheels for Python 2 have no stubs.
    """
    name = file.filename
    if not name.endswith(".whl"):
        return 99, 0, name
    python = name.removesuffix(".whl").split("-")[-3]
    age = -int(python.removeprefix("cp") or 0) if re.fullmatch(r"cp3\d+", python) else 0
    if name.endswith("-none-any.whl"):
        return (0 if "3" in python else 1), age, name
    platforms = ("macosx_14_0_arm64", "macosx_1", "macosx", "manylinux", "win_amd64")
    rank = next((rank for rank, platform in enumerate(platforms, 2) if platform in name), 8)
    return rank, age, name

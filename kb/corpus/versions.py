"""Versions of torch: which release a build belongs to, whether a range holds for it, and their order. PEP 440 as `packaging` reads it."""

from __future__ import annotations

from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.version import Version

__all__ = ["SortKey", "holds", "is_cpu_build", "is_impossible", "release", "sort_key"]

SortKey = tuple[bool, Version, str]
"""What `sort_key` returns; compare it with other such keys and with nothing else."""


@lru_cache(maxsize=4096)
def release(version: str) -> str:
    """Return the release that a build counts as: `2.12.0` for `2.12.0.dev20261101+cpu`, `2.13.0` for `2.13.0+cpu`.

    Raises ValueError for what is no version.
    """
    return Version(version).base_version


@lru_cache(maxsize=4096)
def holds(spec: str, version: str) -> bool:
    """Return whether a range such as `>=2.0,<2.6` includes the release of this version; the empty range includes every version.

    A nightly build counts as its release, although PEP 440 sorts it before: it has the release's messages. Raises ValueError for what is no range
    or no version.
    """
    return SpecifierSet(spec).contains(release(version), prereleases=True)


def is_impossible(spec: str) -> bool:
    """Return whether no version can be in the range, as with `>=2.0,<1.5`. Raises ValueError for what is no range."""
    bounds = [(Version(bound.version), bound.operator) for bound in SpecifierSet(spec) if bound.operator != "!="]
    lower = max(((version, sign == ">") for version, sign in bounds if sign in (">", ">=", "==")), default=None)
    upper = min(((version, sign != "<") for version, sign in bounds if sign in ("<", "<=", "==")), default=None)
    if lower is None or upper is None:
        return False
    return lower[0] > upper[0] or (lower[0] == upper[0] and (lower[1] or not upper[1]))


def is_cpu_build(version: str) -> bool:
    """Return whether a build of torch is one without a GPU's libraries, as its local version shows: `2.13.0+cpu`, or none at all on a Mac.

    Raises ValueError for what is no version.
    """
    return (Version(version).local or "cpu").startswith("cpu")


def sort_key(version: str) -> SortKey:
    """Return a key that sorts versions from old to new; a text that is no version sorts before all of them, and nothing raises."""
    try:
        return True, Version(version), version
    except ValueError:  # InvalidVersion, or a number of more digits than Python converts
        return False, Version("0"), version

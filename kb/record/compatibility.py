"""Which releases fit together: a search over what the packages themselves require."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from packaging.markers import default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from kb.record.packages import PACKAGES
from kb.record.query import minor_version
from kb.record.requirements import ReleaseRequirements, requirements_of
from kb.startup.named_tuple import NamedTuple

__all__ = ["COMPANIONS", "CompatibleSet", "UnknownPackageError", "fits", "is_pinned", "pythons_of"]

COMPANIONS = ("torchvision", "torchaudio", "torchtext", "triton", "xformers")
"""Packages that are pinned to one release of torch."""

_MAX_SETS, _MAX_STEPS = 3, 4_000
_LINUX = {
    **{key: str(value) for key, value in default_environment().items()},
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "sys_platform": "linux",
    "os_name": "posix",
}


class UnknownPackageError(ValueError):
    """A requirement names a package whose requirements the record does not have, or is no requirement."""


class CompatibleSet(NamedTuple):
    """Releases that fit together on 64-bit Linux: the versions by package, the Python versions with wheels for all, torch's CUDA, the systems.

    `unknown` are packages that say nothing about the versions of the others, so that nothing speaks against them and nothing for them. `source_only` are
    those without wheels, which are compiled when they are installed.
    """

    versions: dict[str, str]
    pythons: tuple[str, ...]
    cuda: str
    platforms: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    source_only: tuple[str, ...] = ()


def fits(requirements: Sequence[str], python: str = "") -> tuple[CompatibleSet, ...]:
    """Return up to three sets of releases that meet the requirements and each other's, the newest first.

    Where only one package is named, those that are pinned to torch are added as far as something fits. `python` such as `3.10` restricts the sets to
    releases with wheels for it. Raises `UnknownPackageError`.
    """
    wanted: dict[str, SpecifierSet] = {}
    for requirement in map(_parsed, requirements):
        name = _normalized(requirement)
        wanted[name] = wanted.get(name, SpecifierSet()) & requirement.specifier
    names = list(wanted)
    candidates = [_candidates(name, specifier, python) for name, specifier in wanted.items()]
    sets = _Search(names, candidates).run()
    if names == ["torch"]:
        return tuple(_with_companions(fitting, python) for fitting in sets[:1])
    return tuple(sets)


def _with_companions(fitting: CompatibleSet, python: str) -> CompatibleSet:
    for companion in COMPANIONS:
        names = [*fitting.versions, companion]
        pinned = [[version] for version in fitting.versions.values()]
        larger = _Search(names, [*pinned, _candidates(companion, SpecifierSet(), python)]).run()
        if larger:
            fitting = larger[0]._replace(pythons=fitting.pythons, platforms=fitting.platforms)
    return fitting


def _parsed(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise UnknownPackageError(
            f"{text!r} is no requirement; write a name and a version, such as torch==2.4.1"
        ) from error


def _normalized(requirement: Requirement) -> str:
    name = requirement.name.replace("_", "-").replace(".", "-").lower()
    if not requirements_of(name):
        raise UnknownPackageError(f"the record has no releases of {name}")
    return name


def _candidates(name: str, specifier: SpecifierSet, python: str) -> list[str]:
    """Return the releases that the specifier allows, newest first.

    Of many packages the record has one release for each minor version, which then stands for the others.
    """
    releases = requirements_of(name)
    allowed = [version for version in releases if specifier.contains(version, prereleases=True)]
    pinned = [part.version for part in specifier if part.operator == "=="]
    if not allowed and pinned:
        line = SpecifierSet(f"=={minor_version(pinned[0], PACKAGES[name].parts)}.*")
        allowed = [version for version in releases if line.contains(version)]
    if python:
        allowed = [version for version in allowed if python in pythons_of(releases[version])]
    return sorted(allowed, key=Version, reverse=True)


class _Search:
    """Backtracking over the packages in order; each release is checked against those chosen before it, in both directions."""

    def __init__(self, names: list[str], candidates: list[list[str]]) -> None:
        self._names, self._candidates = names, candidates
        self._steps = _MAX_STEPS

    def run(self) -> list[CompatibleSet]:
        sets: list[CompatibleSet] = []
        self._extend({}, sets)
        return sets

    def _extend(self, chosen: dict[str, str], sets: list[CompatibleSet]) -> None:
        if len(chosen) == len(self._names):
            described = _described(chosen)
            if described.pythons:
                sets.append(described)
            return
        name = self._names[len(chosen)]
        for version in self._candidates[len(chosen)]:
            self._steps -= 1
            if self._steps < 0 or len(sets) >= _MAX_SETS:
                return
            if all(_fit(name, version, *neighbour) for neighbour in chosen.items()):
                self._extend({**chosen, name: version}, sets)


def _fit(package: str, version: str, peer: str, peer_version: str) -> bool:
    """Return whether two releases accept each other.

    A companion of torch is built for one release of it, so a release of it is offered only where it names that release. `torch>=1.12` names 1.12: what its
    authors had when they wrote it.
    """
    if "torch" in (package, peer) and {package, peer} & {*COMPANIONS}:
        is_named = _names(package, version, peer, peer_version) or _names(peer, peer_version, package, version)
        if not is_named:
            return False
    return _accept(package, version, peer, peer_version) and _accept(peer, peer_version, package, version)


def _names(package: str, version: str, peer: str, peer_version: str) -> bool:
    """Return whether a release names the minor release of another package that `other_version` is."""
    return any(
        part.operator in ("==", "~=", ">=") and minor_version(part.version, 2) == minor_version(peer_version, 2)
        for required, specifier in _specifiers(package, version)
        if required == peer
        for part in specifier
    )


def _says_nothing(package: str, versions: Mapping[str, str]) -> bool:
    """Return whether neither a release bounds the versions of the others nor they its own."""
    own = any(name in versions and specifier for name, specifier in _specifiers(package, versions[package]))
    return not own and not any(
        name == package and specifier
        for peer, version in versions.items()
        for name, specifier in _specifiers(peer, version)
    )


def _accept(package: str, version: str, peer: str, peer_version: str) -> bool:
    """Return whether a release of `package` accepts that release of `other`."""
    return all(
        specifier.contains(peer_version, prereleases=True)
        for name, specifier in _specifiers(package, version)
        if name == peer
    )


def is_pinned(versions: Mapping[str, str]) -> bool:
    """Return whether one of the releases requires an exact release of another one."""
    return any(
        required in versions and any(part.operator in ("==", "~=") for part in specifier)
        for name, version in versions.items()
        for required, specifier in _specifiers(name, version)
    )


@lru_cache(maxsize=4096)
def _specifiers(package: str, version: str) -> tuple[tuple[str, SpecifierSet], ...]:
    """Return the requirements of a release that hold on 64-bit Linux."""
    holding = []
    for text in requirements_of(package)[version].requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate(_LINUX):
            holding.append((requirement.name.replace("_", "-").replace(".", "-").lower(), requirement.specifier))
    return tuple(holding)


def _described(versions: dict[str, str]) -> CompatibleSet:
    releases = [requirements_of(name)[version] for name, version in versions.items()]
    pythons = set(_PYTHONS)
    platforms = {"linux", "macos", "windows"}
    for release in releases:
        pythons &= set(pythons_of(release))
        if release.platforms and "any" not in release.platforms:
            platforms &= set(release.platforms)
    unknown = tuple(
        name for name in versions if name != "torch" and len(versions) > 1 and _says_nothing(name, versions)
    )
    source_only = tuple(name for name, release in zip(versions, releases, strict=True) if not release.pythons)
    ordered = tuple(python for python in _PYTHONS if python in pythons)
    cuda = next((release.cuda for release in releases if release.cuda), "")
    return CompatibleSet(dict(versions), ordered, cuda, tuple(sorted(platforms)), unknown, source_only)


_PYTHONS = tuple(f"3.{minor}" for minor in range(6, 16))


def pythons_of(release: ReleaseRequirements) -> tuple[str, ...]:
    """Return the versions of Python that a release has wheels for and allows; all that it allows where it is a source archive."""
    allowed = SpecifierSet(release.requires_python) if release.requires_python else SpecifierSet()
    return tuple(
        python for python in _PYTHONS if allowed.contains(python + ".99") and _has_wheel(release.pythons, python)
    )


def _has_wheel(tags: tuple[str, ...], python: str) -> bool:
    minor = int(python.partition(".")[2])
    for tag in tags:
        base, _, abi3 = tag.partition("-")
        if base in ("py3", f"cp3{minor}", f"py3{minor}"):
            return True
        if abi3 and base.startswith("cp3") and int(base[3:] or 0) <= minor:
            return True
    return not tags

"""What an environment is: packages beside those that every sandbox has, at the versions and hashes of a lock file.

An environment NAME is two files of one folder. `NAME.toml` says what programs may ask for, `NAME.txt` is made from it and pins everything that this
needs. Nothing else of a lock file is used than names, versions, markers and hashes, because pip would follow options and addresses in it.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

__all__ = ["SHIPPED", "Environment", "EnvironmentFault", "Pin", "parse_environment", "shipped"]

SHIPPED = Path(__file__).parent
"""The folder of the environments that ship."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.!+_]+)(?: ; (?P<marker>[^\\\n]+?))?")
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")
_KEYS = {"packages", "modules", "preload", "on_request"}
_MAX_NAME = 40


class EnvironmentFault(ValueError):
    """A file of an environment is not what it should be; the text says why. `line` counts from 1, `is_lock` says in which of the two files."""

    def __init__(self, what: str, line: int = 1, *, is_lock: bool = False) -> None:
        super().__init__(what)
        self.line = line
        self.is_lock = is_lock


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of a package with the hashes of its files, and the marker of the interpreters that it is for."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    @property
    def applies(self) -> bool:
        """Whether it is for an interpreter such as this one."""
        return not self.marker or Marker(self.marker).evaluate()

    def __str__(self) -> str:
        """The line of a requirements file, with its hashes."""
        marker = f" ; {self.marker}" if self.marker else ""
        return f"{self.name}=={self.version}{marker} " + " ".join(f"--hash={digest}" for digest in self.hashes)


@dataclass(frozen=True)
class Environment:
    """Packages that programs may require, and all that these need, pinned.

    `packages` are the requirements by canonical name. `modules` are what each of them is imported as, where that is not its own name. `preload` are the modules
    that a worker imports before it forks, by the package that they are of. An environment that is built only `on_request` is large.
    """

    name: str
    packages: Mapping[str, Requirement]
    pins: tuple[Pin, ...] = ()
    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    preload: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    on_request: bool = False

    @property
    def digest(self) -> str:
        """A name of the packages that it holds; another lock file has another."""
        return hashlib.sha256("\n".join(map(str, self.pins)).encode()).hexdigest()[:12]

    @property
    def label(self) -> str:
        """Its name and digest: what tells a build of it from every other."""
        return f"{self.name}-{self.digest}"

    @property
    def has_own_torch(self) -> bool:
        """Whether it brings a build of torch, which its programs import instead of the sandbox's."""
        return "torch" in self.packages

    @property
    def versions(self) -> dict[str, str]:
        """The pinned version of each package that programs may require."""
        return {pin.name: pin.version for pin in reversed(self.pins) if pin.name in self.packages and pin.applies}

    def modules_of(self, packages: Iterable[str]) -> frozenset[str]:
        """Return the names under which these packages are imported."""
        return frozenset(
            module for package in packages for module in self.modules.get(package, (package.replace("-", "_"),))
        )

    def preloads(self, packages: Iterable[str]) -> tuple[str, ...]:
        """Return the modules that a worker imports for programs that require these packages, in the order of the environment."""
        wanted = set(packages)
        return tuple(module for package, modules in self.preload.items() if package in wanted for module in modules)


def shipped() -> list[Environment]:
    """Return the environments that ship, by name."""
    return [
        parse_environment(
            path.stem,
            path.read_text("utf-8"),
            lock.read_text("utf-8") if (lock := path.with_suffix(".txt")).exists() else "",
        )
        for path in sorted(SHIPPED.glob("*.toml"))
    ]


def parse_environment(name: str, definition: str, lock: str) -> Environment:
    """Return the environment that these two files describe; an empty lock is that of an environment that was never locked. Raises `EnvironmentFault`."""
    if not _NAME.fullmatch(name) or len(name) > _MAX_NAME:
        raise EnvironmentFault(
            f"{name[:60]!r} is no name; use at most {_MAX_NAME} lower-case letters, digits and hyphens"
        )
    try:
        data = tomllib.loads(definition)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise EnvironmentFault(f"no TOML ({error})") from None
    if unknown := sorted(data.keys() - _KEYS):
        raise EnvironmentFault(f"unknown key {unknown[0][:40]!r}; there are {', '.join(sorted(_KEYS))}")
    packages = dict(_packages(data))
    on_request = data.get("on_request", False)
    if not isinstance(on_request, bool):
        raise EnvironmentFault("on_request is true or false")
    modules, preload = (dict(_table(data, key, packages)) for key in ("modules", "preload"))
    return Environment(name, packages, tuple(_pins(lock)), modules, preload, on_request)


def _packages(data: Mapping[str, Any]) -> Iterator[tuple[str, Requirement]]:
    lines = data.get("packages")
    if not isinstance(lines, list) or not lines:
        raise EnvironmentFault('packages is a list of requirements, such as ["transformers>=5"]')
    for line in lines:
        try:
            requirement = Requirement(line if isinstance(line, str) else "")
        except InvalidRequirement:
            raise EnvironmentFault(f"{str(line)[:80]!r} is no requirement; write it as transformers>=5") from None
        if requirement.url:
            raise EnvironmentFault(f"{requirement.name} has an address; packages come from the package index alone")
        yield canonicalize_name(requirement.name), requirement


def _table(data: Mapping[str, Any], key: str, packages: Collection[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    table = data.get(key, {})
    if not isinstance(table, dict):
        raise EnvironmentFault(f"{key} is a table of packages and their modules")
    for package, modules in table.items():
        names = modules if isinstance(modules, list) else [modules]
        if not all(isinstance(module, str) and _MODULE.fullmatch(module) for module in names):
            raise EnvironmentFault(f"{key}.{package[:60]} is a list of modules")
        if (name := canonicalize_name(package)) not in packages:
            raise EnvironmentFault(f"{key} names {package[:60]!r}, which is none of its packages")
        yield name, tuple(names)


def _pins(lock: str) -> Iterator[Pin]:
    """Yield what a lock file pins. A line that is no pin with hashes is a fault, so that no option and no address is ever passed on."""
    number = 1
    for entry in re.split(r"(?<!\\)\n", lock):
        line, *rest = (part.strip() for part in entry.split("\\\n"))
        if line and not line.startswith("#"):
            pin = _PIN.fullmatch(line)
            hashes = [found[1] for part in rest if (found := _HASH.fullmatch(part))]
            if not pin or not hashes or len(hashes) != len(rest) or not _is_marker(pin["marker"]):
                raise EnvironmentFault(
                    f"{line[:60]!r} is no version with its hashes; make the lock again", number, is_lock=True
                )
            yield Pin(canonicalize_name(pin["name"]), pin["version"], pin["marker"] or "", tuple(hashes))
        number += entry.count("\n") + 1


def _is_marker(text: str | None) -> bool:
    try:
        return not text or bool(Marker(text))
    except InvalidMarker:
        return False

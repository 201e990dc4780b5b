"""Which environment has the packages that an entry requires: one that ships, or one of the folder that the entry comes from.

A folder of entries keeps its own environments in `environments/`, two files for each: see docs/own-entries.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from kb.corpus.diagnostic import Diagnostic, Diagnostics, display_path
from kb.corpus.entry import Runnable
from kb.corpus.files import UnreadableFile, environment_files, read_text
from sandbox.environments import Environment, EnvironmentFault, parse_environment, shipped

__all__ = [
    "environment_for",
    "environment_importing",
    "environments_in",
    "known_environments",
    "modules_required",
    "package_names",
    "requirement_faults",
]

_BYTES = 1 << 20
"""The largest file of an environment. The lock of 80 packages has 250 KiB."""


def environments_in(folder: Path) -> tuple[list[Environment], list[Diagnostic]]:
    """Return a folder's own environments, and what is wrong with the files of others."""
    return _read(
        folder, tuple((path, _state(path), _state(path.with_suffix(".txt"))) for path in environment_files(folder))
    )


@lru_cache(maxsize=16)
def _read(folder: Path, files: tuple[tuple[Path, object, object], ...]) -> tuple[list[Environment], list[Diagnostic]]:
    """Read environments once for each state of their files, because every case of a folder asks for them."""
    environments, faults = [], []
    for path, _, _ in files:
        lock = path.with_suffix(".txt")
        definition_faults, lock_faults = Diagnostics(display_path(path)), Diagnostics(display_path(lock))
        try:
            locked = read_text(lock, folder, _BYTES) if lock.exists() else ""
            environments.append(parse_environment(path.stem, read_text(path, folder, _BYTES), locked))
            if not locked:
                definition_faults.add(1, "KB053", f"it has no lock file; kb env lock {path.stem} makes it")
        except UnreadableFile as error:
            definition_faults.add(1, "KB053", str(error))
        except EnvironmentFault as error:
            (lock_faults if error.is_lock else definition_faults).add(error.line, "KB053", str(error))
        faults += [*definition_faults.items, *lock_faults.items]
    return environments, faults


def _state(path: Path) -> tuple[int, int]:
    """Return time of change and size of a file, zeros where there is none."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def known_environments(folders: Iterable[Path | str] = ()) -> list[Environment]:
    """Return the environments of these folders of entries, then those that ship. An environment hides later ones of its name."""
    own = [environment for folder in folders for environment in environments_in(Path(folder))[0]]
    by_name: dict[str, Environment] = {}
    for environment in (*own, *_shipped()):
        by_name.setdefault(environment.name, environment)
    return list(by_name.values())


def environment_for(runnable: Runnable) -> Environment | None:
    """Return the first environment that has all packages that a case or a check requires; None where there is none, or nothing is required."""
    if not runnable.requires:
        return None
    return next((known for known in _candidates(runnable) if not any(_missing(known, runnable.requires))), None)


def environment_importing(
    modules: Collection[str], folders: Iterable[Path | str]
) -> tuple[Environment, tuple[str, ...]] | None:
    """Return the first environment in which all these modules can be imported, and the packages to require for them; None where there is none."""
    for environment in known_environments(folders):
        names = {name for name in environment.packages if environment.modules_of([name]) & set(modules)}
        if set(modules) <= environment.modules_of(names):
            return environment, tuple(sorted(names))
    return None


def requirement_faults(runnable: Runnable) -> list[str]:
    """Return why no environment has what a case or a check requires."""
    if not runnable.requires or environment_for(runnable):
        return []
    faults = []
    candidates = _candidates(runnable)
    for text in runnable.requires:
        if _requirement(text) is None:
            faults.append(f"{text!r} is no requirement; write it as transformers>=5")
            continue
        reasons = [next(_missing(known, [text]), "") for known in candidates]
        if "" not in reasons:
            versions = [reason for reason in reasons if reason.endswith("leaves out")]
            faults.append((versions or [f"no environment has {text}; kb env list shows what there is"])[0])
    return faults or [f"no environment has {', '.join(runnable.requires)} together; write an entry for each of them"]


def modules_required(runnable: Runnable) -> frozenset[str] | None:
    """Return what the packages that a case or a check requires are imported as; None where no environment has them."""
    environment = environment_for(runnable)
    return environment.modules_of(package_names(runnable.requires)) if environment else None


def package_names(requires: Iterable[str]) -> tuple[str, ...]:
    """Return the canonical names of required packages, sorted."""
    parsed = map(_requirement, requires)
    return tuple(sorted(canonicalize_name(requirement.name) for requirement in parsed if requirement))


def _candidates(runnable: Runnable) -> list[Environment]:
    return known_environments([runnable.environments] if runnable.environments else [])


@lru_cache(maxsize=1)
def _shipped() -> tuple[Environment, ...]:
    return tuple(shipped())


def _missing(environment: Environment, requires: Iterable[str]) -> Iterator[str]:
    """Yield why an environment does not have a required package."""
    versions = environment.versions
    for text in requires:
        requirement = _requirement(text)
        version = versions.get(canonicalize_name(requirement.name)) if requirement else None
        if requirement is None or version is None:
            yield f"the environment {environment.name} has no {text}"
        elif not requirement.specifier.contains(version, prereleases=True):
            yield f"the environment {environment.name} has {requirement.name} {version}, which {str(requirement.specifier)!r} leaves out"


def _requirement(text: str) -> Requirement | None:
    """Return a requirement, None for a text that is none."""
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None

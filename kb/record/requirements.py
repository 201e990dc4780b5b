"""What releases require of each other, read from their metadata: the file of requirements, and how it is made."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from email.parser import HeaderParser
from functools import lru_cache

from kb.record.data_folder import data_folder
from kb.startup.named_tuple import NamedTuple

__all__ = [
    "ReleaseRequirements",
    "all_requirements",
    "read_metadata",
    "requirements_of",
    "requirements_path",
    "save_requirements",
]

_CUDA_RUNTIME = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?\s*\(?==\s*(\d+\.\d+)")
_WITH_TORCH = re.compile(r"(?P<bare>torch\b[^;]*);\s*\(?extra == ['\"]torch['\"]\)?")
_PLATFORMS = (("manylinux", "linux"), ("linux", "linux"), ("macosx", "macos"), ("win", "windows"))


class ReleaseRequirements(NamedTuple):
    """What a release needs: the Python specifier, the requirements on packages of the record, the CUDA version that torch's wheels bring.

    `pythons` are the Python tags of its wheels (`cp310`, `cp38-abi3`, `py3`), `platforms` the systems with wheels; both are empty for a release that
    is only a source archive.
    """

    requires_python: str
    requires: tuple[str, ...]
    cuda: str
    pythons: tuple[str, ...]
    platforms: tuple[str, ...]


def read_metadata(text: str, filenames: Iterable[str], packages: Iterable[str]) -> ReleaseRequirements:
    """Return what core metadata says, without requirements on packages that are not among `packages`.

    Those of extras are left out too, except which torch a package wants that works without: `torch>=2.4; extra == "torch"` of transformers.
    """
    headers = HeaderParser().parsestr(text)
    required = headers.get_all("Requires-Dist") or []
    known = set(packages)
    kept = [line for line in required if _name(line) in known and "extra" not in line.partition(";")[2]]
    if "torch" in known and not any(_name(line) == "torch" for line in kept):
        kept += [found["bare"].rstrip() for line in required if (found := _WITH_TORCH.fullmatch(line))]
    cuda = next((runtime[1] for line in required if (runtime := _CUDA_RUNTIME.match(line))), "")
    pythons, platforms = _tags(filenames)
    return ReleaseRequirements(
        headers.get("Requires-Python") or "", tuple(dict.fromkeys(kept)), cuda, pythons, platforms
    )


def _name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", match.group()).lower() if match else ""


def _tags(filenames: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the Python tags and the systems of the wheels among the files."""
    pythons, platforms = set(), set()
    for filename in filenames:
        if not filename.endswith(".whl"):
            continue
        python, abi, platform = filename.removesuffix(".whl").split("-")[-3:]
        pythons |= {f"{tag}-abi3" if abi == "abi3" else tag for tag in python.split(".") if not abi.endswith("t")}
        platforms |= {system for sign, system in _PLATFORMS if platform.startswith(sign)} or {"any"}
    return tuple(sorted(pythons)), tuple(sorted(platforms))


def requirements_path() -> str:
    """Return the path of the file of requirements."""
    return os.path.join(data_folder(), "requirements.json.z")


def save_requirements(releases: Mapping[str, Mapping[str, ReleaseRequirements]]) -> None:
    """Write the requirements by package and version."""
    data = {
        package: {version: list(needs) for version, needs in versions.items()}
        for package, versions in sorted(releases.items())
    }
    with open(requirements_path(), "wb") as file:
        file.write(zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 9))


@lru_cache(maxsize=1)
def all_requirements() -> dict[str, dict[str, ReleaseRequirements]]:
    """Return the requirements of every release of the record, by package and version."""
    try:
        with open(requirements_path(), "rb") as file:
            data = json.loads(zlib.decompress(file.read()))
    except FileNotFoundError:
        return {}
    return {
        package: {
            version: ReleaseRequirements(python, tuple(requires), cuda, tuple(pythons), tuple(platforms))
            for version, (python, requires, cuda, pythons, platforms) in versions.items()
        }
        for package, versions in data.items()
    }


def requirements_of(package: str) -> dict[str, ReleaseRequirements]:
    """Return the requirements of a package's releases by version, oldest first; empty if the record has none."""
    return all_requirements().get(package, {})

"""Make the file of requirements: the metadata of every release of packages that are pinned, of the minor releases of the others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from kb.record.package_index import PackageIndex, RemoteFile, open_index
from kb.record.packages import PACKAGES
from kb.record.releases import Release, minor_releases, releases
from kb.record.requirements import ReleaseRequirements, read_metadata, save_requirements

__all__ = ["build_requirements"]

_PINNED = frozenset(
    ("torch", "torchvision", "torchaudio", "torchtext", "torchdata", "triton", "xformers", "bitsandbytes")
)
"""Packages of which every release counts, because others ask for one of them exactly."""


def build_requirements() -> int:
    """Fetch the metadata and write the file; return the number of releases."""
    requirements: dict[str, dict[str, ReleaseRequirements]] = {}
    with open_index() as index:
        for package in PACKAGES.values():
            files = index.files(package.name)
            wanted = releases(files) if package.name in _PINNED else minor_releases(package, files)
            with ThreadPoolExecutor(4) as pool:
                needs = list(pool.map(lambda release: _needs(index, release), wanted))
            requirements[package.name] = {
                str(release.version): need for release, need in zip(wanted, needs, strict=True)
            }
            print(
                f"{package.name}: {len(wanted)} releases, {sum(bool(need.requires) for need in needs)} with requirements",
                flush=True,
            )
    save_requirements(requirements)
    return sum(map(len, requirements.values()))


def _needs(index: PackageIndex, release: Release) -> ReleaseRequirements:
    wheel = _linux_wheel(release)
    text = index.metadata(wheel) if wheel is not None else ""
    needs = read_metadata(text, (file.filename for file in release.files), PACKAGES)
    python = next((file.requires_python for file in release.files if file.requires_python), "")
    return needs if needs.requires_python else needs._replace(requires_python=python)


def _linux_wheel(release: Release) -> RemoteFile | None:
    """Return the wheel whose metadata counts: that for Linux, because only it names the CUDA packages."""
    wheels = [file for file in release.files if file.filename.endswith(".whl")]
    linux = [file for file in wheels if "linux" in file.filename and "x86_64" in file.filename]
    candidates = linux or wheels
    return candidates[-1] if candidates else None

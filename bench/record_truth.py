"""Is the record true? Install the very release that a claim is about, ask it, and count how many claims agree.

    python -m bench record-truth --sample 300 --seed 1

Each release goes into a folder of its own, with what importing it needed when it came out; torch is that of this environment, and its other releases are
asked where `kb verify --torch` has made an environment for them. A release that is only a source archive is unpacked, not built. Without bubblewrap nothing is
asked, because importing a package runs its code.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from kb.corpus.paths import cache_root
from kb.record.archive import archive_files
from kb.record.data_folder import record_path
from kb.record.package_file import load_history
from kb.record.package_index import PackageIndex, open_index
from kb.record.packages import PACKAGES
from kb.record.parameters import parse_signature
from kb.record.query import recorded_packages
from kb.record.releases import Release, releases
from kb.record.requirements import requirements_of

_CLAIMS_PER_RELEASE = 12
_FACTOR_OF_TORCH = 5
"""So many more claims are about the one release of torch that can be asked."""

_SECONDS, _TRIES = 240, 4
_SKIPPED = ("torch", "triton", "tensorflow", "jax", "jaxlib", "flax", "typing-extensions")
"""What releases require and no claim needs; torch and what it imports itself are those of this environment."""
_BESIDES = "setuptools<81"
"""What older releases import and do not require: `pkg_resources` came with every Python."""

_ALONGSIDE = timedelta(days=14)
"""What a release is installed with came out before it, or so many days later."""

_COMPILED_FOR_ANOTHER = ("torchvision", "torchaudio", "torchtext")
"""Packages whose libraries cannot be loaded beside another torch, or one without CUDA. Their Python code can, once the libraries are gone and the operators
are declared that it refers to."""

_NOT_BUILT = {"flash-attn": ("flash_attn_cuda", "flash_attn_2_cuda"), "mmcv": ("mmcv._ext",)}
"""The libraries of packages that are only source archives."""

_ASK = r"""
import importlib.util, inspect, json, os, sys, types, warnings
warnings.simplefilter("ignore")
if importlib.util.find_spec("torchvision"):
    import torch
    declared = torch.library.Library("torchvision", "DEF")
    declared.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    declared.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
out = os.fdopen(os.dup(1), "w"); os.dup2(2, 1)
def load(module):
    "A module, or what its parent has under that name: a stub may describe an object of a compiled module."
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        parent, _, last = module.rpartition(".")
        if not parent or error.name != module:
            raise
        owner = load(parent)
        if not hasattr(owner, last):
            raise
        return getattr(owner, last)

class Compiled(types.ModuleType):
    "Stands for a library that a source archive has not: its Python code imports it and calls nothing of it yet."
for compiled in json.loads(sys.argv[1]):
    sys.modules[compiled] = Compiled(compiled)

for line in sys.stdin:
    module, name, parameter = json.loads(line)
    try:
        owner = load(module)
    except ModuleNotFoundError as error:
        answer = False if error.name and (module + ".").startswith(error.name + ".") else f"cannot import {module}: {error}"
        print(json.dumps(answer), file=out, flush=True); continue
    except BaseException as error:
        print(json.dumps(f"cannot import {module}: {type(error).__name__} {error}"[:200]), file=out, flush=True); continue
    answer = True
    try:
        for part in name.split(".") if name else ():
            private = inspect.isclass(owner) and part.startswith("__") and not part.endswith("__")
            owner = getattr(owner, f"_{owner.__name__.lstrip('_')}{part}" if private else part)
    except AttributeError:
        answer = False
        if "." not in name:
            try:
                importlib.import_module(f"{module}.{name}"); answer = True
            except ModuleNotFoundError as error:
                if error.name and not f"{module}.{name}.".startswith(error.name + "."): answer = f"needs {error.name}"
            except BaseException as error: answer = f"{type(error).__name__}"
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}"[:200]
    if answer is True and parameter:
        try:
            kinds = {name: one.kind for name, one in inspect.signature(owner).parameters.items()}
            anything = [name for name, kind in kinds.items() if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)]
            answer = parameter in kinds and parameter not in anything
            if not answer and len(anything) == 2:
                answer = "compiled or decorated, without a signature of its own"
        except (TypeError, ValueError) as error:
            answer = f"no signature: {error}"[:200]
    print(json.dumps(answer), file=out, flush=True)
"""


class Claim(NamedTuple):
    """The record says that a release has, or has not, a name or the parameter of a callable."""

    package: str
    version: str
    module: str
    name: str
    parameter: str
    expected: bool


def main(argv: list[str] | None = None) -> int:
    form = argparse.ArgumentParser(prog="python -m bench record-truth", description=__doc__)
    form.add_argument("--sample", type=int, default=300)
    form.add_argument("--seed", type=int, default=1)
    form.add_argument("--package", action="append", help="only this package")
    form.add_argument("--at-least", type=float, default=0.0, help="exit with 1 if a smaller share agrees")
    arguments = form.parse_args(argv)
    if not shutil.which("bwrap"):
        print("record-truth needs bubblewrap: importing a package runs its code", file=sys.stderr)
        return 2
    chance = random.Random(arguments.seed)
    wanted, spare = sample(arguments.package or recorded_packages(), arguments.sample, chance)
    by_package: dict[str, Counter[str]] = defaultdict(Counter)
    with open_index() as index:
        for release in wanted:
            for claim, answer in _answers(index, release, spare[release[0]], chance):
                verdict = (
                    "not asked"
                    if not isinstance(answer, bool)
                    else "agrees"
                    if answer == claim.expected
                    else "disagrees"
                )
                by_package[claim.package][verdict] += 1
                if verdict != "agrees":
                    print(verdict, json.dumps(claim), "" if isinstance(answer, bool) else answer, flush=True)
    for package, verdicts in by_package.items():
        print(
            f"{package}: {verdicts['agrees']} agree, {verdicts['disagrees']} disagree, {verdicts['not asked']} not asked"
        )
    counts = sum(by_package.values(), Counter[str]())
    asked = counts["agrees"] + counts["disagrees"]
    share = counts["agrees"] / asked if asked else 0.0
    print(
        f"{asked} claims about {len(wanted)} releases asked, {counts['agrees']} agree ({share:.1%}); {counts['not asked']} could not be asked"
    )
    return int(share < arguments.at_least)


def _answers(
    index: PackageIndex, release: tuple[str, str], spare: list[str], chance: random.Random
) -> list[tuple[Claim, object]]:
    """Return claims about a release with their answers; about another release of the package where this one cannot be installed or imported here."""
    package, version = release
    for _ in range(_TRIES):
        claims = _claims(package, version, chance)
        answers = ask(index, (package, version), claims)
        if not spare or any(isinstance(answer, bool) for answer in answers):
            break
        print(f"left out: {package} {version}: {answers[:1]}", flush=True)
        version = spare.pop(chance.randrange(len(spare)))
    return list(zip(claims, answers, strict=True))


def sample(packages: list[str], size: int, chance: random.Random) -> tuple[list[tuple[str, str]], dict[str, list[str]]]:
    """Return releases for at least `size` claims, if there are as many: one of each package in turn, of those that this Python can import, and the others.

    No round stops half-way, or the packages at the end of the alphabet would never be asked.
    """
    running = f"3.{sys.version_info.minor}"
    wanted: list[tuple[str, str]] = []
    usable = {}
    for package in packages:
        versions = [version for version, needs in requirements_of(package).items() if _installs(needs, running)]
        recorded = set(load_head(package))
        usable[package] = [version for version in versions if version in recorded]
        if package == "torch":  # another release would not be imported without its CUDA libraries
            usable[package] = [version for version in usable[package] if _python_with_torch(version)]
    while len(wanted) * _CLAIMS_PER_RELEASE < size and any(usable.values()):
        for package in packages:
            if usable[package]:
                version = usable[package].pop(chance.randrange(len(usable[package])))
                wanted.append((package, version))
    return sorted(wanted), usable


def load_head(package: str) -> list[str]:
    from kb.record.store import RecordFile

    return list(RecordFile(record_path(package)).head["versions"])


def _installs(needs, running: str) -> bool:
    from kb.record.compatibility import pythons_of

    if not needs.pythons:  # a source archive
        return SpecifierSet(needs.requires_python).contains(f"{running}.0")
    return running in pythons_of(needs)


def _claims(package: str, version: str, chance: random.Random) -> list[Claim]:
    """Return claims about one release: half that something is there, half that it is not; a third about parameters."""
    history = load_history(record_path(package))
    bit = 1 << history.versions.index(version)
    present, absent, with_parameter, without_parameter = [], [], [], []
    for (module, name), row in history.names.items():
        mask, dynamic = history.modules[module]
        if not mask & bit or row.target == "self" or (row.kind == "v" and "." in name):
            continue
        if row.mask & bit:
            present.append(Claim(package, version, module, name, "", True))
        elif not dynamic & bit and "." not in name:
            absent.append(Claim(package, version, module, name, "", False))
        now = {p for text, releases in row.signatures.items() if releases & bit for p in parse_signature(text).names}
        ever = {p for text in row.signatures for p in parse_signature(text).names}
        if row.mask & bit and now:
            with_parameter.append(Claim(package, version, module, name, chance.choice(sorted(now)), True))
        if row.mask & bit and ever - now and any(releases & bit for releases in row.signatures.values()):
            without_parameter.append(Claim(package, version, module, name, chance.choice(sorted(ever - now)), False))
    claims = []
    factor = _FACTOR_OF_TORCH if package == "torch" else 1
    for pool, share in ((present, 4), (absent, 4), (with_parameter, 2), (without_parameter, 2)):
        claims += chance.sample(pool, min(len(pool), factor * share * _CLAIMS_PER_RELEASE // 12))
    return claims


def ask(index: PackageIndex, release: tuple[str, str], claims: list[Claim]) -> list[object]:
    """Install a release and return its answers: true, false, or why it could not be asked."""
    package, version = release
    python, site = sys.executable, [sysconfig.get_path("purelib")]
    with tempfile.TemporaryDirectory(prefix="kb-truth-", dir=os.environ.get("KB_TRUTH_FOLDER")) as folder:
        if package == "torch":
            python, site = _python_with_torch(version), site if version == _own_torch() else []
        elif failure := _install(index, folder, package, version):
            return [failure] * len(claims)
        jail = [
            "bwrap",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--unshare-all",
            "--die-with-parent",
        ]
        environment = {
            "PYTHONPATH": os.pathsep.join([folder, *site]),
            "HOME": "/dev/shm",
            "TMPDIR": "/dev/shm",
            "PATH": os.environ["PATH"],
            "CUDA_VISIBLE_DEVICES": "",
        }
        lines = "".join(json.dumps([claim.module, claim.name, claim.parameter]) + "\n" for claim in claims)
        try:
            process = subprocess.run(
                [*jail, python, "-c", _ASK, json.dumps(_NOT_BUILT.get(package, ()))],
                input=lines,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ["time is up"] * len(claims)
        answers = [json.loads(line) for line in process.stdout.splitlines()]
        return answers + [f"the interpreter ended: {process.stderr[-200:]}"] * (len(claims) - len(answers))


def _own_torch() -> str:
    from importlib.metadata import version

    return version("torch").partition("+")[0]


def _python_with_torch(version: str) -> str:
    """Return the interpreter that imports this release of torch, the empty string where there is none."""
    made = Path(cache_root(), "torch", version)
    if version == _own_torch():
        return sys.executable
    return str(made / "bin" / "python") if (made / "done").exists() else ""


def _install(index: PackageIndex, folder: str, package: str, version: str) -> str:
    """Install a release and what it requires, except torch, as of its own day, else as of today; return why it failed, or the empty string.

    With uv, because pip has no way to leave a requirement of a requirement out, and would fetch torch and CUDA for most releases.
    """
    release = _release(index, package, version)
    if release is None:
        return "it is not on the index"
    wanted = [f"{package}=={version}"]
    if all(not file.filename.endswith(".whl") for file in release.files):
        wanted = list(_unpack(index.download(release.files[0], Path(folder)), folder, package))
    overrides = Path(folder, "overrides.txt")
    overrides.write_text("".join(f'{name} ; sys_platform == "none"\n' for name in _SKIPPED if name != package))
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--only-binary", ":all:", "--target", folder]
    command = [*uv, "--python", sys.executable, "--override", str(overrides), *wanted, _BESIDES]
    uploaded = index.upload_times(package).get(release.files[0].filename, "")
    dated = ["--exclude-newer", (datetime.fromisoformat(uploaded) + _ALONGSIDE).isoformat()] if uploaded else []
    failure = ""
    for day in (dated, []):
        try:
            done = subprocess.run([*command, *day], capture_output=True, text=True, check=False, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return "uv: it was not installed in time"
        failure = " ".join(done.stderr.split())[:200] if done.returncode else ""
        if not failure:
            break
    for name in _COMPILED_FOR_ANOTHER:
        for library in Path(folder, name).rglob("*.so"):
            library.unlink()
    return failure and f"uv: {failure}"


@lru_cache(maxsize=64)
def _releases(index: PackageIndex, package: str) -> dict[Version, Release]:
    return {release.version: release for release in releases(index.files(package))}


def _release(index: PackageIndex, package: str, version: str) -> Release | None:
    return _releases(index, package).get(Version(version))


def _unpack(archive: Path, folder: str, package: str) -> Iterator[str]:
    """Write the Python files of a source archive into the folder, and yield what it requires."""
    for file in archive_files(archive, PACKAGES[package].modules):
        if file.path.endswith(".py"):
            target = Path(folder, file.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.data)
    with tarfile.open(archive) as members:
        names = [name for name in members.getnames() if name.endswith(".egg-info/requires.txt")]
        stream = members.extractfile(names[0]) if names else None
        lines = stream.read().decode("utf-8").partition("[")[0].split("\n") if stream else []
    yield from filter(None, lines)

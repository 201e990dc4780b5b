"""Is the record true? Install the very release that a claim is about, ask it, and count how many claims agree.

    python -m bench record-truth --sample 300 --seed 1

Each release goes into a folder of its own, with what importing it needs; torch is that of this environment. Without bubblewrap nothing is asked, because
importing a package runs its code.
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
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from kb.record.data_folder import record_path
from kb.record.package_file import load_history
from kb.record.parameters import parse_signature
from kb.record.query import recorded_packages
from kb.record.requirements import requirements_of

_CLAIMS_PER_RELEASE = 12
_FACTOR_OF_TORCH = 5
"""So many more claims are about the one release of torch that can be asked."""

_SECONDS = 240
_SKIPPED = ("torch", "triton", "tensorflow", "jax", "jaxlib", "flax")
"""What releases require and no claim needs: torch is that of this environment."""
_BESIDES = "setuptools<81"
"""What older releases import and do not require: `pkg_resources` came with every Python."""

_ASK = r"""
import importlib, inspect, json, os, sys, warnings
warnings.simplefilter("ignore")
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
            owner = getattr(owner, part)
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
            answer = parameter in inspect.signature(owner).parameters
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
    claims = sample(arguments.package or recorded_packages(), arguments.sample, random.Random(arguments.seed))
    counts: Counter[str] = Counter()
    for release, group in claims.items():
        for claim, answer in zip(group, ask(release, group), strict=True):
            verdict = (
                "not asked" if not isinstance(answer, bool) else "agrees" if answer == claim.expected else "disagrees"
            )
            counts[verdict] += 1
            if verdict != "agrees":
                print(verdict, json.dumps(claim), "" if isinstance(answer, bool) else answer, flush=True)
    asked = counts["agrees"] + counts["disagrees"]
    share = counts["agrees"] / asked if asked else 0.0
    print(
        f"{asked} claims about {len(claims)} releases asked, {counts['agrees']} agree ({share:.1%}); {counts['not asked']} could not be asked"
    )
    return int(share < arguments.at_least)


def sample(packages: list[str], size: int, chance: random.Random) -> dict[tuple[str, str], list[Claim]]:
    """Return at least `size` claims by release, if there are as many: a release of each package in turn, of those with a wheel for this Python.

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
            usable[package] = [version for version in usable[package] if version == _own_torch()]
    while len(wanted) * _CLAIMS_PER_RELEASE < size and any(usable.values()):
        for package in packages:
            if usable[package]:
                version = usable[package].pop(chance.randrange(len(usable[package])))
                wanted.append((package, version))
    return {release: _claims(*release, chance) for release in sorted(wanted)}


def load_head(package: str) -> list[str]:
    from kb.record.store import RecordFile

    return list(RecordFile(record_path(package)).head["versions"])


def _installs(needs, running: str) -> bool:
    from kb.record.compatibility import pythons_of

    return bool(needs.pythons) and running in pythons_of(needs)


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


def ask(release: tuple[str, str], claims: list[Claim]) -> list[object]:
    """Install a release and return its answers: true, false, or why it could not be asked."""
    package, version = release
    with tempfile.TemporaryDirectory(prefix="kb-truth-", dir=os.environ.get("KB_TRUTH_FOLDER")) as folder:
        if not (package == "torch" and _own_torch() == version):
            failure = _install(folder, package, version)
            if failure:
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
            "PYTHONPATH": os.pathsep.join([folder, sysconfig.get_path("purelib")]),
            "HOME": "/dev/shm",
            "TMPDIR": "/dev/shm",
            "PATH": os.environ["PATH"],
            "CUDA_VISIBLE_DEVICES": "",
        }
        lines = "".join(json.dumps([claim.module, claim.name, claim.parameter]) + "\n" for claim in claims)
        try:
            process = subprocess.run(
                [*jail, sys.executable, "-c", _ASK],
                input=lines,
                capture_output=True,
                text=True,
                timeout=240,
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


def _install(folder: str, package: str, version: str) -> str:
    """Install a release and what it requires, except torch; return why it failed, or the empty string.

    With uv, because pip has no way to leave a requirement of a requirement out, and would fetch torch and CUDA for most releases.
    """
    overrides = Path(folder, "overrides.txt")
    overrides.write_text("".join(f'{name} ; sys_platform == "none"\n' for name in _SKIPPED if name != package))
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--only-binary", ":all:", "--target", folder]
    alone = ["--no-deps"] if package == "torch" else ["--override", str(overrides)]
    command = [*uv, "--python", sys.executable, *alone, f"{package}=={version}", _BESIDES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return "uv: it was not installed in time"
    return f"uv: {done.stderr.strip()[-200:]}" if done.returncode else ""

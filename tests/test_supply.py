"""What a release is made of: the lock files fit what kb asks for, and the same sources give the same bytes."""

import os
import re
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import small_corpus
from tests.conftest import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
ASKED = {
    "web.txt": [
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["web"],
        *PROJECT["project"]["optional-dependencies"]["cluster"],
    ],
    "build.txt": PROJECT["build-system"]["requires"],
}
_LOCKED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?P<rest>(?:.*\\\n)*.*)$", re.MULTILINE)


@pytest.mark.parametrize("file", ASKED)
def test_a_lock_file_has_each_package_that_is_asked_for_with_its_hashes(file):
    text = (REPOSITORY / "locks" / file).read_text("utf-8")
    locked = {canonicalize_name(match["name"]): match for match in _LOCKED.finditer(text)}
    for line in ASKED[file]:
        requirement = Requirement(line)
        match = locked.get(canonicalize_name(requirement.name))
        assert match, f"{line} is not in locks/{file}: make lock"
        assert requirement.specifier.contains(match["version"]), (
            f"{line}: locks/{file} has {match['version']}: make lock"
        )
    assert all("--hash=sha256:" in match["rest"] for match in locked.values())
    assert "://" not in text


@pytest.mark.slow
def test_the_index_that_ships_has_the_same_bytes_whenever_and_wherever_it_is_built(tmp_path):
    entries = small_corpus.write(tmp_path)
    code = "import sys; from pathlib import Path; from kb.index.builder import build_for_package as b; b(*map(Path, sys.argv[1:]))"
    contents = []
    for seed in ("1", "2"):
        folder = tmp_path / seed / "index"
        folder.mkdir(parents=True)
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(REPOSITORY)}
        subprocess.run([sys.executable, "-c", code, entries, folder], check=True, env=environment)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        contents.append({str(path.relative_to(folder)): path.read_bytes() for path in files})
    assert contents[0] == contents[1]

"""Installed as a package, with no checkout around, kb answers: entries, ledgers, page and sandbox ship inside the wheel."""

import os
import subprocess
import sys
import zipfile

import pytest

from tests.conftest import REPOSITORY
from tests.kb.entries_to_find import write_entry

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        folder,
        REPOSITORY,
    ]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def kb(installed, tmp_path, *arguments):
    environment = os.environ | {"PYTHONPATH": str(installed), "KB_CACHE": str(tmp_path / "cache")}
    return subprocess.run(
        [sys.executable, "-m", "kb", *arguments],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_everything_needed_is_in_the_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    entries = [name for name in names if name.startswith("kb/_entries/") and name.endswith(".md")]
    assert len(entries) >= len(list((REPOSITORY / "entries").glob("*/*.md")))
    assert [name for name in names if name.startswith("kb/_entries/verified/")]
    for needed in (
        "kb/corpus/schema.json",
        "kb/text/data/synonyms.txt",
        "webapp/templates/",
        "webapp/static/",
        "webapp/locale/",
        "sandbox/inside/",
    ):
        assert any(name.startswith(needed) for name in names), needed
    assert not [name for name in names if name.startswith(("tests/", "bench/", "entries/"))]


def test_it_answers_without_a_checkout(installed, tmp_path):
    done = kb(
        installed, tmp_path, "lookup", "Expected more than 1 value per channel when training, got input size [1, 64]"
    )
    assert done.returncode == 0, done.stderr
    assert "batchnorm-one-value-per-channel" in done.stdout
    assert str(installed) in kb(installed, tmp_path, "doctor").stdout
    assert list(tmp_path.iterdir()) == []


def test_entries_of_ones_own_are_added_to_the_index_that_ships(installed, tmp_path, monkeypatch):
    write_entry(tmp_path / "own", "zyxomorphic", alias_en="what are zyxomorphic tensors")
    monkeypatch.setenv("KB_ENTRIES", str(tmp_path / "own"))
    assert "zyxomorphic" in kb(installed, tmp_path, "lookup", "what are zyxomorphic tensors").stdout
    assert (
        "batchnorm" in kb(installed, tmp_path, "lookup", "Expected more than 1 value per channel when training").stdout
    )
    state = "from kb.index.manager import open_index; print(open_index().meta.changed)"
    environment = os.environ | {"PYTHONPATH": str(installed), "KB_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", state], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "1", done.stderr

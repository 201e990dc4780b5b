"""A small record of a made-up history of `torchtext`, built from wheels that the tests write."""

import textwrap
import zipfile

import pytest

from kb.record import message_index, query, requirements
from kb.record.history import PackageHistory
from kb.record.message_index import build_index
from kb.record.package_file import save_history
from kb.record.packages import Package
from kb.record.release_reader import ReleaseReader


def write_wheel(folder, version, files, package="torchtext"):
    """Write a wheel of that version with these files (path: text or bytes) and return its path."""
    path = folder / f"{package}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes) else textwrap.dedent(content))
    return path


def history_of(folder, releases, package="torchtext", **options):
    """Return the history of releases given as version: files."""
    known = Package(package, (package,), **options)
    history, reader = PackageHistory(package), ReleaseReader(known)
    for version, files in releases.items():
        reader.read(write_wheel(folder, version, files, package), version, history)
    return history


@pytest.fixture
def record_folder(tmp_path, monkeypatch):
    """An empty folder that takes the place of the shipped record."""
    folder = tmp_path / "record"
    folder.mkdir()
    monkeypatch.setenv("KB_RECORD", str(folder))
    caches = (query.open_record, message_index.open_message_index, requirements.all_requirements)
    for cache in caches:
        cache.cache_clear()
    yield folder
    for cache in caches:
        cache.cache_clear()


@pytest.fixture
def make_record(record_folder, tmp_path):
    """Write the record of releases given as version: files."""

    def make(releases, package="torchtext", **options):
        save_history(str(record_folder / f"{package}.kbr"), history_of(tmp_path, releases, package, **options))
        build_index(sorted(path.stem for path in record_folder.glob("*.kbr")))

    return make

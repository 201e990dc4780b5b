"""Fixtures for all tests, and what happens where a test's machine lacks something.

A test marked docker, bubblewrap, browser or gpu is skipped with the reason where that is missing. Where KB_REQUIRE names the mark
(`KB_REQUIRE=docker,browser`, as CI sets it) such a skip is a failure instead, so that a check cannot stop running unnoticed.
"""

import os
import shutil
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
REQUIRED = {name for name in os.environ.get("KB_REQUIRE", "").split(",") if name}


def _missing_docker() -> str:
    from sandbox import backends

    status = next(status for status in backends() if status.name == "docker")
    return "" if status.works else status.detail


def _missing_bubblewrap() -> str:
    from sandbox import backends

    status = next(status for status in backends() if status.name == "bubblewrap")
    return "" if status.works else status.detail


def _missing_browser() -> str:
    return "" if any(map(shutil.which, CHROMIUM)) else "no Chromium on the PATH"


def _missing_gpu() -> str:
    return "" if shutil.which("nvidia-smi") else "no NVIDIA GPU here"


MISSING = {
    "docker": _missing_docker,
    "bubblewrap": _missing_bubblewrap,
    "browser": _missing_browser,
    "gpu": _missing_gpu,
}


def pytest_collection_modifyitems(items):
    reasons = {}
    for item in items:
        for name, missing in MISSING.items():
            if item.get_closest_marker(name):
                reason = reasons.setdefault(name, missing())
                if reason and name not in REQUIRED:
                    item.add_marker(pytest.mark.skip(reason=f"{name}: {reason}"))


def pytest_runtest_setup(item):
    for name in REQUIRED & set(MISSING):
        if item.get_closest_marker(name) and (reason := MISSING[name]()):
            pytest.fail(f"{name} is required here: {reason}")


@pytest.fixture(scope="session")
def chromium():
    """The path of a Chromium."""
    return next(filter(None, map(shutil.which, CHROMIUM)))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """Indexes are built in a folder of the test run, never in the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.delenv("KB_ENTRIES", raising=False)
    monkeypatch.delenv("KB_LANG", raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture
def good_entry():
    """The text of an entry that keeps every rule."""
    return (REPOSITORY / "tests/kb/data/good-entry.md").read_text("utf-8")

"""Fixtures for all tests, and what happens where a test's machine lacks something.

A test marked docker, bubblewrap, browser, redis or gpu is skipped with the reason where that is missing. Where KB_REQUIRE names the mark
(`KB_REQUIRE=docker,browser`, as CI sets it) such a skip is a failure instead, so that a check cannot stop running unnoticed.

The examples that Hypothesis draws are the same in each run, so that a pull request does not fail for what it did not touch. The nightly
workflow draws others each time (`HYPOTHESIS_PROFILE=random`).
"""

import contextlib
import os
import shutil
import signal
import threading
from functools import cache
from pathlib import Path

import hypothesis
import pytest

from kb.corpus.paths import cache_folder, entry_folder_names
from kb.index.manager import index_state
from tests.entry_factory import EntryFactory, entry_text
from tests.redis_server import Broker, TlsBroker

REPOSITORY = Path(__file__).parent.parent
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
REQUIRED = {name for name in os.environ.get("KB_REQUIRE", "").split(",") if name}

os.environ.setdefault("KB_SEMANTIC", "0")  # what most installations have; the tests of that model turn it on

if threading.current_thread() is threading.main_thread():
    # a shell that starts a program in the background has it ignore Ctrl-C, and all that the program starts, too
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.register_profile("random", max_examples=1000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


COMMANDS = {"browser": CHROMIUM, "gpu": ("nvidia-smi",), "redis": ("redis-server",)}
BACKENDS = ("docker", "bubblewrap")


@cache
def _missing(name):
    """Return why the tests with this mark cannot run here, or the empty string. A test is asked before its fixtures change anything."""
    if name in BACKENDS:
        from sandbox import backends

        status = next(status for status in backends() if status.name == name)
        return "" if status.works else status.detail
    return "" if any(map(shutil.which, COMMANDS[name])) else f"no {COMMANDS[name][0]} on the PATH"


def pytest_runtest_setup(item):
    for name in (*BACKENDS, *COMMANDS):
        if item.get_closest_marker(name) and (reason := _missing(name)):
            if name in REQUIRED:
                pytest.fail(f"{name} is required here: {reason}")
            pytest.skip(f"{name}: {reason}")


@pytest.fixture
def sentence_model(monkeypatch):
    """The model of sentences, turned on for this test. An index keeps the model that it began with, so the test opens one of its own."""
    from kb.index import sentences

    monkeypatch.setenv("KB_SEMANTIC", "1")
    sentences.sentence_model.cache_clear()
    yield sentences.sentence_model()
    sentences.sentence_model.cache_clear()


@pytest.fixture(scope="session")
def chromium():
    """The path of a Chromium."""
    return next(filter(None, map(shutil.which, CHROMIUM)))


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory):
    """The cache folder of the test run, which all its processes share, so that the index of the entries is built once at most.

    It begins with a copy of the user's index, if that is of the code and the entries as they are.
    """
    base = tmp_path_factory.getbasetemp()
    cache = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    built = Path(cache_folder(entry_folder_names()))
    target = cache / "kb" / built.name
    if index_state().fresh and not target.exists():
        copy = shutil.copytree(built, tmp_path_factory.mktemp("copy") / "index")
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError):  # another process was faster
            copy.rename(target)
    return str(cache)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(shared_cache):
    """Indexes are built in a folder of the test run, never in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", shared_cache)
        yield


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch):
    """No setting of the user's shell reaches a test."""
    for name in ("KB_ENTRIES", "KB_CACHE", "KB_LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture(scope="session")
def corpus():
    """The entries that ship, read once for each process."""
    from kb.corpus.loader import load

    return load([REPOSITORY / "entries"])


@pytest.fixture
def no_shipped_entries(monkeypatch, tmp_path):
    """Without the entries that ship, which take more than a second to read; those that KB_ENTRIES or an argument names are read."""
    monkeypatch.setattr("kb.corpus.paths._PACKAGE", str(tmp_path / "elsewhere" / "kb"))


@pytest.fixture
def broker(tmp_path):
    """A Redis of the test's own, which it may stop and start again."""
    started = Broker(tmp_path)
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture
def tls_broker(tmp_path):
    """One that speaks TLS."""
    started = TlsBroker(tmp_path)
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture
def good_entry():
    """The text of an entry that keeps every rule."""
    return entry_text()


@pytest.fixture
def entries(tmp_path):
    """A folder of entries, empty so far."""
    return EntryFactory(tmp_path / "entries")

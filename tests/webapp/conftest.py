"""Fixtures: the application over a small corpus, and a client for it."""

import pytest
from jinja2 import FileSystemBytecodeCache

from tests import small_corpus
from webapp import create_app
from webapp.snapshot import SnapshotProvider


@pytest.fixture(scope="session")
def entries(tmp_path_factory):
    return small_corpus.write(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def snapshots(entries):
    return SnapshotProvider([entries], refresh_seconds=0)


@pytest.fixture(scope="session")
def compiled_templates(tmp_path_factory):
    """What all applications of the test run compile once: each has templates of its own."""
    return FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates")))


@pytest.fixture
def make_app(snapshots, compiled_templates):
    def make(**config):
        app = create_app({"TESTING": True, "SNAPSHOTS": snapshots, "RATE": "", **config})
        app.jinja_env.bytecode_cache = compiled_templates
        return app

    return make


@pytest.fixture
def app(make_app):
    return make_app()


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def paste():
    return small_corpus.PASTE

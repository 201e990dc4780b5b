"""A fixture for tests that start programs which die."""

import os

import pytest

from kb.index.manager import open_index
from tests.conftest import REPOSITORY


@pytest.fixture
def patient_index(tmp_path_factory, monkeypatch):
    """An index, and on a busy machine more patience than a second, for the programs with kb and without alike."""
    open_index()
    patient = tmp_path_factory.mktemp("patient")
    (patient / "sitecustomize.py").write_text(
        "import kb.integrations.crash_answer\nkb.integrations.crash_answer.SECONDS = 30\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{patient}{os.pathsep}{REPOSITORY}")

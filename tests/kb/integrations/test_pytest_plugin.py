"""pytest --kb: an answer under each failure, one for those that share a cause, and nothing where there is none."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[3]
SLUG = "batchnorm-one-value-per-channel"
MESSAGE = "Expected more than 1 value per channel when training, got input size torch.Size([1, 512])"
TESTS = f"""
import pytest
def test_one():
    raise ValueError("{MESSAGE}")
def test_two():
    raise ValueError("{MESSAGE}")
def test_of_its_own():
    assert 1 == 2
def test_that_passes():
    pass
@pytest.fixture
def broken():
    raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
def test_setup(broken):
    pass
"""


@pytest.fixture(autouse=True)
def _outer_run_unseen(patient_index, monkeypatch):
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_CURRENT_TEST"):
        monkeypatch.delenv(name, raising=False)


def run(folder, *arguments, python=("-m", "pytest", "-p", "kb.integrations.pytest_plugin")):
    command = [sys.executable, *python, "-q", "-p", "no:cacheprovider", "--rootdir", folder, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, re.sub(r"\d+\.\d+s", "some time", done.stdout)


def sections(output):
    """The kb sections of a report, each with the name of the test that it is under."""
    shown = {}
    for name, body in re.findall(
        r"^_+ (?:ERROR at setup of |ERROR collecting )?(\S+) _+$(.*?)(?=^[_=]{5,} )", output, re.MULTILINE | re.DOTALL
    ):
        if "- kb -" in body:
            shown[name] = body.partition("- kb -")[2].partition("\n")[2]
    return shown  # fmt: skip


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_one_answer_for_the_failures_that_share_a_cause(tmp_path, workers):
    (tmp_path / "test_it.py").write_text(TESTS)
    status, out = run(tmp_path, "--kb", *workers)
    assert status == 1
    shown = sections(out)
    assert set(shown) == {"test_one", "test_two", "test_setup"}
    whole, pointer = sorted((shown["test_one"], shown["test_two"]), key=len, reverse=True)
    assert "What to change" in whole
    assert re.fullmatch(rf"The same cause as in test_it.py::test_(one|two); kb show {SLUG}\n", pointer)
    assert "dimension-out-of-range" in shown["test_setup"]


def test_without_the_option_nothing_changes(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    assert run(tmp_path) == run(tmp_path, python=("-m", "pytest"))


def test_what_passes_and_what_has_no_answer_looks_as_ever(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_a(): pass\ndef test_b(): assert [1] == [2]\n")
    assert run(tmp_path, "--kb") == run(tmp_path)


def test_an_error_at_import_is_answered(tmp_path):
    (tmp_path / "test_it.py").write_text(f'raise ValueError("{MESSAGE}")')
    assert SLUG in run(tmp_path, "--kb")[1]


def test_pytest_under_kb_answers(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    status, out = run(tmp_path, python=("-m", "kb", "-m", "pytest"))
    assert (status, set(sections(out))) == (1, {"test_one", "test_two", "test_setup"})


def test_a_fault_of_ours_is_silent(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(
        "import kb.integrations.pytest_answers as p\np.answer_to = lambda error: 1 / 0\n"
    )
    assert not sections(run(tmp_path, "--kb")[1])


@pytest.mark.torch
def test_each_failure_says_what_does_not_fit_in_it(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import torch\n"
        "def test_a():\n    a, b = torch.ones(2, 3), torch.ones(4, 5)\n    a @ b\n"
        "def test_b():\n    c, d = torch.ones(6, 7), torch.ones(8, 9)\n    c @ d\n"
    )
    shown = sections(run(tmp_path, "--kb")[1])
    assert "`a` is [2, 3], `b` is [4, 5]" in shown["test_a"].replace("\n", " ")
    assert shown["test_b"].startswith("`c` is [6, 7], `d` is [8, 9]")

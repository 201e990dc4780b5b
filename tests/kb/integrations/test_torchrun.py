"""Distributed programs: one process answers, the others say which, and torchrun's report names the program."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.torch]

REPOSITORY = Path(__file__).parents[3]
DIES = "raise ValueError('Expected more than 1 value per channel when training, got input size torch.Size([1, 512])')\n"


@pytest.fixture(autouse=True)
def _torch(patient_index, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def run(folder, *arguments, kb=("-m", "kb")):
    done = subprocess.run(
        [sys.executable, *kb, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=180
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("launcher", [("torchrun",), ("-m", "torch.distributed.run")])
def test_one_rank_answers_and_the_report_names_the_program(tmp_path, launcher):
    """Each rank waits until both have failed, because torchrun stops the others when one ends."""
    wait = (
        "import atexit, os, pathlib, time\n"
        "def wait():\n"
        f"    here = pathlib.Path({str(tmp_path)!r})\n"
        "    (here / ('ended-' + os.environ['RANK'])).touch()\n"
        "    while len(list(here.glob('ended-*'))) < 2: time.sleep(.05)\n"
        "atexit.register(wait)\n"
    )
    (tmp_path / "train.py").write_text(wait + DIES)
    status, err = run(tmp_path, *launcher, "--nproc-per-node", "2", "train.py", "--epochs", "3")
    assert status == 1
    assert err.count("What to change") == 1
    assert re.search(r"Rank [01] prints the whole answer; kb show batchnorm-one-value-per-channel", err)
    assert "train.py FAILED" in err
    assert "kb FAILED" not in err
    assert "elastic-child-failed" not in err, "the launcher itself is silent"


def test_the_report_of_a_launcher_without_kb_shows_the_traceback_of_the_program(tmp_path):
    (tmp_path / "train.py").write_text(DIES)
    launcher = ("-m", "torch.distributed.run", "--nproc-per-node", "1")
    status, err = run(tmp_path, *launcher, "-m", "kb", "train.py", kb=())
    report = err[err.index("Root Cause") :]
    assert status == 1
    assert f'traceback : Traceback (most recent call last):\n    File "{tmp_path}/train.py", line 1' in report
    assert "script_runner" not in err
    assert "To enable traceback" not in report
    assert err.count("What to change") == 1


def test_what_the_program_itself_reports_to_torchrun_is_left_alone(tmp_path):
    (tmp_path / "train.py").write_text(
        "import json, os\n"
        "told = {'message': {'message': 'mine', 'extraInfo': {'py_callstack': 'mine', 'timestamp': '1'}}}\n"
        "json.dump(told, open(os.environ['TORCHELASTIC_ERROR_FILE'], 'w'))\n" + DIES
    )
    _, err = run(tmp_path, "torchrun", "--nproc-per-node", "1", "train.py")
    assert "traceback : mine" in err


def test_a_module_gets_its_arguments(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text("import sys; print(sys.argv[1:], __package__, file=sys.stderr)\n")
    status, err = run(tmp_path, "torchrun", "--nproc-per-node", "1", "-m", "package.train", "--epochs", "3")
    assert (status, "['--epochs', '3'] package\n" in err) == (0, True)


def test_an_error_of_a_spawned_process_is_answered_by_its_parent(tmp_path):
    lines = f"import torch.multiprocessing as mp\ndef work(rank):\n    {DIES}if __name__ == '__main__':\n    mp.spawn(work)\n"
    (tmp_path / "train.py").write_text(lines)
    status, err = run(tmp_path, "train.py")
    assert status == 1
    assert err.count("What to change") == 1
    assert f"Look first at {tmp_path}/train.py:3" in " ".join(err.split())

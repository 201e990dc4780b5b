"""Processes of multiprocessing: what they die of is answered below their traceback, once where they agree, and nothing else changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kb.index.manager import open_index

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[3]
MESSAGE = "Expected more than 1 value per channel when training, got input size torch.Size([1, 512])"
PROGRAM = f"""
import multiprocessing, sys, traceback
{{before}}
MESSAGE = {MESSAGE!r}
{{work}}
if __name__ == "__main__":
    context = multiprocessing.get_context("{{method}}")
    barrier = context.Barrier({{count}})
    processes = [context.Process(target=work, args=(barrier,)) for _ in range({{count}})]
    for process in processes: process.start()
    for process in processes: process.join()
    print([process.exitcode for process in processes])
"""
DIES = """
def work(barrier):
    barrier.wait()
    raise ValueError(MESSAGE)
"""


@pytest.fixture(autouse=True)
def _index(tmp_path_factory, monkeypatch):
    open_index()
    patient = tmp_path_factory.mktemp("patient")
    (patient / "sitecustomize.py").write_text(
        "import kb.integrations.crash_answer\nkb.integrations.crash_answer.SECONDS = 30\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{patient}{os.pathsep}{REPOSITORY}")
    monkeypatch.setenv("KB_LANG", "en")


def run(folder, *, method="fork", count=1, work=DIES, before="import kb; kb.install()", arguments=()):
    (folder / "train.py").write_text(PROGRAM.format(method=method, count=count, work=work, before=before))
    done = subprocess.run(
        [sys.executable, *arguments, "train.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=180
    )
    return done.stdout, done.stderr


def test_of_processes_that_die_of_the_same_one_answers_and_the_others_name_it(tmp_path):
    out, err = run(tmp_path, count=3)
    assert out == "[1, 1, 1]\n"
    assert err.count("ValueError: ") == 3
    assert err.count("What to change") == 1
    assert err.count("prints the whole answer; kb show batchnorm-one-value-per-channel") == 2
    names = {line.split()[0] for line in err.splitlines() if "prints the whole answer" in line}
    assert len(names) == 1
    assert names < {"ForkProcess-1", "ForkProcess-2", "ForkProcess-3"}


def test_the_traceback_of_a_process_is_as_without_kb_and_the_answer_stands_below_it(tmp_path):
    _, plain = run(tmp_path, before="")
    _, err = run(tmp_path, before="", arguments=("-m", "kb"))
    assert plain.endswith(f"ValueError: {MESSAGE}\n")
    assert err.startswith(plain)
    assert "What to change" in err.removeprefix(plain)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_that_is_not_forked_answers_where_the_program_installs_kb(tmp_path, method):
    _, err = run(tmp_path, method=method)
    assert err.count("What to change") == 1


@pytest.mark.parametrize(
    "work",
    [
        "def work(barrier): print('done', flush=True)",
        "def work(barrier): sys.exit(3)",
        "def work(barrier): raise LookupError('of no entry: xyzzy')",
        "def work(barrier):\n    try: raise ValueError(MESSAGE)\n    except ValueError: traceback.print_exc()",
    ],
    ids=["ends", "exits", "dies of what no entry explains", "prints what it survives"],
)
def test_a_process_that_has_no_answer_is_as_without_kb(tmp_path, work):
    assert run(tmp_path, work=work) == run(tmp_path, work=work, before="")


def test_after_uninstall_processes_are_silent(tmp_path):
    assert run(tmp_path, before="import kb; kb.install(); kb.uninstall()") == run(tmp_path, before="")


def test_a_rank_that_has_forked_processes_leaves_the_answer_to_rank_0(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    (tmp_path / "train.py").write_text(
        "import kb, multiprocessing; kb.install()\n"
        "worker = multiprocessing.get_context('fork').Process(target=print); worker.start(); worker.join()\n"
        f"raise ValueError({MESSAGE!r})\n"
    )
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Rank 0 prints the whole answer" in done.stderr

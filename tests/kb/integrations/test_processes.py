"""Processes of multiprocessing: what they die of is answered below their traceback, once where they agree, and nothing else changes."""

import os
import re
import shutil
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

KILLED = """
def work(barrier):
    import os, signal, time
    from kb.integrations.one_answer import answering
    first = multiprocessing.current_process().name.endswith("1")
    if not first: barrier.wait()
    with answering("some-entry") as other:
        if first: barrier.wait(); time.sleep(.3); os.kill(os.getpid(), signal.SIGKILL)
        print(other, flush=True)
"""
METHODS = ["fork", "spawn", "forkserver"]


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


@pytest.mark.parametrize(
    ("before", "arguments"),
    [
        ("import kb; kb.install()", ()),
        ("if __name__ == '__main__': import kb; kb.install()", ()),
        ("if __name__ == '__main__': multiprocessing.get_context('spawn').Lock(); import kb; kb.install()", ()),
        ("", ("-m", "kb")),
    ],
    ids=["installed everywhere", "installed in the main process", "installed late", "run by kb"],
)
@pytest.mark.parametrize("method", METHODS)
def test_of_processes_that_die_of_the_same_one_answers_and_the_others_name_it(tmp_path, method, before, arguments):
    out, err = run(tmp_path, method=method, count=3, before=before, arguments=arguments)
    assert out == "[1, 1, 1]\n"
    assert err.count("ValueError: ") == 3
    assert err.count("What to change") == 1
    assert err.count("prints the whole answer; kb show batchnorm-one-value-per-channel") == 2
    names = {line.split()[0] for line in err.splitlines() if "prints the whole answer" in line}
    assert len(names) == 1
    assert re.fullmatch(r"(Fork|Spawn|ForkServer)Process-[1-3]", *names)


@pytest.mark.parametrize("method", METHODS)
def test_a_second_run_of_the_program_answers_again(tmp_path, method):
    for _ in range(2):
        assert run(tmp_path, method=method)[1].count("What to change") == 1


@pytest.mark.parametrize("method", METHODS)
def test_the_next_process_answers_if_the_one_that_answers_is_killed(tmp_path, method):
    out, _ = run(tmp_path, method=method, count=2, work=KILLED)
    assert out == "('', '')\n[-9, 0]\n"


def test_nothing_is_left_but_one_small_file_in_the_cache(tmp_path, monkeypatch):
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    shutil.copytree(Path(open_index().folder).parent, cache / Path(open_index().folder).parent.name)
    monkeypatch.setenv("KB_CACHE", str(cache))
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = set(cache.iterdir())
    for method in METHODS:
        run(tmp_path, method=method, count=2)
        run(tmp_path, method=method, count=2, work=KILLED)
    assert set(cache.iterdir()) - before == {cache / "answering"}
    assert (cache / "answering").stat().st_size <= 1 << 14
    assert not [name for name in temporary.iterdir() if "pymp-" not in name.name]


def test_where_no_file_can_be_written_each_process_answers(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    shutil.copytree(Path(open_index().folder).parent, cache / Path(open_index().folder).parent.name)
    (cache / "answering").symlink_to("/nowhere/at/all")
    monkeypatch.setenv("KB_CACHE", str(cache))
    assert run(tmp_path, count=2)[1].count("What to change") == 2


def test_the_traceback_of_a_process_is_as_without_kb_and_the_answer_stands_below_it(tmp_path):
    _, plain = run(tmp_path, before="")
    _, err = run(tmp_path, before="", arguments=("-m", "kb"))
    assert plain.endswith(f"ValueError: {MESSAGE}\n")
    assert err.startswith(plain)
    assert "What to change" in err.removeprefix(plain)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_that_is_spawned_runs_where_kb_cannot_be_imported(tmp_path, method):
    before = (
        "if __name__ == '__main__':\n"
        "    import kb, os\n"
        "    kb.install()\n"
        "    os.environ['PYTHONPATH'] = ''\n"
        "    sys.path[:] = [part for part in sys.path if not os.path.isdir(os.path.join(part, 'kb'))]\n"
    )
    out, err = run(tmp_path, method=method, before=before, arguments=("-S",))
    assert out == "[1]\n"
    assert err.endswith(f"ValueError: {MESSAGE}\n")


@pytest.mark.parametrize("method", METHODS)
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
def test_a_process_that_has_no_answer_is_as_without_kb(tmp_path, work, method):
    assert run(tmp_path, work=work, method=method) == run(tmp_path, work=work, method=method, before="")


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

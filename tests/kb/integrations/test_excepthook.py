"""kb.install(): a dying program is answered under its traceback, and never dies worse for it."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import kb
from kb.index.manager import open_index
from tests.small_checkout import link_checkout

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[3]
SLUG = "batchnorm-one-value-per-channel"
MESSAGE = "Expected more than 1 value per channel when training, got input size torch.Size([1, 512])"
DIES = f'raise ValueError("{MESSAGE}")'
HASTY = "import kb; kb.install()"
INSTALL = f"{HASTY}; import kb.integrations.crash_answer; kb.integrations.crash_answer.SECONDS = 30"


@pytest.fixture(autouse=True)
def _index():
    open_index()


def die(tmp_path, *lines, **environment):
    """Run a program of these lines; return exit status, stdout, stderr."""
    path = tmp_path / "program.py"
    path.write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)} | environment,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def without_and_with(tmp_path, *lines, **environment):
    """What the program does by itself, and what it does with kb installed; the first line is kb's or an empty one."""
    return die(tmp_path, "", *lines, **environment), die(tmp_path, INSTALL, *lines, **environment)


def test_the_answer_stands_under_the_traceback(tmp_path):
    plain, ours = without_and_with(tmp_path, "def main():", f"    {DIES}", "main()")
    assert ours[:2] == plain[:2] == (1, "")
    assert ours[2].startswith(plain[2])
    answer = ours[2][len(plain[2]) :]
    assert SLUG in answer
    assert f"Look first at {tmp_path}/program.py:3" in " ".join(answer.split())
    assert "\033" not in answer, "no colours but on a terminal"


@pytest.mark.torch
def test_the_tensors_of_the_failing_line_are_named_and_the_one_that_does_not_fit_is_marked(tmp_path):
    lines = ("import torch", "a, b = torch.ones(2, 3).double(), torch.ones(3, 4)", "c = torch.mm(a, b)")
    err = die(tmp_path, INSTALL, *lines)[2]
    assert "`a` is float64; `b` is float32." in err
    assert "Where it failed: `torch.mm(a, b)`\n ! a  [2, 3] float64 on cpu\n   b  [3, 4] float32 on cpu\n" in err
    chinese = die(tmp_path, INSTALL, *lines, KB_LANG="zh")[2]
    assert "出错的表达式：`torch.mm(a, b)`\n ! a  [2, 3] float64 cpu\n" in chinese


@pytest.mark.torch
def test_a_fault_of_the_inspection_leaves_the_answer(tmp_path):
    broken = "import kb.inspection.crash_context as c; c.crash_context = lambda *a: 1 / 0"
    err = die(tmp_path, INSTALL, "import torch", broken, "torch.ones(2, 3).mm(torch.ones(2, 3))")[2]
    assert "matmul-shape-mismatch" in err
    assert "Where it failed" not in err


def test_of_a_distributed_run_the_first_rank_alone_prints_the_whole_answer(tmp_path):
    first, second = (die(tmp_path, INSTALL, DIES, RANK=rank)[2] for rank in "01")
    assert "What to change" in first
    assert "What to change" not in second
    assert second.rstrip().endswith(f"kb show {SLUG}")


def test_a_likely_answer_needs_torch_in_the_traceback(tmp_path):
    words = "raise ValueError('batch norm in training wants more values per channel, the last batch has one sample, drop_last')"
    assert "kb: " not in die(tmp_path, INSTALL, words)[2]
    path = tmp_path / "torch"
    path.mkdir()
    (path / "__init__.py").write_text(f"def norm(): {words}")
    err = die(tmp_path, INSTALL, "import torch", "torch.norm()")[2]
    assert "kb: " in err
    assert "(likely)" in err


def test_in_the_readers_language(tmp_path):
    assert "怎么改" in die(tmp_path, INSTALL, DIES, KB_LANG="zh")[2]


def test_an_unknown_error_is_left_alone(tmp_path):
    plain, ours = without_and_with(tmp_path, "raise OSError('the pond has frozen over')")
    assert ours == plain


def test_what_was_installed_before_is_called_before(tmp_path):
    mine = "import sys; sys.excepthook = lambda *found: print('mine', file=sys.stderr)"
    _, _, err = die(tmp_path, mine, INSTALL, DIES)
    assert err.startswith("mine\n\nkb: ")


def test_a_hook_before_ours_that_fails_is_reported_by_python_as_ever(tmp_path):
    mine = "import sys; sys.excepthook = lambda *found: 1 / 0"
    _, _, err = die(tmp_path, mine, INSTALL, DIES)
    assert "Error in sys.excepthook:" in err
    assert "ZeroDivisionError" in err
    assert MESSAGE in err


@pytest.mark.parametrize(
    "around", ["kb.install()", "import sys; old = sys.excepthook; sys.excepthook = lambda *a: old(*a); kb.install()"]
)
def test_installed_twice_it_answers_once(tmp_path, around):
    assert die(tmp_path, INSTALL, around, DIES)[2].count("kb: ") == 1


@pytest.mark.parametrize("around", ["", "import sys; old = sys.excepthook; sys.excepthook = lambda *a: old(*a)"])
def test_uninstalled_it_is_silent(tmp_path, around):
    assert "kb: " not in die(tmp_path, INSTALL, around, "kb.uninstall()", DIES)[2]
    assert "kb: " in die(tmp_path, INSTALL, around, "kb.uninstall(); kb.install()", DIES)[2]


def test_uninstall_puts_back_what_was_there(monkeypatch):
    def mine(*_found):
        pass

    monkeypatch.setattr(sys, "excepthook", mine)
    monkeypatch.setattr(threading, "excepthook", mine)
    kb.install()
    assert sys.excepthook is not mine
    kb.uninstall()
    assert sys.excepthook is threading.excepthook is mine


def test_threads_that_die_of_one_mistake_are_answered_once_and_the_program_goes_on(tmp_path):
    lines = (
        "import threading",
        f"def work(): {DIES}",
        "threads = [threading.Thread(target=work) for _ in range(4)]",
        "for t in threads: t.start()",
        "for t in threads: t.join()",
        "print('still here')",
    )
    status, out, err = die(tmp_path, INSTALL, *lines)
    assert (status, out) == (0, "still here\n")
    assert err.count("kb: ") == 1
    assert err.count("Exception in thread") == 4


NOT_WORSE = {
    "__str__ raises": "class E(Exception):\n    def __str__(self): 1 / 0\nraise E",
    "__str__ interrupts": "class E(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise E",
    "__repr__ exits": "class E(Exception):\n    __repr__ = __str__ = lambda self: exit(5)\nraise E",
    "no attributes": f"class E(ValueError):\n    def __setattr__(self, *found): raise TypeError\nraise E('{MESSAGE}')",
    "recursion": "def f(): f()\nf()",
    "interrupt": f"raise KeyboardInterrupt('{MESSAGE}')",
    "exit": "raise SystemExit(4)",
    "exit with the message": f"raise SystemExit('{MESSAGE}')",
    "a cycle of causes": "a, b = ValueError(1), ValueError(2)\na.__cause__, b.__cause__ = b, a\nraise a",
    "no standard error": f"import sys; sys.stderr = None\n{DIES}",
    "look-up fails": f"import kb.search.lookup\nkb.search.lookup.lookup = lambda *a, **k: 1 / 0\n{DIES}",
    "look-up exits": f"import kb.search.lookup\nkb.search.lookup.lookup = lambda *a, **k: exit(9)\n{DIES}",
    "look-up out of memory": f"import kb.search.lookup\ndef lookup(*a, **k): raise MemoryError\nkb.search.lookup.lookup = lookup\n{DIES}",
    "no more threads": "import threading\ndef none(self): raise RuntimeError('no thread')\n"
    f"threading.Thread.start = none\n{DIES}",
    "kb gone": f"import sys; sys.modules['kb.search.lookup'] = None\n{DIES}",
}


@pytest.mark.parametrize("program", NOT_WORSE.values(), ids=NOT_WORSE)
def test_whatever_fails_fails_in_silence(program, tmp_path):
    plain, ours = without_and_with(tmp_path, program)
    assert ours == plain


def test_with_standard_error_closed_python_says_what_it_always_says(tmp_path):
    plain, ours = without_and_with(tmp_path, "import sys; sys.stderr.close()", DIES)
    assert [err.splitlines()[-2:] for *_, err in (plain, ours)] == [plain[2].splitlines()[-2:]] * 2


@pytest.fixture(scope="module")
def few_entries(tmp_path_factory):
    """A checkout with the entries of one topic, of which a process in the background makes an index in seconds."""
    return link_checkout(tmp_path_factory.mktemp("few") / "checkout", ["nn"])


@pytest.fixture(scope="module")
def few_indexed(few_entries, tmp_path_factory):
    """A cache with the index of those entries."""
    cache = tmp_path_factory.mktemp("few-cache")
    open_index([few_entries / "entries"], cache)
    return cache


def spoil_missing(cache):
    shutil.rmtree(cache)


def spoil_file(cache):
    shutil.rmtree(cache)
    cache.write_text("no folder")


def spoil_index(cache):
    next(cache.rglob("index.mdb")).write_bytes(b"\0" * 100)


def spoil_pointer(cache):
    next(cache.rglob("current.json")).write_text("gone")


def test_a_good_index_that_was_copied_is_answered_from(few_entries, few_indexed, tmp_path):
    cache = shutil.copytree(few_indexed, tmp_path / "cache")
    assert SLUG in die(tmp_path, INSTALL, DIES, KB_CACHE=str(cache), PYTHONPATH=str(few_entries))[2]


@pytest.mark.parametrize("spoil", [spoil_missing, spoil_file, spoil_index, spoil_pointer])
def test_without_a_good_index_nothing_is_said(spoil, few_entries, few_indexed, tmp_path):
    cache = shutil.copytree(few_indexed, tmp_path / "cache")
    spoil(cache)
    plain, ours = without_and_with(tmp_path, DIES, KB_CACHE=str(cache), PYTHONPATH=str(few_entries))
    assert ours == plain


def test_a_missing_index_is_built_in_the_background_for_the_next_error(few_entries, tmp_path):
    cache = tmp_path / "cache"
    environment = {"KB_CACHE": str(cache), "PYTHONPATH": str(few_entries)}
    assert SLUG not in die(tmp_path, INSTALL, DIES, **environment)[2]
    for _ in range(1800):
        if list(cache.rglob("current.json")):
            break
        time.sleep(0.1)
    assert SLUG in die(tmp_path, INSTALL, DIES, **environment)[2]


def test_a_look_up_that_hangs_is_given_up(tmp_path):
    hangs = "import threading, kb.search.lookup; kb.search.lookup.lookup = lambda *a, **k: threading.Event().wait()"
    status, _, err = die(tmp_path, HASTY, hangs, DIES)
    assert status == 1
    assert "kb: " not in err


def test_the_parts_of_a_huge_traceback_that_tell_are_looked_at(tmp_path):
    deep = f"def f(n):\n    if n: g(n)\n    {DIES}\ndef g(n): f(n - 1)\nf(300)"
    assert SLUG in die(tmp_path, INSTALL, deep)[2]
    assert SLUG in die(tmp_path, INSTALL, f"raise ValueError('{MESSAGE}' + 'x, ' * 10 ** 6)")[2]


def test_until_something_dies_nothing_but_the_hook_is_loaded(tmp_path):
    lines = ("print(*(name for name in sys.modules if name.partition('.')[0] in ('kb', 'traceback', 'json', 're')))",)
    assert die(tmp_path, "import sys, threading", HASTY, *lines) == (
        0,
        "kb kb.integrations kb.integrations.excepthook\n",
        "",
    )

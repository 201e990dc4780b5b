"""`python -m kb train.py`: a program runs as Python runs it, and what it dies of is answered under its own traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
MESSAGE = "Expected more than 1 value per channel when training, got input size torch.Size([1, 512])"
DIES = f'raise ValueError("{MESSAGE}")\n'


pytestmark = pytest.mark.usefixtures("patient_index")


def python(*arguments, folder, text=""):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def both(folder, *arguments, text=""):
    """What Python makes of the program, and what kb makes of it."""
    return python(*arguments, folder=folder, text=text), python("-m", "kb", *arguments, folder=folder, text=text)


AS_PYTHON = {
    "names": "print(sorted((k, repr(v).partition(' object at')[0]) for k, v in globals().items()))",
    "arguments": "import sys; print(sys.argv, sys.path[0], sys.flags.safe_path)",
    "main": "import sys; print(sys.modules['__main__'].__dict__ is globals(), __name__)",
    "hooks": "import sys; print(sys.excepthook is sys.__excepthook__)",
    "status 0": "raise SystemExit",
    "status 3": "import sys; sys.exit(3)",
    "a word as status": "import sys; sys.exit('no such file')",
    "status of another type": "raise SystemExit([1])",
    "exit at once": "import os; os._exit(7)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "interrupted": "raise KeyboardInterrupt",
    "interrupted by signal": "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(5)",
    "standard input": "print(input())",
    "exit handlers": "import atexit; atexit.register(print, 'done'); print('working')",
    "threads outlive the end": "import threading, time; threading.Thread(target=lambda: (time.sleep(.2), print('late'))).start()",
    "no future of ours": "def f(x: int): ...\nprint(f.__annotations__)",
    "pickles its own": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "spawns": "import multiprocessing as m\ndef f(x): return x + 1\nif __name__ == '__main__':\n"
    "    with m.get_context('spawn').Pool(1) as p: print(p.map(f, [1, 2]))",
    "another encoding": "# -*- coding: latin-1 -*-\nprint(len('\xe9'))",
    "stays silent": "",
}


@pytest.mark.parametrize("program", AS_PYTHON.values(), ids=AS_PYTHON)
def test_a_program_runs_as_python_runs_it(program, tmp_path):
    encoding = "latin-1" if "latin-1" in program else "utf-8"
    (tmp_path / "train.py").write_text(program, encoding)
    plain, ours = both(tmp_path, "train.py", "--epochs", "3", "-", text="one line\n")
    assert ours == plain


DIE = {
    "at the top": DIES,
    "in a function": f"def main():\n    {DIES}main()\n",
    "of a chain": f"try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('{MESSAGE}') from error\n",
    "in a module": "import part\n",
    "with a hook of its own": f"import sys\nsys.excepthook = lambda *found: print('mine:', found[1], file=sys.stderr)\n{DIES}",
    "with a hook that looks at the traceback": "import sys, traceback\n"
    f"sys.excepthook = lambda kind, error, tb: traceback.print_exception(error, limit=None)\n{DIES}",
}


@pytest.mark.parametrize("program", DIE.values(), ids=DIE)
def test_the_answer_comes_under_the_traceback_that_python_prints(program, tmp_path):
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "part.py").write_text(DIES)
    (status, out, err), ours = both(tmp_path, "train.py")
    assert ours[:2] == (status, out)
    assert ours[2].startswith(err)
    assert "batchnorm-one-value-per-channel" in ours[2][len(err) :]


FAIL_OTHERWISE = {
    "syntax": "print('x'\n",
    "no such module": "import no_such_module_of_mine_at_all\n",
    "something of its own": "class Odd(Exception): pass\nraise Odd('the pond has frozen over')\n",
}


@pytest.mark.parametrize("program", FAIL_OTHERWISE.values(), ids=FAIL_OTHERWISE)
def test_other_failures_look_as_python_prints_them(program, tmp_path):
    (tmp_path / "train.py").write_text(program)
    plain, ours = both(tmp_path, "train.py")
    assert ours[:2] == plain[:2]
    assert ours[2].startswith(plain[2])


def test_that_there_is_no_entry_is_said_in_one_line(tmp_path):
    (tmp_path / "train.py").write_text(FAIL_OTHERWISE["something of its own"])
    plain, ours = both(tmp_path, "train.py")
    assert ours[2] == plain[2] + "kb has no entry that answers this\n"


def test_a_hook_that_fails_itself_does_not_hide_the_error(tmp_path):
    (tmp_path / "train.py").write_text(f"import sys\nsys.excepthook = None\n{DIES}")
    status, _, err = python("-m", "kb", "train.py", folder=tmp_path)
    assert status == 1
    assert MESSAGE in err


def test_a_module_runs_as_with_m(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "train.py").write_text(
        f"import sys\nprint(sys.argv, __spec__.name, __package__, sys.path[0])\n{DIES}"
    )
    (status, out, err), ours = both(tmp_path, "-m", "package.train", "--epochs", "3")
    assert ours[:2] == (status, out)
    assert ours[2].startswith(err)
    assert "batchnorm-one-value-per-channel" in ours[2]
    plain, ours = both(tmp_path, "-m", "no_such_module")
    assert ours == plain


def test_a_link_to_a_program_in_another_folder(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "train.py").write_text("import sys; print(sys.path[0], __file__, sys.argv)")
    (tmp_path / "link.py").symlink_to(tmp_path / "real" / "train.py")
    plain, ours = both(tmp_path, "link.py")
    assert ours == plain


def test_a_thread_that_dies_is_answered_too(tmp_path):
    (tmp_path / "train.py").write_text(
        f"import threading\ndef work():\n    {DIES}t = threading.Thread(target=work)\nt.start()\nt.join()\nprint('still here')\n"
    )
    (status, out, err), ours = both(tmp_path, "train.py")
    assert ours[:2] == (status, out) == (0, "still here\n")
    assert ours[2].startswith(err)
    assert "batchnorm-one-value-per-channel" in ours[2]


def test_a_command_wins_over_a_program_and_a_missing_file_is_told(tmp_path):
    (tmp_path / "list").write_text("print('a program')")
    assert "a program" not in python("-m", "kb", "list", "--topic", "loss", folder=tmp_path)[1]
    status, out, err = python("-m", "kb", "train.py", folder=tmp_path)
    assert (status, out) == (2, "")
    assert "there is no file 'train.py'" in err

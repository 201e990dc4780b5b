"""A program runs as `python -W default program.py` would run it: same output, same exit status, same surroundings."""

import os
import subprocess
import sys
import textwrap

import pytest

from sandbox import Program, run

pytestmark = pytest.mark.slow

SAME_AS_PYTHON = {
    "prints": "print('hello')",
    "traceback": """
        def divide(a, b):
            return a / b


        divide(1, 0)
    """,
    "chained": """
        try:
            {}["key"]
        except KeyError as error:
            raise ValueError("no key") from error
    """,
    "syntax error": "x = (\n",
    "assert": "total = 2\nassert total == 3, f'{total}'",
    "sys.exit message": "import sys\nsys.exit('bad news')",
    "sys.exit number": "import sys\nsys.exit(7)",
    "sys.exit none": "import sys\nsys.exit()",
    "sys.exit large": "import sys\nsys.exit(1000)",
    "warning": "import warnings\nwarnings.warn('old', DeprecationWarning)",
    "unclosed file": "open('program.py')",
    "exit handlers": "import atexit\natexit.register(print, 'bye')\nraise SystemExit(3)",
    "threads": """
        import threading, time
        threading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()
        print('early')
    """,
    "finalizers": """
        class Last:
            def __del__(self):
                print('gone')
        last = Last()
    """,
    "hook": "import sys\nsys.excepthook = lambda kind, error, tb: print('hooked', error)\nraise KeyError(1)",
    "broken hook": "import sys\nsys.excepthook = lambda *_: 1 / 0\nraise KeyError(1)",
    "main": "import sys\nprint(__name__, sys.argv, __file__.endswith('program.py'), __spec__, __doc__)",
    "main is importable": "import __main__\nx = 5\nprint(__main__.x)",
    "source lines": "import linecache\nprint(linecache.getline(__file__, 1))",
    "future": "from __future__ import annotations\ndef f(x: nowhere): pass\nprint(f.__annotations__)",
    "coding": "print('多值', 'é')",
    "spawn": """
        import multiprocessing

        def double(x):
            return 2 * x

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(double, [1, 2]))
    """,
    "pickle of a class in main": """
        import pickle

        class Point:
            pass

        print(type(pickle.loads(pickle.dumps(Point()))) is Point)
    """,
    "stdin": "import sys\nprint(repr(sys.stdin.read()))",
    "unhandled in thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='t')\nt.start()\nt.join()",
}
PROGRAMS = {name: textwrap.dedent(source).lstrip("\n") for name, source in SAME_AS_PYTHON.items()}


@pytest.fixture(scope="module")
def outcomes(backend):
    programs = [Program(source, name=name) for name, source in PROGRAMS.items()]
    programs += [Program(source, name=f"{name} fresh", fresh=True) for name, source in PROGRAMS.items()]
    return {outcome.name: outcome for outcome in run(programs, backend=backend, isolation="all", preload=())}


@pytest.mark.parametrize("fresh", ["", " fresh"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_behaves_as_under_python(outcomes, tmp_path, name, fresh):
    file = tmp_path / "program.py"
    file.write_text(PROGRAMS[name])
    expected = subprocess.run(
        [sys.executable, "-W", "default", "program.py"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    outcome = outcomes[name + fresh]
    assert outcome.exit_code == expected.returncode, outcome
    assert outcome.stdout == expected.stdout
    assert _normal(outcome.stderr) == _normal(expected.stderr.replace(str(tmp_path), "/tmp/run"))


def _normal(text):
    """Text without what differs between interpreters of one minor version, or between folders."""
    lines = [line for line in text.splitlines() if not line.strip().startswith("File ") or "program.py" in line]
    return [line.rpartition("/")[2] if "program.py" in line else line for line in lines if "tracemalloc" not in line]


def test_only_programs_that_reach_their_end_are_finished(outcomes):
    ends = {"prints", "warning", "threads", "main", "coding", "spawn", "unclosed file", "unhandled in thread"}
    for name in PROGRAMS:
        assert outcomes[name].finished == (name in ends or outcomes[name].passed), name
        assert outcomes[name].finished == outcomes[f"{name} fresh"].finished, name
    assert not outcomes["sys.exit none"].finished
    assert not outcomes["exit handlers"].finished

"""The exception that ended a program is known from its own process, whatever the program prints about it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import Frame, Program, Raised, run
from sandbox.raised import MAX_MESSAGE, MAX_TEXT, read_raised

pytestmark = pytest.mark.slow

PROGRAMS = {
    "in a function": "def divide():\n    return 1 / 0\n\n\ndivide()\n",
    "in a library": "import json\njson.loads('{')\n",
    "in a written file": "from pathlib import Path\nPath('other.py').write_text('x = 1\\n1 / 0\\n')\nimport other\n",
    "in generated code": "exec('1 / 0')\n",
    "no such module": "import no_such_module\n",
    "syntax": "x = (\n",
    "chained": "try:\n    {}['a']\nexcept KeyError as error:\n    raise ValueError('v') from error\n",
    "in a handler": "try:\n    {}['a']\nexcept KeyError:\n    raise ValueError('v')\n",
    "false name": "class AssertionError(Exception): pass\nraise AssertionError('x')\n",
    "replaced builtin": "import builtins\nclass Fake(Exception): __module__, __qualname__ = 'builtins', 'ValueError'\n"
    "Fake.__name__ = 'ValueError'\nbuiltins.ValueError = Fake\nraise Fake('x')\n",
    "no text": "class Mute(Exception):\n    def __str__(self): raise KeyError\nraise Mute\n",
    "long": "raise ValueError('é' * 100_000)\n",
    "deep": "import sys\nsys.setrecursionlimit(5000)\ndef f(n):\n    return f(n - 1) if n else 1 / 0\nf(3000)\n",
    "printed": 'import sys\nprint(\'Traceback (most recent call last):\\n  File "/tmp/run/program.py", line 1, in <module>\\n'
    "KeyError: 1', file=sys.stderr)\n1 / 0\n",
    "own hook": "import sys\nsys.excepthook = lambda *_: print('KeyError: 1', file=sys.stderr)\n1 / 0\n",
    "exit": "import sys\nsys.exit('ValueError: no')\n",
    "finished": "x = 1\n",
    "a child fails": "import os\nif os.fork() == 0: 1 / 0\nos.wait()\n",
    "a thread fails": "import threading\nthread = threading.Thread(target=lambda: 1 / 0)\nthread.start()\nthread.join()\n",
    "forged": 'import os\nos.write(900, b\'{"type":"KeyError","message":"1","frames":[],"causes":[]}\')\nos._exit(1)\n',
    "forged first": 'import os\nos.write(900, b\'{"type":"KeyError","message":"1","frames":[],"causes":[]}\')\n1 / 0\n',
}


@pytest.fixture(scope="module")
def raised(backend):
    fresh = [Program(source, name=f"{name} fresh", fresh=True) for name, source in PROGRAMS.items()]
    forked = [Program(source, name=name) for name, source in PROGRAMS.items()]
    outcomes = run([*forked, *fresh], backend=backend, isolation="all", preload=())
    return {outcome.name: outcome.raised for outcome in outcomes}


@pytest.mark.parametrize("fresh", ["", " fresh"])
def test_frames_say_whose_code_ran(raised, fresh):
    def innermost(name):
        frame = raised[name + fresh].frames[-1]
        return frame.origin, frame.module, frame.line

    assert innermost("in a function") == ("program", "", 2)
    assert innermost("in a library")[:2] == ("library", "json.decoder")
    assert innermost("in a written file") == ("beside", "", 2)
    assert raised["in a written file" + fresh].frames[-1].text == "1 / 0"
    assert innermost("in generated code")[:2] == ("other", "")
    assert innermost("no such module")[:2] in {("program", ""), ("library", "importlib._bootstrap")}
    assert raised["syntax" + fresh].frames == ()
    assert raised["in a function" + fresh].frames[0] == Frame("program", "", 5, "<module>")


@pytest.mark.parametrize("fresh", ["", " fresh"])
def test_types_and_messages(raised, fresh):
    found = {name: (raised[name + fresh].type, raised[name + fresh].message[:40]) for name in PROGRAMS if raised[name]}
    assert found["in a function"] == ("ZeroDivisionError", "division by zero")
    assert found["syntax"][0] == "SyntaxError"
    assert found["false name"] == ("__main__.AssertionError", "x")
    assert found["no text"] == ("__main__.Mute", "<exception str() failed>")
    assert raised["replaced builtin" + fresh].type == "builtins.ValueError"
    assert len(raised["long" + fresh].message) < 20_000
    assert 30 < len(raised["deep" + fresh].frames) < 60
    assert raised["deep" + fresh].frames[-1].line == 4


@pytest.mark.parametrize("fresh", ["", " fresh"])
def test_causes(raised, fresh):
    assert raised["chained" + fresh].causes == (("KeyError", "'a'"),)
    assert raised["in a handler" + fresh].causes == (("KeyError", "'a'"),)


@pytest.mark.parametrize("fresh", ["", " fresh"])
def test_what_is_printed_changes_nothing(raised, fresh):
    assert raised["printed" + fresh].type == "ZeroDivisionError"
    assert raised["own hook" + fresh].type == "ZeroDivisionError"
    assert raised["forged first" + fresh].type == "ZeroDivisionError"


@pytest.mark.parametrize("fresh", ["", " fresh"])
@pytest.mark.parametrize("name", ["exit", "finished", "a child fails", "a thread fails", "forged"])
def test_without_an_exception_there_is_none(raised, fresh, name):
    assert raised[name + fresh] is None


WHOLE = {"type": "ValueError", "message": "m", "frames": [["program", "", 1, "<module>", ""]], "causes": [["A", "b"]]}


def test_a_whole_description_is_read():
    expected = Raised("ValueError", "m", (Frame("program", "", 1, "<module>"),), (("A", "b"),))
    assert read_raised(json.dumps(WHOLE)) == expected


@pytest.mark.parametrize(
    "broken",
    [
        None,
        "",
        7,
        "{}",
        "[]",
        "[" * 100_000,
        "x" * (MAX_TEXT + 1),
        json.dumps(WHOLE)[:-1],
        json.dumps(WHOLE) + "x",
        *(
            json.dumps({**WHOLE, **wrong})
            for wrong in (
                {"type": 1},
                {"message": None},
                {"frames": 1},
                {"frames": [["nowhere", "", 1, "", ""]]},
                {"frames": [["program", "", "1", "", ""]]},
                {"frames": [["program", "", -1, "", ""]]},
                {"frames": [["program", "", 10**30, "", ""]]},
                {"frames": [[]]},
                {"frames": [[["program"], "", 1, "", ""]]},
                {"causes": [["A"]]},
                {"causes": [[1, 2]]},
            )
        ),
        '{"type":"A","message":"' + "m" * 10 + '","frames":[["program","",' + "9" * 5000 + ',"",""]],"causes":[]}',
    ],
)
def test_a_broken_description_is_none(broken):
    assert read_raised(broken) is None


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_no_value_breaks_the_reader(value):
    for name in WHOLE:
        result = read_raised(json.dumps({**WHOLE, name: value}))
        assert result is None or (isinstance(result.type, str) and len(result.message) <= MAX_MESSAGE)

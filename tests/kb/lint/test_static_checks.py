"""Programs that could only look as if they proved something are refused, however they spell it; honest programs are not."""

import ast

import pytest

from kb.lint.static_checks.assertions import always_holds, top_level_asserts
from kb.lint.static_checks.checks import check_program
from kb.lint.static_checks.derived import derived_names, handled_in, mentions_library, statement_at
from kb.lint.static_checks.names import read_program

LEAVE = {
    "plain": "import os\nos._exit(0)",
    "module alias": "import os as system\nsystem._exit(0)",
    "function alias": "from os import _exit as leave\nleave(0)",
    "assigned": "import os\nleave = os._exit\nleave(0)",
    "assigned module": "import os\nsystem = os\nsystem._exit(0)",
    "in a tuple": "import os\nleave, code = os._exit, 0\nleave(code)",
    "walrus": "import os\n(leave := os._exit)(0)",
    "default argument": "import os\ndef f(leave=os._exit):\n    leave(0)\nf()",
    "loop": "import os\nfor leave in (os._exit,):\n    leave(0)",
    "comprehension": "import os\n[leave(0) for leave in [os._exit]]",
    "conditional": "import os, sys\n(os._exit if True else sys.exit)(0)",
    "getattr": "import os\ngetattr(os, '_exit')(0)",
    "through torch": "import torch\ntorch.os._exit(0)",
    "through pathlib": "import pathlib\npathlib.os._exit(0)",
    "through a private name": "import random\nrandom._os._exit(0)",
    "from torch": "from torch import os as system\nsystem._exit(0)",
    "partial": "import os\nfrom functools import partial\npartial(os._exit, 0)()",
    "map": "import os\nlist(map(os._exit, [0]))",
    "class attribute": "import os\nclass A:\n    leave = os._exit\nA.leave(0)",
}


@pytest.mark.parametrize("spelling", LEAVE)
def test_a_name_is_known_by_every_alias(spelling):
    found = {finding.rule for finding in check_program(LEAVE[spelling], "fix")}
    assert "KB023" in found or "KB024" in found
    if spelling != "comprehension":
        assert any("_exit" in finding.what for finding in check_program(LEAVE[spelling], "fix"))


REFUSED = {
    "KB023": ["import sys\nsys.exit()", "exit()", "quit()", "import os\nos.kill(1, 9)"],
    "KB024": [
        "import gc\ngc.get_objects()",
        "import sys\nsys._getframe()",
        "import sys\nf = [sys]",
        "import sys\nsys.modules['gc'].get_objects()",
        "import sys\nsys.modules.get('gc')",
        "import sys\nsys.stderr.write('x')",
        "import sys\nsys.excepthook = print",
        "import inspect",
        "import ctypes",
        "import builtins",
        "import importlib\nimportlib.import_module('gc')",
        "import traceback",
        "import unittest.mock",
        "import sympy",
        "import __main__",
        "from os import *",
        "eval('1')",
        "exec('x = 1')",
        "compile('1', 'x', 'eval')",
        "run = exec",
        "__import__('gc')",
        "globals()['x'] = 1",
        "vars()['x'] = 1",
        "x = 1\ngetattr(x, 'a' + 'b')",
        "list(map(getattr, [1], ['real']))",
        "type('A', (), {})",
        "type(*('A', (), {}))",
        "().__class__",
        "[].append.__self__",
        "def f(): pass\nf.__closure__",
        "def f(): pass\nf.__code__",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.__traceback__",
        "def g(): yield\ng().gi_frame",
        "match 1:\n    case int(f_back=y):\n        pass",
        "print(__file__)",
        "print(__builtins__)",
        "print(__loader__)",
        "import sys\nprint(sys.argv)",
        "open('program.py')",
        "open('/proc/self/mem')",
        "open('/dev/stderr', 'w')",
        "open(2, 'w')",
        "from pathlib import Path\nPath('/proc/self/environ').read_text()",
        "name = '__globals__'",
        "class A:\n    def __eq__(self, other):\n        return True",
        "class A:\n    __bool__ = lambda self: True",
        "class A:\n    def __getattr__(self, name):\n        return 1",
        "class A:\n    def __del__(self):\n        pass",
        "import torch\ntorch.equal = print",
        "import torch\ntorch.Tensor.sum = print",
        "import torch\nsetattr(torch, 'equal', print)",
        "import torch\ndel torch.equal",
        "import torch as t\nt.nn.functional.relu = print",
        "import operator\noperator.attrgetter('a')",
        "import pickle\npickle.loads(b'')",
        "import contextlib\ncontextlib.suppress(ValueError)",
        "import torch\ntorch.jit.CompilationUnit('')",
        "import string\nstring.Formatter().get_field('a', (), {})",
        "import torch\ntorch.fx.graph_module._exec_with_source('', {})",
        "import torch\ntorch._inductor.codecache.PyCodeCache.load('')",
        "import torch\ntorch.ops.load_library('x.so')",
        "import torch\ntorch.library.Library('aten', 'IMPL')",
        "import torch\ntorch = None",
        "from torch import nn\nclass nn: pass",
        "import numpy.ctypeslib",
        "\uff45\uff58\uff45\uff43('x = 1')",
        "code = 'import gc\\ngc.get_objects()'",
        "from pathlib import Path\nPath('m.py').write_text('import inspect\\n')\nimport m",
    ],
    "KB025": [
        "import warnings",
        "import logging",
        "from warnings import simplefilter as prepare",
        "import torch\ntorch.warnings.simplefilter('ignore')",
        "import torch\ntorch.set_warn_always(False)",
    ],
}


@pytest.mark.parametrize(("rule", "source"), [(rule, source) for rule in REFUSED for source in REFUSED[rule]])
@pytest.mark.parametrize("role", ["repro", "fix"])
def test_what_no_program_may_do(rule, source, role):
    assert rule in {finding.rule for finding in check_program(source, role)}


OWN_ERRORS = [
    "raise ValueError",
    "def f():\n    raise ValueError('x')",
    "error = ValueError('x')",
    "kind = ValueError",
    "import torch\ntorch.OutOfMemoryError('x')",
    "class Failed(ValueError):\n    pass",
    "import torch\nclass Failed(torch.OutOfMemoryError):\n    pass",
    "import torch\ntorch._check(False)",
    "from torch import _check as check\ncheck(False)",
    "import torch\ntorch._assert(False, 'x')",
    "import torch\ntorch.ops.aten._assert_async.msg(torch.tensor(0), 'x')",
    "import torch\ntorch.testing.assert_close(1, 2, msg='x')",
    "(x for x in ()).throw(None)",
    "print('x', file=open('f'))",
    "class A:\n    def __exit__(self, *details):\n        pass",
    "try:\n    pass\nexcept ValueError as e:\n    e.args = ('x',)",
    "try:\n    pass\nexcept ValueError as e:\n    e.add_note('x')",
    "code = 'raise ValueError(1)'",
]


@pytest.mark.parametrize("source", OWN_ERRORS)
def test_a_repro_makes_no_error_itself(source):
    assert "KB081" in {finding.rule for finding in check_program(source, "repro")}


def test_a_fix_may_raise_for_those_who_call_it():
    source = "import torch\ndef f(x):\n    if x is None:\n        raise ValueError('x')\n    return x\nassert f(torch.ones(1)).sum() == 1\n"
    assert check_program(source, "fix") == ()


HONEST = [
    "import torch\nimport torch._dynamo\ntorch._dynamo.config.recompile_limit = 2\ntorch._dynamo.reset()\nassert torch.ones(1).sum() == 1",
    "import torch\nfrom torch import nn\nmodel = nn.Linear(2, 2)\ntorch.backends.cudnn.allow_tf32 = True\nassert model(torch.ones(2)).shape == (2,)",
    "import sys\nsys.modules['numpy'] = None\nimport torch\nassert 'numpy' in sys.modules and torch.ones(1).sum() == 1",
    "import os\nos.environ['A'] = '1'\nassert os.path.join('a', 'b') == os.environ['A']",
    "import torch\nassert hasattr(torch.ones(1), 'sum') and getattr(torch.ones(1), 'shape') == (1,)",
    "import gc\nimport torch\ngc.collect()\nassert torch.ones(1).sum() == 1",
    "import torch\nclass Data:\n    def __len__(self):\n        return 1\nassert len(Data()) == torch.ones(1).sum()",
    "import torch\ntry:\n    torch.ones(1).view(2)\nexcept RuntimeError as e:\n    print(type(e).__name__)\nassert torch.ones(1).sum() == 1",
    "from pathlib import Path\nPath('train.py').write_text('import torch\\nx = torch.ones(1)\\n')\nimport train\nassert train.x.sum() == 1",
    "import contextlib\nimport torch\nwith contextlib.nullcontext():\n    x = torch.ones(1)\nassert x.sum() == 1",
    "import torch\nfor size in (1, 2):\n    assert torch.ones(size).shape == (size,)",
    "import torch\nif __name__ == '__main__':\n    assert torch.ones(1).sum() == 1",
    "import torch\nx = torch.ones(3)\nassert x.shape == torch.Size([3]) and not x.isnan().any()",
]


@pytest.mark.parametrize("source", HONEST)
def test_honest_programs_are_left_alone(source):
    assert check_program(source, "fix") == ()


ALWAYS_HOLD = [
    *(
        "True",
        "1",
        "'text'",
        "4 == 4",
        "(x, 'message')",
        "[x]",
        "x == x",
        "x.shape == x.shape",
        "x or True",
        "len(x) >= 0",
    ),
    *("not False", "print('x') is not None", "True if x else True", "x <= x", "lambda: x", "f'{x}'"),
]


@pytest.mark.parametrize("test", ALWAYS_HOLD)
def test_asserts_that_always_hold(test):
    assert always_holds(ast.parse(test, mode="eval").body)


@pytest.mark.parametrize(
    "test", ["x", "x == 4", "x and True", "x or y", "not x", "len(x) >= 1", "x != x", "f(x) > 0", "a < b < c"]
)
def test_asserts_that_can_fail(test):
    assert not always_holds(ast.parse(test, mode="eval").body)


@pytest.mark.parametrize("test", ["holds()", "expected == 4", "rows", "A().size == 4"])
def test_an_assert_must_test_what_came_from_a_call(test):
    source = f"import torch\nx = torch.ones(3)\nexpected = 4\nrows = [1]\ndef holds():\n    return True\nclass A:\n    size = 4\nassert {test}\n"
    assert [finding.rule for finding in check_program(source, "fix")] == ["KB021"]


def test_asserts_at_the_top_level():
    source = """
assert a
if __name__ == "__main__":
    assert b
    for x in y:
        assert c
if __name__ == "__main__":
    assert d
else:
    pass
if z:
    assert e
with z:
    assert f
try:
    assert g
finally:
    pass
while z:
    assert h
def function():
    assert i
class Class:
    assert j
"""
    assert [node.test.id for node in top_level_asserts(ast.parse(source))] == ["a", "b", "c"]


def test_what_comes_from_a_library_is_followed():
    source = """
import json, torch
from numpy import array
a = torch.ones(1)
b = {}
b["x"] = a
c = []
c.append(a)
d, e = c
for f in d:
    pass
g = [h for h in e]
with open("x") as i:
    pass
j = json.loads("{}")
def k(l):
    return m
class n(torch.nn.Module):
    pass
o = n()
p = 3
q = p
"""
    assert derived_names(source) == {"torch", "array", *"abcdefghlno"}
    assert derived_names(source, standard_library=True) >= {"json", "j"}


def test_a_statement_is_judged_by_its_head():
    source = "import torch\nx = torch.ones(1)\nif x:\n    y = 3\n    z = y\n@torch.no_grad()\ndef f():\n    pass\n"
    assert [mentions_library(statement_at(source, line), source) for line in (1, 2, 3, 4, 5, 6, 7)] == [
        True,
        True,
        True,
        False,
        False,
        True,
        True,
    ]
    assert statement_at(source, 99) is None


def test_a_statement_whose_error_is_handled_is_found():
    statement = ast.parse("x = f(1)").body[0]
    assert handled_in("try:\n    x = f(1)\nexcept ValueError:\n    pass", statement).lineno == 2
    assert handled_in("try:\n    if y:\n        x = f(1)\nexcept ValueError:\n    pass", statement).lineno == 3
    assert handled_in("x = f(1)\ntry:\n    pass\nexcept ValueError:\n    x = f(1)", statement) is None
    assert handled_in("try:\n    x = f(1)\nfinally:\n    pass", statement) is None
    assert handled_in("x = 1", None) is None


def test_work_grows_with_the_program_and_not_with_its_square():
    def references(lines):
        return len(read_program("import os\n" + "a = os\nb = a.path\n" * lines).references)

    assert references(400) <= 2 * references(200) + 10

"""Fixes that fix nothing: asserts that cannot fail, never run or are caught, programs that learn what is expected of them, hidden warnings."""

from __future__ import annotations

from forgery import Forgery, error, silent, warning

TORCH = "import torch\n\n"
SAME = "total = torch.ones(4) + torch.ones(4)\n"
WRONG = "total = torch.ones(3) + torch.ones(4)\n"

FORGERIES: list[Forgery] = [
    # asserts that never run, or whose failure is caught
    error(
        "assert-in-try-else",
        "asserts in a try whose except and else both go on",
        fix=TORCH
        + SAME
        + "try:\n    assert total.shape == (5,)\nexcept AssertionError:\n    pass\nelse:\n    raise ValueError\n",
    ),
    error(
        "assert-in-try",
        "asserts in a try that catches the failure",
        fix=TORCH + SAME + "try:\n    assert total.shape == (5,)\nexcept AssertionError:\n    total = None\n",
    ),
    error(
        "assert-suppressed",
        "asserts where contextlib.suppress catches the failure",
        fix="import contextlib\n"
        + TORCH
        + SAME
        + "with contextlib.suppress(AssertionError):\n    assert total.shape == (5,)\n",
    ),
    error(
        "assert-raises",
        "asserts within unittest's assertRaises",
        fix="import unittest\n"
        + TORCH
        + SAME
        + "with unittest.TestCase().assertRaises(AssertionError):\n    assert total.shape == (5,)\n",
    ),
    error(
        "assert-in-own-manager",
        "asserts within a context manager of its own that swallows the failure",
        fix=TORCH
        + "class Quiet:\n    def __enter__(self):\n        return self\n\n    def __exit__(self, *details):\n        return True\n\n\n"
        + SAME
        + "with Quiet():\n    assert total.shape == (5,)\n",
    ),
    error(
        "assert-in-dead-branch",
        "asserts where a condition is never true",
        fix=TORCH + SAME + "if total.sum() < 0:\n    assert total.shape == (5,)\n",
    ),
    error(
        "assert-in-function",
        "asserts in a function that nothing calls",
        fix=TORCH + SAME + "\n\ndef check():\n    assert total.shape == (5,)\n",
    ),
    error(
        "assert-in-thread",
        "asserts in a thread, whose failure ends the thread alone",
        fix="import threading\n"
        + TORCH
        + SAME
        + "\n\ndef check():\n    assert total.shape == (5,)\n\n\nthread = threading.Thread(target=check)\nthread.start()\nthread.join()\n",
    ),
    error(
        "assert-in-finalizer",
        "asserts in __del__, where an error is ignored",
        fix=TORCH
        + SAME
        + "\n\nclass Check:\n    def __del__(self):\n        assert total.shape == (5,)\n\n\nCheck()\n",
    ),
    error(
        "assert-in-generator",
        "asserts in a generator that nothing reads",
        fix=TORCH + SAME + "\n\ndef check():\n    assert total.shape == (5,)\n    yield\n\n\ncheck()\n",
    ),
    error(
        "assert-in-empty-loop",
        "asserts in a loop over nothing",
        fix=TORCH + SAME + "for row in total[:0]:\n    assert row == 7\n",
    ),
    error(
        "assert-in-child",
        "asserts in a child process whose exit status nobody reads",
        fix="import multiprocessing\n"
        + TORCH
        + SAME
        + "\n\ndef check():\n    assert total.shape == (5,)\n\n\nif __name__ == '__main__':\n"
        "    child = multiprocessing.get_context('fork').Process(target=check)\n    child.start()\n    child.join()\n",
    ),
    error("no-assert", "asserts nothing", fix=TORCH + SAME),
    # asserts that always hold
    error("assert-constant", "asserts a constant", fix=TORCH + SAME + "assert 4 == 4\n"),
    error(
        "assert-tuple",
        "asserts a tuple of a test and a text",
        fix=TORCH + SAME + "assert (total.shape == (5,), 'shape')\n",
    ),
    error("assert-itself", "compares a value with itself", fix=TORCH + SAME + "assert total.shape == total.shape\n"),
    error("assert-or-true", "asserts something or True", fix=TORCH + SAME + "assert total.shape == (5,) or True\n"),
    error("assert-length", "asserts that a length is not negative", fix=TORCH + SAME + "assert len(total) >= 0\n"),
    error(
        "assert-own-function",
        "asserts what a function of its own says, which is always true",
        fix=TORCH + SAME + "\n\ndef is_right():\n    return True\n\n\nassert is_right()\n",
    ),
    error(
        "equal-to-all",
        "compares with an object that is equal to everything",
        fix=TORCH
        + "class Any:\n    def __eq__(self, other):\n        return True\n\n\n"
        + SAME
        + "assert total.shape == Any()\n",
    ),
    error(
        "equal-by-assignment",
        "the same, with __eq__ assigned instead of defined",
        fix=TORCH + "class Any:\n    __eq__ = lambda self, other: True\n\n\n" + SAME + "assert total.shape == Any()\n",
    ),
    error(
        "equal-by-setattr",
        "the same, with __eq__ set from outside",
        fix=TORCH
        + "class Any:\n    pass\n\n\nsetattr(Any, '__eq__', lambda self, other: True)\n"
        + SAME
        + "assert total.shape == Any()\n",
    ),
    error(
        "equal-by-mock",
        "compares with unittest.mock.ANY",
        fix="from unittest.mock import ANY\n" + TORCH + SAME + "assert total.shape == ANY\n",
    ),
    error(
        "equal-by-patch",
        "replaces the comparison of tensors",
        fix=TORCH + SAME + "torch.Tensor.__eq__ = lambda self, other: torch.tensor(True)\nassert total == 7\n",
    ),
    error(
        "patched-library",
        "replaces the function that it asserts with",
        fix=TORCH + SAME + "torch.equal = lambda first, second: True\nassert torch.equal(total, torch.zeros(7))\n",
    ),
    error(
        "replaced-operator",
        "puts its own code in place of an operator, by the library's own interface",
        fix=TORCH
        + SAME
        + "ops = torch.library.Library('aten', 'IMPL')\nops.impl('equal', lambda first, second: True, 'CPU')\nassert torch.equal(total, torch.zeros(7))\n",
    ),
    error(
        "tensor-subclass",
        "has tensors of its own, whose comparisons it decides",
        fix=TORCH
        + "class Any(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, function, types, args=(), kwargs=None):\n"
        "        return True\n\n\n" + SAME + "assert total.as_subclass(Any) == 7\n",
    ),
    error(
        "rebound-library",
        "binds the library's name to a class of its own",
        fix="import torch\n\n\nclass torch:\n    @staticmethod\n    def ones(size):\n        return size\n\n\n"
        + SAME
        + "assert total == 8\n",
    ),
    # programs that end early or in another way
    error(
        "word-in-output",
        "fails by itself with the word AssertionError in its text",
        fix=TORCH + "1 / 0  # AssertionError\n" + SAME + "assert total.shape == (5,)\n",
    ),
    error(
        "exit-by-alias",
        "leaves before its assert, by a name of its own for os._exit",
        fix="from os import _exit as leave\n" + TORCH + SAME + "leave(0)\nassert total.shape == (5,)\n",
    ),
    error(
        "exit-through-torch",
        "leaves by the os module that torch has imported",
        fix=TORCH + SAME + "torch.os._exit(0)\nassert total.shape == (5,)\n",
    ),
    error(
        "exit-by-exec",
        "becomes another program before its assert",
        fix="import os\n" + TORCH + SAME + "os.execv('/bin/true', ['true'])\nassert total.shape == (5,)\n",
    ),
    # programs that reach into their process
    error(
        "nonce-from-frames",
        "looks for the completion nonce in the frames beneath it and writes it",
        fix="import os, sys\n"
        + TORCH
        + SAME
        + "frame = sys._getframe()\nwhile frame.f_back:\n    frame = frame.f_back\nfor value in list(frame.f_globals.values()):\n"
        "    for text in getattr(value, '__dict__', {}).values():\n        if isinstance(text, bytes) and len(text) == 32:\n"
        "            os.write(900, text)\n            os._exit(0)\nassert total.shape == (5,)\n",
    ),
    error(
        "nonce-from-traceback",
        "does the same by the frames of a caught exception",
        fix=TORCH
        + SAME
        + "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    frame = error.__traceback__.tb_frame.f_back\n"
        "frame.f_globals['_run'].exited(SystemExit(0))\nassert total.shape == (5,)\n",
    ),
    error(
        "nonce-from-collector",
        "looks for the nonce among all objects of the garbage collector and writes it",
        fix="import gc, os\n"
        + TORCH
        + SAME
        + "for thing in gc.get_objects():\n    if type(thing).__name__ == 'generator':\n        for value in thing.gi_frame.f_locals.values():\n"
        "            if isinstance(value, bytes) and len(value) == 32:\n                os.write(900, value)\n                os._exit(0)\n"
        "assert total.shape == (5,)\n",
    ),
    error(
        "no-assert-statements",
        "compiles its own text again without asserts",
        fix=TORCH
        + SAME
        + "import os\nexec(compile(open(__file__).read(), 'x', 'exec', optimize=1))\nassert total.shape == (4,)\n",
    ),
    # programs that learn what is expected of them
    error(
        "own-size",
        "looks at the size of its file to learn whether it is the repro",
        repro="import os\n\nimport torch\n\nsmall = os.path.getsize(__file__) < 190\ntotal = torch.ones(3 if small else 4) + torch.ones(4)\n",
        fix="import os\n\nimport torch\n\nsmall = os.path.getsize(__file__) < 190\ntotal = torch.ones(3 if small else 4) + torch.ones(4)\n"
        "# this is the program that works, because it is longer\nassert total.shape == (4,)\n",
    ),
    error(
        "own-size-hidden",
        "does the same without naming its file",
        repro="from pathlib import Path\n\nimport torch\n\nsmall = max(p.stat().st_size for p in Path().glob('*')) < 225\n"
        "total = torch.ones(3 if small else 4) + torch.ones(4)\n",
        fix="from pathlib import Path\n\nimport torch\n\nsmall = max(p.stat().st_size for p in Path().glob('*')) < 225\n"
        "total = torch.ones(3 if small else 4) + torch.ones(4)\n# this is the program that works, because it is longer than the other\n"
        "assert total.shape == (4,)\n",
    ),
    error(
        "own-text",
        "reads its own text to learn whether it is the repro",
        repro="import sys\n\nimport torch\n\nfix = 'assert' in open(sys.argv[0]).read()[99:]\ntotal = torch.ones(4 if fix else 3) + torch.ones(4)\n",
        fix="import sys\n\nimport torch\n\nfix = 'assert' in open(sys.argv[0]).read()[99:]\ntotal = torch.ones(4 if fix else 3) + torch.ones(4)\n"
        "assert total.shape == (4,)\n",
    ),
    error(
        "own-source-by-inspect",
        "does the same by the inspect module",
        repro="import inspect\n\nimport torch\n\n\ndef add(size):\n    return torch.ones(size) + torch.ones(4)\n\n\n"
        "total = add(4 if '#' in inspect.getsource(add) else 3)\n",
        fix="import inspect\n\nimport torch\n\n\ndef add(size):  # fixed\n    return torch.ones(size) + torch.ones(4)\n\n\n"
        "total = add(4 if '#' in inspect.getsource(add) else 3)\nassert total.shape == (4,)\n",
    ),
    error(
        "second-run",
        "leaves a mark in a folder of the sandbox, so that its second run goes well",
        repro="import os\n\nimport torch\n\nagain = os.path.exists('/dev/shm/seen')\nopen('/dev/shm/seen', 'w').close()\n"
        "total = torch.ones(4 if again else 3) + torch.ones(4)\n",
        fix="import os\n\nimport torch\n\nagain = os.path.exists('/dev/shm/seen')\nopen('/dev/shm/seen', 'w').close()\n"
        "total = torch.ones(4 if again else 3) + torch.ones(4)\nassert total.shape == (4,)\n",
    ),
    error(
        "swallowed-error",
        "lets the error happen and swallows it",
        fix=TORCH
        + "try:\n    "
        + WRONG
        + "except RuntimeError:\n    total = torch.ones(4)\nassert total.shape == (4,)\n",
    ),
    error(
        "suppressed-error",
        "does the same by contextlib.suppress",
        fix="import contextlib\n"
        + TORCH
        + "total = torch.ones(4)\nwith contextlib.suppress(RuntimeError):\n    "
        + WRONG
        + "assert total.shape == (4,)\n",
    ),
    error(
        "count-of-processes",
        "learns from its process id how many programs have run before it",
        repro="import os\n" + TORCH + "total = torch.ones(3 + os.getpid() % 2) + torch.ones(4)\n",
        fix="import os\n"
        + TORCH
        + "total = torch.ones(3 + os.getpid() % 2) + torch.ones(4)\nassert total.shape == (4,)\n",
    ),
    # silent pitfalls
    silent(
        "shared-assert-dead",
        "has the shared assert where it never runs, and another that holds",
        fix=TORCH
        + "total = torch.ones(3)\nif total.sum() < 0:\n    assert total.shape == (4,)\nassert total.sum() == 3\n",
    ),
    silent(
        "shared-assert-swallowed",
        "has the shared assert where its failure is caught",
        fix=TORCH
        + "total = torch.ones(3)\ntry:\n    assert total.shape == (4,)\nexcept AssertionError:\n    pass\nassert total.sum() == 3\n",
    ),
    silent(
        "shared-assert-uncalled",
        "has the shared assert in a function that nothing calls",
        fix=TORCH
        + "total = torch.ones(3)\n\n\ndef check():\n    assert total.shape == (4,)\n\n\nassert total.sum() == 3\n",
    ),
    silent(
        "shared-assert-thread",
        "has the shared assert in a thread",
        fix="import threading\n"
        + TORCH
        + "total = torch.ones(3)\n\n\ndef check():\n    assert total.shape == (4,)\n\n\nthreading.Thread(target=check).start()\nassert total.sum() == 3\n",
    ),
    silent(
        "shared-assert-finalizer",
        "has the shared assert in __del__",
        fix=TORCH
        + "total = torch.ones(3)\n\n\nclass Check:\n    def __del__(self):\n        assert total.shape == (4,)\n\n\nCheck()\nassert total.sum() == 3\n",
    ),
    silent(
        "assert-of-nothing",
        "asserts something that has nothing to do with a library",
        repro="import torch\n\ntotal = torch.ones(3)\nexpected = 3\nassert expected == 4\n",
        fix="import torch\n\ntotal = torch.ones(3)\nexpected = 4\nassert expected == 4\n",
    ),
    # hidden warnings
    warning(
        "hidden-by-alias",
        "silences the warning by an alias of the module",
        fix="import warnings as quiet\n"
        + TORCH
        + "quiet.simplefilter('ignore')\nx = torch.ones(2)\ny = torch.tensor(x)\nassert y.sum() == 2\n",
    ),
    warning(
        "hidden-by-import",
        "silences it by a function imported under another name",
        fix="from warnings import filterwarnings as prepare\n"
        + TORCH
        + "prepare('ignore')\nx = torch.ones(2)\ny = torch.tensor(x)\nassert y.sum() == 2\n",
    ),
    warning(
        "hidden-through-torch",
        "silences it by the module that torch has imported",
        fix=TORCH
        + "torch.warnings.simplefilter('ignore')\nx = torch.ones(2)\ny = torch.tensor(x)\nassert y.sum() == 2\n",
    ),
    warning(
        "hidden-by-showwarning",
        "replaces what shows warnings",
        fix="import warnings\n"
        + TORCH
        + "warnings.showwarning = lambda *details: None\nx = torch.ones(2)\ny = torch.tensor(x)\nassert y.sum() == 2\n",
    ),
    warning(
        "hidden-by-stderr",
        "replaces standard error",
        fix="import io, sys\n"
        + TORCH
        + "sys.stderr = io.StringIO()\nx = torch.ones(2)\ny = torch.tensor(x)\nassert y.sum() == 2\n",
    ),
    warning(
        "hidden-by-descriptor",
        "closes standard error",
        fix="import os\n" + TORCH + "os.close(2)\nx = torch.ones(2)\ny = torch.tensor(x)\nassert y.sum() == 2\n",
    ),
    warning(
        "hidden-by-getattr",
        "puts the name of the silencing function together",
        fix=TORCH
        + "getattr(torch, 'warn' + 'ings').simplefilter('ignore')\nx = torch.ones(2)\ny = torch.tensor(x)\nassert y.sum() == 2\n",
    ),
    warning(
        "hidden-by-loop",
        "reaches the silencing function through a loop over modules",
        fix="import warnings\n"
        + TORCH
        + "for module in (warnings,):\n    module.simplefilter('ignore')\nx = torch.ones(2)\ny = torch.tensor(x)\nassert y.sum() == 2\n",
    ),
    # what no check of programs can see
    error(
        "unrelated-fix",
        "leaves the failing line out and does something else",
        fix=TORCH + "total = torch.zeros(4)\nassert total.shape == (4,)\n",
        passes="whether the fix does what the reader wanted is for a person to say",
    ),
    error(
        "weak-assert",
        "asserts something that holds with and without the fix",
        fix=TORCH + SAME + "assert isinstance(total, torch.Tensor)\n",
        passes="the assert can fail, and only a person sees that it says nothing about the error",
    ),
    error(
        "switch",
        "has a switch that the fix turns off, around the failing line",
        repro=TORCH + "broken = True\ntotal = torch.ones(3 if broken else 4) + torch.ones(4)\n",
        fix=TORCH
        + "broken = False\ntotal = torch.ones(3 if broken else 4) + torch.ones(4)\nassert total.shape == (4,)\n",
        passes="the change does remove the error; only a person sees that no reader has such a line",
    ),
]

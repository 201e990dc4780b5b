"""Repros that make, word or print their error themselves, so that an entry could be about an error that no library raises."""

from __future__ import annotations

from forgery import MESSAGE, WARNING_TEMPLATE, Forgery, error, silent, warning

TORCH = "import torch\n\n"
HALVES = f"first, second = {MESSAGE[:30]!r}, {MESSAGE[30:]!r}\n"
"""The message in two parts, because KB020 refuses it in one."""
CODES = f"text = bytes({list(MESSAGE.encode())}).decode()\n"
PRINTED = (
    "header = 'Traceback (most recent ' + 'call last):'\n"
    "place = '  File \"/tmp/run/program.py\", line 3, in <module>'\n"
    "print(header, place, 'RuntimeError: ' + first + second, sep='\\n'"
)

FORGERIES: list[Forgery] = [
    error("raise", "raises the error itself", repro=TORCH + HALVES + "raise RuntimeError(first + second)\n"),
    error(
        "raise-in-function",
        "raises it in a function of its own",
        repro=TORCH
        + HALVES
        + "\n\ndef add(x, y):\n    raise RuntimeError(first + second)\n\n\nadd(torch.ones(3), torch.ones(4))\n",
    ),
    error(
        "raise-in-module",
        "raises it in a hook that the library calls",
        repro=TORCH
        + HALVES
        + "\n\nclass Layer(torch.nn.Module):\n    def forward(self, x):\n        raise RuntimeError(first + second)\n\n\nLayer()(torch.ones(3))\n",
    ),
    error(
        "raise-in-written-file",
        "writes a module that raises it, and imports the module",
        repro="from pathlib import Path\n\n"
        + TORCH
        + HALVES
        + "Path('helper.py').write_text('def add(text):\\n    raise RuntimeError(text)\\n')\nimport helper\n\nhelper.add(first + second)\n",
    ),
    error(
        "raise-by-exec",
        "raises it in a text that it executes",
        repro=TORCH + HALVES + "exec('raise RuntimeError(first + second)')\n",
    ),
    error(
        "raise-by-eval",
        "raises it by an expression that it evaluates",
        repro=TORCH + HALVES + "eval('(_ for _ in ()).throw(RuntimeError(first + second))')\n",
    ),
    error(
        "raise-by-import",
        "executes a text by a builtin that it imports under another name",
        repro="from builtins import exec as run\n" + TORCH + HALVES + "run('raise RuntimeError(first + second)')\n",
    ),
    error(
        "raise-with-own-type",
        "makes the exception's class by type()",
        repro=TORCH + HALVES + "error = type('RuntimeError', (Exception,), {})\nraise error(first + second)\n",
    ),
    error(
        "raise-with-getattr",
        "takes the exception's class by a name that it puts together",
        repro="import builtins\n" + TORCH + HALVES + "raise getattr(builtins, 'Runtime' + 'Error')(first + second)\n",
    ),
    error(
        "raise-with-subclass",
        "raises a subclass of the type",
        repro=TORCH
        + HALVES
        + "\n\nclass Failed(RuntimeError):\n    pass\n\n\nFailed.__name__ = 'RuntimeError'\nraise Failed(first + second)\n",
    ),
    error(
        "torch-check",
        "has torch._check raise its text",
        repro=TORCH + HALVES + "torch._check(False, lambda: first + second)\n",
    ),
    error(
        "torch-check-alias",
        "does the same by an alias",
        repro="from torch import _check as check\n" + TORCH + HALVES + "check(False, lambda: first + second)\n",
    ),
    error(
        "torch-assert",
        "has an operator of torch raise its text",
        repro=TORCH + HALVES + "torch.ops.aten._assert_async.msg(torch.tensor(0), first + second)\n",
    ),
    error(
        "testing-message",
        "gives a comparison of torch.testing its text",
        repro=TORCH
        + HALVES
        + "torch.testing.assert_close(torch.ones(3), torch.zeros(3), msg='RuntimeError: ' + first + second)\n",
    ),
    error(
        "numpy-testing",
        "has numpy's tests raise AssertionError with its text",
        repro="import numpy as np\n"
        + TORCH
        + "text = 'Torch was not ' + 'compiled for this'\nnp.testing.assert_(torch.ones(1).sum() > 2, text)\n",
        fix="import numpy as np\n" + TORCH + "assert np.ones(1).sum() + torch.ones(1).sum() == 2\n",
        template="AssertionError: Torch was not compiled for this",
    ),
    error(
        "private-exec",
        "has a private function of the library execute its text",
        repro="from torch.fx.graph_module import _exec_with_source as run\n"
        + TORCH
        + HALVES
        + "run('raise RuntimeError(first + second)', globals())\n",
    ),
    error(
        "generator-throw",
        "throws the error into a generator",
        repro=TORCH
        + HALVES
        + "\n\ndef rows():\n    yield torch.ones(3)\n\n\nrows().throw(RuntimeError(first + second))\n",
    ),
    error(
        "future",
        "has a future raise an exception that it holds",
        repro="from concurrent.futures import Future\n"
        + TORCH
        + HALVES
        + "future = Future()\nfuture.set_exception(RuntimeError(first + second))\nfuture.result(timeout=torch.ones(1).item())\n",
    ),
    error(
        "torchscript-text",
        "compiles a TorchScript text that raises",
        repro=TORCH
        + HALVES
        + "code = 'def add(text: str):\\n    raise RuntimeError(text)\\n'\ntorch.jit.CompilationUnit(code).add(first + second)\n",
    ),
    error(
        "altered-arguments",
        "lets the library raise, and changes the exception's text on its way in __exit__",
        repro=TORCH
        + HALVES
        + "class Change:\n    def __enter__(self):\n        return self\n\n    def __exit__(self, kind, error, traceback):\n"
        "        error.args = (first + second,)\n\n\nwith Change():\n    torch.ones(3).view(2)\n",
    ),
    error(
        "added-note",
        "adds the message as a note to another error",
        repro=TORCH
        + HALVES
        + "try:\n    torch.ones(3).view(2)\nexcept RuntimeError as error:\n    error.add_note('RuntimeError: ' + first + second)\n    raise\n",
    ),
    error(
        "printed-traceback",
        "prints a traceback and exits with 1",
        repro="import sys\n" + TORCH + HALVES + PRINTED + ", file=sys.stderr)\nsys.exit(1)\n",
    ),
    error(
        "printed-before-another",
        "prints a traceback and fails in another way",
        repro="import sys\n" + TORCH + HALVES + PRINTED + ", file=sys.stderr)\ntorch.ones(3).view(2)\n",
    ),
    error(
        "printed-to-device",
        "prints it into /dev/stderr and fails in another way",
        repro=TORCH + HALVES + PRINTED + ", file=open('/dev/' + 'stderr', 'w'))\ntorch.ones(3).view(2)\n",
    ),
    error(
        "exit-with-text",
        "exits with a text that looks like a traceback",
        repro="import sys\n" + TORCH + HALVES + "sys.exit('RuntimeError: ' + first + second)\n",
    ),
    error(
        "own-excepthook",
        "replaces what prints the traceback",
        repro="import sys\n"
        + TORCH
        + HALVES
        + "sys.excepthook = lambda *details: "
        + PRINTED.split("\n")[2]
        + ", file=sys.stderr)\n"
        "header, place = 'Traceback (most recent ' + 'call last):', '  File \"program.py\", line 1, in <module>'\n1 / 0\n",
    ),
    error(
        "child-prints",
        "has a child process print the traceback, and fails in another way",
        repro="import subprocess, sys\n"
        + TORCH
        + HALVES
        + "subprocess.run([sys.executable, '-c', 'raise RuntimeError(\"' + first + second + '\")'])\ntorch.ones(3).view(2)\n",
    ),
    error(
        "child-prints-before-library",
        "has a child process print the traceback, and fails in a module of the library",
        repro="import subprocess, sys\n"
        + TORCH
        + HALVES
        + "code = 'raise Runtime' + 'Error(\"' + first + second + '\")'\nsubprocess.run([sys.executable, '-c', code])\n"
        "torch.nn.Linear(3, 4)(torch.ones(5))\n",
    ),
    error(
        "dictionary",
        "gets its text into a KeyError without any library",
        repro=TORCH
        + "state = torch.ones(3)\ntable = {}\nkey = 'state of the optimizer ' + 'is not there'\ntable[key]\n",
        fix=TORCH + "state = torch.ones(3)\ntable = {'state': state}\nassert table['state'].sum() == 3\n",
        template="KeyError: 'state of the optimizer is not there'",
    ),
    error(
        "text-of-numbers",
        "raises a text that it keeps as numbers",
        repro=TORCH + CODES + "raise RuntimeError(text)\n",
    ),
    silent(
        "silent-by-raise",
        "raises AssertionError instead of asserting",
        repro="import torch\n\ntotal = torch.ones(3)\nif total.shape != (4,):\n    raise AssertionError\nassert total.shape == (4,)\n",
    ),
    warning(
        "own-warning",
        "warns itself",
        repro="import warnings\n"
        + TORCH
        + f"warnings.warn({WARNING_TEMPLATE[:40]!r} + {WARNING_TEMPLATE[40:]!r}, stacklevel=1)\n",
    ),
    warning(
        "own-warning-elsewhere",
        "warns itself in the name of a file of torch",
        repro="import warnings\n"
        + TORCH
        + f"text = {WARNING_TEMPLATE[:40]!r} + {WARNING_TEMPLATE[40:]!r}\n"
        + "warnings.warn_explicit(text, UserWarning, torch.__file__, 1)\n",
    ),
    warning(
        "printed-warning",
        "prints what looks like a warning",
        repro="import sys\n"
        + TORCH
        + f"text = {WARNING_TEMPLATE[:40]!r} + {WARNING_TEMPLATE[40:]!r}\nprint('UserWarning: ' + text, file=sys.stderr)\n",
    ),
    # what no check of programs can see
    warning(
        "child-warns",
        "has a child process print what looks like a warning",
        repro="import subprocess\n" + TORCH + f"text = {WARNING_TEMPLATE[:40]!r} + {WARNING_TEMPLATE[40:]!r}\n"
        "subprocess.run(['sh', '-c', 'echo \"/x/torch/_tensor.py:1: UserWarning: $0\" >&2', text])\n",
        passes="a child's output is the program's as well; the note on subprocess points there",
    ),
    error(
        "child-prints-before-pool",
        "has a child process print the traceback, and then a pool of processes report another error",
        repro="import multiprocessing, subprocess, sys\n"
        + TORCH
        + HALVES
        + "code = 'raise Runtime' + 'Error(\"' + first + second + '\")'\nsubprocess.run([sys.executable, '-c', code])\n"
        "multiprocessing.Pool(1).apply(torch.ones(3).view, (2,))\n",
    ),
    error(
        "echoed-key",
        "gets its text into a KeyError by asking a library's dictionary for it",
        repro=TORCH + "layers = torch.nn.ModuleDict()\nkey = 'state of the optimizer ' + 'is not there'\nlayers[key]\n",
        fix=TORCH
        + "layers = torch.nn.ModuleDict({'state': torch.nn.Linear(1, 1)})\nassert layers['state'].in_features == 1\n",
        template="KeyError: 'state of the optimizer is not there'",
        passes="a library that repeats what it is given raises an error of its own; only a person sees that no reader has this text",
    ),
    error(
        "own-class",
        "makes the error with a class of its own that is called like one of the library's",
        repro=TORCH
        + "\n\nclass DistributedTrainer:\n    size = torch.ones(3)\n\n\nDistributedTrainer().gather_all_results()\n",
        fix=TORCH
        + "\n\nclass DistributedTrainer:\n    size = torch.ones(3)\n\n\nassert DistributedTrainer().size.sum() == 3\n",
        template="AttributeError: 'DistributedTrainer' object has no attribute 'gather_all_results'",
        passes="the statement uses what comes from the library, and only a person sees that the class does not",
    ),
    error(
        "unneeded-library",
        "gets the error from a library without need: any mistake makes the same one",
        repro=TORCH + "x = torch.ones(3)\ny = torch.ones(4)\nx.add_(y)\n",
        passes="this is a way to raise the error like any other; whether readers meet it so is for a person to say",
    ),
]

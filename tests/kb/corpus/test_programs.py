"""A program is read within bounds, and what it imports is known without running it."""

import subprocess
import sys

import pytest

from kb.corpus.programs import MAX_NESTING, ProgramError, foreign_imports, parse_program


def test_a_program_becomes_its_tree():
    assert [type(node).__name__ for node in parse_program("import torch\nx = 1\n").body] == ["Import", "Assign"]


@pytest.mark.parametrize(
    ("source", "line"), [("x = 1\nx = = 2\n", 2), ("x = 1\nreturn x\n", 2), ("\0", 1), ("x = " + "9" * 5000, 1)]
)
def test_what_is_no_python_names_the_line(source, line):
    with pytest.raises(ProgramError, match="no Python") as raised:
        parse_program(source)
    assert raised.value.line == line


@pytest.mark.parametrize(
    "source",
    [
        "-" * 100_000 + "1",
        "a" + ".b" * 100_000,
        "a" + " + a" * 100_000,
        "lambda: " * 5000 + "1",
        "if a:\n pass\n" + "elif b:\n pass\n" * 5000,
        "f(" * MAX_NESTING + ")" * MAX_NESTING,
    ],
)
def test_a_program_that_is_nested_too_deeply_is_refused(source):
    with pytest.raises(ProgramError, match="write it flat"):
        parse_program(source)


def test_a_program_prints_no_warning_on_the_terminal_of_its_reader():
    code = "from kb.corpus.programs import parse_program; parse_program('x = \"\\\\d\" is 1')"
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch.nn as nn, numpy, os, sympy\nfrom collections import abc\n", []),
        (
            "import torch\nimport torchvision.transforms as T\nfrom transformers import pipeline\n",
            [(2, "torchvision"), (3, "transformers")],
        ),
        ("try:\n    import torchvision\nexcept ImportError:\n    torchvision = None\n", []),
        ("open('networks.py', 'w').write('x = 1')\nimport networks\n", []),
        ("from . import sibling\n", []),
    ],
)
def test_packages_that_the_sandbox_does_not_have(source, expected):
    assert foreign_imports(source) == expected

"""What a program printed is read as Python printed it, not as the program would like it read."""

import subprocess
import sys

import pytest

from kb.printed import exceptions_in, final_exception, matches, shorten_paths, warnings_in
from kb.template import compile_template


@pytest.fixture
def printed(tmp_path):
    def run(source):
        (tmp_path / "program.py").write_text(source)
        return subprocess.run(
            [sys.executable, "-W", "default", "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        ).stderr

    return run


def test_the_exception_that_ended_the_program(printed):
    stderr = printed("def f():\n    raise ValueError('one\\ntwo')\n\nf()\n")
    assert final_exception(stderr) == ("ValueError", "one\ntwo", 2)


def test_the_last_of_a_chain_counts(printed):
    stderr = printed("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e\n")
    assert final_exception(stderr)[:2] == ("KeyError", "'k'")


def test_an_exception_without_message(printed):
    assert final_exception(printed("assert 1 == 2\n")) == ("AssertionError", "", 1)


def test_a_traceback_inside_a_message_is_not_the_program_s_own(printed):
    inner = 'Caught\\n\\nTraceback (most recent call last):\\n  File \\"x.py\\", line 3, in f\\nKeyError: 1'
    assert final_exception(printed(f'raise RuntimeError("{inner}")\n')).type == "RuntimeError"


def test_exceptions_of_workers_and_causes_are_found_too(printed):
    quoted = "Caught\\nOriginal Traceback (most recent call last):\\n  File \\'w.py\\'\\nKeyError: 1"
    stderr = printed(f"try:\n    int('x')\nexcept ValueError as e:\n    raise RuntimeError('{quoted}') from e\n")
    assert [type_ for type_, _ in exceptions_in(stderr)] == ["ValueError", "RuntimeError", "KeyError"]


def test_ranks_and_colours_are_no_part_of_what_was_printed(printed):
    stderr = "".join(
        f"[rank0]: {line}" for line in printed("raise ValueError('\\x1b[1mone\\x1b[0m')\n").splitlines(keepends=True)
    )
    assert final_exception(stderr) == ("ValueError", "one", 1)


def test_no_traceback_no_exception(printed):
    assert final_exception(printed("import sys; print('Error: no', file=sys.stderr); sys.exit(1)\n")) is None


def test_a_child_s_traceback_is_not_the_program_s_own(printed):
    assert final_exception(printed("import subprocess, sys; subprocess.run([sys.executable, '-c', '1/0'])\n")) is None


def test_warnings_are_found_with_their_category(printed):
    stderr = printed("import warnings\nwarnings.warn('first', FutureWarning)\nwarnings.warn('second')\n")
    assert [(category, text.split("\n")[0]) for category, text in warnings_in(stderr)] == [
        ("FutureWarning", "first"),
        ("UserWarning", "second"),
    ]


def test_a_deprecation_inside_a_library_is_not_the_program_s_own():
    printed = "/lib/torch/jit.py:3: DeprecationWarning: old\n  warn()\n/tmp/x/program.py:4: DeprecationWarning: yours\n"
    assert [text.split("\n")[0] for _, text in warnings_in(printed)] == ["yours"]


def test_warnings_of_torch_s_loggers_are_found():
    line = "W1121 07:57:00.345000 17511 torch/_dynamo/convert_frame.py:1994] [0/8] torch._dynamo hit config.recompile_limit (8)"
    assert warnings_in(line) == [("Warning", "torch._dynamo hit config.recompile_limit (8)")]


def test_an_assertion_on_a_device_counts_as_printed():
    line = "/x/Loss.cu:242: nll_loss: block: [0,0,0], thread: [1,0,0] Assertion `t >= 0 && t < n_classes` failed."
    assert exceptions_in(line) == [("", "Assertion `t >= 0 && t < n_classes` failed.")]


def test_warnings_of_cpp_code_are_found():
    assert [
        category for category, _ in warnings_in("[W1121 07:00:00.1 Module.cpp:12] Warning: careful (function f)\n")
    ] == ["Warning"]


@pytest.mark.parametrize(
    ("type_", "message", "wanted"),
    [
        ("RuntimeError", "expected 3 values", True),
        ("torch.special.RuntimeError", "expected 3 values and more", True),
        ("ValueError", "expected 3 values", False),
        ("RuntimeError", "it expected 3 values", False),
    ],
)
def test_a_template_matches_from_the_message_s_beginning(type_, message, wanted):
    assert matches(compile_template("RuntimeError: expected {int} values"), type_, message) is wanted


def test_paths_of_the_machine_are_cut():
    text = 'File "/home/me/.venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 3\n'
    text += 'File "/usr/lib/python3.11/runpy.py" of /opt/venv/bin/python3.11'
    assert shorten_paths(text) == 'File "…/torch/nn/modules/module.py", line 3\nFile "…/runpy.py" of …/python'

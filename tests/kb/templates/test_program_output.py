"""What a program printed is read as Python printed it, not as the program would like it read."""

import re
import subprocess
import sys
from re import _parser as re_parser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.templates import program_output
from kb.templates.program_output import (
    MAX_MESSAGE_CHARS,
    MAX_MESSAGES,
    exceptions_in,
    excerpt,
    last_line,
    matches,
    matches_any,
    printed_warnings,
    shorten_paths,
    warnings_in,
)
from kb.templates.template import compile_template


@pytest.fixture
def printed(tmp_path):
    def run(source):
        (tmp_path / "program.py").write_text(source)
        return subprocess.run(
            [sys.executable, "-W", "default", "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        ).stderr

    return run


def test_exceptions_are_found_with_type_and_message(printed):
    assert exceptions_in(printed("def f():\n    raise ValueError('one\\ntwo')\n\nf()\n")) == [
        ("ValueError", "one\ntwo\n")
    ]
    assert exceptions_in(printed("assert 1 == 2\n")) == [("AssertionError", "")]


def test_the_last_of_a_chain_is_the_last(printed):
    stderr = printed("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e\n")
    assert [type_ for type_, _ in exceptions_in(stderr)] == ["ZeroDivisionError", "KeyError"]
    assert last_line(stderr) == "KeyError: 'k'"


def test_exceptions_of_workers_and_causes_are_found_too(printed):
    quoted = "Caught\\nOriginal Traceback (most recent call last):\\n  File \\'w.py\\'\\nKeyError: 1"
    stderr = printed(f"try:\n    int('x')\nexcept ValueError as e:\n    raise RuntimeError('{quoted}') from e\n")
    assert [type_ for type_, _ in exceptions_in(stderr)] == ["ValueError", "RuntimeError", "KeyError"]


def test_ranks_and_colours_are_no_part_of_what_was_printed(printed):
    stderr = "".join(
        f"[rank0]: {line}" for line in printed("raise ValueError('\\x1b[1mone\\x1b[0m')\n").splitlines(keepends=True)
    )
    assert exceptions_in(stderr) == [("ValueError", "one\n")]


def test_no_traceback_no_exception(printed):
    assert exceptions_in(printed("import sys; print('Error: no', file=sys.stderr); sys.exit(1)\n")) == []
    assert exceptions_in("a line about a Traceback (most recent call last):\nValueError: no\n") == []


def test_warnings_are_found_with_their_category(printed):
    stderr = printed("import warnings\nwarnings.warn('first', FutureWarning)\nwarnings.warn('second')\n")
    assert [(category, text.split("\n")[0]) for category, text in warnings_in(stderr)] == [
        ("FutureWarning", "first"),
        ("UserWarning", "second"),
    ]


def test_warnings_name_the_file_and_line_that_they_are_about():
    stderr = "/tmp/run/program.py:12: UserWarning: one\n  x = 1\nUserWarning: two\n[W1121 07:00:00.1 x.cpp:3] three\n"
    found = [(warning.file, warning.line, warning.text.split("\n")[0]) for warning in printed_warnings(stderr)]
    assert found == [("/tmp/run/program.py", 12, "one"), ("", 0, "two"), ("", 0, "three")]


def test_a_warning_that_is_repeated_is_found_once_and_hides_no_other():
    stderr = (
        "/x/a.py:1: UserWarning: one\n" * 5000
        + "/x/a.py:1: DeprecationWarning: old\n" * 5000
        + "/x/b.py:1: UserWarning: two\n"
    )
    assert [text.split("\n")[0] for _, text in warnings_in(stderr)] == ["one", "two"]


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


HOSTILE = {
    "C++ warnings": "[W1121 x.cpp:12] Warning: careful\n",
    "open C++ warnings": "[W\n",
    "one long C++ warning": "[W1",
    "logged warnings": "W1121 07:57:00.345000 17511 torch/x.py:1994] [0/8] hit\n",
    "tracebacks": 'Traceback (most recent call last):\n  File "/tmp/run/program.py", line 3, in <module>\nRuntimeError: x\n',
    "headers alone": "Traceback (most recent call last):\n",
    "nested headers": "Original Traceback (most recent call last):\n  Traceback (most recent call last):\n",
    "huge line numbers": 'Traceback (most recent call last):\n  File "program.py", line '
    + "9" * 5000
    + ", in <module>\nRuntimeError: x\n",
    "huge numbers of warnings": "x:" + "9" * 5000 + ": UserWarning: y\n",
    "Python warnings": "x:1: UserWarning: y\n",
    "categories": "a.b.c.d.e.f.g.h.i.j.k.l\n",
    "colons": "a:1:1:1:1:1:1:1:1\n",
    "one word": "a",
    "dotted word": "a.",
    "long paths": "/a",
    "folders of packages": "/a/site-packages",
    "folders of Python": "/lib/python3.1",
    "short paths": "/aaaaaaaaaaa ",
    "interpreters": "/bin/python",
    "assertions": "] Assertion `",
    "colours": "\x1b[0m",
    "open colours": "\x1b[",
    "ranks": "[rank0]: \n",
    "empty lines": "\n",
    "spaces": " ",
    "Chinese": "多\n",
}


def read(text):
    """Read a program's output as kb verify does."""
    template = compile_template("RuntimeError: {text} is wrong {text} here")
    for type_, message in [*exceptions_in(text), *warnings_in(text)]:
        assert len(message) <= MAX_MESSAGE_CHARS
        matches_any([template], type_, message)
    shorten_paths(text)
    last_line(text)


def work(text):
    """Return how many lines of Python reading takes, in this module and those it calls."""
    count = 0

    def trace(_frame, event, _argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", HOSTILE)
def test_twice_the_output_takes_at_most_twice_the_work(name):
    piece = HOSTILE[name]
    read(piece)  # compiles patterns
    half, whole = (work(piece * (size // len(piece) + 1)) for size in (30_000, 60_000))
    assert whole <= 2 * half + 500


def test_no_pattern_repeats_without_bound_and_backtracks():
    """A pattern that starts at a line or a literal, and repeats possessively or a bounded number of times, is linear in the text."""
    patterns = {name: value for name, value in vars(program_output).items() if isinstance(value, re.Pattern)}
    assert len(patterns) >= 8
    for name, pattern in patterns.items():
        assert not list(unbounded(re_parser.parse(pattern.pattern, pattern.flags))), name


def unbounded(parsed):
    """Yield each repetition of a parsed pattern that has no bound and can be given back."""
    for operation, argument in parsed:
        if operation in (re_parser.MAX_REPEAT, re_parser.MIN_REPEAT):
            if argument[1] == re_parser.MAXREPEAT:
                yield operation
            yield from unbounded(argument[2])
        elif operation in (re_parser.POSSESSIVE_REPEAT, re_parser.ATOMIC_GROUP):
            continue
        elif operation is re_parser.BRANCH:
            for branch in argument[1]:
                yield from unbounded(branch)
        elif operation is re_parser.SUBPATTERN:
            yield from unbounded(argument[3])
        elif operation in (re_parser.ASSERT, re_parser.ASSERT_NOT):
            yield from unbounded(argument[1])


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_read_of_an_output_is_bounded(name, monkeypatch):
    lexed = []
    monkeypatch.setattr(program_output, "lex", lambda text: lexed.append(len(text)) or [])
    read(HOSTILE[name] * (500_000 // len(HOSTILE[name])))
    assert len(lexed) <= 2 * MAX_MESSAGES
    assert sum(lexed) <= 2 * MAX_MESSAGES * MAX_MESSAGE_CHARS


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([*HOSTILE.values(), "\n", "RuntimeError: ", "Warning: ", "]", "x" * 300, "1" * 400])),
    st.text(),
)
def test_no_output_breaks_the_reader(pieces, text):
    output = "".join(pieces) + text
    read(output)
    assert len(exceptions_in(output)) <= 2 * MAX_MESSAGES
    assert len(warnings_in(output)) <= MAX_MESSAGES
    assert len(excerpt(output, 100)) <= 103


def test_an_excerpt_keeps_beginning_and_end():
    assert excerpt("a" * 10, 10) == "a" * 10
    assert excerpt("a" * 50 + "b" * 50, 10) == "aaaaa\n…\nbbbbb"

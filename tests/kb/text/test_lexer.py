"""Messages and templates are cut into the same typed tokens, whatever a paste did to them."""

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kb
from kb.text.lexer import lex, numbers
from tests.kb.work import calls_of


def kinds(text):
    return [(token.text, token.type) for token in lex(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch.Size([1, 512])", [("torch.size([1, 512])", "shape")]),
        ("[64 x 3]", [("[64 x 3]", "shape")]),
        ("32x512", [("32x512", "shape")]),
        ("[]", [("[]", "shape")]),
        ("20.00 MiB", [("20.00 mib", "size")]),
        ("cuda:0", [("cuda:0", "device")]),
        ("torch.cuda.FloatTensor", [("torch.cuda.floattensor", "dtype")]),
        ("unsigned char", [("unsigned char", "dtype")]),
        ("c10::Half", [("c10::half", "dtype")]),
        ("CUDABFloat16Type", [("cudabfloat16type", "dtype")]),
        ("MPSHalfType", [("mpshalftype", "dtype")]),
        ("CudaType", [("cudatype", "word")]),
        ("0x7f1c", [("0x7f1c", "address")]),
        ("1e-05", [("1e-05", "num")]),
        ("2.13.0+cpu", [("2.13.0+cpu", "version")]),
        ("'0.weight'", [("0.weight", "word")]),
        ("/tmp/x/a.pt", [("/tmp/x/a.pt", "path")]),
        (r"C:\x\y.py", [(r"c:\x\y.py", "path")]),
        ("ProcessGroupNCCL.cpp:828", [("processgroupnccl.cpp:828", "path")]),
        ("<class 'NoneType'>", [("nonetype", "word")]),
        ("input/output", [("input", "word"), ("output", "word")]),
        ("dimension 3. Got", [("dimension", "word"), ("3", "num"), ("got", "word")]),
        ("in the list. A 4-d", [*((word, "word") for word in "in the list a".split()), ("4", "num"), ("d", "word")]),
        ("3 exp", [("3", "num"), ("exp", "word")]),
        ("报错RuntimeError", [("报错", "cjk"), ("runtimeerror", "word")]),
    ],
)
def test_what_varies_between_readers_is_one_token_with_its_type(text, expected):
    assert kinds(text) == expected


def test_quotes_case_and_white_space_make_no_difference():
    plain = [token.text for token in lex("size of 'weight' must match")]
    assert [token.text for token in lex('Size  of "WEIGHT"\nmust match!')] == plain


@given(st.text(max_size=400))
def test_tokens_stand_where_they_say_in_any_text(text):
    for token in lex(text):
        assert text[token.start : token.end] == token.raw


@pytest.mark.parametrize(
    "unit",
    [
        "a.",
        "a/",
        "/a",
        "1,",
        "[1, ",
        "(",
        "<class ",
        "x1x",
        "1.1.",
        "a::",
        "-",
        "C:\\",
        "torch.size([",
        "0x",
        "é",
        "1e",
    ],
)
def test_the_work_grows_with_the_text_and_no_faster(unit):
    """That a pattern cannot backtrack far is tested in test_patterns.py."""
    shorter, longer = unit * (20_000 // len(unit)), unit * (40_000 // len(unit))
    lex(shorter)
    assert calls_of(lambda: lex(longer)) <= 2 * calls_of(lambda: lex(shorter)) + 20
    assert sum(len(token.raw) for token in lex(longer)) <= len(longer)


def test_the_numbers_of_a_size_are_read_as_written():
    assert numbers("torch.Size([1, 512])") == [1, 512]
    assert numbers("1x512") == [1, 512]
    assert numbers("[*, -1]") == [-1, -1]


def test_no_pattern_repeats_a_group_possessively():
    """Python before 3.11.5 keeps what such a group read before it failed (python/cpython#106052): `(?:\\.\\d++)?+` takes the full stop of `3. `."""
    possessive = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+")
    assert possessive.search(r"(?:\.\d)?+")
    assert not possessive.search(r"(?>(?:\.\d++)?)\)?+")
    strings = [
        (source.name, node.value)
        for source in Path(kb.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(source.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert any("(?P<shape>" in text for _, text in strings)
    assert not [(name, text) for name, text in strings if possessive.search(text)]

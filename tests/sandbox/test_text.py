"""What came out of a sandbox is harmless on a terminal and in a CI log, and otherwise what it was."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import printable


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain é 多\n\ttab", "plain é 多\n\ttab"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\sixel", "sixel"),
        ("\x1b(B\x1bcreset", "reset"),
        ("\x9b2Jcleared", "cleared"),
        ("10%\r20%\r\n", "10%\n20%\n"),
        ("nul\x00bell\x07back\x08", "nulbellback"),
        ("\u202eevil\u202c\u2066x\u2069", "evilx"),
        ("a::b and torch::Tensor stay", "a::b and torch::Tensor stay"),
    ],
)
def test_sequences_go_and_text_stays(raw, shown):
    assert printable(raw) == shown


@pytest.mark.parametrize(
    "command",
    ["::error::x", "::error file=a.py,line=1::x", "::set-output name=a::b", "::add-mask::x", "##[error]x", "##[group]"],
)
def test_ci_commands_are_broken(command):
    assert not re.search(r"^\s*(::[a-z-]+.*::|##\[)", printable(command))
    assert printable(command).replace("\u200b", "") == command


def test_a_command_put_together_by_removing_a_sequence_is_broken_too():
    assert not printable("::err\x1b[0mor::x").startswith("::error::")


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\x1b[]0;m\x07\\:#[\r\n\x9b"))))
def test_no_control_character_remains(text):
    shown = printable(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert not re.search(r"::[a-zA-Z-]+(?: [^\n]*)?::|##\[", shown)
    assert printable(shown) == shown

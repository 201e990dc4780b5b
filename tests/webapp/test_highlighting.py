"""Differences between programs: nothing lost, nothing invented, changed words marked, markup escaped."""

import re

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from webapp.highlighting import difference, highlight

programs = st.lists(st.text("ab(=\"'<&># \t", max_size=12), max_size=8).map("\n".join)


def text(lines):
    return "\n".join(unmarked(line.html) for line in lines)


def unmarked(html):
    return str(Markup(re.sub(r"</?(?:span|b)[^>]*>", "", html)).unescape())


@given(programs, programs)
def test_both_programs_can_be_read_back_from_their_difference(before, after):
    lines = difference(before, after)
    assert text(line for line in lines if line.sign != "added") == before.rstrip("\n")
    assert text(line for line in lines if line.sign != "removed") == after.rstrip("\n")


@given(programs)
def test_highlighting_changes_no_character(source):
    assert unmarked(highlight(source)) == source.rstrip("\n")


def test_the_changed_words_of_a_line_are_marked():
    removed, added = difference("x = f(a, b)\n", "x = f(a, c)\n")
    assert (removed.sign, added.sign) == ("removed", "added")
    assert "<b>b</b>" in removed.html
    assert "<b>c</b>" in added.html
    assert "<b>f</b>" not in added.html


def test_lines_without_likeness_are_not_marked_word_by_word():
    assert all("<b>" not in line.html for line in difference("import os\n", "y = torch.zeros(3)\n"))


def test_markup_in_a_program_is_escaped():
    (line,) = difference("s = '<b>&'\n", "s = '<b>&'\n")
    assert "&lt;b&gt;&amp;" in line.html

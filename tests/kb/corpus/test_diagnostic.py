"""A fault is one line everywhere, whatever a file's name or content has in it."""

import pytest

from kb.corpus.diagnostic import Diagnostic, display_path, github_annotation


def test_a_fault_is_written_with_file_line_and_rule():
    assert str(Diagnostic("a.md", 3, "KB001", "wrong; mend it")) == "a.md:3: KB001 wrong; mend it"


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "\x1b[2Jx", "\u202eabc", "##[error]x", "\ud800", "\u2028"])
def test_nothing_in_it_is_obeyed_by_a_terminal_or_a_log(text):
    for line in (str(Diagnostic("a.md", 1, "KB001", text)), github_annotation("error", "a.md", 1, "KB001", text)):
        assert line.isprintable()
        assert "##[" not in line


def test_an_annotation_escapes_what_separates_its_parts():
    fault = Diagnostic("a,b:c%.md", 3, "KB001", "50% of x::y, no\nmore")
    assert (
        github_annotation("error", fault.path, fault.line, fault.rule, fault.what)
        == "::error file=a%2Cb%3Ac%25.md,line=3,title=KB001::50%25 of x::y, no%0Amore"
    )


def test_a_long_sentence_keeps_its_beginning_and_its_end():
    line = str(Diagnostic("a.md", 1, "KB001", "begins " + "x" * 10_000 + "; mend it"))
    assert len(line) < 1000
    assert "begins" in line
    assert line.endswith("; mend it")


def test_a_path_is_shown_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert display_path(tmp_path / "topic" / "a.md") == "topic/a.md"
    monkeypatch.chdir("/")
    assert display_path(tmp_path / "a.md") == str(tmp_path / "a.md").lstrip("/")


def test_a_link_is_shown_as_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").symlink_to("/etc/hostname")
    (tmp_path / "b.md").symlink_to("b.md")
    assert (display_path(tmp_path / "a.md"), display_path(tmp_path / "b.md")) == ("a.md", "b.md")


def test_a_path_that_would_be_a_command_is_not_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert display_path(tmp_path / "::error::x" / "a\nb.md") == r":\x3aerror:\x3ax/a\nb.md"

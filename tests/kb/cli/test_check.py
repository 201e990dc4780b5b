"""kb check: what it selects, and how it prints what it finds."""

import json
import os

import pytest

from kb.cli import main
from tests.entry_factory import EntryFactory

pytestmark = pytest.mark.usefixtures("no_shipped_entries")


@pytest.fixture
def known(entries, monkeypatch):
    """A folder of entries that KB_ENTRIES names."""
    monkeypatch.setenv("KB_ENTRIES", str(entries.folder))
    return entries


def checked(capsys, *arguments):
    """The exit status, and what was printed: faults, and the line that counts."""
    status = main(["check", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_a_file_brings_its_folder_along(entries, capsys):
    path = entries.write("one", ("kind: error", "kind: odd"))
    entries.write("two")
    status, out, err = checked(capsys, path)
    assert (status, err) == (1, "1 entry checked, 1 fault\n")
    assert out.startswith(f'{path}:5: KB004 kind: "odd" is not one of')


@pytest.mark.parametrize("below", ["", "tensors"])
def test_a_folder_means_the_entries_below_it(entries, capsys, below):
    entries.write("one")
    entries.write("two")
    entries.write_file("notes.md", "# no entry")
    assert checked(capsys, entries.folder / below) == (0, "", "2 entries checked, no fault\n")


def test_a_known_folder_may_be_named_through_a_link(known, tmp_path, capsys):
    known.write("one")
    (tmp_path / "link").symlink_to(known.folder)
    assert checked(capsys, tmp_path / "link" / "tensors" / "one.md") == (0, "", "1 entry checked, no fault\n")


@pytest.mark.parametrize("name", ["empty", "tensors/one.txt"])
def test_what_is_no_entry_is_not_called_checked(entries, capsys, name):
    entries.write("one")
    (entries.folder / "empty").mkdir()
    entries.write_file("tensors/one.txt", "")
    status, _, err = checked(capsys, entries.folder / name)
    assert status == 2
    assert "<folder of entries>/<topic>/<slug>.md" in err


def test_a_named_fifo_is_a_fault_and_does_not_hang(entries, capsys):
    path = entries.write("one").with_name("two.md")
    os.mkfifo(path)
    status, out, _ = checked(capsys, path)
    assert (status, out) == (1, f"{path}:1: KB001 is a FIFO; only regular files are read\n")


def test_a_name_cannot_speak_to_the_log_it_is_printed_in(entries, capsys):
    path = entries.write("one").with_name("::set-output name=x::y\n::error::z.md")
    path.write_text("")
    for form in ("text", "github"):
        _, out, _ = checked(capsys, path, "--format", form)
        lines = out.splitlines()
        assert all(line.startswith(f"{'::error file=' if form == 'github' else ''}{path.parent}") for line in lines)
        assert all(line.isprintable() for line in lines)


def test_json_gives_path_line_rule_and_sentence(entries, capsys):
    path = entries.write("one", ("kind: error", "kind: odd"))
    (fault,) = json.loads(checked(capsys, path, "--format", "json")[1])
    assert fault["path"] == str(path)
    assert (fault["line"], fault["rule"]) == (5, "KB004")
    assert set(fault) == {"path", "line", "rule", "what"}


def test_two_folders_may_be_checked_together(tmp_path, capsys):
    folders = [EntryFactory(tmp_path / name) for name in ("a", "b")]
    for number, folder in enumerate(folders):
        folder.write(f"entry-{number}")
    assert checked(capsys, *(folder.folder for folder in folders)) == (0, "", "2 entries checked, no fault\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ignore", "KB999"], "there is no rule KB999"),
        (["/nowhere"], "no such file"),
        (["--base", "no-such-revision"], "git: "),
    ],
)
def test_what_cannot_be_done_is_one_line(known, arguments, said, capsys):
    known.write("one")
    status, out, err = checked(capsys, *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1

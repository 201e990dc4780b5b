"""kb misses: what readers asked and no entry answers, most wanted first."""

import json

import pytest

from kb.cli import main

misses = pytest.importorskip("webapp.misses")


@pytest.fixture
def kept(tmp_path, monkeypatch):
    path = tmp_path / "misses.sqlite"
    for message, count in (("RuntimeError: seldom", 1), ("RuntimeError: often", 3)):
        for _ in range(count):
            misses.count_miss(path, message)
    misses.count_helped(path, "some-entry", helped=True)
    misses.count_helped(path, "some-entry", helped=False)
    monkeypatch.setenv("KB_WEB_MISSES", str(path))
    return path


def test_the_most_wanted_comes_first(kept, capsys):
    assert main(["misses"]) == 0
    assert capsys.readouterr().out == "     3  RuntimeError: often\n     1  RuntimeError: seldom\n"


def test_as_json_and_no_more_than_asked(kept, capsys):
    assert main(["misses", "--json", "-n", "1"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"message": "RuntimeError: often", "count": 3}]


def test_the_entries_that_did_not_help(kept, capsys):
    assert main(["misses", "--helped", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"entry": "some-entry", "helped": 1, "not_helped": 1}]
    assert main(["misses", "--helped"]) == 0
    assert capsys.readouterr().out == "     1  some-entry  helped 1\n"


def test_a_file_can_be_named(kept, capsys, monkeypatch):
    monkeypatch.delenv("KB_WEB_MISSES")
    assert main(["misses", str(kept)]) == 0
    assert "often" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["/nowhere/misses.sqlite"], ["-n", "0"]])
def test_nothing_kept_is_said_in_one_line(arguments, capsys, monkeypatch):
    monkeypatch.delenv("KB_WEB_MISSES", raising=False)
    assert main(["misses", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1

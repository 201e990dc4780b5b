"""kb misses: what readers asked and no entry answers, most wanted first."""

import json

import pytest

from kb.cli import main

feedback = pytest.importorskip("webapp.feedback")


@pytest.fixture
def kept(tmp_path, monkeypatch):
    path = tmp_path / "misses.sqlite"
    store = feedback.SqliteFeedback(path)
    for message, count in (("RuntimeError: seldom", 1), ("RuntimeError: often", 3)):
        for _ in range(count):
            store.count_miss(message)
    store.count_vote("some-entry", helped=True, address="192.0.2.1")
    store.count_vote("some-entry", helped=False, cause=2, address="192.0.2.2")
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


def test_the_causes_that_were_not_the_reader_s(kept, capsys):
    assert main(["misses", "--causes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"entry": "some-entry", "cause": 2, "not_helped": 1}]
    assert main(["misses", "--causes"]) == 0
    assert capsys.readouterr().out == "     1  some-entry  cause 2\n"


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

"""A badge stands only for programs that are recorded as they are now."""

import dataclasses
from pathlib import Path

import pytest

from kb.ledger import Record, case_hash, load_ledgers, record
from kb.parse import parse_text


@pytest.fixture
def case(good_entry):
    return parse_text(good_entry, Path("t/add-two.md"))[0].cases[0]


def made(case, **changes):
    values = {
        "hash": case_hash(case),
        "outcome": "passed",
        "printed": "RuntimeError: x",
        "seconds": 0.1,
        "date": "2026-01-02",
        "torch": "2.13.0+cpu",
        "device": "cpu",
    }
    return Record(**(values | changes))


def test_what_was_recorded_is_read_back(tmp_path, case):
    (path,) = record(tmp_path, {case.id: made(case)}, [case.id])
    assert path.name == "2.13.0-cpu.json"
    ledgers = load_ledgers([tmp_path])
    assert ledgers.records(case) == [made(case)]
    assert ledgers.state(case) == "verified"
    assert ledgers.printed() == {case.id: "RuntimeError: x"}


@pytest.mark.parametrize("change", [{"shm": 1}, {"device": "cuda"}, {"fresh": True}, {"timeout": 3.0}])
def test_a_changed_case_has_no_badge_and_says_so(tmp_path, case, change):
    record(tmp_path, {case.id: made(case)}, [case.id])
    changed = dataclasses.replace(case, **change)
    ledgers = load_ledgers([tmp_path])
    assert ledgers.records(changed) == []
    assert ledgers.state(changed) == "changed"


def test_a_changed_program_has_no_badge(tmp_path, case):
    record(tmp_path, {case.id: made(case)}, [case.id])
    fix = dataclasses.replace(case.fix, source=case.fix.source + "\n")
    assert load_ledgers([tmp_path]).state(dataclasses.replace(case, fix=fix)) == "changed"


def test_where_a_program_stands_in_the_file_is_no_change(case):
    assert case_hash(dataclasses.replace(case, repro=dataclasses.replace(case.repro, line=99))) == case_hash(case)


def test_a_failed_case_is_not_verified(tmp_path, case):
    record(tmp_path, {case.id: made(case, outcome="failed")}, [case.id])
    assert load_ledgers([tmp_path]).state(case) == "unverified"


def test_recording_some_cases_keeps_the_others_and_drops_those_that_are_gone(tmp_path, case):
    record(tmp_path, {"a": made(case), "b": made(case)}, ["a", "b"])
    record(tmp_path, {"c": made(case)}, ["b", "c"])
    assert set(load_ledgers([tmp_path]).by_case) == {"b", "c"}


def test_the_newest_torch_comes_first(tmp_path, case):
    for version in ("2.9.1", "2.13.0", "2.4.0"):
        record(tmp_path, {case.id: made(case, torch=version)}, [case.id])
    assert [found.torch for found in load_ledgers([tmp_path]).records(case)] == ["2.13.0", "2.9.1", "2.4.0"]


def test_a_broken_ledger_is_named(tmp_path):
    (tmp_path / "verified").mkdir()
    (tmp_path / "verified" / "2.0.0-cpu.json").write_text("{")
    with pytest.raises(ValueError, match=r"2\.0\.0-cpu\.json"):
        load_ledgers([tmp_path])


def test_a_repro_that_printed_nothing_is_read_back_too(tmp_path, case):
    record(tmp_path, {case.id: made(case, outcome="failed", printed="")}, [case.id])
    assert load_ledgers([tmp_path]).printed() == {case.id: ""}

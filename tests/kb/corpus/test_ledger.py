"""A badge stands only for programs that are recorded as they are now."""

import dataclasses
import json

import pytest

from kb.corpus.ledger import LedgerError, Record, load_ledgers, program_hash, write_records
from tests.entry_factory import CheckProgram


@pytest.fixture
def case(entries):
    entries.write()
    return entries.corpus().entries["add-two"].cases[0]


def made(case, **changes):
    values = {
        "hash": program_hash(case),
        "outcome": "passed",
        "printed": "RuntimeError: x",
        "seconds": 0.1,
        "date": "2026-01-02",
        "torch": "2.13.0+cpu",
        "device": "cpu",
    }
    return Record(**(values | changes))


def test_what_was_recorded_is_read_back(tmp_path, case):
    (path,) = write_records(tmp_path, {case.id: made(case)}, [case])
    assert path.name == "2.13.0-cpu.json"
    ledgers = load_ledgers([tmp_path])
    assert ledgers.records(case) == [made(case)]
    assert ledgers.state(case) == "verified"
    assert ledgers.printed() == {case.id: "RuntimeError: x"}


@pytest.mark.parametrize("change", [{"shm": 1}, {"device": "cuda"}, {"fresh": True}, {"timeout": 3.0}])
def test_a_changed_case_has_no_badge_and_says_so(tmp_path, case, change):
    write_records(tmp_path, {case.id: made(case)}, [case])
    changed = dataclasses.replace(case, **change)
    ledgers = load_ledgers([tmp_path])
    assert ledgers.records(changed) == []
    assert ledgers.state(changed) == "changed"


def test_a_changed_program_has_no_badge(tmp_path, case):
    write_records(tmp_path, {case.id: made(case)}, [case])
    fix = dataclasses.replace(case.fix, source=case.fix.source + "\n")
    assert load_ledgers([tmp_path]).state(dataclasses.replace(case, fix=fix)) == "changed"


def test_where_a_program_stands_in_the_file_is_no_change(case):
    assert program_hash(dataclasses.replace(case, repro=dataclasses.replace(case.repro, line=99))) == program_hash(case)


def test_two_builds_of_one_version_share_a_ledger_and_each_record_keeps_its_own(tmp_path, case):
    named = [dataclasses.replace(case, name=name) for name in ("a", "b")]
    others = {other.id: made(case) for other in named}
    own_build = made(case, torch="2.13.0+cu130", packages={"torchvision": "0.28.0"})
    (path, again) = write_records(tmp_path, {case.id: own_build, **others}, [case, *named])
    assert path == again
    assert json.loads(path.read_text("utf-8"))["torch"] == "2.13.0+cpu"
    assert load_ledgers([tmp_path]).records(case) == [own_build]


@pytest.mark.parametrize(
    "values", [{"packages": ["a"]}, {"packages": {"a": 1}}, {"torch": "2.12.0+cpu"}, {"torch": "../2.13.0"}]
)
def test_a_record_with_strange_versions_is_left_out(tmp_path, case, values):
    (path,) = write_records(tmp_path, {case.id: made(case)}, [case])
    ledger = json.loads(path.read_text("utf-8"))
    ledger["cases"][case.id] |= values
    path.write_text(json.dumps(ledger), "utf-8")
    ledgers = load_ledgers([tmp_path])
    assert (ledgers.records(case), len(ledgers.faults)) == ([], 1)


def test_what_is_required_is_a_part_of_what_was_proved(case):
    assert program_hash(dataclasses.replace(case, requires=("onnx",))) != program_hash(case)


def test_checks_have_records_as_cases_have(entries):
    entries.write(checks=[CheckProgram()])
    (path,) = entries.record(printed="torch.Size([3])")
    (check,) = (entry := entries.corpus().entries["add-two"]).checks
    ledgers = load_ledgers([entries.folder])
    assert (ledgers.state(check), ledgers.records(check)[0].printed) == ("verified", "torch.Size([3])")
    assert sorted(runnable.id for runnable in entry.runnables) == list(json.loads(path.read_text())["cases"])
    changed = dataclasses.replace(check, program=dataclasses.replace(check.program, source="print(1)\n"))
    assert ledgers.state(changed) == "changed"


def test_a_failed_case_is_not_verified(tmp_path, case):
    write_records(tmp_path, {case.id: made(case, outcome="failed")}, [case])
    assert load_ledgers([tmp_path]).state(case) == "unverified"


def test_recording_some_cases_keeps_the_others_and_drops_those_that_are_gone(tmp_path, case):
    a, b, c = (dataclasses.replace(case, name=name) for name in "abc")
    write_records(tmp_path, {a.id: made(case), b.id: made(case)}, [a, b])
    write_records(tmp_path, {c.id: made(case)}, [b, c])
    assert set(load_ledgers([tmp_path]).by_id) == {b.id, c.id}


def test_a_record_of_a_version_that_a_case_no_longer_holds_for_is_dropped(tmp_path, case):
    other = dataclasses.replace(case, name="other")
    write_records(tmp_path, {case.id: made(case, torch="2.2.2"), other.id: made(case, torch="2.2.2")}, [case, other])
    write_records(tmp_path, {other.id: made(case, torch="2.2.2")}, [dataclasses.replace(case, torch=">=2.3"), other])
    assert set(load_ledgers([tmp_path]).by_id) == {other.id}


def test_a_run_on_another_build_keeps_the_records_of_what_needs_a_build_for_the_cpu(tmp_path, case):
    cpu_alone = dataclasses.replace(case, name="cpu-alone", build="cpu")
    write_records(tmp_path, {cpu_alone.id: made(case)}, [case, cpu_alone])
    write_records(tmp_path, {case.id: made(case, torch="2.13.0+cu130")}, [case, cpu_alone])
    assert set(load_ledgers([tmp_path]).by_id) == {case.id, cpu_alone.id}
    write_records(tmp_path, {cpu_alone.id: made(case, torch="2.13.0+cu130")}, [case, cpu_alone])
    assert set(load_ledgers([tmp_path]).by_id) == {case.id}


def test_the_newest_torch_comes_first(tmp_path, case):
    for version in ("2.9.1", "2.13.0", "2.4.0"):
        write_records(tmp_path, {case.id: made(case, torch=version)}, [case])
    assert [record.torch for record in load_ledgers([tmp_path]).records(case)] == ["2.13.0", "2.9.1", "2.4.0"]


def write_ledger(folder, text, name="2.0.0-cpu.json"):
    path = folder / "verified" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


RECORD = {"hash": "x", "outcome": "passed", "printed": "", "seconds": 0.1, "date": "2026-01-02"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"torch": "2.0.0", "device": "cpu", "cases": NaN}', "NaN"),
        ('{"torch": "2.0.0", "device": "cpu", "cases": {}, "more": ' + "9" * 6000 + "}", "no JSON"),
        ('{"torch": "2.0.0", "device": "toaster", "cases": {}}', "no ledger"),
        ('{"torch": "the newest", "device": "cpu", "cases": {}}', "no version of torch"),
        ("[]", "no ledger"),
    ],
)
def test_a_ledger_that_cannot_be_read_is_a_fault_and_hides_no_other(tmp_path, case, text, said):
    write_records(tmp_path, {case.id: made(case)}, [case])
    write_ledger(tmp_path, text)
    ledgers = load_ledgers([tmp_path])
    assert ledgers.state(case) == "verified"
    (fault,) = ledgers.faults
    assert (fault.rule, fault.path) == ("KB052", str(tmp_path / "verified" / "2.0.0-cpu.json"))
    assert said in fault.what


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "proved"},
        {"seconds": "1"},
        {"seconds": -1},
        {"seconds": 10**400},
        {"seconds": True},
        {"date": "2026-99-99"},
        {"printed": None},
        {"printed": "x" * 100_000},
        {"gpu": "\ud800"},
        {"hash": 3},
    ],
)
def test_a_record_that_is_wrong_is_left_out_alone(tmp_path, change):
    cases = {"wrong": RECORD | change, "right": RECORD}
    write_ledger(tmp_path, json.dumps({"torch": "2.0.0", "device": "cpu", "cases": cases}))
    ledgers = load_ledgers([tmp_path])
    assert list(ledgers.by_id) == ["right"]
    assert ["wrong" in fault.what for fault in ledgers.faults] == [True]


def test_a_ledger_full_of_wrong_records_is_not_reported_record_by_record(tmp_path):
    cases = {f"case-{number}": {} for number in range(1000)}
    write_ledger(tmp_path, json.dumps({"torch": "2.0.0", "device": "cpu", "cases": cases}))
    assert len(load_ledgers([tmp_path]).faults) < 30


@pytest.mark.parametrize("torch", ["2.12.0.dev20261101+cpu", "2.13.0+cpu", "2.6.0a0+git1234567"])
def test_a_nightly_or_local_build_has_a_ledger_of_its_own(tmp_path, case, torch):
    (path,) = write_records(tmp_path, {case.id: made(case, torch=torch)}, [case])
    assert path.name == f"{torch.partition('+')[0]}-cpu.json"
    assert load_ledgers([tmp_path]).records(case)[0].torch == torch


def test_a_version_becomes_no_path(tmp_path, case):
    with pytest.raises(LedgerError, match="no version of torch"):
        write_records(tmp_path, {case.id: made(case, torch="../../2.0")}, [case])


def test_records_are_not_added_to_a_ledger_that_cannot_be_read(tmp_path, case):
    path = write_ledger(tmp_path, "{", "2.13.0-cpu.json")
    with pytest.raises(LedgerError, match="no JSON"):
        write_records(tmp_path, {case.id: made(case)}, [case])
    assert path.read_text() == "{"


def test_a_repro_that_printed_nothing_is_read_back_too(tmp_path, case):
    write_records(tmp_path, {case.id: made(case, outcome="failed", printed="")}, [case])
    assert load_ledgers([tmp_path]).printed() == {case.id: ""}

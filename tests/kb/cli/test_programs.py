"""kb list, kb verify and kb run know cases and checks alike."""

import json

import pytest

from kb.cli import main
from kb.corpus.ledger import load_ledgers
from tests.entry_factory import CheckProgram, Item, Programs

pytestmark = pytest.mark.torch


@pytest.fixture
def folder(entries, monkeypatch, no_shipped_entries):
    """A folder of entries that KB_ENTRIES names, with an entry that has a case and a check, and a symptom."""
    monkeypatch.setenv("KB_ENTRIES", str(entries.folder))
    entries.write(checks=[CheckProgram("shapes"), CheckProgram("on-gpu", "device=cuda")])
    item = Item(("It stands", "不动"), ("see [that](add-two.md).", "参见[这里](add-two.md)。"), [])
    entries.write("loss-stands-still", kind="symptom", messages=[], items=[item], cases=[], checks=[CheckProgram()])
    return entries


def test_the_list_has_symptoms(folder, capsys):
    assert main(["list", "--json", "--kind", "symptom"]) == 0
    listed = {entry["id"]: entry["kind"] for entry in json.loads(capsys.readouterr().out)}
    assert listed["loss-stands-still"] == "symptom"
    assert set(listed.values()) == {"symptom"}


def test_the_list_says_what_checks_wait_for(folder, capsys):
    assert main(["list", "--untested", "--topic", "tensors", "--json"]) == 0
    (entry,) = [entry for entry in json.loads(capsys.readouterr().out) if entry["id"] == "add-two"]
    assert entry["waits"] == {
        "add-two/sizes": "waits for a run of kb verify --record",
        "add-two/shapes": "waits for a run of kb verify --record",
        "add-two/on-gpu": "waits for a machine with cuda",
    }


def test_verify_records_checks_beside_cases(folder, capsys, tmp_path):
    report = tmp_path / "run.xml"
    arguments = ["verify", "add-two", "--backend", "process", "--record", "--junit", str(report)]
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["tensors", "2", "0", "1"]
    records = load_ledgers([folder.folder]).by_id
    assert set(records) == {"add-two/sizes", "add-two/shapes"}
    assert records["add-two/shapes"][0].printed == "torch.Size([3])\n"
    assert 'name="add-two/shapes"' in report.read_text()
    assert main(["list", "--untested", "--topic", "tensors", "--json"]) == 0
    (entry,) = [entry for entry in json.loads(capsys.readouterr().out) if entry["id"] == "add-two"]
    assert list(entry["waits"]) == ["add-two/on-gpu"]


def test_a_proof_asks_no_model_of_sentences(folder, monkeypatch):
    def no_model():
        pytest.fail("a proof would come out otherwise where the extra is installed")

    monkeypatch.setattr("kb.index.sentences.sentence_model", no_model)
    assert main(["verify", "add-two", "--backend", "process"]) == 0


def test_a_check_is_run_by_its_name(folder, capsys):
    assert main(["run", "add-two/shapes", "--backend", "process"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "torch.Size([3])\n"
    assert "check of add-two/shapes" in printed.err


def test_a_check_that_fails_is_a_failure(folder):
    folder.write("add-two", cases=[Programs()], checks=[CheckProgram(program="print(1)\nraise SystemExit(3)\n")])
    assert main(["run", "add-two/shapes", "--backend", "process"]) == 1


def test_a_name_that_is_none_is_answered_with_those_that_there_are(folder, capsys):
    assert main(["run", "add-two/shape", "--backend", "process"]) == 2
    assert "add-two/sizes, add-two/shapes, add-two/on-gpu" in capsys.readouterr().err

"""One broken file never takes another entry down, and no two entries have one slug."""

import os

import pytest

from kb.corpus.ledger import load_ledgers
from kb.corpus.loader import entry_folders, load
from kb.lint.linter import check
from tests.entry_factory import FIX, EntryFactory


def test_a_broken_entry_is_left_out_and_reported(entries):
    entries.write("good")
    entries.write("bad", ("kind: error", "kind: sometimes"))
    corpus = entries.corpus()
    assert list(corpus.entries) == ["good"]
    assert [(fault.rule, fault.line) for fault in corpus.faults] == [("KB004", 5)]
    assert corpus.faults[0].path.endswith("tensors/bad.md")


def test_programs_of_entries_that_are_not_looked_at_closely_may_be_no_python(entries):
    for slug in ("looked-at", "other"):
        entries.write(slug, (FIX, "total = = 3\n"))
    assert [fault.rule for fault in entries.corpus().faults] == ["KB010", "KB010"]
    corpus = load([entries.folder], programs_of=["looked-at"])
    assert (list(corpus.entries), [fault.rule for fault in corpus.faults]) == (["other"], ["KB010"])


def test_a_slug_is_taken_once_and_the_first_stays(tmp_path):
    first, second = EntryFactory(tmp_path / "a"), EntryFactory(tmp_path / "b")
    first.write("same", topic="tensors")
    second.write("same", topic="shapes")
    corpus = load([first.folder, second.folder])
    assert corpus.entries["same"].topic == "tensors"
    assert [fault.rule for fault in corpus.faults] == ["KB011"]


def test_redirects_lead_to_the_entry_that_claims_them(entries):
    entries.write("here", also=["there"])
    corpus = entries.corpus()
    assert corpus.get("there") is corpus.entries["here"]
    assert corpus.get("nowhere") is None


def test_further_folders_come_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("KB_ENTRIES", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))
    assert entry_folders()[-2:] == (tmp_path / "a", tmp_path / "b")
    assert entry_folders()[0].name in ("entries", "_entries")


def test_notes_beside_the_topics_are_no_entries(entries):
    entries.write("good")
    entries.write_file("SEEDS.md", "# not an entry\n")
    entries.write_file(".github/pull-request.md", "# not an entry\n")
    corpus = entries.corpus()
    assert (list(corpus.entries), corpus.faults) == (["good"], ())


HOSTILE = {
    "a date": "---\ntitle: 2024-99-99\n---\n",
    "a tag": "---\ntitle: !!int 'hello'\n---\n",
    "a large number": "---\ntitle: " + "9" * 6000 + "\n---\n",
    "deep YAML": "---\n" + "[" * 20_000 + "\n---\n",
    "a deep program": "---\n---\n## Run it\n\n```python repro\n" + "-" * 20_000 + "1\n```\n",
    "an unknown range": '---\nmessages: [{text: "a b c", torch: "<' + "9" * 5000 + '.1"}]\n---\n',
    "half characters": b"---\ntitle: \xed\xa0\x80\n---\n",
    "a NUL": b"---\ntitle: \x00\n---\n",
    "nothing": "",
    "a file that is too large": "---\n" + "x" * 100_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_entry_costs_itself_alone(entries, kind):
    entries.write("good")
    path = entries.write_file("tensors/hostile.md", HOSTILE[kind])
    corpus = entries.corpus()
    assert list(corpus.entries) == ["good"]
    assert {fault.path for fault in corpus.faults} == {str(path)}


def fifo(path):
    os.mkfifo(path)


def to_itself(path):
    path.symlink_to(path.name)


def to_an_endless_device(path):
    path.symlink_to("/dev/zero")


def to_a_file_outside(path):
    outside = path.parent.parent.parent / "secret.md"
    outside.write_text("a secret")
    path.symlink_to(outside)


def to_nothing(path):
    path.symlink_to("nowhere")


def folder(path):
    path.mkdir()


@pytest.mark.parametrize("create", [fifo, to_itself, to_an_endless_device, to_a_file_outside, to_nothing, folder])
@pytest.mark.parametrize("name", ["tensors/hostile.md", "kb.yaml", "exemptions.yaml", "verified/2.13.0-cpu.json"])
def test_what_is_no_regular_file_is_not_opened(entries, create, name):
    entries.write("good")
    path = entries.folder / name
    path.parent.mkdir(exist_ok=True)
    create(path)
    faults = [*check(entries.corpus()), *load_ledgers([entries.folder]).faults]
    assert list(entries.corpus().entries) == ["good"]
    assert {fault.path for fault in faults} == {str(path)}
    assert not [fault for fault in faults if "secret" in fault.what]


def test_a_link_to_a_regular_file_in_the_same_folder_is_followed(entries):
    (entries.folder / "tensors").mkdir(parents=True)
    entries.write_file("shared/texts/add-two.txt", entries.write().read_bytes())
    entries.path().unlink()
    entries.path().symlink_to("../shared/texts/add-two.txt")
    assert list(entries.corpus().entries) == ["add-two"]


@pytest.mark.parametrize("name", ["a\nb.md", "::error::x.md", "\x1b[31m.md", "a b.md", "-rf.md", "x" * 100 + ".md"])
def test_a_name_that_is_no_slug_is_one_printable_line(entries, name):
    entries.write("good")
    entries.write_file(f"tensors/{name}", "")
    faults = entries.corpus().faults
    assert {fault.rule for fault in faults} >= {"KB002"}
    for fault in faults:
        assert str(fault).isprintable()
        assert "::" not in fault.path

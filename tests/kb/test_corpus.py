"""One broken entry never takes the others down, and no two entries have one slug."""

import os

from kb.corpus import entry_folders, load


def write(folder, topic, slug, text):
    path = folder / topic / f"{slug}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_a_broken_entry_is_left_out_and_reported(tmp_path, good_entry):
    write(tmp_path, "tensors", "good", good_entry)
    write(tmp_path, "tensors", "bad", good_entry.replace("kind: error", "kind: sometimes"))
    corpus = load([tmp_path])
    assert list(corpus.entries) == ["good"]
    assert [(fault.rule, fault.line) for fault in corpus.faults] == [("KB004", 5)]
    assert corpus.faults[0].path.endswith("tensors/bad.md")


def test_a_slug_is_taken_once_and_the_first_stays(tmp_path, good_entry):
    write(tmp_path / "a", "tensors", "same", good_entry)
    write(tmp_path / "b", "shapes", "same", good_entry)
    corpus = load([tmp_path / "a", tmp_path / "b"])
    assert corpus.entries["same"].topic == "tensors"
    assert [fault.rule for fault in corpus.faults] == ["KB011"]


def test_redirects_lead_to_the_entry_that_claims_them(tmp_path, good_entry):
    write(tmp_path, "tensors", "here", good_entry.replace("sources:", "also: [there]\nsources:"))
    corpus = load([tmp_path])
    assert corpus.get("there") is corpus.entries["here"]
    assert corpus.get("nowhere") is None


def test_further_folders_come_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("KB_ENTRIES", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))
    assert entry_folders()[-2:] == (tmp_path / "a", tmp_path / "b")
    assert entry_folders()[0].name in ("entries", "_entries")


def test_notes_beside_the_topics_are_no_entries(tmp_path, good_entry):
    write(tmp_path, "tensors", "good", good_entry)
    (tmp_path / "SEEDS.md").write_text("# not an entry\n")
    corpus = load([tmp_path])
    assert (list(corpus.entries), corpus.faults) == (["good"], ())

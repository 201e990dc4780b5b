"""Only entries whose programs or messages differ from a revision count as changed."""

import subprocess

import pytest

from kb.changed import GitFailed, changed_since, left_behind
from kb.cli import main
from kb.corpus import load


@pytest.fixture
def checkout(tmp_path, good_entry):
    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", tmp_path, *arguments],
            check=True,
            capture_output=True,
        )

    for slug in ("one", "two", "three"):
        path = tmp_path / "entries" / "tensors" / f"{slug}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(good_entry, "utf-8")
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "entries")
    return tmp_path / "entries", git


def edit(folder, slug, old, new):
    path = folder / "tensors" / f"{slug}.md"
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def test_a_changed_program_and_a_new_entry_count_but_prose_does_not(checkout, good_entry):
    folder, _ = checkout
    edit(folder, "one", "torch.ones(3) +", "torch.ones(5) +")
    edit(folder, "two", "needs equal sizes", "wants equal sizes")
    (folder / "tensors" / "four.md").write_text(good_entry, "utf-8")
    assert sorted(changed_since(load([folder]), "HEAD")) == ["four", "one"]


def test_a_changed_message_counts(checkout):
    folder, git = checkout
    edit(folder, "three", "{dim:int}", "{d:int}")
    git("commit", "-qam", "message")
    assert changed_since(load([folder]), "HEAD~1") == ["three"]


def test_a_translation_is_left_behind_when_only_one_language_changes(checkout):
    folder, _ = checkout
    edit(folder, "one", "needs equal sizes", "wants equal sizes")
    edit(folder, "two", "needs equal sizes", "wants equal sizes")
    edit(folder, "two", "要求尺寸相同", "需要尺寸相同")
    edit(folder, "three", "torch.ones(3) +", "torch.ones(5) +")
    faults = left_behind(load([folder]), "HEAD")
    assert [(fault.rule, fault.path.endswith("one.md")) for fault in faults] == [("KB037", True)]


def test_nothing_changed(checkout):
    folder, _ = checkout
    assert changed_since(load([folder]), "HEAD") == []


def test_a_file_that_is_not_whole_is_no_reason_to_say_that_nothing_changed(checkout, monkeypatch, capsys):
    folder, _ = checkout
    monkeypatch.setattr("kb.cli.verify_.load", lambda: load([folder]))
    assert main(["verify", "--changed", "HEAD"]) == 0
    edit(folder, "one", "kind: error", "kind: mistake")
    assert main(["verify", "--changed", "HEAD"]) == 1
    assert "one.md:" in capsys.readouterr().err


@pytest.mark.parametrize("revision", ["no-such-branch", "--output=x"])
def test_a_revision_that_is_none_is_refused(checkout, revision):
    folder, _ = checkout
    with pytest.raises(GitFailed):
        changed_since(load([folder]), revision)

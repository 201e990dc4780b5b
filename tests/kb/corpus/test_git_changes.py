"""Only entries whose programs or messages differ from a revision count as changed."""

import os
import subprocess

import pytest

from kb.cli import main
from kb.corpus.git_changes import GitFailed, changed_since, stale_translations


@pytest.fixture
def git(entries):
    """Three entries, committed; gives git in their folder."""

    def run(*arguments):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *identity, "-C", entries.folder, *arguments], check=True, capture_output=True)

    for slug in ("one", "two", "three"):
        entries.write(slug)
    run("init", "-q", "-b", "main")
    run("add", ".")
    run("commit", "-qm", "entries")
    return run


def test_a_changed_program_and_a_new_entry_count_but_prose_does_not(entries, git):
    entries.edit(entries.path("one"), "torch.ones(3) +", "torch.ones(5) +")
    entries.edit(entries.path("two"), "needs equal sizes", "wants equal sizes")
    entries.write("four")
    assert sorted(changed_since(entries.corpus(), "HEAD")) == ["four", "one"]


def test_a_changed_message_counts(entries, git):
    entries.edit(entries.path("three"), "{dim:int}", "{d:int}")
    git("commit", "-qam", "message")
    assert changed_since(entries.corpus(), "HEAD~1") == ["three"]


def test_a_translation_is_left_behind_when_only_one_language_changes(entries, git):
    entries.edit(entries.path("one"), "needs equal sizes", "wants equal sizes")
    entries.edit(entries.path("two"), "needs equal sizes", "wants equal sizes")
    entries.edit(entries.path("two"), "要求尺寸相同", "需要尺寸相同")
    entries.edit(entries.path("three"), "torch.ones(3) +", "torch.ones(5) +")
    faults = stale_translations(entries.corpus(), "HEAD")
    assert [(fault.rule, fault.path.endswith("one.md")) for fault in faults] == [("KB037", True)]


def test_nothing_changed(entries, git):
    assert changed_since(entries.corpus(), "HEAD") == []


@pytest.mark.parametrize("before", [b"\xff\xfe", b"x" * 200_000, b"---\ntitle: 2024-99-99\n---\n"])
def test_an_entry_that_was_none_before_is_new(entries, git, before):
    path = entries.path("one")
    text = path.read_bytes()
    path.write_bytes(before)
    git("commit", "-qam", "broken")
    path.write_bytes(text)
    assert changed_since(entries.corpus(), "HEAD") == ["one"]


def test_a_name_that_is_no_text_is_no_matter(entries, git):
    (entries.folder / "tensors" / os.fsdecode(b"\xff.md")).write_text("")
    assert changed_since(entries.corpus(), "HEAD") == []


def test_a_file_that_is_not_whole_is_no_reason_to_say_that_nothing_changed(entries, git, monkeypatch, capsys):
    monkeypatch.setattr("kb.cli.commands.verify.load", entries.corpus)
    assert main(["verify", "--changed", "HEAD"]) == 0
    entries.edit(entries.path("one"), "kind: error", "kind: mistake")
    assert main(["verify", "--changed", "HEAD"]) == 1
    assert "one.md:" in capsys.readouterr().err


@pytest.mark.parametrize("revision", ["no-such-branch", "--output=x"])
def test_a_revision_that_is_none_is_refused(entries, git, revision):
    with pytest.raises(GitFailed):
        changed_since(entries.corpus(), revision)

"""Entries that change while the server runs are taken up, and what cannot be loaded takes nothing away."""

import shutil
import time

from tests import small_corpus
from webapp import create_app
from webapp.snapshot import SnapshotProvider


def wait_for(condition):
    for _ in range(500):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def test_changed_entries_are_taken_up_and_a_broken_one_hides_no_other(tmp_path):
    entries = small_corpus.write(tmp_path)
    provider = SnapshotProvider([entries], refresh_seconds=0)
    client = create_app({"TESTING": True, "SNAPSHOTS": provider, "RATE": ""}).test_client()
    page = client.get("/e/quiet-broadcast")
    assert provider.refresh() is False

    path = entries / "shapes" / "quiet-broadcast.md"
    path.write_text(
        path.read_text("utf-8").replace("A loss broadcasts without a word", "A loss broadcasts silently"), "utf-8"
    )
    shutil.copy(path, entries / "data" / "another-entry.md")
    (entries / "data" / "loader-seed-warning.md").write_text("no entry at all", "utf-8")
    assert provider.refresh() is True

    changed = client.get("/e/quiet-broadcast", headers={"If-None-Match": page.headers["ETag"]})
    assert "A loss broadcasts silently" in changed.text
    assert client.get("/e/another-entry").status_code == 200
    assert client.get("/e/loader-seed-warning").status_code == 404
    assert client.get("/healthz").json == {"status": "ok", "entries": 4, "left_out": 1}


def test_changes_are_noticed_in_the_background(tmp_path):
    entries = small_corpus.write(tmp_path)
    provider = SnapshotProvider([entries], refresh_seconds=0.02)
    (entries / "data" / "loader-seed-warning.md").unlink()
    wait_for(lambda: len(provider.current().corpus) == 3)


def test_what_cannot_be_loaded_leaves_what_was_there(tmp_path, caplog, monkeypatch):
    entries = small_corpus.write(tmp_path)
    provider = SnapshotProvider([entries], refresh_seconds=0.02)
    (tmp_path / "file").touch()
    monkeypatch.setenv("KB_CACHE", str(tmp_path / "file"))
    next(entries.glob("*/*.md")).unlink()
    wait_for(lambda: provider.current() and "cannot be loaded" in caplog.text)
    assert len(provider.current().corpus) == 4


def test_a_broken_ledger_takes_badges_away_and_no_entry(tmp_path):
    entries = small_corpus.write(tmp_path)
    provider = SnapshotProvider([entries], refresh_seconds=0)
    assert provider.current().verified_cases > 0
    next((entries / "verified").glob("*.json")).write_text("{broken", "utf-8")
    assert provider.refresh() is True
    assert (len(provider.current().corpus), provider.current().verified_cases) == (4, 0)


def test_a_case_is_found_by_its_id(snapshots):
    snapshot = snapshots.current()
    entry, case = snapshot.case("linear-width-mismatch/on-gpu")
    assert (entry.id, case.device) == ("linear-width-mismatch", "cuda")
    assert snapshot.case("quiet-broadcast/plain")[1].name == "plain"
    assert [snapshot.case(name) for name in ("nix", "nix/plain", "linear-width-mismatch/nix", "")] == [None] * 4


def test_an_instance_without_entries_says_so(tmp_path):
    (tmp_path / "entries").mkdir()
    provider = SnapshotProvider([tmp_path / "entries"], refresh_seconds=0)
    client = create_app({"TESTING": True, "SNAPSHOTS": provider}).test_client()
    assert client.get("/healthz").status_code == 503
    assert client.get("/").status_code == 200

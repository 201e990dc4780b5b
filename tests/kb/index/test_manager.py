"""The index follows the entries: fresh, whole, built once by many processes, and only from what changed."""

import multiprocessing
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kb.index.builder
from kb.corpus.paths import cache_folder, entry_folder_names
from kb.index.manager import build_index, index_state, open_existing_index, open_index
from kb.index.reader import META_KEY, STORE, Index, Meta
from kb.index.storage import StorageError, write_store
from kb.search.lookup import lookup
from tests.kb.entries_to_find import write_entry

MESSAGE = "RuntimeError: the {thing:name} of this test is broken"


@pytest.fixture
def folder(tmp_path):
    write_entry(tmp_path / "entries", "first-entry", messages=[MESSAGE], also="old-name", related="second-entry")
    write_entry(tmp_path / "entries", "second-entry")
    return tmp_path / "entries"


def test_an_index_without_a_table_that_is_read_today_is_of_another_version(tmp_path):
    tables = {"meta": {META_KEY: Meta()}, "documents": {}, "summaries": {}}
    write_store(str(tmp_path / "today"), tables | {"messages": {}})
    write_store(str(tmp_path / "before"), tables)
    for name in ("today", "before"):
        (tmp_path / f"{name} index").mkdir()
        (tmp_path / name).rename(tmp_path / f"{name} index" / STORE)
    assert len(Index(str(tmp_path / "today index"))) == 0
    with pytest.raises(StorageError, match="no index of this version"):
        Index(str(tmp_path / "before index"))


@pytest.fixture
def opened(folder, tmp_path):
    return lambda: open_index([folder], cache=tmp_path / "cache")


def first(index, text="RuntimeError: the wheel of this test is broken"):
    matches = lookup(text, index=index).matches
    return matches[0].id if matches and matches[0].confidence == "exact" else None


def test_an_entry_is_found_by_slug_and_old_slug(opened):
    index = opened()
    assert sorted(index.slugs()) == ["first-entry", "second-entry"]
    assert index.resolve("old-name") == "first-entry"
    assert index.document("old-name")["related"][0]["id"] == "second-entry"
    with pytest.raises(KeyError):
        index.document("no-such-entry")


def test_an_unchanged_index_is_opened_and_not_built_again(opened, monkeypatch):
    before = opened().folder
    monkeypatch.setattr(kb.index.builder, "build", lambda *_, **__: pytest.fail("built again"))
    assert opened().folder == before


@pytest.mark.parametrize("change", ["edited", "added", "removed"])
def test_a_change_of_the_entries_is_seen_at_once(opened, folder, change):
    assert first(opened()) == "first-entry"
    path = folder / "topic/first-entry.md"
    if change == "edited":
        path.write_text(path.read_text("utf-8").replace("is broken", "is whole"), "utf-8")
        assert first(opened(), "RuntimeError: the wheel of this test is whole") == "first-entry"
    elif change == "added":
        write_entry(folder, "third-entry", messages=["KeyError: a message that was not there before"])
        assert first(opened(), "KeyError: a message that was not there before") == "third-entry"
    else:
        path.unlink()
        assert first(opened()) is None


def test_in_a_checkout_an_index_that_other_code_built_is_built_again(opened, tmp_path, monkeypatch):
    before = opened().folder
    package = tmp_path / "kb"
    (package / "text").mkdir(parents=True)
    (package / "text/lexer.py").write_text("# another lexer")
    monkeypatch.setattr("kb.index.freshness._PACKAGE", str(package))
    assert opened().folder != before
    assert opened().meta.changed == 0


def test_an_entry_read_back_equals_the_one_that_was_parsed(opened, folder, tmp_path):
    cards = {slug: opened().document(slug) for slug in ("first-entry", "second-entry")}
    write_entry(folder, "another-one")
    again = opened()
    assert {slug: again.document(slug) for slug in cards} == cards


def test_a_broken_entry_does_not_take_the_others_down(opened, folder):
    (folder / "topic/broken.md").write_text("no front matter", "utf-8")
    assert first(opened()) == "first-entry"


def test_no_entries_at_all_make_an_empty_index(tmp_path):
    (tmp_path / "none").mkdir()
    index = open_index([tmp_path / "none"], cache=tmp_path / "cache")
    assert len(index) == 0
    assert not lookup("RuntimeError: anything", index=index).answered


def test_opening_without_building_builds_nothing(folder, tmp_path):
    assert open_existing_index([folder], cache=tmp_path / "cache") is None
    assert not (tmp_path / "cache").exists()


def test_an_index_in_use_survives_two_later_builds(opened, folder):
    old = opened()
    for number in range(3):
        write_entry(folder, f"later-{number}")
        opened()
    assert first(old) == "first-entry"
    assert old.document("second-entry")["id"] == "second-entry"


def _open_in_process(folder, cache, results):
    index = open_index([folder], cache=cache)
    results.put((len(index), first(index)))


@pytest.mark.slow
def test_many_processes_build_it_once_and_all_see_it_whole(folder, tmp_path):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [
        context.Process(target=_open_in_process, args=(str(folder), str(tmp_path / "cache"), results)) for _ in range(4)
    ]
    for process in processes:
        process.start()
    answers = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    assert set(answers) == {(2, "first-entry")}
    place = cache_folder([str(folder)], tmp_path / "cache")
    assert len(list(Path(place).glob("generation-*"))) == 1


def test_readers_see_the_old_index_while_a_new_one_is_built_unless_they_wait(opened, folder, tmp_path, monkeypatch):
    opened()
    begun, go_on = threading.Event(), threading.Event()
    write = kb.index.builder.write_generation

    def slow(*arguments, **options):
        begun.set()
        assert go_on.wait(60)
        write(*arguments, **options)

    monkeypatch.setattr(kb.index.builder, "write_generation", slow)
    write_entry(folder, "third-entry")
    builder = threading.Thread(target=opened)
    builder.start()
    assert begun.wait(60)
    assert len(opened()) == 2
    assert builder.is_alive()
    with ThreadPoolExecutor() as pool:
        awaited = pool.submit(open_index, [folder], tmp_path / "cache", wait=True)
        go_on.set()
        assert len(awaited.result()) == 3
    builder.join()
    assert len(opened()) == 3


def test_a_build_that_fails_leaves_the_old_index_and_no_rubbish(opened, folder, monkeypatch):
    old = opened()
    monkeypatch.setattr("shutil.copyfile", lambda *_: (_ for _ in ()).throw(OSError("no space")))
    monkeypatch.setattr("kb.index.storage.lmdb.open", lambda *_, **__: (_ for _ in ()).throw(OSError("no space")))
    write_entry(folder, "third-entry")
    with pytest.raises(StorageError, match="no space"):
        opened()
    assert list(Path(old.folder).parent.glob("generation-*")) == [Path(old.folder)]


def test_a_forced_build_starts_from_scratch(folder, tmp_path):
    open_index([folder], cache=tmp_path / "cache")
    write_entry(folder, "second-entry", why="Something new.")
    write_entry(tmp_path / "own", "third-entry")
    for folders in ([folder], [folder, tmp_path / "own"]):
        assert open_index(folders, cache=tmp_path / "cache").meta.changed == 1
        assert build_index(folders, cache=tmp_path / "cache").meta.changed == 0


def test_an_index_remembers_that_a_file_had_faults(opened, folder, tmp_path):
    assert not opened().meta.has_faults
    broken = write_entry(folder, "third-entry")
    broken.write_text(broken.read_text("utf-8").replace("kind: ", "kind: un"), "utf-8")
    assert opened().meta.has_faults
    broken.unlink()
    assert opened().meta.has_faults  # until it is built from scratch
    assert not build_index([folder], cache=tmp_path / "cache").meta.has_faults
    (folder / "kb.yaml").write_text("odd: 1\n")
    assert opened().meta.has_faults


def test_the_doctor_is_told_whether_the_index_is_fresh(tmp_path, folder, monkeypatch):
    monkeypatch.setattr("kb.index.manager.entry_folder_names", lambda: [str(folder)])
    assert index_state(cache=tmp_path / "cache")[0] is False
    open_index(cache=tmp_path / "cache")
    fresh, line = index_state(cache=tmp_path / "cache")
    assert fresh
    assert "2 entries" in line
    write_entry(folder, "third-entry")
    assert index_state(cache=tmp_path / "cache")[0] is False


def test_threads_and_forked_processes_share_an_index(opened):
    index = opened()
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(first(index))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["first-entry"] * 8
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    process = context.Process(target=lambda: results.put((first(index), first(opened()), opened().folder)))
    process.start()
    assert results.get(timeout=60) == ("first-entry", "first-entry", index.folder)
    process.join()


def test_the_cache_can_be_told_where_to_live(monkeypatch, tmp_path):
    monkeypatch.setenv("KB_CACHE", str(tmp_path / "here"))
    assert cache_folder(["/x"]).startswith(str(tmp_path / "here"))
    assert cache_folder(["/x"]) != cache_folder(["/y"])


def test_folders_from_the_environment_come_after_the_shipped_one(monkeypatch, tmp_path):
    shipped = entry_folder_names()
    monkeypatch.setenv("KB_ENTRIES", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))
    assert entry_folder_names() == [*shipped, str(tmp_path / "a"), str(tmp_path / "b")]


def test_a_copied_folder_of_entries_has_an_index_of_its_own(folder, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    one = open_index([folder], cache=tmp_path / "cache")
    two = open_index([other], cache=tmp_path / "cache")
    assert one.folder != two.folder


def test_own_entries_are_added_to_the_index_that_a_checkout_has(opened, folder, tmp_path, monkeypatch):
    opened()
    write_entry(tmp_path / "own", "third-entry", messages=["KeyError: a message of one's own"])
    monkeypatch.setattr(kb.index.builder, "load", lambda _: pytest.fail("all entries were read again"))
    index = open_index([folder, tmp_path / "own"], cache=tmp_path / "cache")
    assert sorted(index.slugs()) == ["first-entry", "second-entry", "third-entry"]
    assert first(index) == "first-entry"
    assert first(index, "KeyError: a message of one's own") == "third-entry"


def test_a_cache_that_cannot_be_written_is_told_with_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"Not a directory.*KB_CACHE"):
        open_index([], tmp_path / "file")


def test_that_the_index_is_built_for_the_first_time_is_heard_once(tmp_path):
    heard = []
    for _ in range(2):
        open_index([], tmp_path, on_first_build=lambda: heard.append("first"))
    assert heard == ["first"]

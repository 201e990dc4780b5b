"""An index that follows its entries step by step answers as one built at once does, costs what changed, and survives being killed."""

import dataclasses
import json
import multiprocessing
import os
import random
import shutil
from pathlib import Path

import pytest

from kb.corpus.paths import cache_folder
from kb.index.builder import BuildReport, build
from kb.index.manager import build_index, open_existing_index, open_index
from kb.index.storage import StorageError
from kb.search.lookup import lookup
from tests.kb.entries_to_find import write_entry

pytestmark = pytest.mark.slow

SLUGS = [f"entry-{letter}" for letter in "abcdef"]
HEADS = [
    "the size of {shape} is wrong",
    "module {layer:name}.weight has no parameters",
    "a tensor on {device} and",
    "no",
]
ENDS = [
    "make sure that all of the tensors are there",
    "the number of channels must be at least {n:int} here",
    "{text} is what everyone said would happen to this",
]
MESSAGES = [
    "RuntimeError",
    "torch.OutOfMemoryError",
    *(f"{type_}: {head}" for type_ in ("RuntimeError", "UserWarning") for head in HEADS[:3]),
    *(f"RuntimeError: {head}{mark}{end}" for head in HEADS for end in ENDS for mark in (": ", ". ")),
    f"ValueError: {HEADS[0]}, {ENDS[0]}. {ENDS[1]}",
    *(f"KeyError: {end}" for end in ENDS),
]
WORDS = "gradient memory learning rate shuffle dataset seed dropout freeze layers nan gradeint".split()
FILLED = {
    "{shape}": "[2, 3]",
    "{layer:name}": "fc1",
    "{device}": "cuda:0",
    "{n:int}": "7",
    "{text}": "it seems what he",
}
ALIASES_ZH = ["显存一直涨", "训练很慢", "梯度消失"]


def any_entry(chooser):
    """Return what to write into an entry: of so few wordings that entries share them, and parts of them."""

    def phrase():
        return " ".join(chooser.sample(WORDS, chooser.randint(1, 3)))

    return {
        "messages": chooser.sample(MESSAGES, chooser.randint(0, 3)),
        "en": phrase(),
        "alias_en": phrase(),
        "alias_zh": chooser.choice(ALIASES_ZH),
        "why": phrase(),
        "related": chooser.choice(SLUGS),
        "also": chooser.choice(["older-name", "entry-f", *[""] * 18]),
    }


def pastes():
    for message in MESSAGES:
        for placeholder, value in FILLED.items():
            message = message.replace(placeholder, value)  # noqa: PLW2901 - filled bit by bit
        yield message
        yield message[: 2 * len(message) // 3]
        yield message[len(message) // 3 :]
    yield from (
        "gradient and memory",
        "the learning rate of the datasets",
        "显存 训练",
        "gradint shufle",
        "dropout frozen",
    )


def normalize(value):
    """Return data that can be compared: scores are sums that may be added up in another order."""
    if isinstance(value, float):
        return round(value, 7)
    if isinstance(value, dict):
        return {key: normalize(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        return normalize({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, list | tuple):
        return [normalize(item) for item in value]
    return value


def observed(index):
    """Return all that look-ups can learn from an index."""
    slugs = index.slugs()
    return {
        "entries": (len(index), index.meta.with_messages, slugs),
        "documents": [index.document(slug) for slug in slugs],
        "summaries": index.summaries(),
        "phrases": [
            [(phrase.field, phrase.terms, phrase.norm) for phrase in index.vectors.phrases(slug)] for slug in slugs
        ],
        "vectors": [index.vectors.vector(slug) for slug in slugs],
        "corrected": [index.speller.correct(word) for word in ("gradint", "shufle", "datset", "gradeintt", "nobody")],
        "frequencies": [
            index.vectors.document_frequency(term) for term in ("gradient", "seed", "§gpu_memory", "¶size")
        ],
        "redirected": _resolved(index, "older-name"),
        "answers": {text: normalize(lookup(text, index=index)) for text in pastes()},
    }


def _resolved(index, slug):
    try:
        return index.resolve(slug)
    except KeyError:
        return ""


@pytest.mark.parametrize("seed", range(20))
def test_after_any_changes_it_answers_as_an_index_built_at_once(tmp_path, seed):
    chooser = random.Random(seed)
    for slug in SLUGS[:4]:
        write_entry(tmp_path / "entries", slug, **any_entry(chooser))
    open_index([tmp_path / "entries"], cache=tmp_path / "cache")
    for _ in range(4):
        for slug in chooser.sample(SLUGS, 2):
            path = write_entry(tmp_path / "entries", slug, **any_entry(chooser))
            if chooser.random() < 0.3:
                path.unlink()
        index = open_index([tmp_path / "entries"], cache=tmp_path / "cache")
    assert observed(index) == observed(build_index([tmp_path / "entries"], cache=tmp_path / "anew"))


def _write_six(folder):
    for number in range(6):
        write_entry(
            folder,
            f"entry-{number}",
            messages=[f"RuntimeError: message number {number} of these is here"],
        )
    return folder


@pytest.fixture
def folder(tmp_path):
    return _write_six(tmp_path / "entries")


@pytest.fixture
def opened(folder, tmp_path):
    return lambda: open_index([folder], cache=tmp_path / "cache")


@pytest.fixture
def bring_up_to_date(folder, tmp_path):
    """Bring the index up to date and return what was done."""
    return lambda: build([str(folder)], cache_folder([str(folder)], tmp_path / "cache"), block=True)


def test_what_did_not_change_is_not_parsed_and_not_written(opened, folder, bring_up_to_date):
    before = Path(opened().folder)
    segments = list(before.rglob("*.seg"))
    write_entry(folder, "entry-3", messages=["RuntimeError: quite another one stands here now"])
    assert bring_up_to_date() == BuildReport(built=True, from_scratch=False, parsed=("entry-3",))
    assert bring_up_to_date() == BuildReport(built=False)
    after = Path(opened().folder)
    assert after != before
    assert segments
    assert all((after / path.relative_to(before)).samefile(path) for path in segments)


def test_where_files_cannot_be_linked_they_are_copied(opened, folder, monkeypatch, bring_up_to_date):
    def refuse(*_):
        raise PermissionError

    opened()
    monkeypatch.setattr(os, "link", refuse)
    write_entry(folder, "entry-7")
    assert not bring_up_to_date().from_scratch
    assert opened().document("entry-7")["id"] == "entry-7"
    assert opened().document("entry-0")["id"] == "entry-0"


def test_a_new_title_shows_where_others_name_the_entry(opened, folder):
    write_entry(folder, "entry-1", related="entry-2")
    assert opened().document("entry-1")["related"][0]["title"]["en"] == "entry 2"
    write_entry(folder, "entry-2", en="another title")
    assert opened().document("entry-1")["related"][0]["title"]["en"] == "another title"


def test_after_many_changes_it_is_built_from_scratch(folder, monkeypatch, bring_up_to_date):
    monkeypatch.setattr("kb.index.builder._MIN_CHANGES", 3)
    bring_up_to_date()
    reports = []
    for number in range(5):
        write_entry(folder, "entry-3", why=f"Because of {number}.")
        reports.append(bring_up_to_date().from_scratch)
    assert reports == [False, False, False, True, False]


def test_a_ledger_that_changed_is_read_for_all_entries(folder, bring_up_to_date):
    bring_up_to_date()
    (folder / "verified").mkdir()
    (folder / "verified/2.9.0-cpu.json").write_text(json.dumps({"torch": "2.9.0", "device": "cpu", "cases": {}}))
    assert bring_up_to_date().from_scratch


def test_a_slug_that_two_entries_claim_goes_to_the_other_when_one_leaves(opened, folder):
    write_entry(folder, "entry-0", topic="another", why="The other one.")
    assert opened().document("entry-0")["topic"] == "another"
    (folder / "another/entry-0.md").unlink()
    assert opened().document("entry-0")["topic"] == "topic"
    write_entry(folder, "entry-0", topic="zebra")
    assert opened().document("entry-0")["topic"] == "topic"
    assert len(opened()) == 6


def test_an_entry_that_moves_or_breaks_is_followed(opened, folder, bring_up_to_date):
    opened()
    (folder / "elsewhere").mkdir()
    (folder / "topic/entry-4.md").rename(folder / "elsewhere/entry-4.md")
    assert opened().document("entry-4")["topic"] == "elsewhere"
    (folder / "topic/entry-5.md").write_text("no entry any more", "utf-8")
    assert "entry-5" not in opened().slugs()
    write_entry(folder, "entry-5")
    assert not bring_up_to_date().from_scratch
    assert "entry-5" in opened().slugs()


def _damages():
    """Return ways to damage a file: cut it, empty it, remove it, change a few bytes, fill it with noise, put something else in its place."""
    chooser = random.Random(7)

    def change(path):
        content = bytearray(path.read_bytes())
        for _ in range(8):
            content[chooser.randrange(len(content))] ^= 1 << chooser.randrange(8)
        path.write_bytes(content)

    return {
        "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
        "cut by a byte": lambda path: os.truncate(path, path.stat().st_size - 1),
        "emptied": lambda path: path.write_bytes(b""),
        "removed": Path.unlink,
        "changed": change,
        "noise": lambda path: path.write_bytes(chooser.randbytes(path.stat().st_size)),
        "a folder": lambda path: (path.unlink(), path.mkdir()),
        "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
        "a link to nothing": lambda path: (path.unlink(), path.symlink_to("nowhere")),
        "a link to itself": lambda path: (path.unlink(), path.symlink_to(path.name)),
    }


@pytest.mark.parametrize("damage", _damages().values(), ids=_damages())
def test_a_damaged_generation_is_refused_and_built_again(opened, folder, damage):
    place = Path(opened().folder)
    names = [path.relative_to(place) for path in place.rglob("*") if path.is_file() and path.stat().st_size]
    for path in [Path("../current.json"), *names]:
        target = Path(opened().folder, path)
        if not target.exists():
            [target] = Path(opened().folder).rglob(f"*{path.suffix}")
        target = target.parent.resolve() / target.name
        damage(target)
        answer = lookup("RuntimeError: message number 2 of these is here", index=opened())
        assert answer.matches[0].id == "entry-2", path
        assert opened().fulltext.search({"entri": 1.0}, 3), path


def test_a_folder_that_others_can_write_is_refused(folder, tmp_path):
    place = tmp_path / "cache"
    place.mkdir()
    target = Path(cache_folder([str(folder)], place))
    target.mkdir()
    target.chmod(0o777)
    with pytest.raises(StorageError, match=r"other users.*KB_CACHE"):
        open_index([folder], cache=place)


LONG = "RuntimeError: the first words of this one are long: make sure that all of the {thing:name} are there"
END = "make sure that all of the wheels are there"


def answered(index, text):
    return [(match.id, match.evidence.template) for match in lookup(text, index=index).matches[:1]]


def test_the_end_of_a_message_is_told_from_others_while_one_entry_alone_has_it(opened, folder):
    write_entry(folder, "has-it", messages=[LONG])
    assert ("has-it", LONG) in answered(opened(), END)
    write_entry(folder, "has-it-too", messages=[LONG.replace("first", "other")])
    assert ("has-it", LONG) not in answered(opened(), END)
    (folder / "topic/has-it-too.md").unlink()
    assert ("has-it", LONG) in answered(opened(), END)


def test_the_beginning_of_a_message_leads_to_the_one_entry_that_still_has_it(opened, folder):
    beginning = "RuntimeError: expected gradients to flow through {layer:name} before"
    write_entry(folder, "stays", messages=[f"{beginning} anything was stepped"])
    write_entry(folder, "goes", messages=[f"{beginning} they", f"{beginning} anything was stepped into the dark"])
    opened()
    (folder / "topic/goes.md").unlink()
    paste = "RuntimeError: expected gradients to flow through fc1 before anything was stepped into the dark woods"
    assert answered(opened(), paste) == [("stays", f"{beginning} anything was stepped")]
    assert answered(opened(), "RuntimeError: expected gradients to flow through fc1 before") == [
        ("stays", f"{beginning} anything was stepped")
    ]


def test_equals_are_found_in_the_order_of_their_slugs(opened, folder):
    for slug in ("twin-c", "twin-a", "twin-d", "twin-b"):
        write_entry(folder, slug, en="twin", alias_en="seldom spoken words", alias_zh="无")
        candidates = opened().fulltext.search({"seldom": 1.0, "spoken": 1.0}, 2)
    assert [candidate.slug for candidate in candidates] == ["twin-a", "twin-b"]


def _killed(folder, cache, module, name, after):
    """Follow a change in a process that dies when it calls that function, or as soon as it returns."""
    holder = __import__(module, fromlist=["_"])
    for part in name.split(".")[:-1]:
        holder = getattr(holder, part)
    last = name.split(".")[-1]
    real = getattr(holder, last)

    def dying(*given, **named):
        if after:
            real(*given, **named)
        os._exit(9)

    setattr(holder, last, dying)
    open_index([folder], cache=cache)


POINTS = [
    ("os", "link"),
    ("kb.index.template_index", "count_messages"),
    ("kb.index.writer", "write_fulltext"),
    ("whoosh.writing", "SegmentWriter.commit"),
    ("kb.index.writer", "write_store"),
    ("lmdb", "open"),
    ("kb.index.builder", "_publish"),
    ("os", "replace"),
    ("shutil", "rmtree"),
]


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """Return entries of which one changed since the last of as many generations as are kept, and what look-ups learn before and after that change.

    Building these takes longer than a test, so all of them begin with copies.
    """
    place = tmp_path_factory.mktemp("changed")
    folder, cache = _write_six(place / "entries"), place / "cache"
    for number in range(4):
        write_entry(folder, "entry-0", why=f"Generation {number}: with the next one there are more than are kept.")
        open_index([folder], cache=cache)
    write_entry(folder, "entry-1", why="The one before, which is removed last.")
    before = observed(open_index([folder], cache=cache))
    write_entry(folder, "entry-3", messages=["RuntimeError: quite another one stands here now"])
    return folder, cache, before, observed(build_index([folder], cache=place / "anew"))


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("module", "name"), POINTS)
def test_killed_at_any_point_it_leaves_an_index_that_is_whole(changed, tmp_path, module, name, after):
    folder, prepared, before, anew = changed
    cache = shutil.copytree(prepared, tmp_path / "cache")
    opened_before = open_existing_index([folder], cache=cache)  # so the process opens no file but that which it writes
    process = multiprocessing.get_context("fork").Process(target=_killed, args=(folder, cache, module, name, after))
    process.start()
    process.join(60)
    assert process.exitcode == 9
    assert opened_before.slugs()
    left = open_existing_index([folder], cache=cache)
    assert observed(left) in (before, anew)
    assert observed(open_index([folder], cache=cache)) == anew
    generations = Path(cache_folder([str(folder)], cache))
    left_behind = set(generations.glob("generation-*"))
    path = folder / "topic/entry-4.md"
    text, status = path.read_bytes(), path.stat()
    for number in range(5):
        write_entry(folder, "entry-4", why=f"Change {number}, so that what was left behind is swept up.")
        open_index([folder], cache=cache)
    path.write_bytes(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    swept = set(generations.glob("generation-*"))
    assert len(swept) == 5
    assert not swept & left_behind


def test_a_question_is_answered_from_a_generation_that_others_have_replaced(folder, tmp_path):
    index = open_index([folder], cache=tmp_path / "cache")
    for number in range(3):
        write_entry(folder, "entry-4", why=f"Change {number}.")
        open_index([folder], cache=tmp_path / "cache")
    assert index.fulltext.search({"entry": 1.0}, 3) is not None  # the full text is opened only now


def _opened_elsewhere(folder, cache, results):
    index = open_index([folder], cache=cache)
    results.put([index.document(slug)["why"]["en"] for slug in index.slugs()])


def test_several_processes_that_see_a_change_leave_one_index_with_it(folder, tmp_path):
    context = multiprocessing.get_context("fork")
    open_index([folder], cache=tmp_path / "cache")
    for turn in range(3):
        write_entry(folder, "entry-3", why=f"Turn {turn}.")
        results = context.Queue()
        given = (folder, tmp_path / "cache", results)
        processes = [context.Process(target=_opened_elsewhere, args=given) for _ in range(4)]
        for process in processes:
            process.start()
        answers = [results.get(timeout=60)[3] for _ in processes]
        for process in processes:
            process.join()
        assert set(answers) <= {f"Turn {turn - 1}.", f"Turn {turn}.", "Because of it."}
        assert open_index([folder], cache=tmp_path / "cache").document("entry-3")["why"]["en"] == f"Turn {turn}."
    assert open_index([folder], cache=tmp_path / "cache").meta.changed == 3

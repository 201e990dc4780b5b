"""Every rule finds what breaks it, at the right line, and nothing in an entry that keeps it."""

from pathlib import Path

import pytest

from kb.check import check, check_entry
from kb.corpus import Corpus, load
from kb.ledger import Record, case_hash, record
from kb.parse import parse_text
from kb.proof import holds
from kb.rules import all_sentences
from kb.rules.__main__ import page
from tests.conftest import REPOSITORY

ENGLISH, CHINESE = "`torch.add` needs equal sizes, or ones.", "`torch.add` 要求尺寸相同，或者为 1。"
REPRO, FIX = "total = torch.ones(3) + torch.ones(4)\n", "total = torch.ones(4) + torch.ones(4)\n"
FIRST = 'b ({b:int}) at non-singleton dimension {dim:int}"'
SILENT = ("kind: error", "kind: silent")

# rule: (what to replace by what, a text of the line that must be named)
BREAKS = {
    "KB003": ([("kind: error", "kind: error\nkind: warning")], "kind: warning"),
    "KB004": ([("tags: [broadcasting]", "tags: [Broad Casting]")], "Broad Casting"),
    "KB005": ([("### 原因", "### 为什么")], "### 为什么"),
    "KB006": ([(ENGLISH, "")], "### Why it happens"),
    "KB007": ([("assert total.shape == (4,)\n```", "assert total.shape == (4,)")], "```python fix"),
    "KB008": ([("```python repro", "```python repro shm=lots")], "shm=lots"),
    "KB009": ([("```python fix", "```python fix other")], "```python repro"),
    "KB010": ([(FIX, "total = = 3\n")], "= ="),
    "KB012": ([("{a:int}", "{a:integer}")], "{a:integer}"),
    "KB013": (
        [
            (
                "RuntimeError: inconsistent tensor size, expected {shape} and {shape} to match",
                "RuntimeError: size {text}",
            )
        ],
        "size {text}",
    ),
    "KB014": ([("tensor a ({a:int})", "tensor cuda:{a:int}")], "cuda:{a:int}"),
    "KB015": ([("另一个有 {b} 个", "另一个有 {c} 个")], "explain:"),
    "KB016": (
        [
            (
                "inconsistent tensor size, expected {shape} and {shape} to match",
                FIRST[:-1].join(["The size of tensor a ({int}) must match the size of tensor ", ""]),
            )
        ],
        'torch: "<1.0"',
    ),
    "KB017": ([('"<1.0"', '">=2.0,<1.0"')], ">=2.0,<1.0"),
    "KB020": ([(REPRO, 'raise RuntimeError("no")\n')], "raise"),
    "KB021": ([("assert total.shape == (4,)", "assert True")], "```python fix\n"),
    "KB022": ([SILENT, (REPRO, REPRO + "assert total.shape == (3,)\n")], "```python repro\n"),
    "KB023": ([(FIX, FIX + "import os\nos._exit(0)\n")], "os._exit"),
    "KB024": ([(FIX, FIX + "import sys\nsys._getframe()\n")], "_getframe()"),
    "KB025": ([(FIX, "import warnings\nwarnings.simplefilter('ignore')\n" + FIX)], "simplefilter"),
    "KB026": ([(FIX, "total = torch.ones(4)" + " + torch.ones(4)" * 5 + "\n")], "+ torch.ones(4) + torch.ones(4)"),
    "KB027": ([(FIX + "assert total.shape == (4,)\n", REPRO)], "```python fix\n"),
    "KB028": ([(FIX, FIX + "open('/home/me/model.pt')\n")], "/home/me"),
    "KB030": ([(ENGLISH, ENGLISH + " So does `torch.sub`.")], "## 中文"),
    "KB031": ([(CHINESE, "尺寸要相同或为1，用 `torch.add`。")], "为1"),
    "KB032": ([(CHINESE, "`torch.add` 要求尺寸相同,或者为 1。")], "相同,"),
    "KB033": ([("en: Two tensors cannot be added", "en: " + "Two tensors " * 8)], "title:"),
    "KB034": ([(ENGLISH, ENGLISH + " word" * 270)], "## English"),
    "KB035": (
        [("[broadcasting](https://docs.pytorch.org/docs/stable/notes/broadcasting.html)", "[broadcasting](http://x)")],
        "http://x",
    ),
    "KB036": ([(ENGLISH, ENGLISH + " 为什么")], "## English"),
    "KB040": ([("sources:", "related: [no-such-entry]\nsources:")], "related:"),
    "KB041": ([("[adding two tensors fails]", "[adding fails, Adding fails]")], "aliases:"),
    "KB042": ([("sources:", "also: [add-two]\nsources:")], "also:"),
}


def faults_of(text, corpus=None):
    path = Path("entries/tensors/add-two.md")
    entry, faults = parse_text(text, path)
    if entry is None:
        return faults
    return faults + check_entry(entry, corpus or Corpus({entry.id: entry}), str(path))


def broken(good, changes):
    for old, new in changes:
        assert good.count(old) >= 1, old
        good = good.replace(old, new, 1)
    return good


def test_the_good_entry_keeps_every_rule(good_entry):
    assert faults_of(good_entry) == []


@pytest.mark.parametrize("rule", sorted(BREAKS))
def test_each_rule_finds_what_breaks_it(rule, good_entry):
    changes, place = BREAKS[rule]
    text = broken(good_entry, changes)
    line = text[: text.index(place) + len(place)].count("\n") + 1
    found = [fault for fault in faults_of(text) if fault.rule == rule]
    assert [fault.line for fault in found][:1] == [line], faults_of(text)


def test_every_rule_is_tested():
    elsewhere = {
        "KB001",
        "KB002",
        "KB011",
        "KB037",
        "KB043",
        "KB044",
        "KB050",
        "KB051",
    }  # test_parse, test_corpus, test_changed, test_folder, and below
    assert set(BREAKS) | elsewhere == set(all_sentences())


def test_the_page_of_rules_is_complete():
    assert (REPOSITORY / "docs/rules.md").read_text("utf-8") == page(), (
        "make it anew: python -m kb.rules > docs/rules.md"
    )


@pytest.mark.parametrize(
    ("exemption", "rules"),
    [
        ("- {entry: add-two, rule: KB034, reason: the history needs the room}", []),
        ("- {entry: add-two, rule: KB034}", ["KB034", "KB050"]),
        ("- {entry: add-two, rule: KB030, reason: none of these}", ["KB034", "KB050"]),
        ("nonsense", ["KB034", "KB050"]),
        ("", ["KB034"]),
    ],
)
def test_an_exemption_needs_a_reason_and_something_to_exempt(tmp_path, good_entry, exemption, rules):
    path = tmp_path / "tensors" / "add-two.md"
    path.parent.mkdir()
    path.write_text(good_entry.replace(ENGLISH, ENGLISH + " word" * 270), "utf-8")
    (tmp_path / "exemptions.yaml").write_text(exemption, "utf-8")
    assert sorted(fault.rule for fault in check(load([tmp_path]))) == rules


def test_a_message_that_matches_what_another_entry_printed_is_refused(tmp_path, good_entry):
    fuller = "inconsistent tensor size, expected {shape} and {shape} to match"
    shorter = good_entry.replace(fuller, "inconsistent tensor size, expected {shape}")
    other = good_entry.replace("The size of tensor a ({a:int}) must", "The size {a:int} of tensor a must")
    other = other.replace("adding two tensors fails", "something else").replace("两个 tensor 相加报错", "别的说法")
    (tmp_path / "tensors").mkdir()
    (tmp_path / "tensors" / "printer.md").write_text(good_entry, "utf-8")
    (tmp_path / "tensors" / "stranger.md").write_text(other.replace(fuller, "inconsistent tensor size"), "utf-8")
    case = load([tmp_path]).entries["printer"].cases[0]
    printed = (
        "Traceback (most recent call last):\nRuntimeError: inconsistent tensor size, expected [3] and [4] to match\n"
    )
    proof = Record(case_hash(case), "passed", printed, 0.1, "2026-01-01", torch="0.4.1", device="cpu")
    record(tmp_path, {case.id: proof}, [case.id])
    assert "KB043" not in {fault.rule for fault in check(load([tmp_path]))}, (
        "the printer's own message is the fuller one"
    )
    (tmp_path / "tensors" / "printer.md").write_text(shorter, "utf-8")
    (tmp_path / "tensors" / "stranger.md").write_text(other, "utf-8")
    (fault,) = [fault for fault in check(load([tmp_path])) if fault.rule == "KB043"]
    assert fault.path.endswith("stranger.md")
    assert "printer" in fault.what


@pytest.mark.parametrize(("version", "faults"), [("0.4.1", []), ("2.13.0+cpu", ["KB044"])])
def test_a_range_holds_for_the_versions_that_print_the_message(tmp_path, good_entry, version, faults):
    path = tmp_path / "tensors" / "add-two.md"
    path.parent.mkdir()
    path.write_text(good_entry, "utf-8")
    case = load([tmp_path]).entries["add-two"].cases[0]
    printed = (
        "Traceback (most recent call last):\nRuntimeError: inconsistent tensor size, expected [3] and [4] to match\n"
    )
    record(
        tmp_path,
        {case.id: Record(case_hash(case), "passed", printed, 0.1, "2026-01-01", torch=version, device="cpu")},
        [case.id],
    )
    assert [fault.rule for fault in check(load([tmp_path]))] == faults


@pytest.mark.parametrize(
    ("versions", "torch", "wanted"),
    [
        ("", "2.13.0", True),
        ("<1.5", "1.4.1", True),
        ("<1.5", "1.5.0", False),
        (">=2.0,<2.6", "2.4.1+cu121", True),
        (">=2.0,<2.6", "2.13.0", False),
        ("<2.13", "2.9.1", True),
    ],
)
def test_a_range_is_read_as_versions_are(versions, torch, wanted):
    assert holds(versions, torch) is wanted


def test_all_faults_of_a_file_come_in_one_go(good_entry):
    text = broken(
        good_entry,
        [("tags: [broadcasting]", "tags: []"), (FIX, "total = = 3\n"), ("```python repro", "```python repro x=1")],
    )
    assert {fault.rule for fault in faults_of(text)} == {"KB004", "KB008", "KB010"}


def test_related_entries_must_lead_back(good_entry):
    here = good_entry.replace("sources:", "related: [other]\nsources:")
    entry, _ = parse_text(here, Path("t/add-two.md"))
    other, _ = parse_text(good_entry, Path("t/other.md"))
    corpus = Corpus({"add-two": entry, "other": other})
    assert [fault.rule for fault in check_entry(entry, corpus, "x") if fault.rule == "KB040"] == ["KB040"]


def test_an_alias_belongs_to_one_entry(good_entry):
    one, _ = parse_text(good_entry, Path("t/one.md"))
    two, _ = parse_text(good_entry, Path("t/two.md"))
    corpus = Corpus({"one": one, "two": two})
    assert {fault.rule for fault in check_entry(one, corpus, "x")} == {"KB041"}


def test_the_shipped_entries_keep_every_rule():
    assert check(load()) == []

"""Every rule finds what breaks it, at the right line, and nothing in an entry that keeps it."""

from pathlib import Path

import pytest

from kb.corpus.ledger import load_ledgers, write_records
from kb.corpus.loader import Corpus
from kb.corpus.parser import parse_text
from kb.lint.linter import check, check_entry
from kb.lint.rules import all_sentences
from kb.lint.rules.__main__ import page
from tests.conftest import REPOSITORY
from tests.entry_factory import FIX as FIX_PROGRAM
from tests.entry_factory import CheckProgram, Programs
from tests.kb.lint.test_guidance_rules import BAD

ENGLISH, CHINESE = "`torch.add` needs equal sizes, or ones.", "`torch.add` 要求尺寸相同，或者为 1。"
REPRO, FIX = "total = torch.ones(3) + torch.ones(4)\n", "total = torch.ones(4) + torch.ones(4)\n"
FIRST = 'b ({b:int}) at non-singleton dimension {dim:int}"'
LONG = "\n\n".join([" ".join(["word"] * 60)] * 6)
SILENT = ("kind: error", "kind: silent")

# rule: (what to replace by what, a text of the line that must be named)
BREAKS = {
    "KB003": ([("kind: error", "kind: error\nkind: warning")], "kind: warning"),
    "KB004": ([("tags: [broadcasting]", "tags: [Broad Casting]")], "Broad Casting"),
    "KB005": ([("### 原因", "### 为什么")], "### 为什么"),
    "KB006": ([(ENGLISH, "")], "### Why it happens"),
    "KB007": ([("assert total.shape == (4,)\n```", "assert total.shape == (4,)")], "```python fix"),
    "KB008": ([("```python repro", "```python repro shm=lots")], "shm=lots"),
    "KB009": ([("```python fix", "```python repro")], "### sizes"),
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
    "KB015": ([("另一个有 {b} 个", "另一个有 {c} 个")], "另一个有 {c} 个"),
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
    "KB018": ([('torch: "<1.0"', 'torch: "<1.0", cause: 5')], "cause: 5"),
    "KB019": ([('torch: "<1.0"', 'torch: "<1.0", cause: {missing == 0: 1}')], "missing == 0"),
    "KB020": ([(REPRO, "text = 'inconsistent tensor size, expected [3] and [4] to match'\n" + REPRO)], "text = "),
    "KB021": ([("assert total.shape == (4,)", "assert True")], "assert True"),
    "KB022": ([SILENT, (REPRO, REPRO + "assert total.shape == (3,)\n")], "```python repro\n"),
    "KB023": ([(FIX, FIX + "import os\nos._exit(0)\n")], "os._exit"),
    "KB024": ([(FIX, FIX + "import sys\nsys._getframe()\n")], "_getframe()"),
    "KB025": ([(FIX, "import warnings\nwarnings.simplefilter('ignore')\n" + FIX)], "import warnings"),
    "KB026": ([(FIX, "total = torch.ones(4)" + " + torch.ones(4)" * 5 + "\n")], "+ torch.ones(4) + torch.ones(4)"),
    "KB027": ([(FIX + "assert total.shape == (4,)\n", REPRO)], "```python fix\n"),
    "KB028": ([(FIX, FIX + "open('/home/me/model.pt')\n")], "/home/me"),
    "KB029": ([(FIX, FIX + "import torchvision.transforms\n")], "import torchvision"),
    "KB090": ([("sources:", "requires: [no-such-package]\nsources:")], "requires:"),
    "KB080": ([("assert total.shape == (4,)", "if total.sum() > 0:\n    assert total.shape == (4,)")], "    assert"),
    "KB030": ([(ENGLISH, ENGLISH + " So does `torch.sub`.")], "## 中文"),
    "KB031": ([(CHINESE, "尺寸要相同或为1，用 `torch.add`。")], "为1"),
    "KB032": ([(CHINESE, "`torch.add` 要求尺寸相同,或者为 1。")], "相同,"),
    "KB033": ([("en: Two tensors cannot be added", "en: " + "Two tensors " * 8)], "title:"),
    "KB034": (
        [
            ("### Why it happens", f"### How to tell\n\n{LONG}\n\n### Why it happens"),
            ("### 原因", "### 怎么判断\n\n打印。\n\n### 原因"),
        ],
        "## English",
    ),
    "KB035": (
        [("[the same size](https://docs.pytorch.org/docs/stable/notes/broadcasting.html)", "[x](http://x)")],
        "http://x",
    ),
    "KB036": ([(ENGLISH, ENGLISH + " 为什么")], "## English"),
    "KB040": ([("sources:", "related: [no-such-entry]\nsources:")], "related:"),
    "KB041": ([("[adding two tensors fails]", "[adding fails, Adding fails]")], "aliases:"),
    "KB042": ([("sources:", "also: [add-two]\nsources:")], "also:"),
    "KB081": ([(REPRO, "torch._check(False)\n")], "_check"),
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


def test_two_words_and_a_type_of_pytorch_are_enough_for_a_message(good_entry):
    with_dtype = broken(good_entry, [(*BREAKS["KB013"][0][0][:1], "RuntimeError: Unsupported dtype {dtype}")])
    with_name = with_dtype.replace("Unsupported dtype {dtype}", "Unsupported dtype {name}")
    assert "KB013" not in {fault.rule for fault in faults_of(with_dtype)}
    assert "KB013" in {fault.rule for fault in faults_of(with_name)}


def test_every_rule_is_tested():
    elsewhere = {
        "KB001",
        "KB002",
        "KB011",
        "KB037",
        "KB043",
        "KB044",
        "KB045",
        "KB047",
        "KB050",
        "KB051",
        "KB052",
        "KB046",
        "KB053",
        "KB082",
    }
    assert set(BREAKS) | set(BAD) | elsewhere == set(all_sentences())


def test_the_page_of_rules_is_complete():
    assert (REPOSITORY / "docs/rules.md").read_text("utf-8") == page(), (
        "make it anew: python -m kb.lint.rules > docs/rules.md"
    )


@pytest.mark.parametrize(
    ("exemption", "rules"),
    [
        ("- {entry: add-two, rule: KB034, reason: the history needs the room}", []),
        ("- {entry: add-two, rule: KB034}", ["KB034", "KB050"]),
        ("- {entry: add-two, rule: KB030, reason: none of these}", ["KB034", "KB050"]),
        ("- {entry: add-two, rule: [KB034], reason: x}", ["KB034", "KB050"]),
        ("nonsense", ["KB034", "KB050"]),
        ("[" * 10_000, ["KB034", "KB050"]),
        ("- &a {entry: add-two, rule: KB034, reason: x}\n- *a", ["KB034", "KB050"]),
        ("", ["KB034"]),
    ],
)
def test_an_exemption_needs_a_reason_and_something_to_exempt(entries, exemption, rules):
    entries.write(how_to_tell=(LONG, "打印。"))
    entries.write_file("exemptions.yaml", exemption)
    assert sorted(fault.rule for fault in check(entries.corpus())) == rules


PRINTED = "Traceback (most recent call last):\nRuntimeError: inconsistent tensor size, expected [3] and [4] to match\n"
FULLER = "RuntimeError: inconsistent tensor size, expected {shape} and {shape} to match"
SHORTER = "RuntimeError: inconsistent tensor size, expected {shape}"
LONGER = "RuntimeError: The size {a:int} of tensor a must match the size of tensor b ({b:int})"


def test_a_message_that_matches_what_another_entry_printed_is_refused(entries):
    entries.write("printer", messages=[FULLER])
    other = entries.write("stranger", messages=[SHORTER])
    entries.record("printer", printed=PRINTED)
    assert check(entries.corpus()) == [], "the printer's own message is the fuller one"
    entries.write("printer", messages=[LONGER])
    (fault,) = check(entries.corpus())
    assert (fault.rule, fault.path, "printer" in fault.what) == ("KB043", str(other), True)


def test_what_a_check_printed_is_no_error(entries):
    entries.write("printer", messages=[LONGER], checks=[CheckProgram()])
    entries.write("stranger", messages=[SHORTER])
    entries.record("printer", printed=PRINTED)
    assert {fault.rule for fault in check(entries.corpus())} == {"KB043"}, "the case printed it"
    records = {"printer/shapes": load_ledgers([entries.folder]).by_id["printer/shapes"][0]}
    (ledger,) = Path(entries.folder, "verified").iterdir()
    ledger.unlink()
    write_records(entries.folder, records, entries.corpus().entries["printer"].runnables)
    assert check(entries.corpus()) == []


def test_what_a_program_printed_before_it_was_changed_is_no_longer_compared(entries):
    path = entries.write("printer", messages=[LONGER])
    entries.write("stranger", messages=[SHORTER])
    entries.record("printer", printed=PRINTED)
    assert [fault.rule for fault in check(entries.corpus())] == ["KB043"]
    entries.edit(path, "torch.ones(3)", "torch.ones(2)")
    assert check(entries.corpus()) == []


def test_an_exemption_of_an_entry_that_cannot_be_read_is_not_stale(entries):
    entries.write("other")
    entries.write("torn", text="---\n")
    entries.write_file(
        "exemptions.yaml", "- {entry: torn, rule: KB024, reason: x}\n- {entry: gone, rule: KB024, reason: x}"
    )
    faults = [fault for fault in check(entries.corpus()) if fault.rule == "KB050"]
    assert [fault.what.partition(" ")[0] for fault in faults] == ["gone"]


def test_a_ledger_says_nothing_about_entries_that_are_not_there(entries):
    entries.write("printer", messages=[LONGER])
    entries.write("stranger", messages=[SHORTER])
    entries.record("printer", printed=PRINTED)
    entries.path("printer").unlink()
    assert check(entries.corpus()) == []


@pytest.mark.parametrize(
    ("version", "faults"), [("0.4.1", []), ("2.13.0+cpu", ["KB044"]), ("2.14.0.dev20261101+cpu", ["KB044"])]
)
def test_a_range_holds_for_the_versions_that_print_the_message(entries, version, faults):
    entries.write()
    entries.record(printed=PRINTED, torch=version)
    assert [fault.rule for fault in check(entries.corpus())] == faults


@pytest.mark.parametrize(("version", "faults"), [("2.3.0", []), ("2.2.2+cpu", ["KB044"])])
def test_a_case_holds_for_the_versions_on_which_it_passes(entries, version, faults):
    path = entries.write()
    entries.record(torch=version)
    entries.edit(path, "```python repro", "```python repro torch>=2.3")
    assert [fault.rule for fault in check(entries.corpus())] == faults


@pytest.mark.parametrize(("torch", "faults"), [("<1.5", ["KB045"]), ("", []), (">=0.4", [])])
def test_a_range_leaves_out_no_release_whose_code_prints_the_message(entries, torch, faults):
    message = "ValueError: Sum of input lengths does not equal the length of the input dataset!"
    entries.write(messages=[{"text": message, "torch": torch} if torch else message])
    assert [fault.rule for fault in check(entries.corpus()) if fault.rule == "KB045"] == faults


@pytest.mark.parametrize(
    ("cause", "faults"),
    [(1, []), (2, ["KB047"]), ({"a[0] == 3": 1}, []), ({"a[0] == 3": 2}, ["KB047"]), ({"a[0] == 9": 2}, [])],
)
def test_a_message_names_the_cause_whose_case_prints_it(entries, cause, faults):
    text = FULLER.replace("{shape}", "{a:shape}", 1)
    path = entries.write(messages=[{"text": text, "cause": cause}])
    item = next(line for line in path.read_text().splitlines() if line.startswith("- **"))
    entries.edit(path, item, f"{item}\n- **Another cause**: change it.")
    entries.record(printed=PRINTED)
    assert [fault.rule for fault in check(entries.corpus()) if fault.rule == "KB047"] == faults


def test_the_beginning_of_a_fuller_message_may_name_another_cause(entries):
    path = entries.write(messages=[FULLER, {"text": SHORTER, "cause": 2}])
    item = next(line for line in path.read_text().splitlines() if line.startswith("- **"))
    entries.edit(path, item, f"{item}\n- **Another cause**: change it.")
    entries.record(printed=PRINTED)
    assert [fault.rule for fault in check(entries.corpus()) if fault.rule == "KB047"] == []


def test_a_broken_ledger_is_a_fault_of_its_own(entries):
    entries.write()
    path = entries.write_file("verified/2.13.0-cpu.json", "{")
    assert [(fault.rule, fault.path) for fault in check(entries.corpus())] == [("KB052", str(path))]


def test_only_the_faults_of_the_files_that_are_named_are_returned(entries):
    entries.write("one", ("needs equal sizes", "needs `equal` sizes"))
    two = entries.write("two", ("needs equal sizes", "needs `other` sizes"))
    assert {fault.path for fault in check(entries.corpus(), [two])} == {str(two)}


@pytest.mark.parametrize(
    "template",
    ["{text} size of " * 4 + "tensor", "size {text} of {text} size {text} of {text} tensor", "{int} " * 20 + "a b c"],
)
def test_no_message_makes_the_check_take_a_power_of_its_length(entries, template):
    entries.write("slow", messages=[template, "RuntimeError: a b c d"])
    entries.write("printer")
    entries.record("printer", printed="RuntimeError: " + "size of " * 900)
    check(entries.corpus())


@pytest.mark.parametrize(
    ("image", "requires", "faults"),
    [
        ("", [], ["KB029"]),
        ("image: vision\n", [], []),
        ("image: vision\n", ["anything"], []),
        ("", ["torchvision>=0.20"], []),
        ("", ["transformers"], ["KB029"]),
    ],
)
def test_an_image_may_have_any_package_and_else_it_is_required(entries, image, requires, faults):
    repro = "import torch\nimport torchvision\n\ntotal = torch.ones(3) + torch.ones(4)\n"
    entries.write(requires=requires, cases=[Programs(repro=repro)])
    entries.write_file("kb.yaml", "name: Vision\n" + image)
    assert [fault.rule for fault in check(entries.corpus())] == faults


def test_an_entry_about_a_missing_module_may_import_it(entries):
    repro = "import torch\nimport torchvision\n"
    messages = ["ModuleNotFoundError: No module named 'torchvision'"]
    entries.write(messages=messages, cases=[Programs(repro=repro, fix=FIX_PROGRAM)])
    assert check(entries.corpus()) == []


def test_all_faults_of_a_file_come_in_one_go(good_entry):
    text = broken(
        good_entry,
        [("tags: [broadcasting]", "tags: []"), (FIX, "total = = 3\n"), ("```python repro", "```python repro x=1")],
    )
    assert {fault.rule for fault in faults_of(text)} == {"KB004", "KB008", "KB010"}


def test_related_entries_must_lead_back(entries):
    entries.write("one", related=["two"])
    entries.write("two")
    assert [fault.rule for fault in check(entries.corpus())] == ["KB040"]


@pytest.mark.parametrize("link", ["two.md", "../shapes/two.md"])
def test_a_link_to_an_entry_is_the_path_to_its_file(entries, link):
    path = entries.write("one", why=(f"{ENGLISH} See [two]({link}).", f"{CHINESE}看 [two]({link})。"))
    entries.write("two", topic="loss")
    assert {fault.rule for fault in check(entries.corpus())} == {"KB046"}
    path.write_text(path.read_text("utf-8").replace(f"({link})", "(../loss/two.md)"), "utf-8")
    assert check(entries.corpus()) == []


def test_an_alias_belongs_to_one_entry(entries):
    entries.write("one", aliases=("the same words", "第一种说法"))
    entries.write("two", aliases=("The same words ", "第二种说法"))
    assert [(fault.rule, fault.path) for fault in check(entries.corpus())] == [("KB041", str(entries.path("one")))]


def test_several_processes_find_what_one_finds(entries, monkeypatch):
    monkeypatch.setattr("kb.lint.linter._MIN_ENTRIES", 2)
    for number in range(6):
        entries.write(f"entry-{number}", related=["nowhere"], aliases=(f"wording {number}", f"第{number}种说法"))
    faults = check(entries.corpus())
    assert len(faults) >= 6
    assert check(entries.corpus(), processes=3) == faults


@pytest.mark.parametrize(
    ("rule", "change", "line"),
    [
        ("KB034", (CHINESE, "\n\n".join([CHINESE + "字" * 100] * 7)), "## 中文"),
        ("KB030", (CHINESE, CHINESE + " `torch.sub` 也一样。"), "## English"),
        ("KB036", (CHINESE, "The same as in English."), "## 中文"),
        ("KB033", ("zh: 两个张量不能相加", "zh: 两个张量不能相加。"), "title:"),
        ("KB033", ("zh: 两个张量不能相加", "zh: " + "两个张量" * 11), "title:"),
        (
            "KB016",
            (
                'torch: "<1.0"}',
                'torch: "<1.0"}\n  - "RuntimeError: inconsistent tensor size, expected {a:shape} and {shape} to match"',
            ),
            "{a:shape}",
        ),
        ("KB017", ('"<1.0"', '"<1.0,>=1.0"'), "<1.0,>=1.0"),
        ("KB017", ("```python repro", "```python repro torch>=2.3,<2.0"), "```python repro torch>=2.3,<2.0"),
    ],
)
def test_a_rule_for_both_languages_or_several_forms_finds_each(good_entry, rule, change, line):
    text = broken(good_entry, [change])
    number = text[: text.index(line) + len(line)].count("\n") + 1
    assert [fault.line for fault in faults_of(text) if fault.rule == rule] == [number]

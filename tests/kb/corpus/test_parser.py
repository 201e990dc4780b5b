"""Entries are read whole or not at all, and a fault says where it is."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import meta

from kb.corpus.front_matter import schema
from kb.corpus.parser import parse, parse_text, parse_unfinished
from kb.corpus.sections import prose_lines
from kb.text.program_messages import SIGNALS
from tests.entry_factory import CheckProgram, Programs, entry_text
from tests.kb.work import calls_of

PATH = Path("entries/tensors/add-two.md")


def test_an_entry_becomes_typed_data(good_entry):
    entry, faults = parse_text(good_entry, PATH)
    assert faults == []
    assert (entry.id, entry.topic, entry.kind) == ("add-two", "tensors", "error")
    assert entry.title["zh"] == "两个张量不能相加"
    assert [message.torch for message in entry.messages] == ["", "<1.0"]
    assert entry.answer["en"] == "Give both tensors the same size before you add them."
    assert [message.explain and message.explain["zh"] for message in entry.messages] == [
        "一个有 {a} 个元素，另一个有 {b} 个。",
        None,
    ]
    assert entry.guidance["en"].why == "`torch.add` needs equal sizes, or ones."
    (item,) = entry.guidance["zh"].items
    assert (item.cause, item.cases, item.entries) == ("两个张量尺寸不同", ("sizes",), ())
    assert item.change == "让两者[尺寸一致](https://docs.pytorch.org/docs/stable/notes/broadcasting.html)。"
    assert good_entry.split("\n")[item.line - 1].startswith("- **两个张量尺寸不同**")
    (case,) = entry.cases
    assert case.id == "add-two/sizes"
    assert case.repro.source == "import torch\n\ntotal = torch.ones(3) + torch.ones(4)\n"
    assert good_entry.split("\n")[case.repro.line - 1] == "import torch"
    assert (entry.checks, entry.guidance["en"].how_to_tell) == ((), "")


def test_an_item_has_a_cause_up_to_its_colon_and_a_change_without_the_links_at_its_end():
    english = "- **A** with `a: b` (on c: d): do it, see [that](../shapes/other.md). [first](#first), [second](#second)"
    chinese = "- **甲**，如 `a: b`（在丙：丁）：照做，参见[那个](other.md)。[first](#first)、[second](#second)"
    text = entry_text(cases=[Programs("first"), Programs("second")])
    for line in [line for line in text.split("\n") if line.startswith("- **")]:
        text = text.replace(line, chinese if "两个" in line else english)
    entry, faults = parse_text(text, PATH)
    assert faults == []
    (item,), (zh,) = entry.guidance["en"].items, entry.guidance["zh"].items
    assert (item.cause, item.change) == ("A with `a: b` (on c: d)", "do it, see [that](../shapes/other.md).")
    assert (zh.cause, zh.change) == ("甲，如 `a: b`（在丙：丁）", "照做，参见[那个](other.md)。")
    assert (item.cases, item.entries) == (zh.cases, zh.entries) == (("first", "second"), ("other",))


@pytest.mark.parametrize("line", ["### a", "## Run it", "```\n```", "### a\n```python repro\n```"])
def test_work_grows_with_the_number_of_headings_and_blocks_and_no_faster(line):
    few, many = (
        calls_of(lambda: parse_unfinished("---\n---\n## Run it\n" + f"{line}\n" * count, PATH))  # noqa: B023 - called at once
        for count in (200, 2000)
    )
    assert many < 15 * few


def test_a_check_stands_under_a_heading_of_its_own_and_needs_what_its_fence_says():
    text = entry_text(requires=["onnx"], checks=[CheckProgram("shapes", "device=cuda os=windows timeout=9")])
    entry, faults = parse_text(text, PATH)
    assert faults == []
    (check,) = entry.checks
    assert (check.id, check.device, check.os, check.timeout) == ("add-two/shapes", "cuda", "windows", 9.0)
    assert (check.requires, entry.cases[0].requires) == (("onnx",), ("onnx",))
    assert check.program.source == "import torch\n\nprint(torch.ones(3).shape)\n"
    assert text.split("\n")[check.program.line - 1] == "import torch"
    assert entry.guidance["zh"].how_to_tell == "运行 [shapes](#shapes) 比较一下。"
    assert [runnable.name for runnable in entry.runnables] == ["sizes", "shapes"]


REPRO, FIX, CHECK = ("```python " + role for role in ("repro", "fix", "check"))


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([("### sizes\n", "### sizes of both\n")], "is no name"),
        ([("### sizes\n", "### sizes\n\n### sizes\n")], "has nothing; it needs a repro and a fix, or one check"),
        ([("### shapes\n", "### sizes\n")], "is there twice"),
        ([("### sizes\n", "")], "belongs to no case"),
        ([("### sizes\n", ""), ("### shapes\n", "")], "no case under 'Run it'"),
        ([(FIX, CHECK)], "has repro and check"),
        ([(FIX, REPRO)], "a second repro"),
        ([("### shapes\n", "")], "has repro and fix and check"),
    ],
)
def test_a_heading_has_a_case_or_a_check(edits, said):
    text = entry_text(checks=[CheckProgram()])
    for old, new in edits:
        text = text.replace(old, new, 1)
    faults = [fault for fault in parse_text(text, PATH)[1] if fault.rule == "KB009"]
    assert any(said in fault.what for fault in faults), faults


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("### Why it happens", "### Why"), "expected '### Why it happens', found '### Why'"),
        (("### How to tell", "### Tell"), "expected '### How to tell'"),
        (("### 怎么判断", "### 原因"), "expected '### 怎么判断', found '### 原因'"),
        (("## Run it", "## Programs"), "expected '## Run it'"),
    ],
)
def test_the_headings_are_those_of_the_format(edit, said):
    text = entry_text(checks=[CheckProgram()]).replace(*edit, 1)
    faults = [fault for fault in parse_text(text, PATH)[1] if fault.rule == "KB005"]
    assert len(faults) == 1
    assert said in faults[0].what


def test_a_symptom_has_no_message_but_the_name_of_a_signal():
    signals = schema()["else"]["then"]["properties"]["messages"]["items"]["enum"]
    assert tuple(signals) == SIGNALS
    for message, rules in (("Killed", []), ("RuntimeError: no more of it", ["KB004"])):
        _, faults = parse_text(entry_text(kind="symptom", messages=[message], checks=[CheckProgram()]), PATH)
        assert [fault.rule for fault in faults] == rules, message


def test_attributes_hold_for_both_programs_of_a_case(good_entry):
    text = good_entry.replace("```python repro", "```python repro shm=1m memory=2g timeout=7 fresh=true build=cpu")
    (case,) = parse_text(text, PATH)[0].cases
    assert (case.shm, case.memory, case.timeout, case.fresh, case.build) == (1 << 20, 2 << 30, 7.0, True, "cpu")


@pytest.mark.parametrize("versions", [">=2.3", "<2.15", ">=2.0,<2.6.1"])
def test_a_range_of_versions_is_written_as_pip_writes_it(good_entry, versions):
    entry, faults = parse_text(good_entry.replace("```python repro", f"```python repro torch{versions}"), PATH)
    assert (faults, entry.cases[0].torch) == ([], versions)


@pytest.mark.parametrize("attribute", ["torch=2.3", "torch>2.x", "torch>=", "torch>=2.0,<2.4,<2.5", "torchvision>=0.2"])
def test_what_is_no_range_of_versions_is_a_fault(good_entry, attribute):
    _, faults = parse_text(good_entry.replace("```python repro", f"```python repro {attribute}"), PATH)
    assert [fault.rule for fault in faults] == ["KB008"]


def test_several_gpus_mean_cuda(good_entry):
    entry, _ = parse_text(good_entry.replace("```python repro", "```python repro gpus=2"), PATH)
    assert (entry.cases[0].device, entry.cases[0].gpus) == ("cuda", 2)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"\xff\xfe", "KB001"),
        (b"", "KB003"),
        (b"---\ntitle: x\n", "KB003"),
        (b"---\n- 1\n---\n", "KB003"),
        (b"---\na: [\n---\n", "KB003"),
    ],
)
def test_a_broken_file_is_reported_not_raised(content, rule, tmp_path):
    path = tmp_path / "t" / "x.md"
    path.parent.mkdir()
    path.write_bytes(content)
    entry, faults = parse(path)
    assert entry is None
    assert rule in {fault.rule for fault in faults}


def test_a_missing_file_is_reported(tmp_path):
    assert [fault.rule for fault in parse(tmp_path / "x.md")[1]] == ["KB001"]


def test_a_file_name_must_be_a_slug(good_entry):
    assert "KB002" in {fault.rule for fault in parse_text(good_entry, Path("t/Add Two.md"))[1]}


def test_front_matter_is_never_executed(tmp_path):
    text = "---\ntitle: !!python/object/apply:os.system ['touch " + str(tmp_path / "pwned") + "']\n---\n"
    entry, faults = parse_text(text, PATH)
    assert entry is None
    assert faults
    assert not (tmp_path / "pwned").exists()


def test_prose_lines_leave_programs_and_front_matter_out(good_entry):
    text = "".join(line for _, _, line in prose_lines(good_entry))
    assert "要求尺寸相同" in text
    assert "total" not in text
    assert "kind" not in text


def test_the_schema_is_valid_and_agrees_with_what_is_accepted(good_entry):
    meta.validate(schema())
    fields = set(schema()["properties"])
    entry, _ = parse_text(good_entry, PATH)
    assert fields <= set(type(entry).__dataclass_fields__), "every key of the schema is a field of an entry"
    assert json.loads(json.dumps(schema())) == schema()


def test_every_shipped_entry_is_whole(corpus):
    assert corpus.faults == ()
    assert len(corpus) >= 12


def test_an_unfinished_entry_is_read_as_far_as_it_goes(good_entry):
    text = good_entry.replace("  zh: 两个张量不能相加", '  zh: ""').replace(
        "tags: [broadcasting]", "tags: [Broad Casting, sums]"
    )
    text = text.replace("### 原因\n\n`torch.add` 要求尺寸相同，或者为 1。", "### 原因\n").replace(
        "\nsources:\n  - https", "\nsauces:\n  - https", 1
    )
    assert parse_text(text, PATH)[0] is None
    entry = parse_unfinished(text, PATH)
    assert (entry.title.en, entry.title.zh) == ("Two tensors cannot be added", "add-two")
    assert (entry.tags, entry.sources, len(entry.messages), len(entry.cases)) == (("sums",), (), 2, 1)
    assert (entry.guidance["zh"].why, entry.guidance["en"].why) == ("", "`torch.add` needs equal sizes, or ones.")


def test_a_whole_entry_is_read_as_ever(good_entry):
    assert parse_unfinished(good_entry, PATH) == parse_text(good_entry, PATH)[0]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_state_of_a_file_being_written_is_too_much(data):
    text = entry_text()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 80)))
        text = (
            text[:start]
            + data.draw(st.sampled_from(["", "\n", ": ", "- ", "[", "&a ", "*a", "```", "{", "''", "\x00"]))
            + text[end:]
        )
    assert parse_unfinished(text, PATH).id == "add-two"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\n",
        "---\n---\n",
        "---\n- a\n---\n",
        "---\ntitle: &a {en: *a, zh: b}\n---\n",
        "---\n1: 2020-01-01\n---\n",
    ],
)
def test_neither_is_one_that_has_hardly_begun(text):
    assert parse_unfinished(text, PATH).title.en == "add-two"


@pytest.mark.parametrize(
    "front",
    [
        "a: &a [x]\nb: *a",
        "title: &a {en: *a, zh: b}",
        "a: &a [x]\n" + "\n".join(f"b{n}: &b{n} [*a, *a]" for n in range(9)),
    ],
)
def test_a_value_that_repeats_another_is_refused_before_it_grows(front):
    (fault,) = [fault for fault in parse_text(f"---\n{front}\n---\n", PATH)[1] if fault.rule == "KB003"]
    assert "write it out" in fault.what


def test_a_topic_is_a_slug_too(good_entry):
    assert [fault.rule for fault in parse_text(good_entry, Path("My Topic/add-two.md"))[1]] == ["KB002"]


@pytest.mark.parametrize("character", ["\x1b", "\u202e", "\u2028", "\x7f", "\x00"])
def test_a_character_that_no_reader_sees_is_refused_with_its_line(good_entry, character):
    text = good_entry.replace("total = torch.ones(4)", f"total = torch.ones(4)  # {character}")
    faults = [fault for fault in parse_text(text, PATH)[1] if fault.rule == "KB001"]
    assert [fault.line for fault in faults] == [text[: text.index(character)].count("\n") + 1]


def test_a_line_has_a_largest_length(good_entry):
    text = good_entry.replace("needs equal sizes", "needs " + "`x` " * 1000)
    assert [fault.rule for fault in parse_text(text, PATH)[1]] == ["KB001"]


def test_text_of_several_lines_is_for_messages_alone(good_entry):
    text = good_entry.replace("  zh: 两个张量不能相加", "  zh: >\n    两个\n    张量")
    (fault,) = parse_text(text, PATH)[1]
    assert (fault.rule, "title.zh" in fault.what) == ("KB004", True)
    assert (
        parse_text(good_entry.replace("non-singleton dimension {dim:int}", "dim {dim:int}\\nand more"), PATH)[1] == []
    )

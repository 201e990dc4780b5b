"""Entries are read whole or not at all, and a fault says where it is."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kb.corpus import load
from kb.entry import Case
from kb.parse import parse, parse_text, parse_unfinished, prose_lines, schema
from tests.conftest import REPOSITORY

PATH = Path("entries/tensors/add-two.md")


def test_an_entry_becomes_typed_data(good_entry):
    entry, faults = parse_text(good_entry, PATH)
    assert faults == []
    assert (entry.id, entry.topic, entry.kind) == ("add-two", "tensors", "error")
    assert entry.title["zh"] == "两个张量不能相加"
    assert [message.torch for message in entry.messages] == ["", "<1.0"]
    assert entry.prose["en"].why == "`torch.add` needs equal sizes, or ones."
    assert entry.prose["zh"].fix.startswith("让两者尺寸一致")
    (case,) = entry.cases
    assert case.id == "add-two"
    assert case.repro.source == "import torch\n\ntotal = torch.ones(3) + torch.ones(4)\n"
    assert good_entry.split("\n")[case.repro.line - 1] == "import torch"


def test_attributes_of_the_repro_hold_for_the_fix(good_entry):
    text = good_entry.replace("```python repro", "```python repro big shm=1m memory=2g timeout=7 fresh=true").replace(
        "```python fix", "```python fix big"
    )
    entry, _ = parse_text(text, PATH)
    assert entry.cases == (
        Case(
            "add-two",
            "big",
            entry.cases[0].repro,
            entry.cases[0].fix,
            shm=1 << 20,
            memory=2 << 30,
            timeout=7.0,
            fresh=True,
        ),
    )
    assert entry.cases[0].id == "add-two/big"


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
    assert "广播机制" in text
    assert "total" not in text
    assert "kind" not in text


def test_the_schema_is_valid_and_agrees_with_what_is_accepted(good_entry):
    Draft202012Validator.check_schema(schema())
    fields = set(schema()["properties"])
    entry, _ = parse_text(good_entry, PATH)
    assert fields <= set(type(entry).__dataclass_fields__), "every key of the schema is a field of an entry"
    assert json.loads(json.dumps(schema())) == schema()


def test_every_shipped_entry_is_whole():
    corpus = load()
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
    assert (entry.prose["zh"].why, entry.prose["en"].why) == ("", "`torch.add` needs equal sizes, or ones.")


def test_a_whole_entry_is_read_as_ever(good_entry):
    assert parse_unfinished(good_entry, PATH) == parse_text(good_entry, PATH)[0]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_state_of_a_file_being_written_is_too_much(data):
    text = (REPOSITORY / "tests/kb/data/good-entry.md").read_text("utf-8")
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

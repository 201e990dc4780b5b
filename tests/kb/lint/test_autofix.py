"""--fix repairs what is safe, and only that."""

import pytest

from kb.cli import main
from kb.lint.autofix import repair
from kb.lint.linter import check


def test_chinese_typography_is_repaired_and_code_stays(entries):
    path = entries.write(
        "one",
        ("`torch.add` 要求尺寸相同，或者为 1。", "用`torch.add(a,b)`时尺寸要相同,或者为1。库.子模块不变."),
        ("`torch.add` needs", "`torch.add(a,b)` needs"),
    )
    assert repair(entries.corpus()) == [path]
    assert "用 `torch.add(a,b)` 时尺寸要相同，或者为 1。库.子模块不变。" in path.read_text("utf-8")
    assert check(entries.corpus()) == []


def test_so_are_the_title_the_answer_and_the_explanation(entries):
    message = {
        "text": "RuntimeError: tensor a has size {a:int}",
        "explain": ("One has {a}.", "一个有{a}个,另一个不同."),
    }
    answer = ("Give both the same size.", "两个tensor改成一样,再相加。")
    path = entries.write(title=("Two tensors", "2个tensor相加"), answer=answer, messages=[message])
    assert {fault.rule for fault in check(entries.corpus())} == {"KB031", "KB032"}
    repair(entries.corpus())
    text = path.read_text("utf-8")
    assert "zh: 2 个 tensor 相加" in text
    assert 'zh: "两个 tensor 改成一样，再相加。"' in text
    assert 'zh: "一个有 {a} 个，另一个不同。"' in text
    assert check(entries.corpus()) == []


@pytest.mark.parametrize("related", ["", "related: [three]\n", "related:\n  - three\n", "related:\n- three\n"])
def test_a_related_entry_is_made_to_lead_back(entries, related):
    entries.write("one", related=["two"])
    two = entries.write("two", ("sources:", f"{related}sources:"))
    entries.write("three", related=["two"])
    repair(entries.corpus())
    assert sorted(entries.corpus().entries["two"].related) == ["one", "three"]
    assert two.read_text("utf-8").count("related:") == 1
    assert check(entries.corpus()) == []


@pytest.mark.usefixtures("no_shipped_entries")
def test_a_file_that_is_named_is_mended_by_the_file_that_must_lead_back(entries, capsys):
    one = entries.write("one", related=["two"])
    two = entries.write("two", ("要求尺寸相同，", "要求尺寸相同,"))
    assert main(["check", "--fix", str(one)]) == 0
    assert capsys.readouterr().err.splitlines() == [f"repaired {two}", "1 entry checked, no fault"]
    assert "related: [one]" in two.read_text("utf-8")
    assert "要求尺寸相同," in two.read_text("utf-8"), "its own faults are not those of the file that was named"


def test_nothing_to_repair_nothing_written(entries):
    path = entries.write("one")
    before = path.stat().st_mtime_ns
    assert repair(entries.corpus()) == []
    assert path.stat().st_mtime_ns == before

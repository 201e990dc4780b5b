"""--fix repairs what is safe, and only that."""

import pytest

from kb.check import check
from kb.corpus import load
from kb.fix import repair


@pytest.fixture
def folder(tmp_path, good_entry):
    def write(slug, *changes):
        text = good_entry
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "tensors" / f"{slug}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    write.root = tmp_path
    return write


def test_chinese_typography_is_repaired_and_code_stays(folder):
    path = folder(
        "one",
        ("`torch.add` 要求尺寸相同，或者为 1。", "用`torch.add(a,b)`时尺寸要相同,或者为1。"),
        ("`torch.add` needs", "`torch.add(a,b)` needs"),
    )
    assert repair(load([folder.root])) == [path]
    assert "用 `torch.add(a,b)` 时尺寸要相同，或者为 1。" in path.read_text("utf-8")
    assert check(load([folder.root])) == []


def test_a_related_entry_is_made_to_lead_back(folder):
    aliases = ("adding two tensors fails", "something else"), ("两个 tensor 相加报错", "别的说法")
    folder("one", ("sources:", "related: [two]\nsources:"))
    two = folder("two", *aliases)
    repair(load([folder.root]))
    assert "related: [one]" in two.read_text("utf-8")
    assert check(load([folder.root])) == []


def test_nothing_to_repair_nothing_written(folder):
    path = folder("one")
    before = path.stat().st_mtime_ns
    assert repair(load([folder.root])) == []
    assert path.stat().st_mtime_ns == before

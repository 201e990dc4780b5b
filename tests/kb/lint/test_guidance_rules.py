"""The rules for what a reader is told to do: each finds what breaks it, and leaves alone what comes near to that."""

from pathlib import Path

import pytest

from kb.corpus.loader import Corpus
from kb.corpus.parser import parse_text
from kb.lint.linter import check_entry
from tests.entry_factory import WHY, CheckProgram, Item, Programs, entry_text

ANSWER = "把两个张量改成同样的尺寸。"
OTHER = "RuntimeError: inconsistent tensor size, expected [3] and [4] to match"
NO_CASE = Item(names=["no-such-case"])
TWO = [Programs("first"), Programs("second")]
SYMPTOM = {"kind": "symptom", "messages": [], "aliases": ("training hangs", "训练卡住")}


def sized(count, also=""):
    """A sentence of so many words, which begins as an answer does."""
    return " ".join(["Give", *["it"] * (count - 1)]) + also + "."


def why(text, chinese=""):
    return {"why": (f"{WHY.en} {text}", f"{WHY.zh}{chinese}")}


def answers(english=None, chinese=None):
    return {"answer": (english or "Give both the same size.", chinese or ANSWER)}


EDIT = {"case": "sizes", "from": "torch.ones(3)", "to": "torch.ones(4)"}

BAD = {
    "KB060": [
        answers(sized(33)),
        answers(chinese="改" * 65 + "。"),
        answers("The sizes of both tensors differ."),
        answers("Give both the same size. Then add them."),
        answers("Give both the same size"),
        answers(chinese="改成同样的尺寸。再相加。"),
        answers(chinese="因为尺寸不同，所以报错。"),
    ],
    "KB062": [
        {"items": [Item(names=[])]},
        {"items": [Item(names=[]), Item(names=[])]},
        {"items": [Item(change=("", ""))]},
        {"items": [Item()] * 6},
    ],
    "KB063": [
        {"cases": TWO, "items": [Item(names=["first"])]},
        {"items": [Item(), NO_CASE]},
        {"items": [Item(), Item()]},
        {"checks": [CheckProgram()], "how_to_tell": ("Print `x.shape`.", "打印 `x.shape`。")},
        {"how_to_tell": ("Run [it](#no-such-check).", "运行[它](#no-such-check)。")},
    ],
    "KB064": [
        {
            "cases": TWO,
            "edits": [("- **两个张量尺寸不同**", "- **两个**：改。[first](#first)\n- **两个张量尺寸不同**")],
        },
        {"edits": [("[sizes](#sizes)\n\n### 原因", "[条目](add-two.md)\n\n### 原因")]},
        {"checks": [CheckProgram()], "how_to_tell": ("Run [it](#shapes).", "打印 `x.shape`。")},
    ],
    "KB065": [
        why(" ".join(["word"] * 60)),
        why("\n\n" + " ".join(["word"] * 40) + "\n\n" + " ".join(["word"] * 40)),
        why("", "字" * 115),
        {"items": [Item(change=(" ".join(["word"] * 60), "改。"))]},
        {"how_to_tell": (" ".join(["word"] * 61), "打印。")},
    ],
    "KB066": [SYMPTOM, SYMPTOM | {"how_to_tell": ("Print it.", "打印。")}],
    "KB067": [why("So does `torch.accelerator`.", "`torch.accelerator` 也是。")],
    "KB068": [{"aliases": ("torch.sub fails", "两个相减")}, {"aliases": ("adding", "np.subtract 报错")}],
    "KB069": [{"messages": ["RuntimeError: the quick brown foxes jump over lazy dogs"]}],
    "KB070": [
        {"messages": [OTHER, OTHER.replace("3", "5")]},
        {"messages": ["RuntimeError: the size of a Float tensor", "RuntimeError: the size of a Long tensor"]},
    ],
    "KB071": [
        {"expression_edits": [EDIT | {"from": "torch.ones("}]},
        {"expression_edits": [EDIT | {"to": "torch.ones($N)"}]},
        {"expression_edits": [EDIT | {"case": "other"}]},
        {"expression_edits": [EDIT | {"from": "torch.zeros(3)"}]},
        {"expression_edits": [EDIT | {"from": "torch.ones($size)"}]},
        {"expression_edits": [EDIT | {"message": "no such words"}]},
        {"expression_edits": [EDIT | {"where": {"X": "tensor"}}]},
    ],
}
"""What breaks each rule: the fields of `entry_text`, or texts of it to exchange."""

GOOD = {
    "KB060": [
        answers(sized(32)),
        answers(chinese="改" * 63 + "。"),
        answers("For a batch of one sample, give both tensors the same size."),
        answers("Give both the same size, e.g. `(4,)`, and version 2.6 or newer."),
        answers("`torch.add(a, b)` aside, give both the same size."),
    ],
    "KB061": [
        {"items": [Item(cause=("You wrote `a * b`", "写了 `a * b`"))]},
        {"items": [Item(cause=("You got `a: b`", "看到 `a: b`"))]},
        {"edits": [("- **Two", "* **Two"), ("different sizes**:", "different sizes**, as in `a: int`:")]},
    ],
    "KB062": [
        {"items": [Item(), *[Item(names=[])] * 4]},
        {"items": [Item(names=[]), Item()]},
        {"items": [Item(), Item(change=("See [that](add-two.md).", "参见[条目](add-two.md)。"), names=[])]},
    ],
    "KB063": [{"cases": TWO, "items": [Item(names=["first", "second"])]}, {"checks": [CheckProgram()]}],
    "KB064": [{"cases": TWO}],
    "KB065": [
        why(" ".join(["word"] * 54)),
        why("\n\n" + " ".join(["word"] * 30) + "\n\n" + " ".join(["word"] * 30)),
        why("", "字" * 80),
        {"how_to_tell": (f"See [{'word ' * 57}](https://docs.pytorch.org/x).", "打印。")},
    ],
    "KB066": [SYMPTOM | {"checks": [CheckProgram()]}],
    "KB067": [why("So does `torch.accelerator` (2.6).", "`torch.accelerator`（2.6）也是。")],
    "KB068": [
        {"aliases": ("torch.add fails", "两个相加")},
        {"aliases": ("accum_steps and add_two() are mine", "best_wts 是自己的")},
        {"aliases": ("torch.sub and add", "torch.add 和 np.sub")},
    ],
    "KB069": [
        {"messages": ["TypeError: add() got the quick brown foxes"]},
        {"messages": [{"text": "RuntimeError: the quick brown {a:name} jump", "explain": ("It is {a}.", "是 {a}。")}]},
    ],
    "KB070": [
        {"messages": [OTHER, {"text": OTHER.replace("3", "5"), "torch": "<1.0"}]},
        {"messages": ["RuntimeError: the size of conv2d and tensor", "RuntimeError: the size of conv3d and tensor"]},
    ],
    "KB071": [
        {"expression_edits": [EDIT]},
        {"expression_edits": [EDIT | {"message": "must match the size"}]},
        {"expression_edits": [EDIT | {"from": "$X + torch.ones(4)", "to": "$X.new_ones(4)", "where": {"X": "tensor"}}]},
    ],
}
"""What comes near to breaking each rule and keeps it."""


def broken_rules(edits=(), **fields):
    text = entry_text(**fields)
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    path = Path("entries/tensors/add-two.md")
    entry, faults = parse_text(text, path)
    if entry is not None:
        faults += check_entry(entry, Corpus({entry.id: entry}), str(path))
    return {fault.rule for fault in faults}


def table(fixtures):
    return [
        pytest.param(rule, fields, id=f"{rule}-{n}") for rule, rows in fixtures.items() for n, fields in enumerate(rows)
    ]


@pytest.mark.parametrize(("rule", "fields"), table(BAD))
def test_a_rule_finds_what_breaks_it(rule, fields):
    assert rule in broken_rules(**fields)


@pytest.mark.parametrize(("rule", "fields"), table(GOOD))
def test_a_rule_leaves_alone_what_keeps_it(rule, fields):
    assert rule not in broken_rules(**fields)


ITEMS = [
    "- Two tensors have different sizes: give both the same size. [sizes](#sizes)",
    "- **Two tensors have different sizes** give both the same size. [sizes](#sizes)",
    "**Two tensors have different sizes**: give both the same size. [sizes](#sizes)",
    "Give both the same size.",
    "- **Two `tensors**: give both the same size. [sizes](#sizes)",
]


@pytest.mark.parametrize("item", ITEMS)
def test_an_item_is_one_line_of_a_form(item):
    text = entry_text()
    line = next(line for line in text.split("\n") if line.startswith("- **Two"))
    assert "KB061" in broken_rules(edits=[(line, item)])


BAD["KB061"] = ITEMS
"""Its fixtures are lines."""

"""A small corpus for the tests of the web application, written to a folder with a ledger of its own."""

from __future__ import annotations

from pathlib import Path

from kb.corpus.ledger import Record, program_hash, write_records
from kb.corpus.loader import load
from tests.entry_factory import CheckProgram, EntryFactory, Item, Programs

REPRO = """import torch
from torch import nn

first = nn.Linear(8, {width})
nn.Linear(4, 2)(first(torch.randn(3, 8)))
"""
FIX = """import torch
from torch import nn

first = nn.Linear(8, 4)
assert nn.Linear(4, 2)(first(torch.randn(3, 8))).shape == (3, 2)
"""

CHECK = """import torch
from torch import nn

first = nn.Linear(8, 4)
print(first(torch.randn(3, 8)).shape)
"""

CHECK_PRINTED = "torch.Size([3, 4])\n"

PRINTED = """Traceback (most recent call last):
  File "repro.py", line 5, in <module>
    nn.Linear(4, 2)(first(torch.randn(3, 8)))
RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)
"""


def write(folder: Path) -> Path:
    """Write the corpus and its ledger below a folder and return the folder of entries."""
    entries = EntryFactory(folder / "entries")
    _write(
        entries,
        "linear-width-mismatch",
        "shapes",
        title=("A layer gets inputs of the wrong width", "层的输入宽度不对"),
        answer=("Give `first` as many outputs as the next layer takes.", "让 `first` 的输出宽度等于下一层的输入宽度。"),
        messages=[
            {
                "text": "RuntimeError: mat1 and mat2 shapes cannot be multiplied ({left:shape} and {right:shape})",
                "explain": ("Your input has {left[1]} columns.", "你的输入有 {left[1]} 列。"),
            },
            {
                "text": "RuntimeError: CUDA error: width {width:int} of the first layer is not supported",
                "device": "cuda",
            },
        ],
        also=["old-linear-slug"],
        tags=["linear", "shapes"],
        related=["quiet-broadcast"],
        aliases=("matrix multiplication complains about sizes", "矩阵乘法维度对不上"),
        why=(
            "`first` gives another width than the next layer takes. <script>alert(1)</script> [bad](javascript:alert(1)) [docs](https://docs.pytorch.org/)",
            "`first` 的输出宽度和下一层要求的不一致。[文档](https://docs.pytorch.org/)",
        ),
        items=[
            Item(
                ("The layer before gives another width", "上一层的输出宽度不同"),
                ("change the `first` layer to 4 outputs.", "把 `first` 层的输出改成 4。"),
                ["plain"],
            ),
            Item(
                ("The layers are on a GPU", "这两层在 GPU 上"),
                ("change the `first` layer there.", "改那里的 `first` 层。"),
                ["on-gpu"],
            ),
        ],
        cases=[_programs(5, "plain"), _programs(6, "on-gpu", "device=cuda")],
        expression_edits=[
            {
                "case": "plain",
                "message": "mat1 and mat2",
                "from": "nn.Linear($IN, $OUT)($X)",
                "to": "nn.Linear($X.shape[-1], $OUT)($X)",
            }
        ],
        checks=[CheckProgram("widths", program=CHECK)],
    )
    _write(
        entries,
        "quiet-broadcast",
        "shapes",
        kind="silent",
        title=("A loss broadcasts without a word", "损失悄悄做了广播"),
        tags=["shapes", "broadcasting"],
        related=["linear-width-mismatch"],
        aliases=("loss is wrong though nothing complains", "损失值不对但没有报错"),
        cases=[_programs(7)],
    )
    _write(
        entries,
        "loader-seed-warning",
        "data",
        kind="warning",
        title=("The loader warns about its seed", "加载器对随机种子发出警告"),
        messages=[
            "UserWarning: the seed {seed:int} of this loader is not what you think",
            {"text": "UserWarning: the workers of this loader share a seed", "cause": 2},
        ],
        tags=["dataloader"],
        aliases=("seed of the loader is odd", "加载器种子很奇怪"),
        items=[
            Item(("The seed is odd", "种子很奇怪"), ("choose another one.", "换一个。"), ["plain"]),
            Item(
                ("The workers share a seed", "各个 worker 用同一个种子"),
                ("pass a `generator`.", "传一个 `generator`。"),
                ["shared"],
            ),
        ],
        cases=[_programs(9), _programs(10, "shared")],
    )
    _write(
        entries,
        "training-stands-still",
        "training",
        kind="symptom",
        title=("The loss stands still", "loss 一直不动"),
        answer=(
            "Run the check below, and give the layers the width that it prints.",
            "先运行下面的检查，再按它打印的宽度改这些层。",
        ),
        tags=["training"],
        aliases=("loss does not go down", "loss 不下降"),
        items=[
            Item(
                ("A loss broadcasts", "损失做了广播"),
                (
                    "follow [that entry](../shapes/quiet-broadcast.md).",
                    "参见[那个条目](../shapes/quiet-broadcast.md)。",
                ),
                [],
            )
        ],
        cases=[],
        checks=[CheckProgram("widths", program=CHECK)],
    )
    verify(entries.folder)
    return entries.folder


def verify(entries: Path) -> None:
    """Write a ledger in which every CPU case and check of the first entry passed, and that of the warning before its programs changed."""
    records, corpus = {}, load([entries])
    for entry in corpus:
        for runnable in entry.runnables:
            if runnable.device == "cpu" and entry.kind not in ("silent", "symptom"):
                digest = program_hash(runnable) if entry.kind == "error" else "0" * 32
                printed = PRINTED if runnable in entry.cases else CHECK_PRINTED
                records[runnable.id] = Record(
                    digest, "passed", printed, 0.25, "2026-11-20", "2.13.0+cpu", "cpu", "bubblewrap"
                )
    write_records(entries, records, [runnable for entry in corpus for runnable in entry.runnables])


def _write(entries: EntryFactory, slug: str, topic: str, **fields) -> None:
    defaults = {
        "messages": [],
        "apis": ["torch.nn.Linear"],
        "sources": ["000#1", "https://docs.pytorch.org/docs/stable/nn.html"],
        "why": ("The `first` layer is at fault.", "问题在 `first` 层。"),
        "answer": ("Change the `first` layer.", "改 `first` 层。"),
    }
    entries.write(slug, topic=topic, **(defaults | fields))


def _programs(width: int, name: str = "plain", attributes: str = "") -> Programs:
    return Programs(name, attributes, REPRO.format(width=width), FIX)


PASTE = """Epoch 1
Traceback (most recent call last):
  File "/home/li/secret-project/train.py", line 41, in step
    out = model(x)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (16x127 and 128x64)
"""

OWN_LINE = """Traceback (most recent call last):
  File "/home/me/train&1.py", line 14, in <module>
    loss = nn.Linear(4, 2)(hidden["a<b"])
RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)
"""
"""A traceback whose last line has the change that the first entry states."""

"""A small corpus for the tests of the web application, written to a folder with a ledger of its own."""

from __future__ import annotations

from pathlib import Path

from kb.corpus import load
from kb.ledger import Record, case_hash, record

ENTRY = """---
title: {{en: {en}, zh: {zh}}}
kind: {kind}
{messages}apis: [torch.nn.Linear]
tags: [{tags}]
aliases: {{en: ["{alias_en}"], zh: ["{alias_zh}"]}}
sources: ["000#1", "https://docs.pytorch.org/docs/stable/nn.html"]
related: [{related}]
{more}---

## English

### Why it happens

{why_en}

### How to fix it

Change the `first` layer.

## 中文

### 原因

{why_zh}

### 解决办法

改 `first` 层。

## Run it

{programs}
"""

WIDTHS = """```python repro {name}
import torch
from torch import nn

first = nn.Linear(8, {width})
nn.Linear(4, 2)(first(torch.randn(3, 8)))
```

```python fix {fix_name}
import torch
from torch import nn

first = nn.Linear(8, 4)
assert nn.Linear(4, 2)(first(torch.randn(3, 8))).shape == (3, 2)
```
"""

PRINTED = """Traceback (most recent call last):
  File "repro.py", line 5, in <module>
    nn.Linear(4, 2)(first(torch.randn(3, 8)))
RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)
"""


def write(folder: Path) -> Path:
    """Write the corpus and its ledger below a folder and return the folder of entries."""
    entries = folder / "entries"
    _write(
        entries / "shapes" / "linear-width-mismatch.md",
        en="A layer gets inputs of the wrong width",
        zh="层的输入宽度不对",
        messages='messages:\n  - "RuntimeError: mat1 and mat2 shapes cannot be multiplied ({left:shape} and {right:shape})"\n'
        '  - {text: "RuntimeError: CUDA error: width {width:int} of the first layer is not supported", device: cuda}\n',
        more='explain: {en: "Your input has {left[1]} columns.", zh: "你的输入有 {left[1]} 列。"}\nalso: [old-linear-slug]\n',
        tags="linear, shapes",
        related="quiet-broadcast",
        alias_en="matrix multiplication complains about sizes",
        alias_zh="矩阵乘法维度对不上",
        why_en="`first` gives another width than the next layer takes. <script>alert(1)</script> [bad](javascript:alert(1)) [docs](https://docs.pytorch.org/)",
        why_zh="`first` 的输出宽度和下一层要求的不一致。[文档](https://docs.pytorch.org/)",
        programs=WIDTHS.format(name="plain", fix_name="plain", width=5)
        + "\n"
        + WIDTHS.format(name="on-gpu device=cuda", fix_name="on-gpu", width=6),
    )
    _write(
        entries / "shapes" / "quiet-broadcast.md",
        kind="silent",
        en="A loss broadcasts without a word",
        zh="损失悄悄做了广播",
        tags="shapes, broadcasting",
        related="linear-width-mismatch",
        alias_en="loss is wrong though nothing complains",
        alias_zh="损失值不对但没有报错",
        programs=WIDTHS.format(name="", fix_name="", width=7),
    )
    _write(
        entries / "data" / "loader-seed-warning.md",
        kind="warning",
        en="The loader warns about its seed",
        zh="加载器对随机种子发出警告",
        messages='messages:\n  - "UserWarning: the seed {seed:int} of this loader is not what you think"\n',
        tags="dataloader",
        alias_en="seed of the loader is odd",
        alias_zh="加载器种子很奇怪",
        programs=WIDTHS.format(name="", fix_name="", width=9),
    )
    verify(entries)
    return entries


def verify(entries: Path) -> None:
    """Write a ledger in which every CPU case of the first entry passed, and that of the warning before its programs changed."""
    records = {}
    for entry in load([entries]):
        for case in entry.cases:
            if case.device == "cpu" and entry.kind != "silent":
                digest = case_hash(case) if entry.kind == "error" else "0" * 32
                records[case.id] = Record(
                    digest, "passed", PRINTED, 0.25, "2026-11-20", "2.13.0+cpu", "cpu", "bubblewrap"
                )
    record(entries, records, records)


def _write(path: Path, **values: str) -> None:
    defaults = {
        "kind": "error",
        "messages": "",
        "related": "",
        "more": "",
        "why_en": "The `first` layer is at fault.",
        "why_zh": "问题在 `first` 层。",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ENTRY.format(**(defaults | values)), "utf-8")


PASTE = """Epoch 1
Traceback (most recent call last):
  File "/home/li/secret-project/train.py", line 41, in step
    out = model(x)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (16x127 and 128x64)
"""

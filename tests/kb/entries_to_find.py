"""Writes small entries for tests of the index and of look-ups; their programs are never run."""

TEXT = """---
title: {{en: {en}, zh: {zh}}}
kind: {kind}
{messages}{explain}apis: [{apis}]
tags: [{tags}]
aliases: {{en: ["{alias_en}"], zh: ["{alias_zh}"]}}
sources: ["000#1"]
related: [{related}]
{also}---

## English

### Why it happens

{why}

### How to fix it

Do it otherwise.

## 中文

### 原因

{why_zh}

### 解决办法

换个做法。

## Run it

```python repro
import torch

torch.ones(2)
```

```python fix
import torch

assert torch.ones(2).sum() == 2
```
"""


def write_entry(folder, slug, topic="topic", **given):
    """Write an entry into `folder` and return its path; what is not given is made from the slug."""
    words = slug.replace("-", " ")
    messages = given.pop("messages", [])
    listed = "messages:\n" + "".join(f"  - {message!r}\n" for message in messages) if messages else ""
    explain = given.pop("explain", "")
    also = given.pop("also", "")
    fields = {
        "en": words,
        "zh": "一个条目",
        "kind": "error" if messages else "silent",
        "messages": listed,
        "explain": f"explain:\n  en: {explain!r}\n  zh: {explain!r}\n" if explain else "",
        "apis": "torch.nn.Linear",
        "tags": "tag",
        "alias_en": words,
        "alias_zh": "一个条目",
        "related": "",
        "also": f"also: [{also}]\n" if also else "",
        "why": "Because of it.",
        "why_zh": "就是这样。",
        **given,
    }
    path = folder / topic / f"{slug}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEXT.format(**fields), "utf-8")
    return path

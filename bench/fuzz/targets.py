"""What is fuzzed. A target makes an input from random numbers, and checks that kb reads it without failing, in bounded work, and without harm to others.

To add one, write a class with `name`, `make` and `check` and put it into `TARGETS`; the command, the test and the guided mode take it from there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Protocol

from bench.fuzz.mutation import JSON, MARKDOWN, PYTHON, TEXT, YAML, mutate
from bench.fuzz.paste import Paste
from kb.corpus.diagnostic import Diagnostic, github_annotation
from kb.corpus.ledger import load_ledgers
from kb.corpus.loader import load
from kb.corpus.parser import parse_unfinished
from kb.corpus.seed_coverage import SeedListError, read_seeds
from kb.lint.autofix import repair
from kb.lint.linter import check
from kb.templates.template import TemplateError, compile_template

__all__ = ["TARGETS", "Target"]

GOOD = "zz-good"
"""The entry that must be there whatever is wrong with the files beside it. It sorts last, because a shared alias is the first one's fault."""

_FROM_LEDGERS = {"KB043", "KB044"}
"""Rules that compare an entry with the ledgers, which a fuzzed ledger may make it break."""

_ENTRY = """---
title: {en: A tensor is too small, zh: 张量太小}
kind: error
answer: {en: Make the tensor larger., zh: 把张量变大。}
messages:
  - text: "RuntimeError: the tensor has {have:int} elements but {want:int} are needed"
    explain: {en: "It has {have} elements.", zh: "它有 {have} 个元素。"}
  - {text: "RuntimeError: only {have:int} elements, needs {names}", torch: ">=1.0,<2.0", device: cuda}
apis: [torch.ones]
tags: [tensor-size]
aliases: {en: [the tensor is smaller than needed], zh: [张量的元素太少]}
requires: [onnx>=1.15]
sources: [https://docs.pytorch.org/docs/stable/tensors.html]
---

## English

### What to change

- **The tensor is too small**, as `torch.ones(3)` is: make it larger, see [that](zz-good.md). [first](#first)

### How to tell

Run [shapes](#shapes).

### Why it happens

`torch.ones(3)` has [three](https://docs.pytorch.org/docs/stable/tensors.html) elements.

## 中文

### 怎么改

- **张量太小**，比如 `torch.ones(3)`：把它变大，参见[这里](zz-good.md)。[first](#first)

### 怎么判断

运行 [shapes](#shapes)。

### 原因

`torch.ones(3)` 有[三个](https://docs.pytorch.org/docs/stable/tensors.html)元素。

## Run it

### first

```python repro shm=1m
import torch

total = torch.ones(3).view(4)
```

```python fix
import torch

total = torch.ones(4).view(4)
assert total.shape == (4,)
```

### shapes

```python check os=windows
import torch

print(torch.ones(3).shape)
```
"""
_GOOD_ENTRY = (
    _ENTRY.replace("the tensor is smaller than needed", "some other alias")
    .replace("张量的元素太少", "另一个说法")
    .replace("elements", "members")
)
_RECORD = {"hash": "x", "outcome": "passed", "printed": "RuntimeError: x", "seconds": 0.5, "date": "2026-01-02"}
_LEDGER = json.dumps(
    {
        "torch": "2.13.0+cpu",
        "device": "cpu",
        "cases": {f"{slug}/{name}": _RECORD for slug in ("fuzzed", GOOD) for name in ("first", "shapes")},
    }
)
_SETTINGS = "name: Vision team\nimage: registry.example.org/vision/torch:2.13\n"
_EXEMPTIONS = (
    "- {entry: fuzzed, rule: KB034, reason: the history needs the room}\n- {entry: zz-good, rule: KB030, reason: x}\n"
)
_ANNOTATION = re.compile(r"::error file=[^:,]*,line=[0-9]+,title=KB[0-9]{3}::")
_PIECES = (
    *("{text}", "{names}", "{a:int}", "{shape}", "{name}", "{device}", "{", "}"),
    *("RuntimeError: ", "size of tensor ", ", ", "x.", "::", "'"),
)
"""What templates are made of."""

_SEEDS = '"000":\n  title: Twelve traps\n  items:\n    "1": cuda() moves a module\n    "2": adding up a loss\n'


class Target(Protocol):
    """Something that reads what strangers write."""

    name: str

    def make(self, random: Random) -> bytes:
        """Return an input."""

    def check(self, data: bytes, folder: Path) -> None:
        """Let kb read the input in an empty folder; raise when something is not as it must be."""


class CollectionFile:
    """One file of a folder of entries: whatever it holds, the other entry is loaded, and only this file has faults."""

    def __init__(
        self, name: str, file: str, valid: str, tokens: Sequence[str], *, part: tuple[str, str] = ("", "")
    ) -> None:
        """Fuzz what is between the two texts of `part` in a valid file; an empty text is its beginning, or its end."""
        self.name = name
        self._file = file
        head, start, rest = valid.partition(part[0]) if part[0] else ("", "", valid)
        middle, end, tail = rest.partition(part[1]) if part[1] else (rest, "", "")
        self._parts = [text.encode() for text in (head + start, middle, end + tail)]
        self._tokens = tokens

    def make(self, random: Random) -> bytes:
        head, middle, tail = self._parts
        return head + mutate(middle if random.random() < 0.9 else b"", self._tokens, random) + tail

    def check(self, data: bytes, folder: Path) -> None:
        write(folder / "tensors" / f"{GOOD}.md", _GOOD_ENTRY.encode())
        write(folder / self._file, data)
        check_collection(folder)


class Unfinished:
    """An entry while it is being written: every state of it can be shown."""

    name = "unfinished entry"

    def make(self, random: Random) -> bytes:
        return mutate(_ENTRY.encode(), [*YAML, *MARKDOWN, *PYTHON], random)

    def check(self, data: bytes, folder: Path) -> None:
        entry = parse_unfinished(data.decode("utf-8", "replace")[:65536], folder / "tensors" / "fuzzed.md")
        assert entry.id == "fuzzed"


class Autofix:
    """What `kb check --fix` writes is an entry again, and repairing it once more changes nothing."""

    name = "autofix"

    def make(self, random: Random) -> bytes:
        return mutate(
            _ENTRY.replace("---\n\n## English", "related: [zz-good]\n---\n\n## English").encode(),
            [*MARKDOWN, "用", ",", "，"],
            random,
        )

    def check(self, data: bytes, folder: Path) -> None:
        write(folder / "tensors" / f"{GOOD}.md", _GOOD_ENTRY.encode())
        write(folder / "tensors" / "fuzzed.md", data)
        before = load([folder])
        repair(before)
        after = load([folder])
        assert set(after.entries) == set(before.entries), "a repaired entry cannot be read any more"
        assert repair(after) == [], "repairing twice is not the same as repairing once"


class Templates:
    """A message as a template: it is compiled, or refused with a sentence."""

    name = "templates"

    def make(self, random: Random) -> bytes:
        pieces = [random.choice(_PIECES if random.random() < 0.9 else TEXT) for _ in range(random.randrange(80))]
        return "".join(pieces)[:1000].encode("utf-8", "surrogatepass")

    def check(self, data: bytes, folder: Path) -> None:
        message = data.decode("utf-8", "replace")
        with contextlib.suppress(TemplateError):
            compile_template(message)
        entry = _ENTRY.replace('"RuntimeError: only {have:int} elements, needs {names}"', json.dumps(message))
        write(folder / "tensors" / f"{GOOD}.md", _GOOD_ENTRY.encode())
        write(folder / "tensors" / "fuzzed.md", entry.encode())
        write(folder / "verified" / "2.13.0-cpu.json", _ledger_printing("size of tensor " * 200 + message))
        check_collection(folder)


class Seeds:
    """The list of founding documents: it is read, or refused with a sentence."""

    name = "seeds.yaml"

    def make(self, random: Random) -> bytes:
        return mutate(_SEEDS.encode(), YAML, random)

    def check(self, data: bytes, folder: Path) -> None:
        write(folder / "seeds.yaml", data)
        with contextlib.suppress(SeedListError):
            read_seeds(folder)


class Names:
    """Files, links, FIFOs, sockets and folders of any name where entries, ledgers and settings are looked for."""

    name = "names"
    _KINDS = ("file", "link", "fifo", "socket", "folder")
    _PLACES = ("tensors", "verified", "", "tensors/fuzzed.md", "{name}")
    _FILES = ("{name}.md", "{name}.json", "kb.yaml", "exemptions.yaml", "{name}", "fuzzed.md", "2.13.0-cpu.json")
    _LEADS = (
        "self",
        "/dev/zero",
        "/etc/hostname",
        "/proc/self/mem",
        ".",
        "..",
        "/",
        "zz-good.md",
        "nowhere",
        "../tensors",
    )

    def make(self, random: Random) -> bytes:
        objects = []
        for _ in range(random.randrange(1, 7)):
            name = "".join(
                random.choice([*TEXT, "a", "b", ".", "~", "`", "$(id)", "'", '"', "&"])
                for _ in range(random.randrange(1, 4))
            )
            place = random.choice(self._PLACES).replace("{name}", name)
            file = random.choice(self._FILES).replace("{name}", name)
            objects.append([random.choice(self._KINDS), f"{place}/{file}", random.choice(self._LEADS)])
        return json.dumps(objects).encode()

    def check(self, data: bytes, folder: Path) -> None:
        write(folder / "tensors" / f"{GOOD}.md", _GOOD_ENTRY.encode())
        for kind, name, lead in self._objects(data):
            with contextlib.suppress(OSError, ValueError):  # the system itself refuses some names
                _create(kind, folder / name.lstrip("/"), lead)
        check_collection(folder)

    def _objects(self, data: bytes) -> list[tuple[str, str, str]]:
        """Return what the input asks for; bytes that the guided mode made up may ask for nothing."""
        try:
            return [
                (str(kind), str(name), str(lead))
                for kind, name, lead in json.loads(data)
                if f"{GOOD}.md" not in str(name)
            ]
        except (ValueError, TypeError, RecursionError):
            return []


def check_collection(folder: Path) -> None:
    """Read all that is in a folder of entries and check what must hold whatever that is."""
    corpus, ledgers = load([folder]), load_ledgers([folder])
    assert GOOD in corpus.entries, "another file has hidden this entry"
    faults = check(corpus)
    for fault in (*faults, *ledgers.faults):
        check_fault(fault)
    assert not [f for f in faults if f.path.endswith(f"/{GOOD}.md") and f.rule not in _FROM_LEDGERS], (
        "a fault of another file"
    )


def check_fault(fault: Diagnostic) -> None:
    """Check that a fault is one printable line in every format, and no other command of a code host."""
    annotation = github_annotation("error", fault.path, fault.line, fault.rule, fault.what)
    for text in (str(fault), annotation):
        assert text.isprintable(), f"not printable: {text!r}"
        assert "##[" not in text
        assert len(text) < 5000, f"a fault of {len(text)} characters"
    assert not str(fault).startswith("::")
    assert _ANNOTATION.match(annotation), "a path or a title that is read as a command"


def write(path: Path, data: bytes) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _create(kind: str, path: Path, lead: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "file":
        with path.open("xb") as file:  # a FIFO of that name would wait for a reader
            file.write(_ENTRY.encode())
    elif kind == "link":
        path.symlink_to(path.name if lead == "self" else lead)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as server:
            server.bind(str(path))
    else:
        path.mkdir()


def _ledger_printing(printed: str) -> bytes:
    record = _RECORD | {"printed": printed[:8000]}
    cases = {f"{slug}/first": record for slug in ("fuzzed", GOOD)}
    return json.dumps({"torch": "2.13.0", "device": "cpu", "cases": cases}).encode()


def empty(folder: Path) -> None:
    """Remove everything in a folder."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


_ALL: list[Target] = [
    CollectionFile("entry", "tensors/fuzzed.md", _ENTRY, [*YAML, *MARKDOWN, *PYTHON]),
    CollectionFile("front matter", "tensors/fuzzed.md", _ENTRY, YAML, part=("---\n", "---\n")),
    CollectionFile("programs", "tensors/fuzzed.md", _ENTRY, PYTHON, part=("```python repro shm=1m\n", "")),
    CollectionFile("kb.yaml", "kb.yaml", _SETTINGS, YAML),
    CollectionFile("exemptions.yaml", "exemptions.yaml", _EXEMPTIONS, YAML),
    CollectionFile("ledger", "verified/2.13.0-cpu.json", _LEDGER, JSON),
    Unfinished(),
    Autofix(),
    Templates(),
    Seeds(),
    Names(),
    Paste(),
]
TARGETS = {target.name: target for target in _ALL}

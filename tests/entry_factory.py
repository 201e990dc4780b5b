"""Entries for tests: the text of one that keeps every rule, with any of its parts exchanged, and a folder of such entries with its ledgers.

The format of an entry is written down here and in no other test, so that a change of the format is a change of this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kb.corpus.ledger import Record, program_hash, write_records
from kb.corpus.loader import Corpus, load
from kb.index.manager import open_index
from kb.index.reader import Index

SLUG = "add-two"
REPRO = "import torch\n\ntotal = torch.ones(3) + torch.ones(4)\n"
FIX = "import torch\n\ntotal = torch.ones(4) + torch.ones(4)\nassert total.shape == (4,)\n"
CHECK = "import torch\n\nprint(torch.ones(3).shape)\n"
MESSAGES = (
    {
        "text": "RuntimeError: The size of tensor a ({a:int}) must match the size of tensor b ({b:int}) at non-singleton dimension {dim:int}",
        "explain": ("One has {a} elements, the other {b}.", "一个有 {a} 个元素，另一个有 {b} 个。"),
    },
    {"text": "RuntimeError: inconsistent tensor size, expected {shape} and {shape} to match", "torch": "<1.0"},
)
_BROADCASTING = "https://docs.pytorch.org/docs/stable/notes/broadcasting.html"
_PLAIN = re.compile(r"[\w .?!]*\w")
"""A text that YAML reads as it is."""

Values = Mapping[str, str | Sequence[str]]
"""A message with its range of versions, its device or its explanation in both languages."""


class Texts(NamedTuple):
    """A text in both languages."""

    en: str
    zh: str


class Item(NamedTuple):
    """An item of *What to change*: cause and change in both languages, and the names of the cases that it links to."""

    cause: Sequence[str] = ("Two tensors have different sizes", "两个张量尺寸不同")
    change: Sequence[str] = (f"Give both [the same size]({_BROADCASTING}).", f"让两者[尺寸一致]({_BROADCASTING})。")
    names: Sequence[str] = ("sizes",)


class Programs(NamedTuple):
    """A case: its name, the attributes of its first fence, and its two programs."""

    name: str = "sizes"
    attributes: str = ""
    repro: str = REPRO
    fix: str = FIX


class CheckProgram(NamedTuple):
    """A check: its name, the attributes of its fence, and its program."""

    name: str = "shapes"
    attributes: str = ""
    program: str = CHECK


TITLE = Texts("Two tensors cannot be added", "两个张量不能相加")
ANSWER = Texts("Give both tensors the same size before you add them.", "相加之前让两个张量尺寸一致。")
ALIASES = Texts("adding two tensors fails", "两个 tensor 相加报错")
WHY = Texts("`torch.add` needs equal sizes, or ones.", "`torch.add` 要求尺寸相同，或者为 1。")


def entry_text(
    *,
    title: Sequence[str] = TITLE,
    kind: str = "error",
    answer: Sequence[str] = ANSWER,
    messages: Sequence[str | Values] | None = None,
    inspect: str = "",
    expression_edits: Sequence[Mapping[str, object]] = (),
    apis: Sequence[str] = ("torch.add",),
    tags: Sequence[str] = ("broadcasting",),
    aliases: Sequence[str | Sequence[str]] = ALIASES,
    requires: Sequence[str] = (),
    sources: Sequence[str] = (_BROADCASTING,),
    related: Sequence[str] = (),
    also: Sequence[str] = (),
    items: Sequence[Item] | None = None,
    how_to_tell: Sequence[str] | None = None,
    why: Sequence[str] = WHY,
    cases: Sequence[Programs] = (Programs(),),
    checks: Sequence[CheckProgram] = (),
) -> str:
    """Return the text of an entry; what is not given is that of an entry about adding two tensors, which keeps every rule.

    Where no items are given, one links to all cases; where *How to tell* is not given, it links to all checks.
    """
    messages = MESSAGES if messages is None else messages
    items = [Item(names=[case.name for case in cases])] if items is None else items
    if how_to_tell is None and checks:
        links = " ".join(_link(check.name) for check in checks)
        how_to_tell = f"Run {links} and compare.", f"运行 {links} 比较一下。"
    aliases = [[texts] if isinstance(texts, str) else texts for texts in aliases]
    lines = [
        "---",
        *("title:", f"  en: {_scalar(title[0])}", f"  zh: {_scalar(title[1])}"),
        f"kind: {kind}",
        *("answer:", f"  en: {_quoted(answer[0])}", f"  zh: {_quoted(answer[1])}"),
        *(["messages:"] if messages else []),
        *(f"  - {_message(message)}" for message in messages),
        *([f"inspect: {inspect}"] if inspect else []),
        *([f"edits: {json.dumps(expression_edits)}"] if expression_edits else []),
        *([f"apis: {_list(apis)}"] if apis else []),
        f"tags: {_list(tags)}",
        *("aliases:", f"  en: {_list(aliases[0])}", f"  zh: {_list(aliases[1])}"),
        *([f"requires: {_list(requires)}"] if requires else []),
        "sources:",
        *(f"  - {source if source.startswith('https:') else _quoted(source)}" for source in sources),
        *([f"related: {_list(related)}"] if related else []),
        *([f"also: {_list(also)}"] if also else []),
        "---",
        *("", "## English", "", "### What to change", ""),
        *(f"- **{item.cause[0]}**: {item.change[0]} {', '.join(map(_link, item.names))}".rstrip() for item in items),
        *(("", "### How to tell", "", how_to_tell[0]) if how_to_tell else ()),
        *("", "### Why it happens", "", why[0]),
        *("", "## 中文", "", "### 怎么改", ""),
        *(f"- **{item.cause[1]}**：{item.change[1]}{'、'.join(map(_link, item.names))}" for item in items),
        *(("", "### 怎么判断", "", how_to_tell[1]) if how_to_tell else ()),
        *("", "### 原因", "", why[1]),
        *("", "## Run it", ""),
    ]
    blocks = [
        f"### {case.name}\n\n{_fence('repro', case.attributes, case.repro)}\n{_fence('fix', '', case.fix)}"
        for case in cases
    ]
    blocks += [f"### {check.name}\n\n{_fence('check', check.attributes, check.program)}" for check in checks]
    return "\n".join(lines) + "\n" + "\n".join(blocks)


class EntryFactory:
    """Writes entries and ledgers into a folder and reads them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, slug: str = SLUG, topic: str = "tensors") -> Path:
        """Return where an entry of that name is."""
        return self.folder / topic / f"{slug}.md"

    def write(
        self, slug: str = SLUG, *edits: tuple[str, str], topic: str = "tensors", text: str | None = None, **fields
    ) -> Path:
        """Write an entry, with (old, new) exchanged in its text, and return its path; its aliases are its own unless they are given."""
        if slug != SLUG:
            fields.setdefault("aliases", (f"{slug} in other words", f"{slug} 的另一种说法"))
        text = entry_text(**fields) if text is None else text
        for old, new in edits:
            assert old in text, old
            text = text.replace(old, new)
        path = self.path(slug, topic)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def write_file(self, name: str, data: str | bytes) -> Path:
        """Write another file of the folder, such as `kb.yaml`."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def edit(self, path: Path, old: str, new: str) -> None:
        """Exchange a text in a file."""
        text = path.read_text("utf-8")
        assert old in text, old
        path.write_text(text.replace(old, new), "utf-8")

    def corpus(self) -> Corpus:
        """Return all entries of the folder."""
        return load([self.folder])

    def index(self) -> Index:
        """Return the index of the folder, which is built beside it."""
        return open_index([self.folder], self.folder.parent / "cache")

    def record(self, slug: str = SLUG, *, printed: str = "", torch: str = "2.13.0+cpu", **values) -> list[Path]:
        """Write a ledger in which every case and check of the entry passed; return its path."""
        entry = self.corpus().entries[slug]
        records = {runnable.id: _record(runnable, printed, torch, values) for runnable in entry.runnables}
        there = [runnable for entry in self.corpus() for runnable in entry.runnables]
        return write_records(self.folder, records, there)


def _record(runnable, printed, torch, values) -> Record:
    fields = {
        "hash": program_hash(runnable),
        "outcome": "passed",
        "printed": printed,
        "seconds": 0.25,
        "date": "2026-01-02",
    }
    return Record(**(fields | {"torch": torch, "device": "cpu", "backend": "bubblewrap"} | values))


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_scalar, texts))}]"


def _link(name: str) -> str:
    return f"[{name}](#{name})"


def _fence(role: str, attributes: str, source: str) -> str:
    return f"```python {' '.join(filter(None, [role, attributes]))}\n{source}```\n"


def _message(message: str | Values) -> str:
    if isinstance(message, str):
        return _quoted(message)
    return f"{{{', '.join(f'{key}: {_value(key, value)}' for key, value in message.items())}}}"


def _value(key: str, value: str | Sequence[str]) -> str:
    if key == "explain":
        return f"{{en: {_quoted(value[0])}, zh: {_quoted(value[1])}}}"
    return str(value) if key == "device" else json.dumps(value, ensure_ascii=False)

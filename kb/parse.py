"""Read an entry from its Markdown: front matter by YAML and JSON Schema, prose by its headings, programs by their fences.

Everything that is wrong with a file is reported at once, each fault with its line; an entry comes out only when its structure is whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from kb.entry import LANGUAGES, Block, Case, Entry, Fault, Lang, Message, Prose, Text

__all__ = ["HEADINGS", "parse", "parse_text", "parse_unfinished", "prose_lines", "schema"]

HEADINGS = ("## English", "### Why it happens", "### How to fix it", "## 中文", "### 原因", "### 解决办法", "## Run it")
_SECTION: dict[str, tuple[Lang, str]] = {
    "Why it happens": ("en", "why"),
    "How to fix it": ("en", "fix"),
    "原因": ("zh", "why"),
    "解决办法": ("zh", "fix"),
}
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FENCE = re.compile(r"^(`{3,}|~{3,})\s*(\S*)[ \t]*(.*)$")
_BYTES = re.compile(r"(\d+)([kmg])")
_FACTOR = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_ATTRIBUTES = {
    "device": ("cuda, mps", re.compile("cpu|cuda|mps")),
    "gpus": ("a number of GPUs", re.compile("[1-9]")),
    "os": ("windows, macos", re.compile("windows|macos")),
    "shm": ("an amount such as 1m", _BYTES),
    "memory": ("an amount such as 512m", _BYTES),
    "timeout": ("seconds", re.compile(r"[1-9]\d{0,2}")),
    "fresh": ("true", re.compile("true")),
}


Marks = dict[tuple[Any, ...], int]
"""The line of each key of front matter."""
Sections = dict[tuple[Lang, str], str]
"""Markdown by language and by `why` or `fix`."""


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema of the front matter, the one that editors may use as well."""
    loaded: dict[str, Any] = json.loads(resources.files("kb").joinpath("schema.json").read_text("utf-8"))
    return loaded


def parse(path: Path, *, name: str = "") -> tuple[Entry | None, list[Fault]]:
    """Return the entry in the file, or None when it is not whole, and all faults found; `name` is what faults call the file."""
    name = name or str(path)
    try:
        source = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        return None, [Fault(name, 1, "KB001", f"not UTF-8 at byte {error.start}; save the file as UTF-8")]
    except OSError as error:
        return None, [Fault(name, 1, "KB001", f"cannot be read ({error.strerror}); check the path")]
    return parse_text(source, path, name=name)


def parse_text(source: str, path: Path, *, name: str = "") -> tuple[Entry | None, list[Fault]]:
    """Like `parse`, for the text of a file that would stand at `path`."""
    reader = _Reader(name or str(path))
    data, marks, prose, cases = _read(source, path, reader)
    if reader.faults:
        return None, sorted(reader.faults)
    return _entry(source, path, data, marks, prose, cases), []


def parse_unfinished(source: str, path: Path) -> Entry:
    """Return what can be read of a file that is still being written; what is missing or wrong is left empty, a title is the slug."""
    data, marks, prose, cases = _read(source, path, _Reader(str(path)))
    broken = {
        tuple(fault.absolute_path)
        for fault in Draft202012Validator(schema()).iter_errors(data)
        if fault.validator != "required"
    }
    for *place, key in sorted(broken - {()}, key=lambda place: [str(step).zfill(4) for step in place], reverse=True):
        holder: Any = data
        for step in place:
            holder = holder[step]
        del holder[key]
    data = {"kind": "error", "tags": [], "sources": [], **data}
    data["title"] = dict.fromkeys(LANGUAGES, path.stem) | data.get("title", {})
    data["aliases"] = {lang: [] for lang in LANGUAGES} | data.get("aliases", {})
    if len(data.get("explain", LANGUAGES)) < len(LANGUAGES):
        del data["explain"]
    return _entry(source, path, data, marks, prose, cases)


def prose_lines(source: str) -> Iterator[tuple[int, Lang, str]]:
    """Yield (line number, language, line) for each line of prose, headings and front matter left out."""
    lang: Lang | None = None
    for number, line in _outside_fences(source.split("\n"), 0):
        if line.startswith("## "):
            lang = {"## English": "en", "## 中文": "zh"}.get(line.rstrip())  # type: ignore[assignment]
        elif lang and not line.startswith("#"):
            yield number, lang, line


def _read(source: str, path: Path, reader: _Reader) -> tuple[dict[str, Any], Marks, Sections, tuple[Case, ...]]:
    """Return front matter, the line of each of its keys, prose and cases; what is wrong goes to the reader."""
    if not _SLUG.fullmatch(path.stem):
        reader.fault(1, "KB002", f"the file's name {path.stem!r} is no slug; use lower-case words joined by hyphens")
    lines = source.split("\n")
    front, body_start = _front_matter(lines, reader)
    prose = _prose(lines, body_start, reader)
    data, marks = front or ({}, {})
    return data, marks, prose, _cases(path.stem, lines, body_start, reader)


def _entry(
    source: str, path: Path, data: dict[str, Any], marks: Marks, prose: Sections, cases: tuple[Case, ...]
) -> Entry:
    return Entry(
        id=path.stem,
        topic=path.parent.name,
        title=Text(**data["title"]),
        kind=data["kind"],
        messages=tuple(
            _message(item, marks.get(("messages", i), 1)) for i, item in enumerate(data.get("messages", []))
        ),
        aliases={lang: tuple(data["aliases"][lang]) for lang in LANGUAGES},
        prose={lang: Prose(prose.get((lang, "why"), ""), prose.get((lang, "fix"), "")) for lang in LANGUAGES},
        cases=cases,
        explain=Text(**data["explain"]) if "explain" in data else None,
        apis=tuple(data.get("apis", [])),
        tags=tuple(data["tags"]),
        sources=tuple(data["sources"]),
        related=tuple(data.get("related", [])),
        also=tuple(data.get("also", [])),
        path=path,
        source=source,
    )


@dataclass(slots=True)
class _Fence:
    """A fenced block: its info string, its text, and the line of the fence itself."""

    language: str
    info: str
    source: str
    line: int


class _Reader:
    """Collects the faults of one file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.faults: list[Fault] = []

    def fault(self, line: int, rule: str, what: str) -> None:
        self.faults.append(Fault(self.name, line, rule, what))


def _front_matter(lines: list[str], reader: _Reader) -> tuple[tuple[dict[str, Any], Marks] | None, int]:
    """Return the data with the line of each key, checked against the schema, and the index of the first line after it."""
    if lines[0].rstrip() != "---":
        reader.fault(1, "KB003", "no front matter; begin the file with a line --- and close it with another")
        return None, 0
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        reader.fault(1, "KB003", "front matter is not closed; put a line --- after it")
        return None, len(lines)
    text = "\n".join(lines[1:end])
    try:
        for token in yaml.scan(text, Loader=yaml.SafeLoader):
            if isinstance(token, yaml.AliasToken):  # a few lines of them make a mapping that never ends
                reader.fault(token.start_mark.line + 2, "KB003", f"*{token.value} repeats another value; write it out")
                return None, end + 1
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 1
        reader.fault(
            line,
            "KB003",
            f"front matter is no YAML ({getattr(error, 'problem', None) or 'cannot be read'}); quote texts that hold : # or backticks",
        )
        return None, end + 1
    marks: Marks = {}
    _mark(node, (), marks, reader)
    if not isinstance(data, dict):
        reader.fault(2, "KB003", "front matter is no mapping; write key: value lines")
        return None, end + 1
    for broken in Draft202012Validator(schema()).iter_errors(data):
        place = tuple(broken.absolute_path)
        key = ".".join(map(str, place))
        reader.fault(marks.get(place, 2), "KB004", f"{key + ': ' if key else ''}{_plain(broken.message)}")
    return (data, marks), end + 1


def _plain(message: str) -> str:
    """Jsonschema's sentence, with the value that it quotes in full cut to a readable length, and what to do."""
    message = message if len(message) < 160 else message[:70] + " … " + message[-80:]
    return f"{message}; see docs/entry-format.md"


def _mark(node: yaml.Node | None, place: tuple[Any, ...], marks: Marks, reader: _Reader) -> None:
    """Note the line of every node, and report a key that stands twice, which YAML itself lets pass."""
    if node is None:
        return
    marks[place] = node.start_mark.line + 2
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if key.value in seen:
                reader.fault(key.start_mark.line + 2, "KB003", f"the key {key.value!r} stands twice; keep one")
            seen.add(key.value)
            _mark(value, (*place, key.value), marks, reader)
            marks[(*place, key.value)] = key.start_mark.line + 2
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _mark(value, (*place, index), marks, reader)


def _message(item: str | dict[str, str], line: int) -> Message:
    return Message(item, line=line) if isinstance(item, str) else Message(**item, line=line)


def _outside_fences(lines: list[str], start: int) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line) for the lines from index `start` on that stand in no fenced block."""
    fence = ""
    for number, line in enumerate(lines[start:], start + 1):
        opened = _FENCE.match(line)
        if fence:
            fence = "" if line.startswith(fence) and not line.strip(fence[0] + " ") else fence
        elif opened:
            fence = opened.group(1)
        else:
            yield number, line


def _prose(lines: list[str], start: int, reader: _Reader) -> Sections:
    """Return the Markdown below each of the four prose headings, which must be there, in order, and filled."""
    headings = [(number, line.rstrip()) for number, line in _outside_fences(lines, start) if re.match(r"#{1,6} ", line)]
    found = [text for _, text in headings]
    if found != list(HEADINGS):
        at = next(
            (i for i, pair in enumerate(zip(found, HEADINGS, strict=False)) if pair[0] != pair[1]),
            min(len(found), len(HEADINGS)),
        )
        line = headings[at][0] if at < len(headings) else max(1, len(lines) - 1)
        wanted = f"expected {HEADINGS[at]!r}" if at < len(HEADINGS) else "nothing may follow '## Run it'"
        got = f", found {found[at]!r}" if at < len(found) else ""
        reader.fault(
            line, "KB005", f"headings out of order: {wanted}{got}; an entry has exactly: {', '.join(HEADINGS)}"
        )
        return {}
    ends = [number for number, _ in headings[1:]] + [len(lines) + 1]
    prose = {}
    for (number, heading), end in zip(headings, ends, strict=True):
        if (section := _SECTION.get(heading[4:])) is not None:
            prose[section] = "\n".join(lines[number : end - 1]).strip()
            if not prose[section]:
                reader.fault(number, "KB006", f"nothing stands under {heading!r}; explain it there")
    return prose


def _fences(lines: list[str], start: int, reader: _Reader) -> Iterator[_Fence]:
    """Yield every fenced block from index `start` on."""
    i = start
    while i < len(lines):
        opened = _FENCE.match(lines[i])
        if not opened:
            i += 1
            continue
        mark = opened.group(1)
        end = next(
            (j for j in range(i + 1, len(lines)) if lines[j].startswith(mark) and not lines[j].strip(mark[0] + " ")),
            None,
        )
        if end is None:
            reader.fault(i + 1, "KB007", f"this block is never closed; end it with {mark}")
            return
        yield _Fence(opened.group(2), opened.group(3).strip(), "\n".join(lines[i + 1 : end]) + "\n", i + 1)
        i = end + 1


def _cases(slug: str, lines: list[str], start: int, reader: _Reader) -> tuple[Case, ...]:
    """Pair the repros with their fixes."""
    run_it = next((i for i, line in enumerate(lines) if line.rstrip() == HEADINGS[-1]), len(lines))
    blocks: dict[tuple[str, str], tuple[_Fence, dict[str, str]]] = {}
    for fence in _fences(lines, start, reader):
        if fence.line <= run_it:
            continue
        words = fence.info.split()
        if fence.language != "python" or not words or words[0] not in ("repro", "fix"):
            reader.fault(
                fence.line, "KB008", "a block under 'Run it' is ```python repro or ```python fix; move other text above"
            )
            continue
        names = [word for word in words[1:] if "=" not in word]
        if len(names) > 1 or (names and not _SLUG.fullmatch(names[0])):
            reader.fault(
                fence.line,
                "KB008",
                f"a case has one name in lower-case words joined by hyphens, not {' '.join(names)!r}",
            )
        key = (words[0], names[0] if names else "")
        if key in blocks:
            reader.fault(fence.line, "KB009", f"a second {' '.join(key).strip()}; give the cases different names")
            continue
        blocks[key] = fence, _attributes(words[1:], fence.line, reader)
        _compiles(fence, reader)
    cases = []
    for (role, name), (fence, attributes) in blocks.items():
        other = "fix" if role == "repro" else "repro"
        if (other, name) not in blocks:
            reader.fault(fence.line, "KB009", f"this {role} has no {other}; add ```python {f'{other} {name}'.strip()}")
        elif role == "repro":
            fix = blocks["fix", name][0]
            cases.append(_case(slug, name, fence, fix, attributes | blocks["fix", name][1]))
    if not blocks and run_it < len(lines):
        reader.fault(run_it + 1, "KB009", "no program under 'Run it'; add ```python repro and ```python fix")
    return tuple(cases)


def _attributes(words: list[str], line: int, reader: _Reader) -> dict[str, str]:
    attributes = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            continue
        if key not in _ATTRIBUTES:
            reader.fault(line, "KB008", f"unknown attribute {key!r}; there are {', '.join(_ATTRIBUTES)}")
        elif not _ATTRIBUTES[key][1].fullmatch(value):
            reader.fault(line, "KB008", f"{word}: {key} takes {_ATTRIBUTES[key][0]}")
        else:
            attributes[key] = value
    return attributes


def _compiles(fence: _Fence, reader: _Reader) -> None:
    try:
        compile(fence.source, "<block>", "exec")
    except (SyntaxError, ValueError) as error:
        line = fence.line + (getattr(error, "lineno", None) or 1)
        reader.fault(line, "KB010", f"this is no Python ({getattr(error, 'msg', None) or error}); mend the program")


def _case(slug: str, name: str, repro: _Fence, fix: _Fence, attributes: dict[str, str]) -> Case:
    gpus = int(attributes.get("gpus", 0))
    return Case(
        entry=slug,
        name=name,
        repro=Block(repro.source, repro.line + 1),
        fix=Block(fix.source, fix.line + 1),
        device="cuda" if gpus else attributes.get("device", "cpu"),
        gpus=gpus,
        os=attributes.get("os", ""),
        shm=_bytes(attributes.get("shm")),
        memory=_bytes(attributes.get("memory")),
        timeout=float(attributes["timeout"]) if "timeout" in attributes else None,
        fresh="fresh" in attributes,
    )


def _bytes(amount: str | None) -> int | None:
    if amount is None:
        return None
    number, unit = _BYTES.fullmatch(amount).groups()  # type: ignore[union-attr]
    return int(number) * _FACTOR[unit]

"""Read an entry from its Markdown: front matter, prose by its headings, programs by their fences.

Everything that is wrong with a file is reported at once, each fault with its line. An entry is returned only when its structure is whole.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from kb.corpus.cases import read_programs
from kb.corpus.characters import FORBIDDEN
from kb.corpus.diagnostic import Diagnostic, Diagnostics
from kb.corpus.entry import Bilingual, Case, Check, Edit, Entry, Guidance, Message, is_slug
from kb.corpus.files import ENTRY_BYTES, UnreadableFile, read_text
from kb.corpus.front_matter import FrontMatter, completed, read_front_matter
from kb.corpus.guidance import read_guidance
from kb.corpus.programs import ProgramError, parse_program
from kb.corpus.sections import prose_lines, read_sections
from kb.text.languages import LANGUAGES, Lang

__all__ = ["parse", "parse_text", "parse_unfinished"]

_MAX_LINE = 2000
"""The longest line of an entry. The longest that ships has 800 characters, and the patterns of some rules are quadratic in it."""

_UNWRITTEN = re.compile(r"\bTODO\b")


class _Parts(NamedTuple):
    """What the parsers of an entry's parts return."""

    front: FrontMatter
    guidance: dict[Lang, Guidance]
    cases: tuple[Case, ...]
    checks: tuple[Check, ...]


def parse(path: Path, *, name: str = "", with_programs: bool = True) -> tuple[Entry | None, list[Diagnostic]]:
    """Return the entry in the file, or None where it is not whole, and all its diagnostics; `name` is what they call the file.

    Without `with_programs` its programs may be no Python. Finding that out takes half the time.
    """
    try:
        source = read_text(path, path.parent.parent, ENTRY_BYTES)
    except UnreadableFile as error:
        return None, [Diagnostic(name or str(path), 1, "KB001", str(error))]
    return parse_text(source, path, name=name, with_programs=with_programs)


def parse_text(
    source: str, path: Path, *, name: str = "", with_programs: bool = True
) -> tuple[Entry | None, list[Diagnostic]]:
    """Like `parse`, for the text of a file at `path` that is not read."""
    diagnostics = Diagnostics(name or str(path))
    parts = _read_parts(source, path, diagnostics)
    if with_programs:
        _check_programs(parts, diagnostics)
    if diagnostics.items:
        return None, sorted(diagnostics.items)
    return _entry(source, path, parts.front.data, parts), []


def parse_unfinished(source: str, path: Path) -> Entry:
    """Return what can be read of a file that is still being written.

    What is missing or wrong is left empty; a missing title is the slug.
    """
    parts = _read_parts(source, path, Diagnostics(str(path)))
    return _entry(source, path, completed(parts.front.data, path.stem), parts)


def _read_parts(source: str, path: Path, diagnostics: Diagnostics) -> _Parts:
    if not is_slug(path.stem):
        what = f"the file's name {path.stem[:80]!r} is no slug; use lower-case words joined by hyphens, at most 80 characters"
        diagnostics.add(1, "KB002", what)
    if not is_slug(path.parent.name):
        what = f"the topic's name {path.parent.name[:80]!r} is no slug; use lower-case words joined by hyphens"
        diagnostics.add(1, "KB002", what)
    lines = source.split("\n")
    _check_characters(lines, diagnostics)
    front = read_front_matter(lines, diagnostics)
    _check_unwritten(source, front, diagnostics)
    guidance = read_guidance(read_sections(lines, front.end, diagnostics), diagnostics)
    return _Parts(front, guidance, *read_programs(path.stem, lines, front.end, diagnostics))


def _check_programs(parts: _Parts, diagnostics: Diagnostics) -> None:
    for runnable in (*parts.cases, *parts.checks):
        for block in runnable.blocks.values():
            try:
                parse_program(block.source)
            except ProgramError as error:
                diagnostics.add(block.line - 1 + error.line, "KB010", str(error))


def _check_characters(lines: list[str], diagnostics: Diagnostics) -> None:
    for number, line in enumerate(lines, 1):
        if forbidden := FORBIDDEN.search(line):
            diagnostics.add(
                number, "KB001", f"the character U+{ord(forbidden.group()):04X} is not allowed; take it out"
            )
        if len(line) > _MAX_LINE:
            diagnostics.add(number, "KB001", f"a line of {len(line)} characters; keep it under {_MAX_LINE}")


def _check_unwritten(source: str, front: FrontMatter, diagnostics: Diagnostics) -> None:
    """Report the title, the answer and the lines of prose that are still to be written."""
    for key in ("title", "answer"):
        texts = front.data.get(key)
        for lang, text in texts.items() if isinstance(texts, dict) else ():
            if isinstance(text, str) and _UNWRITTEN.search(text):
                diagnostics.add(front.lines.get((key, lang), 1), "KB006", f"{key}.{lang} says TODO; write it")
    for number, _, line in prose_lines(source):
        if _UNWRITTEN.search(line):
            diagnostics.add(number, "KB006", "this line says TODO; write it")


def _entry(source: str, path: Path, data: dict[str, Any], parts: _Parts) -> Entry:
    """Return the entry; `data` is front matter that keeps to the schema."""
    lines = parts.front.lines
    requires = tuple(data.get("requires", []))
    return Entry(
        id=path.stem,
        topic=path.parent.name,
        title=Bilingual(**data["title"]),
        kind=data["kind"],
        answer=Bilingual(**data["answer"]),
        messages=tuple(
            _message(item, lines.get(("messages", i), 1)) for i, item in enumerate(data.get("messages", []))
        ),
        aliases={lang: tuple(data["aliases"][lang]) for lang in LANGUAGES},
        guidance=parts.guidance,
        cases=tuple(replace(case, requires=requires) for case in parts.cases),
        checks=tuple(replace(check, requires=requires) for check in parts.checks),
        inspect=data.get("inspect", ""),
        edits=tuple(
            Edit(
                item["case"],
                item["from"],
                item["to"],
                item.get("message", ""),
                item.get("where", {}),
                lines.get(("edits", i), 1),
            )
            for i, item in enumerate(data.get("edits", []))
        ),
        apis=tuple(data.get("apis", [])),
        tags=tuple(data["tags"]),
        requires=requires,
        sources=tuple(data["sources"]),
        related=tuple(data.get("related", [])),
        also=tuple(data.get("also", [])),
        path=path,
        source=source,
    )


def _files(item: dict[str, Any], key: str) -> tuple[str, ...]:
    files = item.get(key, [])
    return (files,) if isinstance(files, str) else tuple(files)


def _message(item: str | dict[str, Any], line: int) -> Message:
    if isinstance(item, str):
        return Message(item, line=line)
    explain = Bilingual(**item["explain"]) if "explain" in item else None
    cause = item.get("cause", 0)
    return Message(
        item["text"],
        item.get("torch", ""),
        item.get("device", ""),
        explain,
        line,
        item.get("generic", False),
        _files(item, "raised_in"),
        _files(item, "raised_below"),
        cause if isinstance(cause, int) else 0,
        cause if isinstance(cause, dict) else {},
    )

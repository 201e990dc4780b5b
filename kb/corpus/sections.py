"""The Markdown of an entry by line: its headings, the text below them, and its fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kb.corpus.diagnostic import Diagnostics
from kb.text.languages import Lang

__all__ = [
    "HEADINGS",
    "RUN_IT",
    "Fence",
    "Section",
    "prose_lines",
    "read_case_headings",
    "read_fences",
    "read_sections",
    "run_it_line",
]

RUN_IT = "## Run it"
HEADINGS: dict[Lang, dict[str, str]] = {
    "en": {
        "language": "## English",
        "change": "### What to change",
        "tell": "### How to tell",
        "why": "### Why it happens",
    },
    "zh": {"language": "## 中文", "change": "### 怎么改", "tell": "### 怎么判断", "why": "### 原因"},
}
"""The headings of an entry by language and part. `tell` is optional, in both languages or in none."""

_LANGUAGE_OF: dict[str, Lang] = {headings["language"]: lang for lang, headings in HEADINGS.items()}
_HEADING = re.compile(r"#{1,6} ")
_OPENING_FENCE = re.compile(r"^(`{3,}|~{3,})\s*(\S*)[ \t]*(.*)$")


@dataclass(frozen=True, slots=True)
class Section:
    """The Markdown below a heading, and the number of its first line in the file."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: the first word of its info string and the rest, its text, and the line of the fence itself."""

    language: str
    info: str
    source: str
    line: int


def read_sections(lines: list[str], start: int, diagnostics: Diagnostics) -> dict[tuple[Lang, str], Section]:
    """Return the text below each heading from index `start` on, by language and part.

    The headings must be those of the format, in order, with text below them; what is not so is a diagnostic.
    """
    run_it = run_it_line(lines)
    headings = [
        (number, line.rstrip())
        for number, line in _outside_fences(lines, start)
        if number <= run_it and _HEADING.match(line)
    ]
    wanted = _wanted_headings([text for _, text in headings])
    if [text for _, text in headings] != wanted:
        _report_headings(headings, wanted, len(lines), diagnostics)
        return {}
    parts = {text: (lang, part) for lang, texts in HEADINGS.items() for part, text in texts.items()}
    sections = {}
    for (number, heading), (end, _) in pairwise(headings):
        text = "\n".join(lines[number : end - 1])
        if heading in _LANGUAGE_OF:
            continue
        if not text.strip():
            diagnostics.add(number, "KB006", f"there is nothing under {heading!r}; write it")
        sections[parts[heading]] = Section(text, number + 1)
    return sections


def read_case_headings(lines: list[str]) -> list[tuple[int, str]]:
    """Return (line, name) of each heading `### name` below `## Run it`."""
    run_it = run_it_line(lines)
    return [
        (number, line[4:].strip())
        for number, line in _outside_fences(lines, 0)
        if number > run_it and line.startswith("### ")
    ]


def read_fences(lines: list[str], start: int, diagnostics: Diagnostics) -> Iterator[Fence]:
    """Yield every fenced block from index `start` on; one that is never closed is a diagnostic and ends the file."""
    index = start
    while index < len(lines):
        opening = _OPENING_FENCE.match(lines[index])
        if not opening:
            index += 1
            continue
        fence = opening.group(1)
        end = next((i for i in range(index + 1, len(lines)) if _closes(lines[i], fence)), None)
        if end is None:
            diagnostics.add(index + 1, "KB007", f"this block is never closed; end it with {fence[:20]}")
            return
        source = "\n".join(lines[index + 1 : end]) + "\n"
        yield Fence(opening.group(2), opening.group(3).strip(), source, index + 1)
        index = end + 1


def run_it_line(lines: list[str]) -> int:
    """Return the number of the line `## Run it`, or of the last line."""
    return next((number for number, line in _outside_fences(lines, 0) if line.rstrip() == RUN_IT), len(lines))


def prose_lines(source: str) -> Iterator[tuple[int, Lang, str]]:
    """Yield (line number, language, line) for each line of prose, headings and front matter left out."""
    lang: Lang | None = None
    for number, line in _outside_fences(source.split("\n"), 0):
        if line.startswith("## "):
            lang = _LANGUAGE_OF.get(line.rstrip())
        elif lang and not line.startswith("#"):
            yield number, lang, line


def _wanted_headings(present: Sequence[str]) -> list[str]:
    """Return the headings that the entry has to have; *How to tell* is wanted in both languages if it is in one."""
    has_tell = any(texts["tell"] in present for texts in HEADINGS.values())
    wanted = [text for texts in HEADINGS.values() for part, text in texts.items() if part != "tell" or has_tell]
    return [*wanted, RUN_IT]


def _outside_fences(lines: list[str], start: int) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) for each line from index `start` on that is in no fenced block."""
    fence = ""
    for number, line in enumerate(lines[start:], start + 1):
        opening = _OPENING_FENCE.match(line)
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif opening:
            fence = opening.group(1)
        else:
            yield number, line


def _closes(line: str, fence: str) -> bool:
    return line.startswith(fence) and not line.strip(fence[0] + " ")


def _report_headings(
    headings: list[tuple[int, str]], wanted: list[str], line_count: int, diagnostics: Diagnostics
) -> None:
    """Add a diagnostic for the first heading that is not the one of the format."""
    pairs = zip(headings, wanted, strict=False)
    place = next(
        (i for i, ((_, text), heading) in enumerate(pairs) if text != heading), min(len(headings), len(wanted))
    )
    line = headings[place][0] if place < len(headings) else max(1, line_count - 1)
    expected = f"expected {wanted[place]!r}" if place < len(wanted) else f"nothing may follow {RUN_IT!r}"
    actual = f", found {headings[place][1][:80]!r}" if place < len(headings) else ""
    diagnostics.add(line, "KB005", f"headings out of order: {expected}{actual}; an entry has: {', '.join(wanted)}")

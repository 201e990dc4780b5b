"""The change that a case shows: the remedy, and apart from it the asserts that prove it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from kb.documents.shapes import RemedyDocument
from kb.startup.lazy_regex import lazy_pattern

__all__ = ["assert_lines", "comparable", "remedy", "without_asserts"]

_TEXT_OR_COMMENT = lazy_pattern(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|#.*")
_GAP = "…"
"""The line of a difference that stands for unchanged lines."""
_MIN_STATEMENT = 8
"""Characters of a line that is looked for inside an assert."""


def remedy(diff: Iterable[str], fix: str) -> RemedyDocument:
    """Return the parts of the difference between a repro and this fix, whose lines are marked with `-`, `+` or a space.

    A difference that consists of asserts alone is kept whole.
    """
    diff = list(diff)
    asserts = assert_lines([line[1:] for line in diff])
    check = without_asserts(fix)[1]
    kept = [line for number, line in enumerate(diff) if number not in asserts]
    kept = _trimmed([line for line in kept if not (line[:1] == "-" and _is_in(line[1:], check))])
    if not any(line[:1] in ("+", "-") for line in kept):
        kept = diff
    return {"diff": kept, "check": check}


def without_asserts(source: str) -> tuple[str, str]:
    """Return a program without its assert statements, and those statements."""
    lines = source.rstrip("\n").split("\n")
    asserts = assert_lines(lines)
    rest = [line for number, line in enumerate(lines) if number not in asserts]
    check = [line for number, line in enumerate(lines) if number in asserts]
    return "\n".join(rest).rstrip() + "\n", textwrap.dedent("\n".join(check))


def comparable(repro: str, fix: str) -> tuple[str, str]:
    """Return both programs as they are compared: without asserts, and without the lines of the repro that the fix has inside an assert.

    Programs that then do not differ are returned whole.
    """
    remedied, check = without_asserts(fix)
    kept = set(remedied.split("\n"))
    failing = [
        line for line in without_asserts(repro)[0].rstrip("\n").split("\n") if line in kept or not _is_in(line, check)
    ]
    before = "\n".join(failing).rstrip() + "\n"
    return (before, remedied) if before != remedied else (repro, fix)


def _is_in(line: str, check: str) -> bool:
    return len(line.strip()) >= _MIN_STATEMENT and line.strip() in check


def assert_lines(lines: list[str]) -> set[int]:
    """Return the indexes of the lines that belong to an assert statement. A statement goes on while a bracket is open."""
    numbers: set[int] = set()
    open_brackets = 0
    for number, line in enumerate(lines):
        if open_brackets > 0 or line.lstrip().startswith("assert "):
            numbers.add(number)
            code = _TEXT_OR_COMMENT.sub("", line)
            open_brackets += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
    return numbers


def _trimmed(diff: list[str]) -> list[str]:
    """Return a difference without hunks of unchanged lines alone, with at most one unchanged line at either end, which is not empty."""
    hunks: list[list[str]] = [[]]
    for line in diff:
        if line == _GAP:
            hunks.append([])
        else:
            hunks[-1].append(line)
    lines: list[str] = []
    for hunk in hunks:
        if any(line[:1] in ("+", "-") and line[1:].strip() for line in hunk):
            lines += [_GAP, *hunk] if lines else hunk
    changed = [at for at, line in enumerate(lines) if line[:1] in ("+", "-") and line[1:].strip()]
    if not changed:
        return lines
    lines = lines[max(0, changed[0] - 1) : changed[-1] + 2]
    first, last = (1 if not lines[0][1:].strip() else 0), (-1 if not lines[-1][1:].strip() else None)
    return lines[first:last]

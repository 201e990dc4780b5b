"""The change that an entry shows on the reader's own line, applied to its repro: the program must then run.

Which line of the repro fails, and with which values in its message, is only known when it has run. So there is a program for each statement that the
pattern of the change matches in one place, with each name of the statement as a value of the message, and the judge takes the right one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from kb.corpus.entry import Case, Edit, Entry
from kb.lint.static_checks.names import parse
from kb.templates.code_change import change_code, compile_pattern

__all__ = ["EditedProgram", "edited_programs"]


_WORD = re.compile(r"[^\W\d]\w*")


class EditedProgram(NamedTuple):
    """The repro with a change of an entry made in one statement, whose first and last lines are `lines`, for a message with these values."""

    edit: Edit
    lines: tuple[int, int]
    values: Mapping[str, str]
    source: str


def edited_programs(entry: Entry, case: Case) -> tuple[EditedProgram, ...]:
    """Return the repro of a case with each change of the entry that is the case's, made in each statement that it matches."""
    return tuple(
        program for edit in entry.edits if edit.case == case.name for program in _edited(edit, case.repro.source)
    )


def _edited(edit: Edit, repro: str) -> Iterator[EditedProgram]:
    pattern, source = compile_pattern(edit.before, edit.after), repro.split("\n")
    of_message = sorted(name for name in pattern.names if name.islower())
    for first, last in sorted(set(_statements(parse(repro)))):
        statement = "\n".join(source[first - 1 : last])
        for chosen in product(sorted(set(_WORD.findall(statement))), repeat=len(of_message)):
            values = dict(zip(of_message, chosen, strict=True))
            change = change_code(pattern, statement, values)
            if change is not None:
                text = "\n".join([*source[: first - 1], change.code, *source[last:]])
                yield EditedProgram(edit, (first, last), values, text)


def _statements(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Yield the first and last lines of each statement, of one with a block those of its head."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            yield node.lineno, max(node.lineno, last)

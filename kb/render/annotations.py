"""Answers as annotations of a pull request: one for each line of the reader's code at which something failed."""

from __future__ import annotations

import os

from kb.render.entry_text import advice
from kb.render.own_line import own_line_change
from kb.render.strings import STRINGS
from kb.search.answer import Answer
from kb.search.cause_choice import fitting_cause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.documents.shapes import EntryDocument

__all__ = ["annotation"]


def annotation(answer: Answer, document: EntryDocument, text: str) -> tuple[str, int, str, str]:
    """Return the file, the line, the title and the text of the answer's annotation; the file is relative to the current folder where it is in it."""
    words, first = STRINGS[answer.lang], answer.matches[0]
    frame = next((error.frame for error in answer.errors if error.frame), None)
    choice = fitting_cause(answer, document, text)
    lines = [advice(document, choice, answer.lang)]
    if first.evidence.explain:
        lines.append(first.evidence.explain[answer.lang])
    if change := own_line_change(answer, document, choice):
        lines += change.diff
    lines.append(words["more"].format(first.id))
    file, line = (_relative(frame.file), frame.line) if frame else ("", 0)
    return file, line, first.title[answer.lang], "\n".join(lines)


def _relative(file: str) -> str:
    here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118 - no pathlib here: it costs milliseconds
    return file.removeprefix(here).removeprefix("./")

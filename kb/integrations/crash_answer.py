"""The answer to what a program died of: looked up from its traceback, with what the program had in its hands.

The look-up is given up after a second. An index that is missing is built in the background, for the next error.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import NamedTuple

from kb.integrations.one_answer import answering

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.documents.shapes import EntryDocument
    from kb.inspection.crash_context import CrashContext
    from kb.search.answer import Answer

__all__ = ["ERROR_ROWS", "SECONDS", "CrashAnswer", "answer_to", "look_up", "print_answer", "told"]

SECONDS = 1.0
"""How long a look-up may hold up a program that dies."""
ERROR_ROWS = 8
"""Rows of a terminal that stay free for the end of the traceback and the prompt."""
_FRAMES = -60
"""The innermost frames of a traceback that are looked at."""
_LONGEST = 16_384
"""Characters of each part of a traceback that are looked at, and four times as many in all: a message may list a thousand tensors."""

_told: set[str] = set()
_speaks = Lock()


class CrashAnswer(NamedTuple):
    """The answer to an error, the document of its first match (None where there is no answer), what was asked, and what the program had in its hands."""

    answer: Answer
    document: EntryDocument | None
    text: str
    context: CrashContext | None


def print_answer(error: Exception, *, said: bool) -> None:
    """Print the answer to an exception on standard error, once for each entry; nothing where there is none, unless it is to be `said`."""
    crash = answer_to(error)
    if _speaks.acquire(timeout=SECONDS):
        try:
            _print(crash, said)
        finally:
            _speaks.release()


def answer_to(error: BaseException) -> CrashAnswer | None:
    """Return the answer to an exception with its traceback, or None where the index or the time is missing."""
    return look_up(_as_printed(error), error)


def look_up(text: str, error: BaseException | None = None) -> CrashAnswer | None:
    """Return the answer to a text, with what the program had in its hands when it raised the error, or None where the index or the time is missing."""
    import threading

    answers: list[CrashAnswer] = []
    thread = threading.Thread(target=_look_up, args=(error, text, answers), name="kb", daemon=True)
    thread.start()
    thread.join(SECONDS)
    return answers[0] if answers else None


def told(slug: str) -> bool:
    """Tell whether this process has answered with the entry before, and remember that it has now."""
    if slug in _told:
        return True
    _told.add(slug)
    return False


def _as_printed(error: BaseException) -> str:
    import traceback

    parts = traceback.format_exception(type(error), error, error.__traceback__, limit=_FRAMES)
    return "".join(part[:_LONGEST] for part in parts)[-4 * _LONGEST :]


def _look_up(error: BaseException | None, text: str, answers: list[CrashAnswer]) -> None:
    try:
        from kb.index.manager import open_existing_index
        from kb.render.terminal import language
        from kb.search.lookup import lookup

        index = open_existing_index()
        if index is None:
            _build_index_in_background()
            return
        answer = lookup(text, lang=language(), limit=3, index=index)
        is_whole = bool(answer.matches) and answer.matches[0].evidence.is_whole
        fits = is_whole or (answer.answered and _through_torch(text))
        document = index.document(answer.matches[0].id) if fits else None
        context = _context(error, answer) if document and error else None
        if document and not answer.answered:
            answer = _told_by_change(answer, document, text, context)
        answers.append(CrashAnswer(answer, document if answer.answered else None, text, context))
    except BaseException:  # noqa: BLE001, S110 - a crash is never made worse
        pass


def _told_by_change(answer: Answer, document: EntryDocument, text: str, context: CrashContext | None) -> Answer:
    """Return a doubtful answer as one where the change that the entry states fits the line that failed: then the program itself tells the cause."""
    from kb.render.own_line import own_line_change
    from kb.search.cause_choice import fitting_cause

    if own_line_change(answer, document, fitting_cause(answer, document, text), context) is None:
        return answer
    first, *others = answer.matches
    return answer._replace(answered=True, matches=(first._replace(confidence="likely"), *others), understood=None)


def _context(error: BaseException, answer: Answer) -> CrashContext | None:
    """Return what the program had in its hands where the answered error arose. A program without torch has nothing that an entry is about."""
    if "torch" not in sys.modules:
        return None
    try:
        from kb.inspection.crash_context import crash_context

        pasted = next((pasted for pasted in answer.errors if pasted.frame), None)
        if pasted is None or pasted.frame is None:
            return crash_context(error)
        return crash_context(error, pasted.message, pasted.frame.file, pasted.frame.line)
    except Exception:  # noqa: BLE001 - an answer without it is better than none
        return None


def _build_index_in_background() -> None:
    """Build the index in a process of its own, so the next error has an answer: it takes longer than a dying program should wait."""
    import subprocess

    nowhere = subprocess.DEVNULL
    subprocess.Popen(
        [sys.executable, "-m", "kb", "index"], stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
    )


def _through_torch(text: str) -> bool:
    """Tell whether the traceback passes torch or speaks of it: an error from elsewhere that only sounds alike is not ours to explain."""
    for line in text.split("\n"):
        frame = line.lstrip().startswith('File "')
        if ("/torch/" in line.replace("\\", "/")) if frame else ("torch" in line):
            return True
    return False


def _print(crash: CrashAnswer | None, said: bool) -> None:
    """Print what there is to print of an answer on standard error."""
    if crash is not None and crash.document is not None:
        if not told(crash.document["id"]):
            with answering(crash.document["id"]) as other:
                _write(_lines(crash, crash.document, other))
    elif said:
        from kb.render.terminal import DIM, Style

        later = "kb: no answer yet, its index is being built now; the next error has one (kb doctor tells why if not)"
        _write([Style(sys.stderr)("kb has no entry that answers this" if crash else later, DIM)])


def _lines(crash: CrashAnswer, document: EntryDocument, other: tuple[str, str]) -> list[str]:
    """Return the answer as it is printed on standard error; in brief if another process of several prints the whole of it."""
    from kb.render.answer_text import answer_lines, short_lines
    from kb.render.terminal import Style, size

    style = Style(sys.stderr)
    limit, rows = size(sys.stderr)
    if any(other):
        return ["", *short_lines(crash.answer, limit, style, lead="kb: ", other=other)]
    room = None if rows is None else max(16, rows - ERROR_ROWS)
    shown = answer_lines(
        crash.answer, document, crash.text, limit, room, style, context=crash.context, lead="kb: ", evidence=False
    )
    return ["", *shown]


def _write(lines: list[str]) -> None:
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()

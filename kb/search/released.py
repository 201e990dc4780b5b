"""What the released packages say to a paste: an answer to an error about a name or about versions, else who prints the message.

Names and versions are looked up whatever else answers; who prints a message only where no entry answers. The record of released packages is
imported only then, because most look-ups need nothing of it.
"""

from __future__ import annotations

from kb.search.answer import RecordAnswer
from kb.search.reading import Reading
from kb.text.languages import LANGUAGES, Lang
from kb.text.name_questions import read_name_error
from kb.text.tracebacks import ErrorSpan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.record.name_answer import Facts

__all__ = ["record_answer"]

_MAX_ERRORS = 3
"""The number of errors of a paste, root cause first, that are read as errors about names."""

_MAX_CODE_LINES, _MAX_CODE_CHARACTERS = 8, 400
_MAX_BARE_MESSAGE = 2_000
_MAX_COMPLAINT = 4_000
_COMPLAINTS = (
    "but you have",
    "but you'll have",
    "No matching distribution found",
    "undefined symbol",
    "was built for",
    "were built for",
    "is required for a normal functioning",
)
"""Pieces of text without which a paste has no complaint about versions that do not fit."""


def record_answer(reading: Reading, *, answered: bool) -> RecordAnswer | None:
    """Return what the released packages say, or None if that is nothing.

    `answered` says that an entry answers the paste. Who prints the message is then left out.
    """
    names, complaint = _name_errors(reading), _complaint(reading)
    if not names and complaint < 0 and (answered or not reading.errors):
        return None
    from kb.record.store import RecordError

    try:
        if names:
            return _about_names(reading, names)
        return _about_versions(reading, complaint) if complaint >= 0 else _origin(reading)
    except RecordError:
        return None  # entries answer without the record; kb api says what is wrong with its files


def _name_errors(reading: Reading) -> list[ErrorSpan]:
    """Return the errors about names, root cause first. A short text without an error may be a bare message."""
    text = reading.text.text
    errors = [_announced(text, error) for error in reading.errors if error.role != "warning"][:_MAX_ERRORS]
    if not errors and len(text) <= _MAX_BARE_MESSAGE:
        errors = [ErrorSpan("", text, 0, 0, "error")]
    return [error for error in errors if read_name_error(error.type, error.message) is not None]


def _announced(text: str, error: ErrorSpan) -> ErrorSpan:
    """Return the error on the line below one that only announces it, as in `Failed to import … because of the following error …:`."""
    if not error.message.endswith(":"):
        return error
    start = error.message_start + len(error.message)
    line = text[start : start + _MAX_BARE_MESSAGE].strip().partition("\n")[0]
    return ErrorSpan("", line, start, start, "error") if read_name_error("", line) else error


def _complaint(reading: Reading) -> int:
    """Return where the line of the first complaint about versions begins, or -1."""
    text = reading.text.text
    starts = [start for sign in _COMPLAINTS if (start := text.find(sign)) >= 0]
    return text.rfind("\n", 0, min(starts)) + 1 if starts else -1


def _about_names(reading: Reading, errors: list[ErrorSpan]) -> RecordAnswer | None:
    from kb.record.name_errors import explain_name_error
    from kb.record.sentences import answer_sentences

    for error in errors:
        answer = explain_name_error(error.type, error.message, _facts(reading, error))
        if answer is not None:
            sentences = {lang: tuple(answer_sentences(answer, lang)) for lang in LANGUAGES}
            install = (answer.pin,) if answer.pin else ()
            return RecordAnswer("name", answer.package, answer.name, answer.verdict, install, sentences, "")
    return None


def _about_versions(reading: Reading, start: int) -> RecordAnswer | None:
    from kb.record.requirement_errors import explain_requirement_error
    from kb.record.sentences import requirement_sentences

    facts = _facts(reading, None)
    answer = explain_requirement_error(reading.text.text[start : start + _MAX_COMPLAINT], facts)
    if answer is None:
        return None
    sentences = {lang: tuple(requirement_sentences(answer, lang)) for lang in LANGUAGES}
    return RecordAnswer("versions", answer.package, answer.keep, answer.kind, answer.install, sentences, "")


def _origin(reading: Reading) -> RecordAnswer | None:
    """Return which package prints the message of the root cause, and where."""
    cause = reading.root_cause()
    if cause is None or not cause.message:
        return None
    from kb.record.provenance import likely_origin
    from kb.record.sentences import origin_sentence

    origin = likely_origin(cause.message, cause.type, reading.text.text)
    if origin is None:
        return None
    sentences: dict[Lang, tuple[str, ...]] = {lang: (origin_sentence(origin, lang),) for lang in LANGUAGES}
    name = origin.function or origin.library
    return RecordAnswer("origin", origin.package, name, "", (), sentences, origin.address)


def _facts(reading: Reading, error: ErrorSpan | None) -> Facts:
    """Return the versions, the packages on the stack and the code of its frames; the lines before the error may be code too."""
    from kb.record.name_answer import Facts
    from kb.text.frames import traceback_code
    from kb.text.lexer import lower
    from kb.text.paste_context import package_stack
    from kb.text.stated_versions import package_versions

    text = reading.text.text
    packages = tuple(name for name in reversed(package_stack(text, reading.errors)) if name)
    code: list[str] = []
    if error is not None:
        before = text[max(0, error.start - _MAX_CODE_CHARACTERS) : error.start].split("\n")
        code = [*traceback_code(text, error, _MAX_CODE_LINES), *reversed(before[-3:])]
    return Facts(package_versions(lower(text)), packages, tuple(code))

"""Reads what a Python program printed: its exceptions, its warnings, and the paths of the machine in it.

`kb.text.tracebacks` reads pastes, which are shortened, wrapped, prefixed by loggers and mixed with questions. A program's standard error is none of
that, so this reader is strict. In return a program may try to slow it down. Everything here takes time linear in the text, because every pattern is
anchored or begins with a literal, every repetition is bounded or possessive, and what is returned is cut in length and number.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

from kb.startup.named_tuple import NamedTuple
from kb.templates.matcher import match
from kb.templates.template import Template
from kb.text.lexer import lex

__all__ = [
    "MAX_MESSAGES",
    "MAX_MESSAGE_CHARS",
    "PrintedWarning",
    "exceptions_in",
    "excerpt",
    "last_line",
    "matches",
    "matches_any",
    "printed_warnings",
    "shorten_paths",
    "warnings_in",
]

MAX_MESSAGES = 16
"""Exceptions, and different warnings, that are returned: of exceptions the last ones, of warnings the first ones."""
MAX_MESSAGE_CHARS = 2000
"""Characters that are returned of each. The longest template has a quarter of them."""

_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n")
_EXCEPTION = re.compile(r"^([A-Za-z_][\w.]{0,200}+)(?::[ \n]|$)", re.MULTILINE)
_WARNING = re.compile(
    r"\n(?=[\w\[/<.~])(?:"
    r"\[W\d{0,20}+[^\]\n]{0,400}+\] ?(?:Warning: )?"  # C++ code
    r"|[WE]\d{4} [\d:.]{1,40}+ {1,9}+\d{1,20}+ [^\s:]{1,400}+:\d{1,9}+\] (?>(?:\[[^\s\]]{1,100}+\] ){0,9})"  # torch's loggers
    r"|(?:(?P<file>[^\s:\[][^:\n]{0,1000}+):(?P<line>\d{1,9}+): )?"
    r"(?P<category>(?>(?:[A-Za-z_]\w{0,100}+\.){0,10})[A-Z]\w{0,100}Warning): "
    r")",
    re.ASCII,
)
_FIRST_WORDS = 100
"""Characters of the first line of a warning's text that distinguish it from other warnings."""
_DEVICE_ASSERT = re.compile(r"\] (Assertion `[^\n`]{1,1000}+` failed\.)")
_RANK = re.compile(r"^\[(?:rank|default)\d{1,6}+\]: ?", re.MULTILINE)
_ANSI = re.compile(r"\x1b\[[0-9;]{0,40}+m")
_PATH = re.compile(r"/[\w.@+/-]{10,4000}+")
_SITE = re.compile(r"/(?:site|dist)-packages/")
_STDLIB = re.compile(r"/lib/python3\.\d{1,3}+/")
_INTERPRETER = re.compile(r"/bin/python[\d.]{0,10}+")


class PrintedWarning(NamedTuple):
    """A printed warning: its category, its text, and the file and line that it names; empty and 0 where it names none."""

    category: str
    text: str
    file: str
    line: int


def exceptions_in(stderr: str) -> list[tuple[str, str]]:
    """Return (type, message) of the last MAX_MESSAGES exceptions printed, at most MAX_MESSAGE_CHARS of each message.

    Those that a worker process raised, that a message quotes or that caused another are included. An assertion that failed on a device is printed as
    a line of its own; it has no type.
    """
    text = _bare(stderr)
    last: deque[re.Match[str]] = deque(_exception_lines(text), MAX_MESSAGES)
    raised = [(exception.group(1), _message(text, exception.end())) for exception in last]
    return raised + [("", failed.group(1)) for failed in islice(_DEVICE_ASSERT.finditer(text), MAX_MESSAGES)]


def _exception_lines(text: str) -> Iterator[re.Match[str]]:
    """Yield the line with the exception of each traceback; no part of the text is searched twice."""
    exception: re.Match[str] | None = None
    for header in _TRACEBACK.finditer(text):
        if text[max(header.start() - 9, 0) : header.start()].rpartition("\n")[2] not in {"", "Original "}:
            continue  # within a line of something else
        if exception is not None and exception.start() >= header.end():
            continue  # a traceback that breaks off, or quotes the header, ends in the same exception
        exception = _EXCEPTION.search(text, header.end())
        if exception is None:
            return
        yield exception


def warnings_in(stderr: str, program: str = "program.py") -> list[tuple[str, str]]:
    """Return (category, text) of each different warning printed; see `printed_warnings`."""
    return [(warning.category, warning.text) for warning in printed_warnings(stderr, program)]


def printed_warnings(stderr: str, program: str = "program.py") -> list[PrintedWarning]:
    """Return the first MAX_MESSAGES different warnings printed, at most MAX_MESSAGE_CHARS of each text.

    Those of C++ code and of torch's loggers have the category `Warning`. As under Python's default filters, a deprecation counts only where it names a
    line of the program, because one library using another is not the program's doing.
    """
    text = "\n" + _bare(stderr)
    warnings: list[PrintedWarning] = []
    seen: set[str] = set()
    for header in _WARNING.finditer(text):
        beginning = header.group() + text[header.end() : header.end() + _FIRST_WORDS].partition("\n")[0]
        if beginning in seen:
            continue
        seen.add(beginning)
        warning = _read_warning(header, text)
        if not warning.category.endswith("DeprecationWarning") or (warning.file or program).endswith(program):
            warnings.append(warning)
        if len(warnings) == MAX_MESSAGES:
            break
    return warnings


def _read_warning(header: re.Match[str], text: str) -> PrintedWarning:
    category = (header["category"] or "Warning").rpartition(".")[2]
    return PrintedWarning(category, _message(text, header.end()), header["file"] or "", int(header["line"] or 0))


def _message(text: str, start: int) -> str:
    return text[start : start + MAX_MESSAGE_CHARS].lstrip()


def _bare(stderr: str) -> str:
    """Return the text without colours and without the rank that torch.distributed prints before each line."""
    plain = _ANSI.sub("", stderr) if "\x1b" in stderr else stderr
    return _RANK.sub("", plain) if "]:" in plain else plain


def last_line(stderr: str) -> str:
    """Return the first line of the last exception that was printed, else of the first warning, else nothing."""
    messages = exceptions_in(stderr)[-1:] or warnings_in(stderr)[:1]
    return ": ".join(filter(None, messages[0])).partition("\n")[0] if messages else ""


def matches(template: Template, type_: str, message: str) -> bool:
    """Return whether a printed exception or warning begins as the template says; type names count without their modules."""
    return matches_any([template], type_, message)


def matches_any(templates: Sequence[Template], type_: str, message: str) -> bool:
    """Return whether a printed exception or warning begins as any of the templates says."""
    name = type_.rpartition(".")[2]
    candidates = [template for template in templates if not template.type or template.type == name]
    if not candidates:
        return False
    tokens = lex(message[:MAX_MESSAGE_CHARS])
    return any(match(template.pieces, tokens) is not None for template in candidates)


def excerpt(text: str, limit: int) -> str:
    """Return the text, or its beginning and end with `…` between them where it has more than `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit // 2]}\n…\n{text[-(limit // 2) :]}"


def shorten_paths(text: str) -> str:
    """Cut the folders of the interpreter and its packages from paths, because they say something about a machine and nothing about the error."""
    return _PATH.sub(_shorten, text)


def _shorten(path: re.Match[str]) -> str:
    text = path.group()
    for pattern, replacement in ((_SITE, "…/"), (_STDLIB, "…/"), (_INTERPRETER, "…/python")):
        *_, last = [None, *pattern.finditer(text)]
        if last is not None and last.start() > 0:
            return replacement + text[last.end() :]
    return text

"""Read what a Python program printed: the exception it ended in, the line of it that failed, the warnings it emitted."""

from __future__ import annotations

import re
from typing import NamedTuple

from kb.lexer import lex
from kb.pattern import match
from kb.template import Template

__all__ = ["Raised", "exceptions_in", "final_exception", "last_line", "matches", "shorten_paths", "warnings_in"]

_TRACEBACK = re.compile(r"^(?:Original )?Traceback \(most recent call last\):\n", re.MULTILINE)
_EXCEPTION = re.compile(r"^([A-Za-z_][\w.]*)(?::[ \n]|$)", re.MULTILINE)
_WARNING = re.compile(r"^(?:(\S.*?):(\d+): )?((?:[A-Za-z_]\w*\.)*[A-Z]\w*Warning): ", re.MULTILINE)
_CPP_WARNING = re.compile(r"^\[W\d*[^\]]*\] ?(?:Warning: )?", re.MULTILINE)
_LOGGED_WARNING = re.compile(r"^[WE]\d{4} [\d:.]+ +\d+ \S+:\d+\] (?:\[\S+\] )*", re.MULTILINE)
_DEVICE_ASSERT = re.compile(r"\] (Assertion `[^\n]*` failed\.)")
_SITE = re.compile(r"(?:/[\w.@+-]+)+/(?:site|dist)-packages/")
_PYTHON = re.compile(r"(?:/[\w.@+-]+)+/bin/python[\d.]*")
_STDLIB = re.compile(r"(?:/[\w.@+-]+)+/lib/python3\.\d+/")


_RANK = re.compile(r"^\[(?:rank|default)\d+\]: ?", re.MULTILINE)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Raised(NamedTuple):
    """An uncaught exception as printed: its type's full name, its message with all its lines, and the line of the program it came through."""

    type: str
    message: str
    line: int | None


def final_exception(stderr: str, program: str = "program.py") -> Raised | None:
    """Return the exception that ended the program, or None when no traceback of it was printed.

    The traceback that counts is the last one whose first frame is the program's own module: one that a child process printed, or one quoted inside
    a message, is not the program's.
    """
    stderr = _bare(stderr)
    own = re.compile(rf'\s+File "[^"\n]*{re.escape(program)}", line \d+, in <module>\n')
    starts = [found.end() for found in _TRACEBACK.finditer(stderr)]
    mine = [start for start in starts if own.match(stderr, start)]
    if not mine:
        return None
    text = stderr[mine[-1] :]
    exception = _EXCEPTION.search(text)
    if exception is None:
        return None
    frames = re.findall(
        rf'^ +File "[^"\n]*{re.escape(program)}", line (\d+), in', text[: exception.start()], re.MULTILINE
    )
    return Raised(exception.group(1), text[exception.end() :].strip("\n"), int(frames[-1]) if frames else None)


def exceptions_in(stderr: str) -> list[tuple[str, str]]:
    """Return (type, message) of every exception printed, those that a worker process raised, that a message quotes or that caused another included.

    An assertion that failed on a device is printed as a line of its own; it has no type.
    """
    stderr = _bare(stderr)
    found = (_EXCEPTION.search(stderr, header.end()) for header in _TRACEBACK.finditer(stderr))
    raised = [(exception.group(1), stderr[exception.end() :].lstrip()) for exception in found if exception]
    return raised + [("", found.group(1)) for found in _DEVICE_ASSERT.finditer(stderr)]


def warnings_in(stderr: str, program: str = "program.py") -> list[tuple[str, str]]:
    """Return (category, text up to the end of the output) of each warning printed; those of C++ code and of torch's loggers have the category `Warning`.

    As under Python's default filters, a deprecation counts only where the program itself is told of it: one library using another is not its doing.
    """
    stderr = _bare(stderr)
    python = [
        (found.group(3).rpartition(".")[2], stderr[found.end() :])
        for found in _WARNING.finditer(stderr)
        if not found.group(3).endswith("DeprecationWarning") or (found.group(1) or program).endswith(program)
    ]
    others = (found for pattern in (_CPP_WARNING, _LOGGED_WARNING) for found in pattern.finditer(stderr))
    return python + [("Warning", stderr[found.end() :]) for found in others]


def _bare(stderr: str) -> str:
    """What was printed, without colours and without the rank that torch.distributed puts before each line."""
    return _RANK.sub("", _ANSI.sub("", stderr))


def last_line(stderr: str) -> str:
    """Return the first line of the last exception that was printed, else of the first warning, else nothing."""
    said = exceptions_in(stderr)[-1:] or warnings_in(stderr)[:1]
    return ": ".join(filter(None, said[0])).partition("\n")[0] if said else ""


def matches(template: Template, type_: str, message: str) -> bool:
    """Tell whether a printed exception or warning begins as the template says; type names count without their modules."""
    if template.type and template.type != type_.rpartition(".")[2]:
        return False
    return match(template.pieces, lex(message[:8000])) is not None


def shorten_paths(text: str) -> str:
    """Cut the folders of the interpreter and its packages from paths: they tell about a machine, not about the error."""
    return _PYTHON.sub("…/python", _STDLIB.sub("…/", _SITE.sub("…/", text)))

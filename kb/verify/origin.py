"""Whether an error comes from the library that an entry is about, or from the program itself."""

from __future__ import annotations

import ast

from kb.lint.static_checks.derived import mentions_library, statement_at
from kb.lint.static_checks.names import parse
from kb.templates.program_output import PrintedWarning
from sandbox import Frame, Raised

__all__ = ["error_origin_fault", "warning_origin_fault"]

_FROM_PROGRAM = "let the library raise it"
_CORE = frozenset({"numpy", "torch"})


def error_origin_fault(raised: Raised, source: str, required: frozenset[str] | None = None) -> str:
    """Return why an error does not come from a library, or nothing when it does.

    It comes from a library when it was raised in one of the library's frames, or in a statement of the program that raises nothing itself; and in
    either case the last statement of the program on the way there uses the library. Of a program that requires packages, which are imported as
    `required`, the library is one of them or torch, and not what came with them.
    """
    own = [frame for frame in raised.frames if frame.origin == "program"]
    if not own:
        return "the error passed no line of the program, so the program's call of the library cannot be seen"
    statement = statement_at(source, own[-1].line)
    if statement is None or not mentions_library(statement, source):
        return f"line {own[-1].line} of the repro, which led to the error, uses nothing of the library; {_FROM_PROGRAM}"
    passed = {frame.module.partition(".")[0] for frame in raised.frames if frame.origin == "library"}
    if required and passed and not passed & (required | _CORE):
        return f"the error passed none of {', '.join(sorted(required))}, which the entry is about; {_FROM_PROGRAM}"
    innermost = _innermost(raised)
    if innermost.origin == "other":
        return f"the error was raised in code that the program made while it ran; {_FROM_PROGRAM}"
    if innermost.origin == "beside":
        return _raises_itself(_parse_line(innermost.text), "a file that the program wrote")
    return _raises_itself(statement, f"line {innermost.line} of the repro") if innermost.origin == "program" else ""


def warning_origin_fault(warning: PrintedWarning, source: str, program: str = "program.py") -> str:
    """Return why a printed warning does not come from a library, or nothing when it does as far as its text shows."""
    if not warning.file.endswith(f"/{program}"):
        return ""
    statement = statement_at(source, warning.line)
    if statement is None or not mentions_library(statement, source):
        return f"line {warning.line} of the repro, which the warning names, uses nothing of the library; let the library warn"
    return ""


def _innermost(raised: Raised) -> Frame:
    """Return the frame that raised the error. Code that a library has made belongs to the frame of the library that runs it."""
    frame = raised.frames[-1]
    for outer in reversed(raised.frames):
        if outer.origin != "other":
            return outer if outer.origin == "library" else frame
    return frame


def _parse_line(text: str) -> ast.stmt | None:
    try:
        return parse(text).body[0]
    except (SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return None


def _raises_itself(statement: ast.stmt | None, place: str) -> str:
    if statement is None:
        return f"{place}, which raised the error, cannot be read as a statement; {_FROM_PROGRAM}"
    if isinstance(statement, ast.Raise | ast.Assert):
        return f"{place} raises the error itself; {_FROM_PROGRAM}"
    return ""

"""Answers to what a program survives, on request: warnings where they are shown, and tracebacks where they are logged.

Both go through the standard library's own extension points, `warnings.showwarning` and `logging.Formatter.formatException`. A formatter that writes
tracebacks in its own way stays as it is.
"""

from __future__ import annotations

import logging as logs
import sys
import warnings as shown
from collections.abc import Callable
from typing import Any, TextIO

from kb.integrations.crash_answer import CrashAnswer, answer_to, look_up, told

__all__ = ["install", "uninstall"]

_before: dict[str, Any] = {}
_seen: set[tuple[str, str]] = set()


def install(*, warnings: bool, logging: bool) -> None:
    """Answer warnings, logged tracebacks, or both from now on."""
    if warnings and "warnings" not in _before:
        _before["warnings"] = shown.showwarning
        shown.showwarning = _showing(shown.showwarning)
    if logging and "logging" not in _before:
        _before["logging"] = logs.Formatter.formatException
        logs.Formatter.formatException = _formatting(logs.Formatter.formatException)  # type: ignore[method-assign]


def uninstall() -> None:
    """Answer them no more. A hook that was put around ours stays."""
    if "warnings" in _before and getattr(shown.showwarning, "_kb", False):
        shown.showwarning = _before.pop("warnings")
    if "logging" in _before and getattr(logs.Formatter.formatException, "_kb", False):
        logs.Formatter.formatException = _before.pop("logging")  # type: ignore[method-assign]


def _showing(previous: Callable[..., None]) -> Callable[..., None]:
    """Return a hook that shows a warning as before and then prints the short answer, if an entry explains the warning exactly."""

    def showwarning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        previous(message, category, filename, lineno, file, line)
        try:
            text = shown.formatwarning(message, category, filename, lineno, line)
            if (category.__name__, str(message)) in _seen:
                return
            _seen.add((category.__name__, str(message)))
            answer = "\n".join(_short(look_up(text)))
            stream = file or sys.stderr
            if answer and stream is not None:
                stream.write(answer + "\n")
        except Exception:  # noqa: BLE001, S110 - a warning is never made worse
            pass

    showwarning._kb = True  # type: ignore[attr-defined]  # noqa: SLF001 - marks the hook as ours
    return showwarning


def _formatting(previous: Callable[..., str]) -> Callable[..., str]:
    """Return a method that formats a traceback as before, with the short answer below it."""

    def formatException(self: logs.Formatter, ei: Any) -> str:  # noqa: N802 - the standard library's name
        text = previous(self, ei)
        try:
            if isinstance(ei[1], Exception):
                return "\n".join([text, *_short(answer_to(ei[1]))])
        except Exception:  # noqa: BLE001, S110 - a log is never made worse
            pass
        return text

    formatException._kb = True  # type: ignore[attr-defined]  # noqa: SLF001 - marks the method as ours
    return formatException


def _short(crash: CrashAnswer | None) -> list[str]:
    """Return the answer in a few lines: the title, what to do, which operand does not fit, and how to read on. An entry is told once."""
    if crash is None:
        return []
    answer, document, text, context = crash
    if document is None or not answer.matches[0].evidence.is_whole or told(document["id"]):
        return []
    from kb.render.answer_text import short_lines
    from kb.render.context_text import entry_mismatch
    from kb.render.entry_text import advice
    from kb.render.terminal import Style, wrap
    from kb.search.cause_choice import fitting_cause

    lines = short_lines(answer, 88, Style(plain=True), lead="kb: ")
    mismatch = entry_mismatch(document, context)
    said = [advice(document, fitting_cause(answer, document, text), answer.lang)]
    said += [mismatch.sentence[answer.lang]] if mismatch else []
    return [*lines[:-1], *(line for sentence in said for line in wrap(sentence, 88)), lines[-1]]

"""Find the errors in a paste: the root cause first, then what followed from it, then warnings and messages that only report an error."""

from __future__ import annotations

import re

from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple
from kb.text.error_span import ErrorSpan
from kb.text.exception_lines import exception_spans
from kb.text.frames import Frame, own_frame
from kb.text.normalize import NormalizedText
from kb.text.program_messages import SIGNALS, message_spans
from kb.text.wrappers import embedded_errors, is_interrupt, is_wrapper

__all__ = ["SIGNALS", "ErrorSpan", "Frame", "PastedError", "find_errors", "own_frame"]


class PastedError(NamedTuple):
    """An error or warning in a paste: its type and message as printed, its line (from 1), and the innermost frame in the reader's own code."""

    type: str
    message: str
    line_number: int
    frame: Frame | None


_MAX_EACH_SIDE = 12
"""Of many different errors, this number of the first and of the last is kept."""

_CAUSE_FOLLOWS = lazy_pattern(
    r"During handling of the above exception|Original Traceback|terminated with the following error|Original traceback|"
    r"from user code|The following error|set TORCHDYNAMO_VERBOSE|BackendCompilerFailed: backend='[^'\n]{1,80}' raised:$",
    re.MULTILINE,
)
"""Text between two errors that says that the second caused the first, or says more about it."""

_FIRST_FAILURE = "Root Cause (first observed failure):"
"""Below it, torchrun repeats the error of the process that failed first."""

_PLAIN = ("error", "ERROR", "fatal", "FATAL")
"""Types of messages that name no exception but announce themselves with such a word."""

_ORDER = {"error": 0, "warning": 1, "wrapper": 2}


def find_errors(normalized: NormalizedText) -> list[ErrorSpan]:
    """Return the errors in the text, each type and message once: errors before warnings before wrappers, causes before effects.

    A wrapper is an error itself if the paste does not show the error that it reports.
    """
    spans = [_with_role(span) for span in _distinct(normalized.text, _spans(normalized.text))]
    ordered: list[ErrorSpan] = []
    for index, span in enumerate(spans):
        if index and _CAUSE_FOLLOWS.search(normalized.text, spans[index - 1].start, span.start):
            ordered.insert(ordered.index(spans[index - 1]), span)
        else:
            ordered.append(span)
    if not any(span.role == "error" for span in ordered):
        ordered = [
            span if is_interrupt(span) or span.role != "wrapper" else span._replace(role="error") for span in ordered
        ]
    return sorted(ordered, key=lambda span: _ORDER[span.role])


def _with_role(span: ErrorSpan) -> ErrorSpan:
    if is_wrapper(span):
        return span._replace(role="wrapper")
    return span._replace(role="warning") if span.type.lower().endswith("warning") else span


def _spans(text: str) -> list[ErrorSpan]:
    """Return all that reads as an error, in the order of the text. Of two readings of a line, the one that begins first counts."""
    exceptions = list(exception_spans(text))
    named = [span for span in exceptions if span.role != "heading"]
    headings = [span for span in exceptions if span.role == "heading"]
    types = {span.type for span in named}
    named += [span._replace(role="error") for span in headings if span.type not in types]
    named += embedded_errors(text)
    first_named: dict[int, int] = {}
    for span in named:
        line = _line_start(text, span.start)
        first_named[line] = min(span.start, first_named.get(line, span.start))
    unnamed: dict[int, ErrorSpan] = {}
    for span in message_spans(text):
        line = _line_start(text, span.start)
        if (
            span.start < first_named.get(line, len(text))
            and span.start < unnamed.get(line, span._replace(start=len(text))).start
        ):
            unnamed[line] = span
    kept = [span for span in named if not _is_part(span, unnamed.get(_line_start(text, span.start)))]
    return sorted([*kept, *unnamed.values()], key=lambda span: span.start)


def _is_part(named: ErrorSpan, unnamed: ErrorSpan | None) -> bool:
    """Whether a name belongs to the message that begins before it on the same line."""
    return unnamed is not None and (named.type in _PLAIN or named.start < unnamed.message_start)


def _line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1


def _distinct(text: str, spans: list[ErrorSpan]) -> list[ErrorSpan]:
    """Return each type and message once, what torchrun calls the root cause first, and of very many only the first and the last."""
    failure = text.rfind(_FIRST_FAILURE)
    failure_end = text.find("====", failure) % (len(text) + 1) if failure >= 0 else -1
    distinct: dict[tuple[str, str], ErrorSpan] = {}
    first_failed = set()
    for span in spans:
        key = (span.type, span.message[:200])
        distinct.setdefault(key, span)
        if failure <= span.start < failure_end:
            first_failed.add(key)
    if first_failed:
        distinct = {key: distinct[key] for key in sorted(distinct, key=lambda key: key not in first_failed)}
    kept = list(distinct.values())
    if len(kept) > 2 * _MAX_EACH_SIDE:
        kept = kept[:_MAX_EACH_SIDE] + kept[-_MAX_EACH_SIDE:]
    return [span for span in kept if not _is_repetition(span, kept)]


def _is_repetition(span: ErrorSpan, spans: list[ErrorSpan]) -> bool:
    """Whether another message says the same and more: it names the exception, is not cut off, or is more than an exit status."""
    if span.type == "exit code":
        return any(error.type != span.type and error.role == "error" for error in spans)
    if span.message.startswith("terminate called"):
        return any(error.type == span.type and error is not span for error in spans)
    start = span.message.removesuffix("...").rstrip()
    if start != span.message:
        return bool(start) and any(
            longer.type == span.type and longer.message.startswith(start) for longer in spans if longer is not span
        )
    if span.type.endswith(" error"):
        start = f"{span.type}: {start}"
    elif span.type not in ("", "Exception"):
        return False
    return any(longer.type not in ("", "Exception") and longer.message.startswith(start) for longer in spans)

"""Cut a log that reports several failures, such as that of a test run, into one text for each."""

from __future__ import annotations

import re

from kb.startup.lazy_regex import lazy_pattern

__all__ = ["failures"]

_MOST = 50
"""Failures of a log that are looked at, the last ones."""
_TITLE = lazy_pattern(r"^(?:[-\d]{10}T\S{1,30}Z )?_{3,200} [^\n]{1,300} _{3,200}\r?$", re.MULTILINE)
"""The title of a failure in pytest's report, after the time that a log of GitHub begins its lines with."""
_SUMMARY = lazy_pattern(
    r"^(?:[-\d]{10}T\S{1,30}Z )?={3,200} (?:short test summary info|warnings summary) ", re.MULTILINE
)
_TRACEBACK = lazy_pattern(r"^[^\n]{0,200}Traceback \(most recent call last\):\r?$", re.MULTILINE)
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_BEFORE = 300
"""Characters before a traceback that may say that it belongs to the one above."""


def failures(log: str) -> list[str]:
    """Return the part of the log that belongs to each failure: a section of pytest's report, else a traceback with those that it is chained to."""
    starts = [title.start() for title in _TITLE.finditer(log)]
    if starts:
        summary = _SUMMARY.search(log, starts[-1])
        log = log[: summary.start()] if summary else log
    else:
        headers = [header.start() for header in _TRACEBACK.finditer(log)]
        starts = [
            start for start in headers if not any(words in log[max(0, start - _BEFORE) : start] for words in _CHAINED)
        ]
    starts = starts or [0]
    return [log[start:end] for start, end in zip(starts, [*starts[1:], len(log)], strict=True)][-_MOST:]

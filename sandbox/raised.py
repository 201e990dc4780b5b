"""Reads the description of an uncaught exception that `sandbox.inside.record` has written. It comes from a program's process, so it is checked."""

from __future__ import annotations

import json
from typing import Any, get_args

from sandbox.model import Frame, Origin, Raised

MAX_TEXT = 512 * 1024  # characters of JSON; a worker sends less
MAX_MESSAGE = 16_000
MAX_NAME = 200
MAX_LINE = 10_000_000  # no honest line number is larger
MAX_FRAMES = 64
_ORIGINS = get_args(Origin)


def read_raised(text: object) -> Raised | None:
    """Return the exception that a record describes, or None for anything but a well-formed description."""
    if not isinstance(text, str) or not text or len(text) > MAX_TEXT:
        return None
    try:
        fields = json.loads(text)
        frames = tuple(_frame(values) for values in fields["frames"][:MAX_FRAMES])
        causes = tuple((_text(type_, MAX_NAME), _text(message, MAX_MESSAGE)) for type_, message in fields["causes"][:8])
        return Raised(_text(fields["type"], MAX_NAME), _text(fields["message"], MAX_MESSAGE), frames, causes)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _frame(values: Any) -> Frame:
    origin, module, line, function, text = values
    if origin not in _ORIGINS or not isinstance(line, int) or not 0 <= line <= MAX_LINE:
        raise ValueError(origin)
    return Frame(origin, _text(module, MAX_NAME), line, _text(function, MAX_NAME), _text(text, MAX_NAME * 4))


def _text(value: Any, limit: int) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value[:limit]

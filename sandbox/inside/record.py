"""Describes the exception that ended a program, for the record that its process leaves in a pipe of the worker.

The description is made from the exception object, so what a program prints or hooks into printing does not change it. Names that a program could
replace are bound when this module is loaded, before any program runs. A program that looks for this module in its own process can still falsify the
description of its own end (see docs/sandbox.md).
"""

from __future__ import annotations

import builtins
import json.encoder
import os
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

OUTER_FRAMES, INNER_FRAMES = 8, 32
CAUSES = 8
MESSAGE_HEAD, MESSAGE_TAIL = 8000, 4000  # characters
SOURCE_LINE = 500  # characters

_quote = json.encoder.encode_basestring_ascii
_BUILTIN = dict(vars(builtins))


class FrameReader:
    """Reads tracebacks; `program` is the program's file, `libraries` are the folders of installed modules."""

    def __init__(self, program: str, libraries: Iterable[str]) -> None:
        self._program = program
        self._folder = os.path.dirname(program) + "/"
        folders = {folder.rstrip("/") + "/" for folder in libraries if folder}
        self._libraries = tuple(sorted(folders, key=len, reverse=True))

    def describe(self, error: BaseException) -> bytes:
        """Return the exception as JSON: its type, message, frames and causes."""
        frames = ",".join(
            f"[{_quote(origin)},{_quote(module)},{int(line)},{_quote(function)},{_quote(text)}]"
            for origin, module, line, function, text in self._frames(error.__traceback__)
        )
        causes = ",".join(f"[{_quote(_type_name(cause))},{_quote(_message(cause))}]" for cause in _causes(error))
        fields = f'"type":{_quote(_type_name(error))},"message":{_quote(_message(error))}'
        return f'{{{fields},"frames":[{frames}],"causes":[{causes}]}}'.encode("ascii", "replace")

    def _frames(self, traceback: TracebackType | None) -> Iterator[tuple[str, str, int, str, str]]:
        outer: list[tuple[str, str, int, str, str]] = []
        inner: deque[tuple[str, str, int, str, str]] = deque(maxlen=INNER_FRAMES)
        while traceback is not None:
            code = traceback.tb_frame.f_code
            origin, module = self._origin(code.co_filename)
            text = _line(code.co_filename, traceback.tb_lineno) if origin == "beside" else ""
            frame = (origin, module, traceback.tb_lineno or 0, code.co_name[:200], text)
            if len(outer) < OUTER_FRAMES:
                outer.append(frame)
            else:
                inner.append(frame)
            traceback = traceback.tb_next
        yield from outer
        yield from inner

    def _origin(self, file: str) -> tuple[str, str]:
        if file == self._program:
            return "program", ""
        if file.startswith(self._folder):
            return "beside", ""
        if file.startswith("<frozen "):
            return "library", file[8:-1][:200]
        for folder in self._libraries:
            if file.startswith(folder):
                return "library", file[len(folder) :].removesuffix(".py").replace("/", ".")[:200]
        return "other", ""


def _type_name(error: BaseException) -> str:
    """Return the full name of an exception's class. A class that only claims to be a builtin keeps its module."""
    cls: type[Any] = type(error)
    is_builtin: bool = _BUILTIN.get(cls.__name__) is cls
    return cls.__name__ if is_builtin else f"{cls.__module__}.{cls.__qualname__}"[:200]


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException:
        return "<exception str() failed>"
    if len(text) <= MESSAGE_HEAD + MESSAGE_TAIL:
        return text
    return text[:MESSAGE_HEAD] + "\n…\n" + text[-MESSAGE_TAIL:]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield what the exception was raised from, or while handling, nearest first."""
    current = error
    for _ in range(CAUSES):
        cause, context = current.__cause__, None if current.__suppress_context__ else current.__context__
        following = context if cause is None else cause
        if following is None:
            return
        yield following
        current = following


def _line(file: str, number: int) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as lines:
            for _ in range(number - 1):
                lines.readline(SOURCE_LINE)
            return lines.readline(SOURCE_LINE).strip()
    except OSError:
        return ""

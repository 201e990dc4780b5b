"""Find the stack frames in a paste, and the line of the reader's own code at which an error arose."""

from __future__ import annotations

import re
from itertools import islice

from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple
from kb.text.error_span import ErrorSpan
from kb.text.normalize import NormalizedText

__all__ = ["Frame", "is_library", "own_frame", "shows_traceback", "traceback_code", "traceback_files"]


class Frame(NamedTuple):
    """A line of code in a traceback. `line` is its number in the file."""

    file: str
    line: int
    function: str
    code: str


_HEADER = lazy_pattern(r"Traceback \(most recent call (?:last|first)\)")
_FRAME = lazy_pattern(
    r"^[ \t]{0,200}+(?:File \"(?P<file>[^\"\n]{1,400})\", line (?P<line>\d{1,7})(?:,? in (?P<function>[^\n]{1,200}))?"
    r"|(?:File )?(?P<cell>(?:~|/|[A-Za-z]:\\|<ipython-input|Input In|Cell In|\./|\.\\)[^\n]{0,400}?)(?:(?::(?P<at>\d{1,7}))?,? in |, line (?P<row>\d{1,7})$)"
    r"(?P<inside>[\w<>.]{0,120})[^\n]{0,400})$",
    re.MULTILINE,
)
_CUES = ('File "', "Traceback", " In[", "In [", ".py:", "ipython", " in <module>", ".py in ")
"""Pieces of text without which there is no frame."""

_ARROW = lazy_pattern(r"^[-–—]{1,8}>\s?(?P<line>\d{1,7})\s?(?P<code>[^\n]*+)$", re.MULTILINE)
"""How IPython marks the line of a frame."""

_PYTEST_LOCATION = lazy_pattern(
    r"^(?P<file>(?:[A-Za-z]:)?[^\s:\"'<>|][^\n:\"'<>|]{0,300}\.py):(?P<line>\d{1,7}): (?:in (?P<function>[\w<>.]{1,120})|(?P<error>[\w.]{1,120}))$",
    re.MULTILINE,
)
_WARNING_LOCATION = lazy_pattern(
    r"(?P<file>(?:[A-Za-z]:)?[^\n:\"'<>|]{1,300}+):(?P<line>\d{1,7}): (?P<type>\w{1,100}+): "
)
_CRASHED_THREAD = "Current thread 0x"
_MARKS = lazy_pattern(r"[\s~^]*+")
_LIBRARY = lazy_pattern(
    r"site-packages|dist-packages|[\\/]lib(?:64)?[\\/]python\d|[\\/](?:Lib|Python\d{2,3}[\\/]lib)[\\/]|envs[\\/][^\\/]{1,200}[\\/]lib[\\/]|/opt/conda/lib"
    r"|<frozen |<__array_function__|<string>|<decorator"
)
_MAX_FRAMES = 200
_USER_CODE = "from user code:"
"""Below it, `torch.compile` shows the frames of the reader's code, after the message."""


def is_library(file: str) -> bool:
    """Whether the file of a frame belongs to Python or to an installed package."""
    return bool(_LIBRARY.search(file))


def own_frame(normalized: NormalizedText, error: ErrorSpan) -> Frame | None:
    """Return the innermost frame of the error's traceback that is neither Python's nor an installed package's."""
    text = normalized.text
    if not any(cue in text for cue in _CUES):
        return None
    start = _traceback_start(text, error.start)
    return (
        _compiled_code(text, error, tracebacks=0)
        or _innermost(text, start, error.start)
        or _compiled_code(text, error, tracebacks=1)
        or _pytest_frame(text, start, error)
        or _frame_after_crash(text, error)
        or _warning_frame(text, error)
    )


def shows_traceback(text: str, start: int) -> bool:
    """Tell whether the head of a traceback and a frame stand behind the offset."""
    head = _HEADER.search(text, start)
    return head is not None and bool(_FRAME.search(text, head.end()))


def traceback_files(text: str, error: ErrorSpan | None) -> list[str]:
    """Return the files of the innermost 200 frames of the error's traceback, outermost first; without an error, those of the text."""
    if " in " not in text and ", line " not in text:
        return []  # no frame is without one of them
    start, end = (_traceback_start(text, error.start), error.start) if error else (0, len(text))
    return [frame["file"] or frame["cell"] for frame in _FRAME.finditer(text, start, end)][-_MAX_FRAMES:]


def traceback_code(text: str, error: ErrorSpan, most: int) -> list[str]:
    """Return the lines of source code that the error's traceback shows, innermost first, at most `most`."""
    frames = list(_FRAME.finditer(text, _traceback_start(text, error.start), error.start))[-most:]
    return [code for frame in reversed(frames) if (code := _frame(text, frame, error.start).code)]


def _traceback_start(text: str, end: int) -> int:
    start = 0
    for header in _HEADER.finditer(text, 0, end):
        start = header.start()
    return start


def _innermost(text: str, start: int, end: int) -> Frame | None:
    """Return the last frame between the offsets that is the reader's own."""
    innermost = None
    for frame in _FRAME.finditer(text, start, end):
        if not is_library(frame["file"] or frame["cell"]):
            innermost = frame
    return _frame(text, innermost, end) if innermost else None


def _compiled_code(text: str, error: ErrorSpan, *, tracebacks: int) -> Frame | None:
    """Return the innermost of the frames that `torch.compile` shows below the error.

    At most this number of tracebacks may begin in between. One does if the error caused the one that `torch.compile` raised.
    """
    start = text.find(_USER_CODE, error.start)
    if start < 0 or sum(1 for _ in islice(_HEADER.finditer(text, error.start, start), tracebacks + 1)) > tracebacks:
        return None
    end = text.find("\n\n", text.find("File ", start))
    return _innermost(text, start, len(text) if end < 0 else end)


def _pytest_frame(text: str, start: int, error: ErrorSpan) -> Frame | None:
    """Return the location that pytest prints: before the message with the function, or after it with the exception."""
    if ".py:" not in text:
        return None
    innermost = None
    for location in _PYTEST_LOCATION.finditer(text, start, error.start):
        if location["function"] and not is_library(location["file"]):
            innermost = location
    if innermost is not None:
        code = text[innermost.end() + 1 :].partition("\n")[0].strip()
        return Frame(innermost["file"], int(innermost["line"]), innermost["function"], code)
    after = _PYTEST_LOCATION.search(text, error.message_start)
    if after is None or after["error"] != error.type or is_library(after["file"]):
        return None
    lines = [
        line for line in text[max(0, error.start - 1000) : error.start].split("\n")[:-1] if not _MARKS.fullmatch(line)
    ]
    return Frame(after["file"], int(after["line"]), "", lines[-1].strip() if lines else "")


def _warning_frame(text: str, error: ErrorSpan) -> Frame | None:
    """Return the line of the reader's own code that a warning names before its type; the line of code stands below the message."""
    location = _WARNING_LOCATION.match(text, text.rfind("\n", 0, error.start) + 1)
    if location is None or location["type"] != error.type or is_library(location["file"]):
        return None
    below = text[error.start :].partition("\n")[2].partition("\n")[0]
    return Frame(location["file"], int(location["line"]), "", below.strip() if below.startswith("  ") else "")


def _frame_after_crash(text: str, error: ErrorSpan) -> Frame | None:
    """Return the innermost own frame that `faulthandler` prints after the message, most recent call first."""
    start = text.find(_CRASHED_THREAD, error.start)
    if start < 0 or _HEADER.search(text, error.start, start):
        return None
    for frame in _FRAME.finditer(text, start):
        if not is_library(frame["file"] or frame["cell"]):
            return _frame(text, frame, len(text))
    return None


def _frame(text: str, frame: re.Match[str], end: int) -> Frame:
    following = text[frame.end() + 1 : min(end, frame.end() + 2000)]
    function = (frame["function"] or frame["inside"] or "").strip().rstrip("()")
    if frame["file"]:
        code = following.partition("\n")[0].strip()
        return Frame(frame["file"], int(frame["line"]), function, "" if code.startswith("File ") else code)
    arrow = _ARROW.search(following)
    line = frame["at"] or frame["row"] or (arrow["line"] if arrow else "0")
    return Frame(frame["cell"].strip(), int(line), function, arrow["code"].strip() if arrow else "")

"""Read the lines on which a program names an exception, a warning or an error, with its message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.startup.lazy_regex import lazy_pattern
from kb.text.error_span import ErrorSpan

__all__ = ["exception_spans"]

_NAME_END = lazy_pattern(
    r"(?:Error|Exception|Warning|error|exception|warning|ERROR|Interrupt|SystemExit|StopIteration|Unsupported|BackendCompilerFailed"
    r"|TritonMissing|InvalidCxxCompiler|ncclInvalidUsage|BrokenProcessPool|TimeoutExpired|fatal|FATAL|Empty)(?![A-Za-z_])|Assertion |what\(\): "
)
"""The end of an exception's name, or a word that announces a message."""

_AFTER_NAME = lazy_pattern(
    r"(?P<heading>[ \t]{1,200}+Traceback \(most recent)|(?>(?P<code> (?>(?:Code )?)[A-Z]{0,4}+#?+\d{1,6})?)"
    r"(?>(?: ?\([^()\n]{0,60}\))?) {0,4}:(?:[ \t]{1,200}+|(?=[^:\s/\\])|(?P<empty>$))"
    r"|\((?=['\"])|(?P<alone>[ \t]{0,200}+$)",
    re.MULTILINE,
)
_NAME_BEFORE = lazy_pattern(r"[\w.]{0,200}$", re.ASCII)
_BEFORE_PLAIN_ERROR = lazy_pattern(
    r"\s{0,200}+(?:[\w./\\+-]{1,200}(?:\(\d{1,9}\))?\s?:[\d:]{0,40}\s{0,9}){0,3}(?:fatal |internal |nvcc )?$|.{0,200}[\])]\s{0,9}$",
    re.IGNORECASE,
)
"""What may precede `error:` that belongs to no name: a program, a file with its line, or a bracketed prefix."""

_DEVICE_BEFORE = lazy_pattern(
    r"(?<![\w.])(?:CUDA|HIP|NCCL|RCCL|cuDNN|MIOpen|cuBLAS|hipBLAS|MPS|XPU|NPU|SYCL|HCCL)(?: runtime| driver| kernel| function)? $",
    re.IGNORECASE,
)
"""The backend of a device before `error:`, as in `CUDA error: out of memory`, if no exception is named."""

_MAX_BEFORE = 1_000
"""Characters before a word such as `error` above which its line is no message."""

_PROGRAM = lazy_pattern(r"\s{0,200}+[\w.-]{1,60}: ")
_SOURCE_CODE = lazy_pattern(r"\s{0,200}+(?:raise|except|assert|return|import|from|if|warnings\.)\b|.{0,400}\braise\s")
_REPR = lazy_pattern(r"'(?P<single>(?>(?:[^'\\\n]|\\.)*))'|\"(?P<double>(?>(?:[^\"\\\n]|\\.)*))\"")
_THROWN = lazy_pattern(r"terminate called after throwing an instance of '([^'\n]{1,200})'\s{0,20}$")
_UNUSUAL_NAME = lazy_pattern(r"^(?:[a-z_]\w{0,60}\.){1,8}[A-Z]\w{1,80}(?=:\s|:?$)", re.MULTILINE)
"""An exception with its module whose name does not end as names of exceptions do, such as `concurrent.futures.process.BrokenProcessPool`."""

_TRACEBACK = "Traceback (most recent call last)"


def exception_spans(text: str) -> Iterator[ErrorSpan]:
    """Yield every error that the text names, in order and with repetitions; headings have the role `heading`."""
    message_start = -1
    starts = set()
    for name_end in _NAME_END.finditer(text):
        if name_end.start() < message_start:
            continue
        line_start = text.rfind("\n", 0, name_end.start()) + 1
        line_end = text.find("\n", name_end.end())
        error = _read(text, name_end, line_start, len(text) if line_end < 0 else line_end)
        if error is not None and not (error.type.endswith(" error") and line_start <= message_start):
            if error.role != "heading":
                message_start = error.message_start
            starts.add(error.start)
            yield error
    traceback = text.find(_TRACEBACK)
    if traceback >= 0:
        for name in _UNUSUAL_NAME.finditer(text, traceback):
            if name.start() not in starts and not name.group().endswith("RemoteTraceback"):
                start = min(name.end() + 1, len(text))
                yield ErrorSpan(name.group(), _line(text, start).strip(), name.start(), start, "error")


def _read(text: str, name_end: re.Match[str], line_start: int, line_end: int) -> ErrorSpan | None:
    """Return the error whose name ends with the match, or None if the line only speaks of an error."""
    word, end = name_end.group(), name_end.end()
    if word == "Assertion ":
        message = text[name_end.start() : line_end]
        return _span("Assertion", message, name_end.start(), name_end.start()) if "failed" in message else None
    if word == "what(): ":
        thrown = _THROWN.search(text[max(0, line_start - 300) : line_start])
        return _span(thrown[1] if thrown else "c10::Error", text[end:line_end], name_end.start(), end)
    if _SOURCE_CODE.match(text, line_start, end):
        return None
    start = _NAME_BEFORE.search(text, max(line_start, name_end.start() - 200), name_end.start()).start()  # type: ignore[union-attr]
    name = text[start:end]
    after = _AFTER_NAME.match(text, end, line_end)
    if after is None and name == "ERROR" and _PROGRAM.fullmatch(text, line_start, start):
        return _span("ERROR", text[end:line_end], start, end)
    if after is None or name.startswith("."):
        return None
    if name == word or name[0].isdigit():
        return _announced(text, name, after, (line_start, start, line_end))
    if after["heading"]:
        return ErrorSpan(name, "", start, after.end(), "heading")
    if after["alone"] is not None and text[line_start:start].strip():
        return None
    if after.group() == "(":
        return _repr(text, name, start, after.end(), line_end)
    message = text[after.end() : line_end].strip()
    if after["empty"] is not None or (not message and after["alone"] is None):
        message = _line(text, line_end + 1)
    return _span(name, message, start, after.end())


def _announced(text: str, word: str, after: re.Match[str], bounds: tuple[int, int, int]) -> ErrorSpan | None:
    """Return the message that a word such as `error` announces, which is no exception's name, or None if it stands in prose.

    The bounds are the offsets of the line, of the word, and of the end of the line.
    """
    line_start, start, line_end = bounds
    message = text[after.end() : line_end]
    if word == "error" and (device := _DEVICE_BEFORE.search(text, max(line_start, start - 40), start)):
        return _span(device.group() + word, message, device.start(), after.end())
    if message.strip() and start - line_start < _MAX_BEFORE and _BEFORE_PLAIN_ERROR.match(text, line_start, start):
        return _span(word + (after["code"] or ""), message, start, after.end())
    return None


def _repr(text: str, type_: str, start: int, quote: int, line_end: int) -> ErrorSpan:
    """Return the error that is printed as `repr()` writes it, without the quotation marks, as in `RuntimeError('no')`."""
    literal = _REPR.match(text, quote, line_end)
    if literal is None:  # its end was cut off
        return _span(type_, text[quote + 1 : line_end], start, quote + 1)
    return _span(type_, literal[literal.lastgroup or 0], start, quote + 1)


def _span(type_: str, message: str, start: int, message_start: int) -> ErrorSpan:
    return ErrorSpan(type_, message.strip(), start, message_start, "error")


def _line(text: str, start: int) -> str:
    """Return the rest of the line from `start` on."""
    line_end = text.find("\n", start)
    return text[start : len(text) if line_end < 0 else line_end]

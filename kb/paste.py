"""Find the errors in pasted text: their types, messages and frames, the root cause before what merely reports it."""

from __future__ import annotations

import re
from typing import NamedTuple

from kb.clean import View

__all__ = ["FoundError", "Frame", "find_errors", "own_frame"]


class Frame(NamedTuple):
    """A line of code in a traceback. `line` is the number in its file."""

    file: str
    line: int
    function: str
    code: str


class FoundError(NamedTuple):
    """An error or warning in the paste: its type and message as printed, its line (from 1), and the innermost frame in the reader's own code."""

    type: str
    message: str
    line_number: int
    frame: Frame | None


class Spotted(NamedTuple):
    """An error found in a view: where its type and its message begin in the text, and what part it plays."""

    type: str
    message: str
    start: int
    message_start: int
    role: str


_TYPE = re.compile(
    r"(?<![\w.`'\"])(?P<type>(?:[A-Za-z_]\w{0,60}\.){0,8}(?:[A-Za-z_]\w{0,60}(?:Error|Exception|Warning|error|exception|warning)"
    r"|KeyboardInterrupt|SystemExit|StopIteration|Unsupported|BackendCompilerFailed|TritonMissing|InvalidCxxCompiler|ncclInvalidUsage|queue\.Empty))"
    r"(?P<colon>\s?:(?:\s|$)|[ \t]*$|\s?[:\[(]\s?(?=[A-Z\"'\[]))",
    re.MULTILINE,
)
_OTHER = re.compile(
    r"^(?P<where>.{0,300}?)(?P<what>Assertion .{1,300}? failed|Segmentation fault|Bus error|what\(\): |OMP: Error #\d++"
    r"|(?:^|(?<=\s))(?:[\w./-]{1,40}: )?(?:fatal|error|ERROR)(?=: ?\S))(?P<rest>.*)$",
    re.MULTILINE,
)
_NO_ERROR = re.compile(r"\s*(?:raise|except|assert|return|import|from|if|warnings\.)\b|.*\braise\s")
_REPORTERS = re.compile(
    r"Caught \w+ in (?:DataLoader worker process|replica|pin memory thread)|ChildFailedError|ProcessRaisedException|ProcessExitedException"
    r"|CUDA kernel errors might be asynchronously reported|RayTaskError|RemoteError|SystemExit|queue\.Empty|KeyboardInterrupt"
    r"|During handling|CalledProcessError|[Ss]ubprocess"
)
_CAUSED_BY_LATER = re.compile(
    r"During handling of the above exception|Original Traceback|terminated with the following error|Original traceback|"
    r"from user code|The following error|set TORCHDYNAMO_VERBOSE"
)
_FRAME = re.compile(
    r"^\s*(?:File \"(?P<file>[^\"\n]{1,400})\", line (?P<line>\d{1,7})(?:, in (?P<function>[^\n]{1,200}))?"
    r"|(?:File )?(?P<cell>(?:~|/|[A-Za-z]:\\|<ipython-input|Input In|Cell In|\./|\.\\)[^\n]{0,400}?)(?:(?::(?P<at>\d{1,7}))?,? in |, line (?P<row>\d{1,7})$)"
    r"(?P<inside>[\w<>.]{0,120})[^\n]{0,400})$",
    re.MULTILINE,
)
_ARROW = re.compile(r"^[-–—]{1,8}>\s?(?P<line>\d{1,7})\s?(?P<code>[^\n]*)$", re.MULTILINE)
_LIBRARY = re.compile(
    r"site-packages|dist-packages|[\\/]lib(?:64)?[\\/]python\d|[\\/]Lib[\\/]|<frozen |<__array_function__|<string>|<decorator|envs[\\/][^\\/]+[\\/]lib[\\/]|/opt/conda/lib|_internal"
)
_TRACEBACK = re.compile(r"Traceback \(most recent call (?:last|first)\)")


def find_errors(view: View) -> list[Spotted]:
    """Return the errors and warnings in the text, the root cause first; what merely reports another error comes last."""
    found = _spot(view.text)
    ordered: list[Spotted] = []
    for index, error in enumerate(found):
        if index and _CAUSED_BY_LATER.search(view.text, found[index - 1].start, error.start):
            ordered.insert(ordered.index(found[index - 1]), error)
        else:
            ordered.append(error)
    rank = {"error": 0, "sign": 1, "warning": 2, "reporter": 3}
    ordered.sort(key=lambda error: rank[error.role])
    return ordered


def own_frame(view: View, error: Spotted) -> Frame | None:
    """Return the innermost frame of the error's traceback that is neither Python's nor an installed package's."""
    begin = 0
    for head in _TRACEBACK.finditer(view.text, 0, error.start):
        begin = head.start()
    best = None
    for found in _FRAME.finditer(view.text, begin, error.start):
        file = found["file"] or found["cell"]
        if not _LIBRARY.search(file):
            best = found
    return _frame(view.text, best, error.start) if best else None


def _spot(text: str) -> list[Spotted]:
    found: dict[tuple[str, str], Spotted] = {}
    for head in _TYPE.finditer(text):
        line_start = text.rfind("\n", 0, head.start()) + 1
        line_end = text.find("\n", head.end())
        line_end = len(text) if line_end < 0 else line_end
        before = text[line_start : head.start()]
        if _NO_ERROR.match(text, line_start, head.start() + 1) or text.startswith("Traceback", head.end()):
            continue
        type_ = head["type"]
        if not head["colon"].strip() and before.strip():
            continue
        message = text[head.end() : line_end].strip() if head.end() <= line_end else ""
        message_start = head.end()
        if not message and "\n" not in head["colon"]:
            message = text[line_end + 1 :].partition("\n")[0].strip() if head["colon"].strip() else ""
        _add(found, type_, message, head.start(), message_start)
    covered = [(error.start, error.start + len(error.type) + len(error.message) + 40) for error in found.values()]
    for other in _OTHER.finditer(text):
        start = other.start("what")
        if any(low <= start <= high for low, high in covered) or _NO_ERROR.match(other.group()):
            continue
        what = other["what"]
        message = (what if what.startswith("Assertion") else "") + other["rest"]
        _add(
            found,
            what.split(" ")[0].strip(":()") if not what.startswith("what") else "c10::Error",
            message.strip(": "),
            start,
            start,
        )
    return sorted(found.values(), key=lambda error: error.start)


def _add(found: dict[tuple[str, str], Spotted], type_: str, message: str, start: int, message_start: int) -> None:
    role = "error"
    if _REPORTERS.search(f"{type_}: {message}"):
        role = "reporter"
    elif type_.lower().endswith("warning"):
        role = "warning"
    elif type_ in ("Segmentation", "Bus", "fatal", "error", "ERROR"):
        role = "sign"
    found.setdefault((type_, message[:200]), Spotted(type_, message, start, message_start, role))


def _frame(text: str, found: re.Match[str], end: int) -> Frame:
    following = text[found.end() + 1 : min(end, found.end() + 2000)]
    function = (found["function"] or found["inside"] or "").strip().rstrip("()")
    if found["file"]:
        code = following.partition("\n")[0].strip()
        return Frame(found["file"], int(found["line"]), function, "" if code.startswith("File ") else code)
    arrow = _ARROW.search(following)
    line = found["at"] or found["row"] or (arrow["line"] if arrow else "0")
    return Frame(found["cell"].strip(), int(line), function, arrow["code"].strip() if arrow else "")

"""Find the errors in pasted text: their types, messages and frames, the root cause before what merely reports it."""

from __future__ import annotations

import re
from typing import NamedTuple

from kb.clean import View
from kb.lazy import pattern

__all__ = ["SIGNALS", "FoundError", "Frame", "Spotted", "find_errors", "own_frame"]


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
    """An error found in a view: where its type and its message begin in the text, and its role: `error`, `warning`, or `reporter` of another error."""

    type: str
    message: str
    start: int
    message_start: int
    role: str


_SIGN = pattern(
    r"(?:Error|Exception|Warning|error|exception|warning|ERROR|Interrupt|SystemExit|StopIteration|Unsupported|BackendCompilerFailed"
    r"|TritonMissing|InvalidCxxCompiler|ncclInvalidUsage|fatal|FATAL|Empty)(?![A-Za-z_])|Assertion |what\(\): |Segmentation fault|Bus error"
)
SIGNALS = ("Segmentation fault", "Bus error")
"""What the system says of a program that it ended: the whole message, whatever stands around it."""

_AFTER = pattern(
    r"(?P<head>[ \t]+Traceback \(most recent)|(?>(?P<code> (?>(?:Code )?)[A-Z]{0,4}+#?+\d{1,6})?)"
    r"(?>(?: ?\([^()\n]{0,60}\))?) ?:(?:[ \t]+|(?=[^:\s/\\])|(?P<bare>$))"
    r"|\((?=['\"])|(?P<alone>[ \t]*$)",
    re.MULTILINE,
)
_NAME_BEFORE = pattern(r"[\w.]{0,200}$", re.ASCII)
_BEFORE_GENERIC = pattern(
    r"\s*(?:[\w./\\+-]{1,200}(?:\(\d+\))?\s?:[\d:]*\s*){0,3}(?:fatal |internal )?$|.{0,200}[\])]\s*$", re.IGNORECASE
)
_PROGRAM = pattern(r"\s*[\w.-]{1,60}: ")
_NO_ERROR = pattern(r"\s*(?:raise|except|assert|return|import|from|if|warnings\.)\b|.{0,400}\braise\s")
_REPORTERS = pattern(
    r"Caught \w+ in (?:DataLoader worker process|replica|pin memory thread)|ChildFailedError|ProcessRaisedException|ProcessExitedException"
    r"|CUDA kernel errors might be asynchronously reported|RayTaskError|RemoteError|SystemExit|queue\.Empty|KeyboardInterrupt"
    r"|During handling|CalledProcessError|[Ss]ubprocess"
)
_CAUSED_BY_LATER = pattern(
    r"During handling of the above exception|Original Traceback|terminated with the following error|Original traceback|"
    r"from user code|The following error|set TORCHDYNAMO_VERBOSE"
)
_FRAME = pattern(
    r"^\s*(?:File \"(?P<file>[^\"\n]{1,400})\", line (?P<line>\d{1,7})(?:, in (?P<function>[^\n]{1,200}))?"
    r"|(?:File )?(?P<cell>(?:~|/|[A-Za-z]:\\|<ipython-input|Input In|Cell In|\./|\.\\)[^\n]{0,400}?)(?:(?::(?P<at>\d{1,7}))?,? in |, line (?P<row>\d{1,7})$)"
    r"(?P<inside>[\w<>.]{0,120})[^\n]{0,400})$",
    re.MULTILINE,
)
_FRAME_SIGNS = ('File "', "Traceback", " In[", "In [", ".py:", "ipython", " in <module>", ".py in ")
_ARROW = pattern(r"^[-–—]{1,8}>\s?(?P<line>\d{1,7})\s?(?P<code>[^\n]*)$", re.MULTILINE)
_LIBRARY = pattern(
    r"site-packages|dist-packages|[\\/]lib(?:64)?[\\/]python\d|[\\/]Lib[\\/]|envs[\\/][^\\/]+[\\/]lib[\\/]|/opt/conda/lib"
    r"|<frozen |<__array_function__|<string>|<decorator"
)
_MOST = 12
"""Of a paste with many different errors so many of the first and of the last are told of."""

_TRACEBACK = pattern(r"Traceback \(most recent call (?:last|first)\)")


def find_errors(view: View) -> list[Spotted]:
    """Return the errors and warnings in the text, the root cause first; what merely reports another error comes last."""
    found = _spot(view.text)
    ordered: list[Spotted] = []
    for index, error in enumerate(found):
        if index and _CAUSED_BY_LATER.search(view.text, found[index - 1].start, error.start):
            ordered.insert(ordered.index(found[index - 1]), error)
        else:
            ordered.append(error)
    rank = {"error": 0, "warning": 1, "reporter": 2}
    ordered.sort(key=lambda error: rank[error.role])
    return ordered


def own_frame(view: View, error: Spotted) -> Frame | None:
    """Return the innermost frame of the error's traceback that is neither Python's nor an installed package's."""
    if not any(sign in view.text for sign in _FRAME_SIGNS):
        return None
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
    """Return every error in the order of the text, each type and message once; a heading only where its error was cut off."""
    found: dict[tuple[str, str], Spotted] = {}
    headings: list[Spotted] = []
    past = -1
    for sign in _SIGN.finditer(text):
        if sign.start() < past or (sign.group() in SIGNALS and text.find("\n", past, sign.start()) < 0 <= past):
            continue
        line_start = text.rfind("\n", 0, sign.start()) + 1
        line_end = text.find("\n", sign.end())
        line_end = len(text) if line_end < 0 else line_end
        one = _read(text, sign, line_start, line_end)
        if one is None:
            continue
        if one.role == "heading":
            headings.append(one)
            continue
        past = one.message_start
        _add(found, one)
    types = {type_ for type_, _ in found}
    for one in headings:
        if one.type not in types:
            _add(found, one._replace(role="error"))
    ordered = sorted(found.values(), key=lambda error: error.start)
    return ordered if len(ordered) <= 2 * _MOST else ordered[:_MOST] + ordered[-_MOST:]


def _read(text: str, sign: re.Match[str], line_start: int, line_end: int) -> Spotted | None:
    """Return the error whose name ends in `sign`, or None when the word only speaks of one."""
    word = sign.group()
    if word in ("Assertion ", "what(): ", *SIGNALS):
        type_ = "c10::Error" if word == "what(): " else word.strip()
        start = sign.end() if word == "what(): " else sign.start()
        if word == "Assertion " and "failed" not in text[start:line_end]:
            return None
        return Spotted(type_, text[start:line_end].strip(), sign.start(), start, "error")
    if _NO_ERROR.match(text, line_start, sign.end()):
        return None
    before = _NAME_BEFORE.search(text[line_start : sign.start()])
    name = before.group() if before else ""
    start = sign.start() - len(name)
    after = _AFTER.match(text, sign.end(), line_end)
    if after is None and word == "ERROR" and _PROGRAM.fullmatch(text, line_start, start):
        return Spotted("ERROR", text[sign.end() : line_end].strip(), start, sign.end(), "error")
    if after is None or name.startswith("."):
        return None
    type_ = (name + word).lstrip(".")
    message = text[after.end() : line_end].strip()
    lead = text[line_start:start]
    if not name or type_[0].isdigit():
        if not message or not _BEFORE_GENERIC.match(lead):
            return None
        return Spotted(type_ + (after["code"] or ""), message, start, after.end(), "error")
    if after["head"]:
        return Spotted(type_, "", start, after.end(), "heading")
    if after["alone"] is not None and lead.strip():
        return None
    if after["bare"] is not None or (not message and after["alone"] is None):
        message = text[line_end + 1 :].partition("\n")[0].strip()
    return Spotted(type_, message, start, after.end(), "error")


def _add(found: dict[tuple[str, str], Spotted], one: Spotted) -> None:
    if _REPORTERS.search(f"{one.type}: {one.message}"):
        one = one._replace(role="reporter")
    elif one.type.lower().endswith("warning"):
        one = one._replace(role="warning")
    found.setdefault((one.type, one.message[:200]), one)


def _frame(text: str, found: re.Match[str], end: int) -> Frame:
    following = text[found.end() + 1 : min(end, found.end() + 2000)]
    function = (found["function"] or found["inside"] or "").strip().rstrip("()")
    if found["file"]:
        code = following.partition("\n")[0].strip()
        return Frame(found["file"], int(found["line"]), function, "" if code.startswith("File ") else code)
    arrow = _ARROW.search(following)
    line = found["at"] or found["row"] or (arrow["line"] if arrow else "0")
    return Frame(found["cell"].strip(), int(line), function, arrow["code"].strip() if arrow else "")

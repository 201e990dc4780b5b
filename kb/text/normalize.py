"""Undo what terminals, loggers, launchers, chat programs and web pages do to a traceback, and keep the original line numbers.

Colours, full-width letters, HTML, prefixes of processes and time stamps are removed. No rule depends on the words of an error.
"""

from __future__ import annotations

from bisect import bisect_right

from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple

__all__ = ["NormalizedText", "normalize", "unwrap_hard_wraps"]

MAX_CHARS = 48_000
"""A longer paste is cut to its beginning, its end and the lines around cues of errors."""

_HEAD, _TAIL, _MAX_LINE, _LINES_AFTER_CUE = 6_000, 16_000, 3_000, 4
_CUES = lazy_pattern(
    r"Error|Exception|Traceback|Warning|Assert|assert |error:|ERROR|CUDA|NCCL|failed"
    r"|Killed|Segmentation fault|Aborted|WinError|undefined symbol|exit code|fatal "
)
_UNUSUAL = lazy_pattern(
    r"[^\n\t\x20-\x7e]|&(?:\w{2,6}|#x?\w{1,6});|</?[a-z]|\[\d{0,2}(?>(?:;\d{1,3})*)m|\\n|\]\(https://localhost"
)
_ANSI = lazy_pattern(
    r"(?:\x1b|\x9b|\^\[|␛|\\x1b|\\033|\\u001b)(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]{0,300}+(?:\x07|\x1b\\)|[@-Z\\-_])"
    r"|\[(?:(?:0|1|4|[349]\d|10\d)(?>(?:;\d{1,3})*)|(?>(?:;\d{1,3}){1,9}))m|\[m(?![a-z_])"
)
_TAG = lazy_pattern(
    r"</?(?:br|p|pre|code|span|div|b|i|u|em|strong|font|a|li|ol|ul|td|tr|th|table|tbody|h\d|img|details|summary|blockquote|samp|kbd|tt)\b[^<>\n]{0,300}+/?>"
)
_ENTITY = lazy_pattern(r"&(?:\w{2,6}|#x?\w{1,6});")
_ESCAPED_BREAK = lazy_pattern(
    r"(?P<file>\bFile \"[^\"\n]{1,400}\")|(?<![A-Za-z]:)(?<!\\)(?:\\r)?\\n(?!n\\|umpy\\)(?>(?:\\t)*)"
)
"""A line break as a string shows it; or the file of a frame, in which `\\n` begins a folder, as it does in `\\nn` and `\\numpy` in other paths of Windows."""

_NOTEBOOK_LINK = lazy_pattern(r"\[([/<~][^]\n]{1,400})\]\(https://localhost[^)\n]{0,80}\)")
"""How Colab links the file of a frame."""

_DOT = lazy_pattern(r"(?<=[A-Za-z0-9_])[。．](?=[A-Za-z])")
_FOLD = {
    **{0xFF01 + i: 0x21 + i for i in range(94)},
    **dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2009\u202f\u3000\x0b\x0c\x00"), " "),
    **dict.fromkeys([0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x07], ""),
    **dict.fromkeys(map(ord, "‘’‚‛′´ʼ"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″「」『』«»"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
    **dict.fromkeys(map(ord, "【〔"), "["),
    **dict.fromkeys(map(ord, "】〕"), "]"),
    ord("×"): "x",
    ord("…"): "...",
    ord("。"): ". ",
    ord("、"): ", ",
    ord("•"): "*",
    ord("ﬁ"): "fi",
    ord("ﬂ"): "fl",
}
_LEVEL = r"(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL|E|W|I)"
_PREFIX = lazy_pattern(
    r"\s*+(?:"
    r"\[(?P<rank>(?:rank|default|node|worker|gpu)\s?\d{1,4})\]\s?:?"
    r"|(?P<mpi>\[\d{1,4},\d{1,4}\])<std(?:err|out)>:?"
    r"|\((?P<actor>\w{1,40}\s)?pid=(?P<pid>\d{1,7})(?:,[^()\n]{1,60})?\)"
    r"|(?P<launcher>(?:rank|node|worker|host)[\w.-]{0,20}?\d{1,3}):(?=\s)"
    r"|(?P<srun>\d{1,3}):\s(?=\s{0,99}(?:Traceback|File|[\w.]{1,200}Error|\[rank|return |raise |\^))"
    r"|\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?[,:]?"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?"
    r"|[EWIF]\d{4} \d\d:\d\d:\d\d[.\d]*+ {1,9}\d++ [^\s\]]{1,80}+\]"
    rf"|(?:\[{_LEVEL}\]|{_LEVEL}(?=\s[-:|])|{_LEVEL}:\w{{1,30}}:(?=\s?\S))\s?[-:|]?"
    rf"|(?:- [\w.]{{1,60}} - {_LEVEL}|\[[\w.]{{1,60}}\]\[{_LEVEL}\]) -"
    rf"|torch[\w.]{{0,80}}: \[{_LEVEL}\]"
    r"|(?P<service>[A-Za-z][\w.-]{0,40}[-_]\d{1,3}) {1,20}\|"
    rf"|{_LEVEL} \d\d-\d\d \d\d:\d\d:\d\d \[[^\]\n]{{1,80}}:\d{{1,6}}\]"
    r"|E(?=\s{3})"
    r"|[-|│┃║╎]\s|│"
    r"|(?:>\s?){1,4}(?!>)"
    r")"
)
_PREFIX_STARTS = (
    *"[(0123456789-|│┃║╎>",
    *("DEBUG", "INFO", "WARN", "ERROR", "CRITICAL", "FATAL", "F0", "F1"),
    *(level + sign for level in "EWI" for sign in " \t:0123456789"),
    *("rank", "node", "worker", "host"),
)
"""Beginnings without which a line has no prefix; torch's own logger and Docker Compose are told by a sign behind theirs."""

_MAX_PREFIXES = 5
_MAX_SERVICE = 66
"""Characters that Docker Compose's name of a service, its number and the bar behind them may take."""

_BOX = ("│", "┃", "║")
"""Right borders of the boxes in which traceback printers draw their output."""


class NormalizedText(NamedTuple):
    """Text to look for errors in. `starts` are the offsets of its lines, `numbers` the numbers of these lines in the paste, from 1."""

    text: str
    starts: list[int]
    numbers: list[int]

    def line(self, offset: int) -> int:
        """Return the number, from 1, of the pasted line that contains the offset."""
        return self.numbers[bisect_right(self.starts, offset) - 1]


def normalize(text: str) -> NormalizedText:
    """Return the paste without the traces of its way: the lines of each process together, and a line that repeats the previous one left out."""
    text = text.replace("\r\n", "\n")
    lines = _excerpt(text) if len(text) > MAX_CHARS else list(enumerate(text.split("\n"), 1))
    if _UNUSUAL.search(text):
        lines = [(number, _fold(line)) for number, line in lines]
    groups: dict[str, list[tuple[int, str]]] = {"": []}
    previous = ""
    for number, printed in lines:
        process, line = _strip_prefixes(printed)
        if line == previous and line.strip():
            continue
        previous = line
        groups.setdefault(process, []).append((number, line))
    return _normalized([numbered for group in groups.values() for numbered in group])


def unwrap_hard_wraps(normalized: NormalizedText) -> NormalizedText | None:
    """Return the text with the lines joined that a terminal of fixed width broke, or None if no line is long enough for that."""
    lines = normalized.text.split("\n")
    width = max(map(len, lines), default=0)
    if not 40 <= width <= 400:
        return None
    joined: list[tuple[int, str]] = []
    is_broken = False
    for number, line in zip(normalized.numbers, lines, strict=True):
        if is_broken and joined:
            joined[-1] = joined[-1][0], joined[-1][1] + line
        else:
            joined.append((number, line))
        is_broken = len(line) == width
    return _normalized(joined) if len(joined) < len(lines) else None


def _normalized(lines: list[tuple[int, str]]) -> NormalizedText:
    starts, offset = [], 0
    for _, line in lines:
        starts.append(offset)
        offset += len(line) + 1
    return NormalizedText("\n".join(line for _, line in lines), starts or [0], [number for number, _ in lines] or [1])


def _fold(line: str) -> str:
    """Return the line without colours, HTML, full-width forms and typographic quotes."""
    line = _ANSI.sub("", line)
    if not line.isascii():
        line = _DOT.sub(".", line).translate(_FOLD)
    if "&" in line and _ENTITY.search(line):
        import html

        line = html.unescape(line)
        if "&" in line and _ENTITY.search(line):
            line = html.unescape(line)
        line = line.replace("\n", " ").translate(_FOLD)
    if "<" in line:
        line = _TAG.sub(" ", line)
    if "](https://localhost" in line:
        line = _NOTEBOOK_LINK.sub(r"\1", line)
    if "\\n" in line:
        line = _ESCAPED_BREAK.sub(lambda match: match["file"] or " ", line)
    return line.replace("\r", " ")


def _may_have_prefix(line: str) -> bool:
    """Tell whether a line is worth the pattern of prefixes, which takes long to compile."""
    bare = line.lstrip()
    return (
        bare.startswith(_PREFIX_STARTS) or " |" in line[:_MAX_SERVICE] or (bare.startswith("torch") and ": [" in bare)
    )


def _strip_prefixes(line: str) -> tuple[str, str]:
    """Return the rank or process in the prefixes that launchers and loggers put before a line, and the line without them."""
    process = ""
    for _ in range(_MAX_PREFIXES):
        if not _may_have_prefix(line):
            break
        prefix = _PREFIX.match(line)
        if not prefix:
            break
        process = process or next(filter(None, prefix.group("rank", "mpi", "pid", "launcher", "srun", "service")), "")
        line = line[prefix.end() :].removeprefix(" ")
    bare = line.rstrip()
    if bare.endswith(_BOX):
        line = bare[:-1].rstrip()
    return process, line


def _excerpt(text: str) -> list[tuple[int, str]]:
    """Return the numbered lines of a long paste that are read: the first, the last, and in between those near a cue, each part once."""
    head_end = text.rfind("\n", 0, _HEAD) + 1 or _HEAD
    tail_start = text.find("\n", len(text) - _TAIL) + 1 or len(text) - _TAIL
    lines = list(enumerate(text[:head_end].split("\n"), 1))
    number, position, left = len(lines), head_end, MAX_CHARS - _HEAD - _TAIL
    seen: set[str] = set()
    for cue in _CUES.finditer(text, head_end, tail_start):
        if cue.start() < position:
            continue
        start = max(text.rfind("\n", 0, cue.start()) + 1, cue.start() - _MAX_LINE, position)
        end = start
        for _ in range(_LINES_AFTER_CUE):
            end = text.find("\n", end, tail_start) + 1 or tail_start
        part = text[start : min(end, start + _LINES_AFTER_CUE * _MAX_LINE)]
        number += text.count("\n", position, start)
        if part not in seen:
            seen.add(part)
            lines += enumerate(part.split("\n"), number)
            left -= len(part)
        number += part.count("\n")
        position = start + len(part)
        if left <= 0:
            break
    lines += enumerate(text[tail_start:].split("\n"), number + text.count("\n", position, tail_start))
    return [(number, _shorten(line)) for number, line in lines]


def _shorten(line: str) -> str:
    """Return the line, or of one that is too long its beginning, its end and the surroundings of the first cues."""
    if len(line) <= _MAX_LINE:
        return line
    parts = [line[: _MAX_LINE // 3]]
    for cue in _CUES.finditer(line, _MAX_LINE // 3, len(line) - _MAX_LINE // 3):
        parts.append(line[max(0, cue.start() - 100) : cue.start() + 600])
        if len(parts) > 2:
            break
    return " ".join([*parts, line[-_MAX_LINE // 3 :]])

"""Make pasted text plain: no colours, full-width letters, HTML, rank prefixes or time stamps, while each line still knows where it stood.

What is done follows what terminals, loggers, launchers, chat programs and web pages do to a traceback; no rule looks at the error's words.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from kb.lazy import pattern

__all__ = ["View", "plain", "rewrap"]

MAX_CHARS = 48_000
"""Of a longer paste, the beginning, the end and the surroundings of what reads like an error are looked at."""

_HEAD, _TAIL, _MAX_LINE = 6_000, 16_000, 3_000
_SIGNS = pattern(r"Error|Exception|Traceback|Warning|Assert|assert |error:|ERROR|CUDA|NCCL|failed")
_UNUSUAL = pattern(r"[^\n\t\x20-\x7e]|&(?:\w{2,6}|#x?\w{1,6});|</?[a-z]|\[\d{0,2}(?:;\d{1,3})*m|\\n")
_ANSI = pattern(
    r"(?:\x1b|\x9b|\^\[|␛|\\x1b|\\033|\\u001b)(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]{0,300}+(?:\x07|\x1b\\)|[@-Z\\-_])"
    r"|\[(?:0|1|4|[349]\d|10\d)?(?>(?:;\d{1,3})*)m"
)
_TAG = pattern(
    r"</?(?:br|p|pre|code|span|div|b|i|u|em|strong|font|a|li|ol|ul|td|tr|th|table|tbody|h\d|img|details|summary|blockquote|samp|kbd|tt)\b[^<>\n]{0,300}+/?>"
)
_ENTITY = pattern(r"&(?:\w{2,6}|#x?\w{1,6});")
_ESCAPED_BREAK = pattern(r"(?<![A-Za-z]:)(?<!\\)(?:\\r)?\\n(?>(?:\\t)*)")
_DOT = pattern(r"(?<=[A-Za-z0-9_])[。．](?=[A-Za-z])")
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
_PREFIX = pattern(
    r"\s*+(?:"
    r"\[(?P<rank>(?:rank|default|node|worker|gpu)\s?\d{1,4})\]\s?:?"
    r"|(?P<mpi>\[\d{1,4},\d{1,4}\])<std(?:err|out)>:?"
    r"|\((?P<actor>\w{1,40}\s)?pid=(?P<pid>\d{1,7})(?:,[^()\n]{1,60})?\)"
    r"|(?P<launcher>(?:rank|node|worker|host)[\w.-]{0,20}?\d{1,3}):(?=\s)"
    r"|(?P<srun>\d{1,3}):\s(?=\s*(?:Traceback|File|[\w.]+Error|\[rank|return |raise |\^))"
    r"|\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?[,:]?"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?"
    r"|[EWIF]\d{4} \d\d:\d\d:\d\d[.\d]*+ +\d++ [^\s\]]{1,80}+\]"
    rf"|(?:\[{_LEVEL}\]|{_LEVEL}(?=\s[-:|])|{_LEVEL}:\w{{1,30}}:(?=\s?\S))\s?[-:|]?"
    r"|[-|│┃║╎]\s|│"
    r"|(?:>\s?){1,4}(?!>)"
    r")"
)
_BEGINNINGS = frozenset("[(0123456789|│┃║╎>-")
_WORDS_BEFORE = (
    "DEBUG",
    "INFO",
    "WARN",
    "ERROR",
    "CRITICAL",
    "FATAL",
    "E",
    "W",
    "I",
    "rank",
    "node",
    "worker",
    "host",
    "F0",
    "F1",
)
_BOX = pattern(r"\s*[│┃║]\s*$")


class View(NamedTuple):
    """Text to look for errors in, and where its lines come from: their offsets in it and their numbers, from 1, in what was pasted."""

    text: str
    starts: list[int]
    numbers: list[int]

    def line(self, offset: int) -> int:
        """Return the number, from 1, of the pasted line that the offset stands in."""
        return self.numbers[bisect_right(self.starts, offset) - 1]


def plain(text: str) -> View:
    """Return the paste as plain text: ranks one after the other, repeated lines once."""
    text = text.replace("\r\n", "\n")
    lines = _excerpt(text) if len(text) > MAX_CHARS else list(enumerate(text.split("\n"), 1))
    if _UNUSUAL.search(text):
        lines = [(number, _fold(line)) for number, line in lines]
    groups: dict[str, list[tuple[int, str]]] = {"": []}
    last = ""
    for number, printed in lines:
        label, line = _strip_prefixes(printed)
        if line == last and line.strip():
            continue
        last = line
        groups.setdefault(label, []).append((number, line))
    ordered = (
        groups[""] + [pair for label, group in groups.items() if label for pair in group]
        if len(groups) > 1
        else groups[""]
    )
    return _view(ordered)


def rewrap(view: View) -> View | None:
    """Return the text with lines joined that a terminal of fixed width broke, or None when no line has that look."""
    lines = view.text.split("\n")
    width = max(map(len, lines), default=0)
    if not 40 <= width <= 400:
        return None
    joined: list[tuple[int, str]] = []
    open_ = False
    for number, line in zip(view.numbers, lines, strict=True):
        if open_ and joined:
            joined[-1] = joined[-1][0], joined[-1][1] + line
        else:
            joined.append((number, line))
        open_ = len(line) == width
    return _view(joined) if len(joined) < len(lines) else None


def _view(lines: list[tuple[int, str]]) -> View:
    starts, offset = [], 0
    for _, line in lines:
        starts.append(offset)
        offset += len(line) + 1
    return View("\n".join(line for _, line in lines), starts or [0], [number for number, _ in lines] or [1])


def _fold(line: str) -> str:
    """Take colours, HTML, full-width forms and typographic quotes out of one line."""
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
    if "\\n" in line:
        line = _ESCAPED_BREAK.sub(" ", line)
    return line.replace("\r", " ")


def _strip_prefixes(line: str) -> tuple[str, str]:
    """Return the rank or process that printed the line, if it says so, and the line without what a launcher or a logger put before it."""
    label = ""
    for _ in range(5):
        begin = line.lstrip()[:1]
        if begin not in _BEGINNINGS and not line.lstrip().startswith(_WORDS_BEFORE):
            break
        found = _PREFIX.match(line)
        if not found:
            break
        label = label or found["rank"] or found["mpi"] or found["pid"] or found["launcher"] or found["srun"] or ""
        line = line[found.end() :].removeprefix(" ")
    if line.endswith(("│", "┃", "║")) or (line and line[-1] == " " and "│" in line):
        line = _BOX.sub("", line)
    return label, line


def _excerpt(text: str) -> list[tuple[int, str]]:
    """Return the lines of a long paste that are looked at: the first, the last, and in between those near a sign of an error, each once."""
    first, last = text.rfind("\n", 0, _HEAD) + 1 or _HEAD, text.find("\n", len(text) - _TAIL) + 1 or len(text) - _TAIL
    lines = list(enumerate(text[:first].split("\n"), 1))
    number, place, room = len(lines), first, MAX_CHARS - _HEAD - _TAIL
    seen: set[str] = set()
    for sign in _SIGNS.finditer(text, first, last):
        if sign.start() < place:
            continue
        start = max(text.rfind("\n", 0, sign.start()) + 1, sign.start() - _MAX_LINE, place)
        end = start
        for _ in range(4):
            end = text.find("\n", end, last) + 1 or last
        part = text[start : min(end, start + 4 * _MAX_LINE)]
        number += text.count("\n", place, start)
        place = start
        if part not in seen:
            seen.add(part)
            lines += enumerate(part.split("\n"), number)
            number, place = number + part.count("\n"), start + len(part)
            room -= len(part)
        if room <= 0:
            break
    lines += enumerate(text[last:].split("\n"), number + text.count("\n", place, last))
    return [(number, _shorten(line)) for number, line in lines]


def _shorten(line: str) -> str:
    """Of a line without end, return its beginning, its end and what stands around the first signs of an error."""
    if len(line) <= _MAX_LINE:
        return line
    parts = [line[: _MAX_LINE // 3]]
    for sign in _SIGNS.finditer(line, _MAX_LINE // 3, len(line) - _MAX_LINE // 3):
        parts.append(line[max(0, sign.start() - 100) : sign.start() + 600])
        if len(parts) > 2:
            break
    return " ".join([*parts, line[-_MAX_LINE // 3 :]])

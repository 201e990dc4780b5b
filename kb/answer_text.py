"""An answer as lines that fit a screen: the match, the cause, the fix, and where to read on.

What a small terminal has no room for is left out in steps: first titles and context, then whole sentences, with `…` in their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kb.entry_text import WORDS, best_case, case_lines, prose_lines
from kb.result import Answer, Match
from kb.terminal import BOLD, CYAN, DIM, GREEN, YELLOW, Style, columns, paint, visible, wrap

__all__ = ["SAID", "answer_lines", "short_lines", "unanswered_lines"]

SAID = {
    "en": {
        "exact": "exact match",
        "likely": "likely match",
        "line": "line {0}: ",
        "look": "Look first at {0}:{1}",
        "none": "kb has no entry for this error.",
        "near": "Related entries, none of which answers it (kb show NAME prints one):",
        "also": "Also possible: ",
        "more": "Whole programs and links: kb show {0}",
        "cases": "{1} more cases, whole programs, links: kb show {0}",
        "case": "1 more case, whole programs, links: kb show {0}",
        "comma": ", ",
    },
    "zh": {
        "exact": "完全匹配",
        "likely": "很可能是",
        "line": "第 {0} 行：",
        "look": "先看这里：{0}:{1}",
        "none": "kb 没有收录这个报错。",
        "near": "下面的条目相关，但都不是答案（kb show 名字 可以查看）：",
        "also": "也可能是：",
        "more": "完整程序和链接：kb show {0}",
        "cases": "另外 {1} 种情形、完整程序和链接：kb show {0}",
        "case": "另外 1 种情形、完整程序和链接：kb show {0}",
        "comma": "、",
    },
}


class _Room(NamedTuple):
    """How many rows each part may take, whether blank lines part them, and whether the change stands among unchanged lines.

    `titles` says whether other matches are told by their titles.
    """

    evidence: int = 1
    why: int = 99
    fix: int = 99
    change: int = 99
    spaced: bool = False
    context: bool = False
    titles: bool = False


_ROOMS = (
    _Room(evidence=3, spaced=True, context=True, titles=True),
    _Room(spaced=True, context=True),
    _Room(spaced=True),
    _Room(),
    *(
        _Room(why=why, fix=fix, change=change)
        for why, fix, change in (
            (6, 8, 14), (5, 8, 14), (5, 7, 12), (4, 7, 12), (4, 6, 10), (4, 6, 9), (4, 5, 8), (4, 5, 7), (3, 5, 7),
            (3, 5, 6), (3, 4, 6), (3, 4, 5), (3, 4, 4), (2, 4, 4), (2, 3, 4), (2, 3, 3), (2, 2, 3),
        )
    ),
)  # fmt: skip
"""From what an answer takes at its longest to what is left of it on the smallest screen."""


class _Parts(NamedTuple):
    """What there is to lay out, wrapped and without colours."""

    lead: str
    title: str
    first: Match
    others: tuple[Match, ...]
    lang: str
    limit: int
    evidence: list[str]
    notes: list[str]
    why: list[str]
    fix: list[str]
    case: dict[str, Any]
    more: str


def answer_lines(
    answer: Answer,
    card: dict[str, Any],
    text: str,
    limit: int,
    rows: int | None,
    style: Style,
    *,
    lead: str = "",
    evidence: bool = True,
) -> list[str]:
    """Return the answer, whose first match's card is given, in lines of `limit` columns: at most `rows` of them where that can be done.

    `text` is what was asked; it decides which case is shown. `lead` stands before the title. Without `evidence` the
    matched line is left out.
    """
    parts = _parts(answer, card, text, limit, evidence)._replace(lead=lead)
    plain = Style(plain=True)
    for room in _ROOMS:
        lines = list(_laid_out(parts, room, plain))
        if rows is None or sum(1 + max(0, columns(line) - 1) // limit for line in lines) <= rows:
            break
    return list(_laid_out(parts, room, style)) if style.on else lines


def short_lines(answer: Answer, limit: int, style: Style, *, lead: str = "") -> list[str]:
    """Return the answer's title and how to read it."""
    first = answer.matches[0]
    return [*wrap(lead + first.title[answer.lang], limit), style(f"kb show {first.id}", DIM)]


def unanswered_lines(answer: Answer, limit: int, style: Style) -> list[str]:
    """Return that there is no entry, and the related ones by title."""
    said = SAID[answer.lang]
    lines = [style(said["none"], BOLD)]
    if answer.matches:
        lines += ["", *wrap(said["near"], limit)]
    return lines + list(_titles(answer.matches[:3], answer.lang, limit))


def _parts(answer: Answer, card: dict[str, Any], text: str, limit: int, evidence: bool) -> _Parts:
    first, lang = answer.matches[0], answer.lang
    said = SAID[lang]
    found: list[str] = []
    if evidence and first.evidence.line_number:
        found = list(wrap(said["line"].format(first.evidence.line_number) + first.evidence.line, limit))
    rest = len(card["cases"]) - 1
    return _Parts(
        lead="",
        title=first.title[lang],
        first=first,
        others=answer.matches[1:],
        lang=lang,
        limit=limit,
        evidence=found,
        notes=_notes(answer, limit),
        why=prose_lines(card["why"][lang], limit),
        fix=prose_lines(card["fix"][lang], limit),
        case=best_case(card, text),
        more=said["case" if rest == 1 else "cases" if rest else "more"].format(first.id, rest),
    )


def _notes(answer: Answer, limit: int) -> list[str]:
    """Return what the message's numbers mean and where in the reader's own code to look."""
    explain = answer.matches[0].evidence.explain
    lines = list(wrap(explain[answer.lang], limit)) if explain else []
    frames = (error.frame for error in answer.errors if error.frame)
    if frame := next((frame for frame in frames if not frame.file.startswith("<")), None):
        place = visible(SAID[answer.lang]["look"].format(frame.file, frame.line))
        code = f"  `{visible(frame.code)}`" if frame.code else ""
        lines += wrap(place, limit) if columns(place + code) > limit else [place + code]
    return lines


def _laid_out(parts: _Parts, room: _Room, style: Style) -> Iterator[str]:
    words, said = WORDS[parts.lang], SAID[parts.lang]
    first = parts.first
    yield style(parts.lead, DIM) + style(parts.title, BOLD)
    yield style(said[first.confidence], GREEN if first.confidence == "exact" else YELLOW) + "  " + style(first.id, DIM)
    yield from (style(line, CYAN) for line in _cut(parts.evidence, room.evidence, parts.limit))
    yield from paint(parts.notes, style)
    blank = [""] if room.spaced else []
    yield from blank
    for part, lines, most in (("why", parts.why, room.why), ("fix", parts.fix, room.fix)):
        yield style(words[part], BOLD)
        yield from (*paint(_cut(lines, most, parts.limit), style), *blank)
    diff = parts.case["diff"] if room.context else _bare(parts.case["diff"])
    yield from (*case_lines(parts.case, parts.lang, parts.limit, style, _first(diff, room.change)), *blank)
    yield style(parts.more, DIM)
    if parts.others and room.titles:
        yield said["also"].rstrip()
        yield from _titles(parts.others, parts.lang, parts.limit)
    elif parts.others:
        names = said["also"] + said["comma"].join(match.id for match in parts.others)
        yield from _cut(list(wrap(names, parts.limit)), 1, parts.limit)


def _titles(matches: tuple[Match, ...], lang: str, limit: int) -> Iterator[str]:
    for match in matches:
        yield from wrap(f"{match.id}: {match.title[lang]}", limit, "  ", "    ")


def _cut(lines: list[str], most: int, limit: int) -> list[str]:
    """Return at most so many of the lines: cut after a sentence where that keeps half of them, else after a word, and `…`."""
    if len(lines) <= most:
        return lines
    kept = lines[:most]
    while kept and not kept[-1]:
        kept.pop()
    for row in range(len(kept) - 1, len(kept) // 2 - 1, -1):
        line = kept[row]
        end = max(line.rfind(". "), line.rfind("。"), len(line) - 1 if line.endswith((".", "。")) else -1)
        if end > len(line) // 3 or (end >= 0 and row > len(kept) // 2):
            return [*kept[:row], line[: end + 1] + " …"]
    last = kept[-1]
    while columns(last) > limit - 2:
        last = last.rpartition(" ")[0] or last[:-1]
    return [*kept[:-1], last.rstrip() + " …"]


def _bare(diff: list[str]) -> list[str]:
    """Return the difference without unchanged and empty lines, and without the asserts at its end that only prove the fix."""
    kept = [line for line in diff if line == "…" or (line[0] in "+-" and line[1:].strip())]
    while len(kept) > 1 and (kept[-1] == "…" or kept[-1].replace(" ", "").startswith("+assert")):
        kept.pop()
    return kept[1:] if kept and kept[0] == "…" else kept


def _first(diff: list[str], most: int) -> list[str]:
    return diff if len(diff) <= most else [*diff[: most - 1], "…"]

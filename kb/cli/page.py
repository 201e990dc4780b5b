"""Entries and answers as text for a terminal: wrapped to its width, Chinese characters counted as two columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from unicodedata import east_asian_width

from kb.cli.common import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Style

__all__ = ["case_lines", "columns", "entry_lines", "prose_lines", "wrap"]

WORDS = {
    "en": {
        "why": "Why it happens",
        "fix": "How to fix it",
        "change": "The change",
        "verified": "verified: torch {torch} on {device}, {date}",
        "changed": "changed since it was last verified",
        "unverified": "not verified yet",
        "cuda": "not verified on CUDA",
        "related": "Related",
        "messages": "Messages",
        "case": " (case {0})",
    },
    "zh": {
        "why": "原因",
        "fix": "解决办法",
        "change": "改动",
        "verified": "已验证：torch {torch}，{device}，{date}",
        "changed": "上次验证之后有改动",
        "unverified": "尚未验证",
        "cuda": "尚未在 CUDA 上验证",
        "related": "相关条目",
        "messages": "报错信息",
        "case": "（{0}）",
    },
}
_SPAN = re.compile(r"`+([^`]+)`+")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
_PIECE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]|[^\s\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]+|\s+")
_NO_START = "，。：；？！）、”’》】"


def columns(text: str) -> int:
    """Return how many columns the text takes in a terminal."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def wrap(text: str, limit: int, indent: str = "", hanging: str | None = None) -> Iterator[str]:
    """Yield lines of at most `limit` columns; Chinese breaks between any two characters but never before its punctuation."""
    hanging = indent if hanging is None else hanging
    line, used = indent, columns(indent)
    empty = True
    for piece in _PIECE.findall(text.strip()):
        space = piece.isspace()
        size = 1 if space else columns(piece)
        if not empty and used + size > limit and piece not in _NO_START:
            yield line.rstrip()
            line, used, empty = hanging, columns(hanging), True
        if space and empty:
            continue
        line += " " if space else piece
        used += size
        empty = False
    if not empty:
        yield line.rstrip()


def prose_lines(markdown: str, limit: int, style: Style, indent: str = "  ") -> Iterator[str]:
    """Yield an entry's prose: paragraphs and list items wrapped, code spans coloured, links as their text with the address behind."""
    markdown = _LINK.sub(lambda found: found[1] if found[2].endswith(".md") else f"{found[1]} ({found[2]})", markdown)
    markdown = markdown.replace("**", "")
    for block in re.split(r"\n\s*\n", markdown.strip()):
        for item in re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", block):
            bullet = re.match(r"\s*((?:[-*]|\d+\.) )", item)
            lead = bullet.group(1).replace("* ", "- ") if bullet else ""
            body = re.sub(r"(?<=[\u2e80-\uffef])\n\s*(?=[\u2e80-\uffef])", "", item[bullet.end() :] if bullet else item)
            for line in wrap(" ".join(body.split()), limit, indent + lead, indent + " " * len(lead)):
                yield _coloured(line, style)
        yield ""


def case_lines(card: dict[str, Any], lang: str, style: Style) -> Iterator[str]:
    """Yield, for each case, the difference between its repro and its fix and whether it is verified."""
    words = WORDS[lang]
    for case in card["cases"]:
        name = words["case"].format(case["name"]) if case["name"] else ""
        yield style(words["change"] + name, BOLD) + "  " + style(badge(case, lang), GREEN if case["badges"] else YELLOW)
        for line in case["diff"]:
            yield "  " + style(line, {"+": GREEN, "-": RED}.get(line[:1], DIM))
        yield ""


def badge(case: dict[str, Any], lang: str) -> str:
    """Return in a few words where the case was verified, or that it was not."""
    words = WORDS[lang]
    if case["badges"]:
        return words["verified"].format(**case["badges"][0])
    if case["state"] == "changed":
        return words["changed"]
    return words["cuda"] if case["device"] == "cuda" else words["unverified"]


def entry_lines(card: dict[str, Any], lang: str, limit: int, style: Style) -> Iterator[str]:
    """Yield cause, fix, and the change of an entry."""
    words = WORDS[lang]
    for part in ("why", "fix"):
        yield style(words[part], BOLD)
        yield from prose_lines(card[part][lang], limit, style)
    yield from case_lines(card, lang, style)


def _coloured(line: str, style: Style) -> str:
    return _SPAN.sub(lambda found: style(found.group(1), CYAN), line) if style.on else line

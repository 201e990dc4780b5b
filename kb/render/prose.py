"""The Markdown of entries as plain lines for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.render.terminal import wrap
from kb.startup.lazy_regex import lazy_pattern
from kb.text.scripts import is_chinese

__all__ = ["blocks", "plain", "prose_lines", "sentence"]

_LINK = lazy_pattern(r"\[([^\]]+)\]\(([^)]+)\)")
_BOLD = lazy_pattern(r"(?<![0-9])\*\*|\*\*(?![0-9])")
"""The marks of bold text; those of a power, as in 2**24, are text."""


def blocks(markdown: str) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs and list items: the mark of a list item (`- `, `1. `) or nothing, and the text on one line.

    Links to entries and cases become their text, other links their text with the address behind. Code spans keep their backticks.
    """
    if "](" in markdown:
        markdown = _LINK.sub(_link_text, markdown)
    if "**" in markdown:
        parts = markdown.split("`")
        markdown = "`".join(part if at % 2 else _BOLD.sub("", part) for at, part in enumerate(parts))
    mark, words = "", [""]
    for line in markdown.split("\n"):
        text = line.strip()
        lead = text.partition(" ")[0] + " "
        item = lead in ("- ", "* ") or (lead[:-2].isdigit() and lead[-2:] == ". ")
        if (not text or item) and words[-1]:
            yield mark, _joined(words)
            mark, words = "", [""]
        if item:
            mark, text = ("- " if lead == "* " else lead), text[len(lead) :].strip()
        if text:
            words.append(text)
    if words[-1]:
        yield mark, _joined(words)


def plain(markdown: str) -> str:
    """Return Markdown on one line."""
    return " ".join(mark + text for mark, text in blocks(markdown))


def prose_lines(markdown: str, limit: int, indent: str = "  ") -> list[str]:
    """Return prose wrapped, code spans in backticks, a blank line before each paragraph but the first."""
    lines: list[str] = []
    for mark, text in blocks(markdown):
        if lines and not mark:
            lines.append("")
        lines += wrap(text, limit, indent + mark, indent + " " * len(mark))
    return lines


def sentence(text: str) -> str:
    """Return text that followed a colon as a sentence of its own; a Chinese one leaves the name that it begins with as it is, `pip` or `accelerate`."""
    return text if is_chinese(text) else text[:1].upper() + text[1:]


def _link_text(link: re.Match[str]) -> str:
    """Return a link's text: in backticks where it is the name of a case, with the entry's slug where it does not say it, or with its address."""
    text, target = link[1], link[2]
    if target.startswith("#"):
        return f"`{text}`" if text == target[1:] else text
    if target.endswith(".md"):
        slug = target.rpartition("/")[2].removesuffix(".md")
        return text if slug in text else f"{text} ({slug})"
    return f"{text} ({target})"


def _joined(words: list[str]) -> str:
    """Return the lines as one: with a space between them, but none between two Chinese characters."""
    text = ""
    for word in words:
        glued = text and not text[-1].isascii() and not word[:1].isascii()
        text += word if glued or not text else " " + word
    return text

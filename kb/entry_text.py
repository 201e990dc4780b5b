"""An entry as lines of text for a terminal: its prose, the change from repro to fix, the whole page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kb.terminal import BOLD, DIM, GREEN, RED, YELLOW, Style, columns, paint, wrap

__all__ = ["WORDS", "badge", "best_case", "blocks", "case_lines", "change_lines", "entry_page", "prose_lines"]

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
        "program": "The program that works",
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
        "program": "能正常运行的完整程序",
    },
}
_WORD = r"[A-Za-z_]\w{2,}"


def blocks(markdown: str) -> Iterator[tuple[str, str]]:
    """Yield an entry's paragraphs and list items: the mark of a list item (`- `, `1. `) or nothing, and the text on one line.

    Links to other entries become their text, other links their text with the address behind; code spans keep their backticks.
    """
    if "](" in markdown:
        markdown = re.sub(
            r"\[([^\]]+)\]\(([^)]+)\)", lambda to: to[1] if to[2].endswith(".md") else f"{to[1]} ({to[2]})", markdown
        )
    if "**" in markdown:
        parts = markdown.split("`")
        markdown = "`".join(part if at % 2 else part.replace("**", "") for at, part in enumerate(parts))
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


def prose_lines(markdown: str, limit: int, indent: str = "  ") -> list[str]:
    """Return an entry's prose wrapped, code spans in backticks, a blank line before each paragraph but the first."""
    lines: list[str] = []
    for mark, text in blocks(markdown):
        if lines and not mark:
            lines.append("")
        lines += wrap(text, limit, indent + mark, indent + " " * len(mark))
    return lines


def best_case(card: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the case that fits the text best: of whose own words, which no other case has, most stand in it; the first where none does.

    A case's words are those of its name, of its device, of its repro, and of what that printed.
    """
    cases: list[dict[str, Any]] = card["cases"]
    if len(cases) == 1 or not text:
        return cases[0]
    asked = set(re.findall(_WORD, text))
    has = [
        set(re.findall(_WORD, f"{case['name'].replace('-', ' ')} {case['device']} {case['said']}\n{case['repro']}"))
        for case in cases
    ]
    shared = [set().union(*has[:at], *has[at + 1 :]) for at in range(len(cases))]
    scores = [len((own & asked) - others) for own, others in zip(has, shared, strict=True)]
    return cases[scores.index(max(scores))]


def badge(case: dict[str, Any], lang: str) -> str:
    """Return in a few words where the case was verified, or that it was not."""
    words = WORDS[lang]
    if case["badges"]:
        found = case["badges"][0]
        return words["verified"].format(**found | {"torch": found["torch"].partition("+")[0]})
    if case["state"] == "changed":
        return words["changed"]
    return words["cuda"] if case["device"] == "cuda" else words["unverified"]


def change_lines(diff: list[str], style: Style) -> Iterator[str]:
    """Yield the lines of a difference, indented and coloured."""
    for line in diff:
        yield ("  " + style(line, {"+": GREEN, "-": RED}.get(line[:1], DIM))).rstrip()


def case_lines(
    case: dict[str, Any], lang: str, limit: int, style: Style, diff: list[str] | None = None
) -> Iterator[str]:
    """Yield a case's name, whether it is verified, and the difference between its repro and its fix, or as much of it as is given."""
    words = WORDS[lang]
    head = words["change"] + (words["case"].format(case["name"]) if case["name"] else "")
    state = badge(case, lang)
    parts = [style(head, BOLD), style(state, GREEN if case["badges"] else YELLOW)]
    yield from ["  ".join(parts)] if columns(f"{head}  {state}") <= limit else [parts[0], f"  {parts[1]}"]
    yield from change_lines(case["diff"] if diff is None else diff, style)


def entry_page(
    card: dict[str, Any], lang: str, limit: int, style: Style, cases: list[dict[str, Any]] | None = None
) -> Iterator[str]:
    """Yield the whole entry, its programs included: those of the cases given, or of all."""
    words = WORDS[lang]
    cases = card["cases"] if cases is None else cases
    yield style(card["title"][lang], BOLD)
    yield "=" * min(limit, columns(card["title"][lang]))
    yield from (style(f"{card['topic']}/{card['id']}", DIM), "")
    for part in ("why", "fix"):
        yield style(words[part], BOLD)
        yield from paint(prose_lines(card[part][lang], limit), style)
        yield ""
    for case in cases:
        yield from (*case_lines(case, lang, limit, style), "")
    for case in cases:
        for role in ("repro", "fix"):
            yield style(f"{role} {case['name']}".strip(), BOLD)
            yield from (f"  {line}".rstrip() for line in case[role].rstrip().split("\n"))
            yield ""
    if card["messages"]:
        yield style(words["messages"], BOLD)
        for message in card["messages"]:
            yield from wrap(message, limit, "  ", "    ")
        yield ""
    if card["related"]:
        yield style(words["related"], BOLD)
        for other in card["related"]:
            yield from wrap(f"{other['id']}: {other['title'][lang]}", limit, "  ", "    ")
        yield ""
    yield from (f"  {source}" for source in card["sources"] if source.startswith("https:"))


def _joined(words: list[str]) -> str:
    """Return the lines as one: with a space between them, but none between two Chinese characters."""
    text = ""
    for word in words:
        glued = text and not text[-1].isascii() and not word[:1].isascii()
        text += word if glued or not text else " " + word
    return text

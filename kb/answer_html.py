"""An answer as HTML for a notebook: it stands alone, loads nothing, and reads on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from kb.answer_text import SAID
from kb.entry_text import WORDS, badge, best_case, blocks
from kb.result import Answer

__all__ = ["answer_html"]

_MARK = {"+": "rgba(46, 160, 67, .22)", "-": "rgba(248, 81, 73, .22)"}
"""Backgrounds of added and removed lines: so faint that the page's own text colour stays legible on either."""


def answer_html(answer: Answer, card: dict[str, Any], text: str) -> str:
    """Return the answer: the title, the cause, the fix, and of the case that fits best the change and, folded away, the whole program."""
    lang = answer.lang
    words, said, first = WORDS[lang], SAID[lang], answer.matches[0]
    explain = first.evidence.explain
    case = best_case(card, text)
    rest = len(card["cases"]) - 1
    more = said["case" if rest == 1 else "cases" if rest else "more"].format(first.id, rest)
    name = words["case"].format(case["name"]) if case["name"] else ""
    parts = [
        f'<div class="kb-answer" lang="{"zh-Hans" if lang == "zh" else "en"}" style="border-left: 3px solid #3b82f6; padding-left: 1em; max-width: 50em">',
        f"<p><strong>{escape(first.title[lang])}</strong><br><small>kb: {escape(said[first.confidence])}, {_code(first.id)}</small></p>",
        f"<p>{escape(explain[lang])}</p>" if explain else "",
        *(f"<p><strong>{words[part]}</strong></p>{_prose(card[part][lang])}" for part in ("why", "fix")),
        f"<p><strong>{escape(words['change'] + name)}</strong> <small>{escape(badge(case, lang))}</small></p>",
        f'<pre style="line-height: 1.4">{"".join(map(_line, case["diff"]))}</pre>',
        f"<details><summary>{escape(words['program'])}</summary><pre>{escape(case['fix'])}</pre></details>",
        f"<p><small>{escape(more)}</small></p>",
        "</div>",
    ]
    return "\n".join(filter(None, parts))


def _prose(markdown: str) -> str:
    return "\n".join(_listed(blocks(markdown)))


def _listed(found: Iterator[tuple[str, str]]) -> Iterator[str]:
    """Yield paragraphs and, between their tags, list items."""
    within = ""
    for mark, text in found:
        kind = "" if not mark else "ul" if mark == "- " else "ol"
        if kind != within:
            yield (f"</{within}>" if within else "") + (f"<{kind}>" if kind else "")
            within = kind
        tag = "li" if kind else "p"
        yield f"<{tag}>{_spans(text)}</{tag}>"
    if within:
        yield f"</{within}>"


def _spans(text: str) -> str:
    """Return text with its code spans as `<code>`."""
    return "".join(
        _code(part) if at % 2 else escape(part) for at, part in enumerate(text.replace("``", "`").split("`"))
    )


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _line(line: str) -> str:
    """Return one line of a difference."""
    background = _MARK.get(line[:1])
    style = f' style="background: {background}"' if background else ' style="opacity: .75"'
    return f"<span{style}>{escape(line)}</span>\n"

"""What an entry says in one language: the list of causes with their changes, how to tell them apart, and why it happens."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kb.corpus.diagnostic import Diagnostics
from kb.corpus.entry import ChangeItem, Guidance
from kb.corpus.sections import Section
from kb.text.languages import LANGUAGES, Lang

__all__ = ["ENTRY_LINK", "linked_entries", "linked_names", "read_guidance"]

ENTRY_LINK = re.compile(r"\]\(((?:\.\./[a-z0-9-]+/)?([a-z0-9-]+)\.md)\)")
"""The end of a link to the file of another entry: its path, and in it the slug."""

_ITEM = re.compile(r"[-*] \*\*(?P<bold>(?:`[^`\n]*`|[^*`\n])+)\*\*(?P<rest>.*)")
_COLON = re.compile(r":(?=\s)|：")
_CODE_SPAN = re.compile(r"`[^`\n]*`")
_PARENTHESES = re.compile(r"\([^()\n]*\)|（[^（）\n]*）")
_CASE_LINK = re.compile(r"\]\(#([a-z0-9-]+)\)")
_WHOLE_CASE_LINK = re.compile(r"\[[^\]\n]*\]\(#[a-z0-9-]+\)")


def read_guidance(sections: Mapping[tuple[Lang, str], Section], diagnostics: Diagnostics) -> dict[Lang, Guidance]:
    """Return the guidance in both languages. Text that is no item of the list of changes is a diagnostic."""
    empty = Section("", 1)
    return {
        lang: Guidance(
            items=_read_items(sections.get((lang, "change"), empty), diagnostics),
            how_to_tell=sections.get((lang, "tell"), empty).text.strip(),
            why=sections.get((lang, "why"), empty).text.strip(),
        )
        for lang in LANGUAGES
    }


def linked_names(markdown: str) -> list[str]:
    """Return the names of the cases and checks that a text links to, in order."""
    return _CASE_LINK.findall(markdown)


def linked_entries(markdown: str) -> dict[str, str]:
    """Return the slugs of the entries whose files a text links to, in order, each with the path in its first link."""
    paths: dict[str, str] = {}
    for path, slug in ENTRY_LINK.findall(markdown):
        paths.setdefault(slug, path)
    return paths


def _read_items(section: Section, diagnostics: Diagnostics) -> tuple[ChangeItem, ...]:
    items = []
    for number, line in enumerate(section.text.split("\n"), section.line):
        if not line.strip():
            continue
        item = _ITEM.fullmatch(line.rstrip())
        colon = item and _first_colon(item["rest"])
        if item is None or colon is None:
            what = "an item reads `- **what the reader sees or did**: the change. [case](#case)`, on one line"
            diagnostics.add(number, "KB061", f"{what}; this line does not")
            continue
        rest = item["rest"]
        change = _without_links_at_end(rest[colon.end() :])
        items.append(
            ChangeItem(
                cause=f"{item['bold']}{rest[: colon.start()]}".strip(),
                change=change,
                cases=tuple(dict.fromkeys(linked_names(rest))),
                entries=tuple(linked_entries(rest)),
                line=number,
            )
        )
    return tuple(items)


def _without_links_at_end(text: str) -> str:
    """Return the text without the links to cases that it ends in, and without what separates them. It is read from its end, in linear time."""
    text = text.strip()
    while True:
        links = text[:-1].rstrip() if text.endswith((".", "。")) else text
        start = links.rfind("[")
        if start < 0 or not _WHOLE_CASE_LINK.fullmatch(links, start):
            return text
        text = links[:start].rstrip(" \t,，、")


def _first_colon(text: str) -> re.Match[str] | None:
    """Return the first colon that ends the cause; one inside a code span or parentheses does not."""
    for aside in (_CODE_SPAN, _PARENTHESES):
        text = aside.sub(lambda span: "x" * len(span.group()), text)
    return _COLON.search(text)

"""An entry's guidance as Markdown: the answer and the causes with their changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kb.text.languages import LANGUAGES, Lang

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kb.documents.shapes import EntryDocument

__all__ = ["fix_markdown", "items_markdown"]


def items_markdown(answer: str, items: Iterable[Mapping[str, Any]]) -> str:
    """Return the answer, and below it a list item for each cause: `- **cause**: change`, and the names of its cases."""
    lines = [_item(item) for item in items]
    return "\n\n".join(filter(None, [answer, "\n".join(lines)]))


def fix_markdown(document: EntryDocument) -> dict[Lang, str]:
    """Return what the JSON key `fix` has: the answer and the items in both languages."""
    return {lang: items_markdown(document["answer"][lang], document["items"][lang]) for lang in LANGUAGES}


def _item(item: Mapping[str, Any]) -> str:
    cases = " ".join(f"[{name}](#{name})" for name in item["cases"])
    return f"- **{item['cause']}**: {item['change']} {cases}".rstrip()

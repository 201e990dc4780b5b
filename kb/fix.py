"""Repair what can be repaired without judgement: spaces and punctuation in Chinese text, and related entries that do not lead back."""

from __future__ import annotations

import re
from pathlib import Path

from kb.corpus import Corpus
from kb.entry import Entry
from kb.parse import prose_lines

__all__ = ["repair"]

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_SPAN = re.compile(r"(`+[^`]+`+|\]\([^)]*\))")
_FULL = str.maketrans(",;:!?", "，；：！？")
_RELATED = re.compile(r"^related: \[(.*)\]$", re.MULTILINE)


def repair(corpus: Corpus, paths: set[Path] | None = None) -> list[Path]:
    """Rewrite the files of the corpus (only those in `paths`, if given) that have something to repair; return them."""
    wanted_by: dict[str, list[str]] = {}
    for entry in corpus:
        for slug in entry.related:
            other = corpus.get(slug)
            together = other and other.path.parent.parent == entry.path.parent.parent
            if other and together and other.id != entry.id and entry.id not in other.related:
                wanted_by.setdefault(other.id, []).append(entry.id)
    written = []
    for entry in corpus:
        if paths is not None and entry.path.resolve() not in paths:
            continue
        text = _related(_typography(entry), wanted_by.get(entry.id, []))
        if text != entry.source:
            entry.path.write_text(text, "utf-8")
            written.append(entry.path)
    return written


def _typography(entry: Entry) -> str:
    lines = entry.source.split("\n")
    for number, lang, line in prose_lines(entry.source):
        if lang == "zh":
            lines[number - 1] = _spaced(line)
    return "\n".join(lines)


def _spaced(line: str) -> str:
    """The line with a space between Chinese and Latin, and full-width punctuation after Chinese; code spans and addresses stay as they are."""
    pieces = _SPAN.split(line)
    for i in range(0, len(pieces), 2):
        piece = re.sub(
            rf"(?<=[{_HAN}])[,;:!?](?=\s|$|[{_HAN}])\s*",
            lambda found: found.group().strip().translate(_FULL),
            pieces[i],
        )
        piece = re.sub(rf"(?<=[{_HAN}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{_HAN}])", " ", piece)
        pieces[i] = piece
    for i in range(1, len(pieces), 2):
        if pieces[i].startswith("`"):
            if re.search(rf"[{_HAN}]$", pieces[i - 1]):
                pieces[i - 1] += " "
            if re.match(rf"[{_HAN}]", pieces[i + 1]):
                pieces[i + 1] = " " + pieces[i + 1]
    return "".join(pieces)


def _related(text: str, slugs: list[str]) -> str:
    """The text with these slugs added to `related`, where that is a list in one line or not there yet."""
    if not slugs:
        return text
    if found := _RELATED.search(text):
        inside = ", ".join(filter(None, [found.group(1).strip(), *sorted(slugs)]))
        return text[: found.start()] + f"related: [{inside}]" + text[found.end() :]
    if re.search(r"^related:", text, re.MULTILINE):
        return text
    head, mark, body = text.partition("\n---\n")
    return f"{head}\nrelated: [{', '.join(sorted(slugs))}]{mark}{body}"

"""Repair what needs no judgement: spaces and punctuation in Chinese text, and related entries that do not lead back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kb.corpus.entry import Entry
from kb.corpus.loader import Corpus
from kb.corpus.sections import prose_lines
from kb.text.scripts import HAN

__all__ = ["repair"]

_CODE_OR_TARGET = re.compile(r"(`+[^`]+`+|\]\([^)]*\)|\{[^{}]*\})")
"""Code spans, targets of links and placeholders, which stay as they are."""

_PUNCTUATION = re.compile(rf"(?<=[{HAN}])(?:[,;:!?](?=\s|$|[{HAN}])|\.(?=\s|$))\s*")
_FULL_WIDTH = str.maketrans(",;:!?.", "，；：！？。")
_TOUCHING = re.compile(rf"(?<=[{HAN}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{HAN}])")
_RELATED_INLINE = re.compile(r"^related: *\[(.*)\]$", re.MULTILINE)
_RELATED_BLOCK = re.compile(r"^related:\n( *)- .*\n(?:\1- .*\n)*", re.MULTILINE)


def repair(corpus: Corpus, paths: set[Path] | None = None) -> list[Path]:
    """Rewrite the files that have something to repair and return their paths.

    With `paths`, resolved, only these files are looked at; an entry that one of them names as related is made to lead back all the same, because the
    fault is reported for the file that names it.
    """
    chosen = {entry.id for entry in corpus if paths is None or entry.path.resolve() in paths}
    missing = _missing_links(corpus, chosen)
    written = []
    for entry in corpus:
        text = _with_typography(entry) if entry.id in chosen else entry.source
        text = _with_related(text, missing.get(entry.id, []))
        if text != entry.source:
            entry.path.write_text(text, "utf-8")
            written.append(entry.path)
    return written


def _missing_links(corpus: Corpus, chosen: set[str]) -> dict[str, list[str]]:
    """Return, by slug, the entries that it must name because they name it, where one of the two is chosen."""
    missing: dict[str, list[str]] = {}
    for entry in corpus:
        for target in filter(None, map(corpus.get, entry.related)):
            same_folder = target.path.parent.parent == entry.path.parent.parent
            if (
                same_folder
                and target.id != entry.id
                and entry.id not in target.related
                and {entry.id, target.id} & chosen
            ):
                missing.setdefault(target.id, []).append(entry.id)
    return missing


def _with_typography(entry: Entry) -> str:
    lines = entry.source.split("\n")
    for number, lang, line in prose_lines(entry.source):
        if lang == "zh":
            lines[number - 1] = _spaced(line)
    text = "\n".join(lines)
    for value in _chinese_values(entry):
        text = text.replace(value, _spaced(value), 1) if text.count(value) == 1 else text
    return text


def _chinese_values(entry: Entry) -> Iterator[str]:
    yield entry.title.zh
    yield entry.answer.zh
    for message in entry.messages:
        if message.explain is not None:
            yield message.explain.zh


def _spaced(line: str) -> str:
    """Return the line with a space between Chinese and Latin, and full-width punctuation after Chinese."""
    pieces = _CODE_OR_TARGET.split(line)
    for i in range(0, len(pieces), 2):
        text = _PUNCTUATION.sub(lambda match: match.group().strip().translate(_FULL_WIDTH), pieces[i])
        pieces[i] = _TOUCHING.sub(" ", text)
    for i in range(1, len(pieces), 2):
        if pieces[i][0] in "`{":
            if re.search(rf"[{HAN}]$", pieces[i - 1]):
                pieces[i - 1] += " "
            if re.match(rf"[{HAN}]", pieces[i + 1]):
                pieces[i + 1] = " " + pieces[i + 1]
    return "".join(pieces)


def _with_related(text: str, slugs: Sequence[str]) -> str:
    """Return the text with these slugs added to `related`, which is a list in one line, a list of lines, or not there yet."""
    if not slugs:
        return text
    front, mark, body = text.partition("\n---\n")
    if inline := _RELATED_INLINE.search(front):
        listed = ", ".join(filter(None, [inline.group(1).strip(), *sorted(slugs)]))
        front = front[: inline.start()] + f"related: [{listed}]" + front[inline.end() :]
    elif block := _RELATED_BLOCK.search(front + "\n"):
        items = "".join(f"\n{block.group(1)}- {slug}" for slug in sorted(slugs))
        end = block.end() - 1
        front = front[:end] + items + front[end:]
    elif not re.search(r"^related:", front, re.MULTILINE):
        front += f"\nrelated: [{', '.join(sorted(slugs))}]"
    return front + mark + body

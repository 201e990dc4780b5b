"""Programs as HTML: coloured by Pygments classes, and the difference between two of them, line by line and word by word."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from markupsafe import Markup
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

__all__ = ["Line", "difference", "highlight"]

Sign = Literal["same", "removed", "added"]
_CLASSES = {
    Comment: "c",
    Keyword: "k",
    Operator.Word: "k",
    String: "s",
    Number: "n",
    Name.Function: "f",
    Name.Class: "f",
    Name.Decorator: "f",
}
_WORD = re.compile(r"\w+|\s+|.")
_SIMILAR = 0.4
"""Two lines are compared word by word from this ratio of `difflib.SequenceMatcher` on; below it every word differs and marks only disturb."""


class Line(NamedTuple):
    """A line of a difference, as HTML, and whether both programs have it."""

    sign: Sign
    html: Markup


class _Span(NamedTuple):
    start: int
    end: int


@lru_cache(maxsize=2048)
def highlight(source: str) -> Markup:
    """Return the program as HTML, coloured, one line per line."""
    return Markup("\n").join(_markup(tokens) for tokens in _token_lines(source))


@lru_cache(maxsize=1024)
def difference(before: str, after: str) -> tuple[Line, ...]:
    """Return the lines that lead from one program to the other; changed words of similar lines are in `<b>`."""
    old, new = before.rstrip("\n").split("\n"), after.rstrip("\n").split("\n")
    old_tokens, new_tokens = _token_lines(before), _token_lines(after)
    lines: list[Line] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [Line("same", _markup(tokens)) for tokens in old_tokens[i1:i2]]
            continue
        removed, added = _changed_words(old[i1:i2], new[j1:j2])
        lines += [Line("removed", _markup(old_tokens[i], removed.get(i - i1, ()))) for i in range(i1, i2)]
        lines += [Line("added", _markup(new_tokens[j], added.get(j - j1, ()))) for j in range(j1, j2)]
    return tuple(lines)


def _token_lines(source: str) -> list[list[tuple[str, str]]]:
    """Split the program into lines of (class, text)."""
    lines: list[list[tuple[str, str]]] = [[]]
    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(source.rstrip("\n")):
        first, *rest = text.split("\n")
        css = _css(kind)
        if first:
            lines[-1].append((css, first))
        lines.extend([(css, part)] if part else [] for part in rest)
    return lines


def _css(kind: _TokenType) -> str:
    while kind.parent is not None and kind not in _CLASSES:
        kind = kind.parent
    return _CLASSES.get(kind, "")


def _changed_words(old: list[str], new: list[str]) -> tuple[dict[int, list[_Span]], dict[int, list[_Span]]]:
    """Return, by line, the spans that differ from the most similar line of the other side."""
    removed: dict[int, list[_Span]] = {}
    added: dict[int, list[_Span]] = {}
    for j, after in enumerate(new):
        free = [i for i in range(len(old)) if i not in removed]
        ratios = [(difflib.SequenceMatcher(None, old[i], after, autojunk=False).ratio(), -i) for i in free]
        if not ratios or max(ratios)[0] < _SIMILAR:
            continue
        i = -max(ratios)[1]
        removed[i], added[j] = _word_spans(old[i], after)
    return removed, added


def _word_spans(before: str, after: str) -> tuple[list[_Span], list[_Span]]:
    old, new = _WORD.findall(before), _WORD.findall(after)
    codes = [
        code for code in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"
    ]
    return list(_spans(old, ((c[1], c[2]) for c in codes))), list(_spans(new, ((c[3], c[4]) for c in codes)))


def _spans(words: list[str], ranges: Iterable[tuple[int, int]]) -> Iterator[_Span]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return (_Span(starts[a], starts[b]) for a, b in ranges if a < b)


def _markup(tokens: list[tuple[str, str]], marked: Iterable[_Span] = ()) -> Markup:
    """Return one line as HTML; text within `marked` stands in `<b>`."""
    marked = tuple(marked)
    html = Markup()
    at = 0
    for css, text in tokens:
        for part, inside in _cut(text, at, marked):
            piece = Markup("<b>{}</b>").format(part) if inside else Markup.escape(part)
            html += Markup('<span class="{}">{}</span>').format(css, piece) if css else piece
        at += len(text)
    return html


def _cut(text: str, at: int, marked: tuple[_Span, ...]) -> Iterator[tuple[str, bool]]:
    """Cut a token's text, which starts at column `at`, where a marked span begins or ends."""
    edges = sorted({0, len(text), *(edge - at for span in marked for edge in span if 0 < edge - at < len(text))})
    for start, end in pairwise(edges):
        yield text[start:end], any(span.start <= at + start and at + end <= span.end for span in marked)

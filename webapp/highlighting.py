"""Programs as HTML: highlighted by Pygments, and the difference between two programs by line and by word."""

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

__all__ = ["Line", "difference", "highlight", "hunks"]

Sign = Literal["same", "removed", "added", "gap"]
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
"""Minimum `difflib.SequenceMatcher` ratio of two lines whose changed words are marked. Below it nearly every word differs."""


class Line(NamedTuple):
    """A line of a difference as HTML, and which of the programs have it; a gap stands for lines that are left out."""

    sign: Sign
    html: Markup
    text: str = ""


class _Span(NamedTuple):
    start: int
    end: int


@lru_cache(maxsize=2048)
def highlight(source: str) -> Markup:
    """Return the highlighted program as HTML, one line of HTML for each line of the program."""
    return Markup("\n").join(_markup(tokens) for tokens in _token_lines(source))


def difference(before: str, after: str) -> tuple[Line, ...]:
    """Return the lines of the difference between two programs. Changed words of similar lines are in `<b>`."""
    old, new = before.rstrip("\n").split("\n"), after.rstrip("\n").split("\n")
    old_tokens, new_tokens = _token_lines(before), _token_lines(after)
    lines: list[Line] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [Line("same", _markup(old_tokens[i]), old[i]) for i in range(i1, i2)]
            continue
        removed, added = _changed_words(old[i1:i2], new[j1:j2])
        lines += [Line("removed", _markup(old_tokens[i], removed.get(i - i1, ())), old[i]) for i in range(i1, i2)]
        lines += [Line("added", _markup(new_tokens[j], added.get(j - j1, ())), new[j]) for j in range(j1, j2)]
    return tuple(lines)


def hunks(lines: tuple[Line, ...], context: int) -> tuple[Line, ...]:
    """Return the changed lines with at most so many unchanged ones around them, and a gap for what is left out between two of them.

    Unchanged lines at either end that are empty are left out.
    """
    changed = [index for index, line in enumerate(lines) if line.sign != "same" and line.text.strip()]
    if not changed:
        return lines
    near = [any(abs(index - at) <= context for at in changed) for index in range(len(lines))]
    near = [kept or line.sign != "same" for kept, line in zip(near, lines, strict=True)]
    kept: list[Line] = []
    for line, is_near in zip(lines, near, strict=True):
        if is_near:
            kept.append(line)
        elif kept and kept[-1].sign != "gap":
            kept.append(Line("gap", Markup("")))
    while kept and (kept[-1].sign == "gap" or not kept[-1].text.strip()):
        kept.pop()
    while kept and not kept[0].text.strip():
        kept.pop(0)
    return tuple(kept)


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
    """Return the changed spans by line number, old and new. Each line is compared with the most similar line of the other program."""
    removed: dict[int, list[_Span]] = {}
    added: dict[int, list[_Span]] = {}
    for j, after in enumerate(new):
        unpaired = [i for i in range(len(old)) if i not in removed]
        ratios = [(difflib.SequenceMatcher(None, old[i], after, autojunk=False).ratio(), -i) for i in unpaired]
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
    """Return one line as HTML, with text inside `marked` in `<b>`."""
    marked = tuple(marked)
    html = Markup()
    at = 0
    for css, text in tokens:
        for part, inside in _split(text, at, marked):
            piece = Markup("<b>{}</b>").format(part) if inside else Markup.escape(part)
            html += Markup('<span class="{}">{}</span>').format(css, piece) if css else piece
        at += len(text)
    return html


def _split(text: str, at: int, marked: tuple[_Span, ...]) -> Iterator[tuple[str, bool]]:
    """Split a token's text, which starts at column `at`, where a marked span begins or ends. Yields (text, is marked)."""
    edges = sorted({0, len(text), *(edge - at for span in marked for edge in span if 0 < edge - at < len(text))})
    for start, end in pairwise(edges):
        yield text[start:end], any(span.start <= at + start and at + end <= span.end for span in marked)

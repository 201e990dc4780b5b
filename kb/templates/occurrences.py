"""Find where a template matches in a text, in work that grows with the product of their lengths whatever the template and the text are.

`kb.templates.matcher.match` tries every length of an open placeholder at every place. Here the pieces between two open placeholders are matched once at
each place, and the matches are then joined from the end of the template to its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence

from kb.startup.named_tuple import NamedTuple
from kb.templates.matcher import MAX_OPEN, OPEN_TYPES, Piece, Placeholder, match
from kb.text.lexer import Token

__all__ = ["Occurrence", "find_occurrences", "matches_beginning"]


class Occurrence(NamedTuple):
    """The tokens from `start` up to `end`, which a template matches."""

    start: int
    end: int


def find_occurrences(pieces: Sequence[Piece], tokens: Sequence[Token]) -> list[Occurrence]:
    """Return, for each token at which the template matches, its shortest match there.

    Open placeholders at either end of the template are left out, because they match anything.
    """
    segments = _segments(pieces)
    return [Occurrence(start, end) for start, end in sorted(_ends(segments, tokens).items())]


def matches_beginning(pieces: Sequence[Piece], tokens: Sequence[Token]) -> bool:
    """Return whether the text begins as the template says; an open placeholder at the template's end matches the empty text too."""
    if pieces and tokens and not _may_start(pieces[0], tokens[0]):
        return False  # as nearly always
    segments = _segments(pieces)
    if not segments:
        return bool(tokens) or not pieces
    if not segments[0].gaps:
        begins = match(segments[0].pieces, tokens, 0) is not None
        if not begins or len(segments) == 1:
            return begins
    ends = _ends(segments, tokens)
    return bool(_join({0: 0}, ends, tokens, segments[0].gaps)) if segments[0].gaps else 0 in ends


class _Segment(NamedTuple):
    """A run of pieces without open placeholders, and how many of those are before it."""

    pieces: list[Piece]
    gaps: int


def _segments(pieces: Sequence[Piece]) -> list[_Segment]:
    segments: list[_Segment] = []
    gaps, run = 0, []
    for piece in pieces:
        if not (isinstance(piece, Placeholder) and piece.type in OPEN_TYPES):
            run.append(piece)
            continue
        if run:
            segments.append(_Segment(run, gaps))
            gaps, run = 0, []
        gaps += 1
    return [*segments, _Segment(run, gaps)] if run else segments


def _ends(segments: Sequence[_Segment], tokens: Sequence[Token]) -> dict[int, int]:
    """Return where all segments together end, by where the first of them starts."""
    if not segments:
        return {}
    *heads, last = segments
    ends = _match_everywhere(last.pieces, tokens)
    for segment in reversed(heads):
        ends = _join(_match_everywhere(segment.pieces, tokens), ends, tokens, last.gaps)
        last = segment
    return ends


def _match_everywhere(segment: Sequence[Piece], tokens: Sequence[Token]) -> dict[int, int]:
    """Return where the segment ends by where it starts."""
    first, ends = segment[0], {}
    for start, token in enumerate(tokens):
        if _may_start(first, token) and (matched := match(segment, tokens, start)) is not None:
            ends[start] = matched[0]
    return ends


def _may_start(first: Piece, token: Token) -> bool:
    """Return whether a match of pieces that begin with this one can start at the token; this takes less time than to match."""
    return not isinstance(first, str) or token.type == "shape" or token.text.startswith(first)


def _join(heads: dict[int, int], tails: dict[int, int], tokens: Sequence[Token], gaps: int) -> dict[int, int]:
    """Return the matches of a head, as many open placeholders as there are gaps, and a tail: of several tails the nearest counts."""
    size = len(tokens)
    next_tail, next_chinese = [size] * (size + 1), [size] * (size + 1)
    for place in range(size - 1, -1, -1):
        next_tail[place] = place if place in tails else next_tail[place + 1]
        next_chinese[place] = place if tokens[place].type == "cjk" else next_chinese[place + 1]
    joined = {}
    for start, end in heads.items():
        tail = next_tail[min(end + gaps, size)]
        if tail < size and tail <= end + gaps * MAX_OPEN and next_chinese[end] >= tail:
            joined[start] = tails[tail]
    return joined

"""Find lines by cues, which are pieces of text, which is much faster than a regular expression over the whole text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

__all__ = ["lines_with", "matches_in_lines"]

_MAX_LINES = _MAX_MATCHES = 100


def lines_with(text: str, cues: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the lines that have one of the cues, in the order of the cues, for each cue once."""
    for cue in cues:
        position = text.find(cue)
        while position >= 0:
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            yield text.rfind("\n", 0, position) + 1, end
            position = text.find(cue, end)


def matches_in_lines(pattern: re.Pattern[str], text: str, *cues: str) -> Iterator[re.Match[str]]:
    """Yield the first hundred matches of the pattern in the first hundred lines that have one of the cues."""
    lines = dict.fromkeys(islice(lines_with(text, cues), _MAX_LINES))
    return islice((match for start, end in lines for match in pattern.finditer(text, start, end)), _MAX_MATCHES)

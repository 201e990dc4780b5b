"""Share the lines of a screen among the parts of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from kb.render.terminal import columns
from kb.startup.named_tuple import NamedTuple

__all__ = ["Part", "clip", "cut", "share"]


class Part(NamedTuple):
    """Lines that belong together, how many of them are needed at least, and how strongly they ask for more. A part without `least` may be left out."""

    lines: list[str]
    least: int = 0
    weight: float = 1.0


def share(parts: Sequence[Part], total: int | None) -> list[int]:
    """Return how many lines each part gets: at most `total` together, and all where it is None.

    First each part gets its least, in order, as far as the lines go. The others go one by one to the part that has the fewest for its weight.
    """
    if total is None:
        return [len(part.lines) for part in parts]
    given = []
    left = total
    for part in parts:
        given.append(max(0, min(part.least, len(part.lines), left)))
        left -= given[-1]
    while left > 0:
        asking = [at for at, part in enumerate(parts) if given[at] < len(part.lines)]
        if not asking:
            break
        given[min(asking, key=lambda at: given[at] / parts[at].weight)] += 1
        left -= 1
    return given


def cut(lines: list[str], most: int, limit: int) -> list[str]:
    """Return at most so many of the lines: cut after a sentence where that keeps half of them, else after a word, and `…`."""
    if len(lines) <= most:
        return lines
    kept = lines[:most]
    while kept and not kept[-1]:
        kept.pop()
    if not kept:
        return []
    for row in range(len(kept) - 1, len(kept) // 2 - 1, -1):
        line = kept[row]
        end = max(line.rfind(". "), line.rfind("。"), len(line) - 1 if line.endswith((".", "。")) else -1)
        if end > len(line) // 3 or (end >= 0 and row > len(kept) // 2):
            return [*kept[:row], clip(line[: end + 1], limit - 2) + " …"]
    last = kept[-1]
    while columns(last) > limit - 2:
        last = last.rpartition(" ")[0] or last[:-1]
    return [*kept[:-1], last.rstrip() + " …"]


def clip(line: str, limit: int) -> str:
    """Return a line in so many columns; one that is longer ends in `…`."""
    if columns(line) <= limit:
        return line
    while line and columns(line) > limit - 1:
        line = line[: max(0, len(line) - max(1, (columns(line) - limit) // 2))]
    return line.rstrip() + "…"

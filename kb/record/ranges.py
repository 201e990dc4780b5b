"""Sets of releases: a bit for each release that was read, written as ranges of their numbers such as `0-4,7-`."""

from __future__ import annotations

from collections.abc import Sequence

from kb.startup.named_tuple import NamedTuple

__all__ = ["VersionRange", "decode", "encode", "version_ranges"]


class VersionRange(NamedTuple):
    """The releases from `since` to `until`, both included.

    `is_first` means that the thing may be older: `since` is the oldest release that was read, or (`is_unread`) the archive of the one before does not
    show whether it has the thing. `gone` is the first release without it, empty where the newest release that was read still has it.
    """

    since: str
    until: str
    gone: str
    is_first: bool
    is_unread: bool = False

    def __str__(self) -> str:
        start = ("≤" if self.is_first else "") + self.since
        return f"{start}–{self.until}" if self.gone else f"{start}–"


def encode(mask: int, count: int) -> str:
    """Return the set bits as ranges; one that reaches the last of `count` releases is left open."""
    parts, start = [], 0
    while mask >> start:
        start += ((mask >> start) & -(mask >> start)).bit_length() - 1
        end = start
        while mask >> (end + 1) & 1:
            end += 1
        parts.append(f"{start}-" if end == count - 1 else f"{start}-{end}" if end > start else str(start))
        start = end + 1
    return ",".join(parts)


def decode(text: str, count: int) -> int:
    """Return the set of releases that `encode` wrote."""
    mask = 0
    for part in text.split(",") if text else ():
        start, dash, end = part.partition("-")
        last = int(end) if end else count - 1 if dash else int(start)
        mask |= ((1 << (last + 1)) - 1) & ~((1 << int(start)) - 1)
    return mask


def version_ranges(mask: int, versions: Sequence[str], unread: int = 0) -> tuple[VersionRange, ...]:
    """Return the ranges of versions that a set of releases stands for, oldest first. `unread` are releases of which it is not known."""
    ranges, start = [], 0
    while mask >> start:
        start += ((mask >> start) & -(mask >> start)).bit_length() - 1
        end = start
        while mask >> (end + 1) & 1:
            end += 1
        gone = versions[end + 1] if end + 1 < len(versions) else ""
        is_unread = start > 0 and bool(unread >> (start - 1) & 1)
        ranges.append(VersionRange(versions[start], versions[end], gone, start == 0 or is_unread, is_unread))
        start = end + 1
    return tuple(ranges)

"""Compare the `torch:` ranges of entries' wordings with the releases that print them, and write those that the record bears out.

The record cannot see every message: those of CUDA files are not in the wheel that is read, and one that is pieced together while a program runs has no
text. So that a release prints a wording is proof. That none does is proof only where nothing else begins with the same words, as the first piece of a
compiled message or a longer wording would, and for the end of a range only in Python code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path

from kb.corpus.entry import Entry, Message
from kb.corpus.versions import holds
from kb.record.provenance import MessageOrigin, likely_origin, pieces_of, sample_message
from kb.record.query import PackageRecord, open_record
from kb.record.ranges import VersionRange
from kb.startup.named_tuple import NamedTuple

__all__ = ["RangeDifference", "range_differences", "releases_left_out", "specifier", "write_range"]

_MIN_WORDS = 5
"""So many words of its own a wording needs; with fewer, another function may print the same."""

_MIN_BEGINNING = 3
"""So many first words are compared."""


class RangeDifference(NamedTuple):
    """A wording whose range and record differ.

    `stated` is the entry's range, `recorded` the record's, both as PEP 440 writes them; `releases` are the minor releases that only one of them has.
    `proven` is the range to write, None where the record proves none.
    """

    entry: str
    line: int
    wording: str
    stated: str
    recorded: str
    releases: tuple[str, ...]
    proven: str | None


def range_differences(entries: Iterable[Entry]) -> Iterator[RangeDifference]:
    """Yield the wordings that torch prints in other releases than the entry says. A wording that the record does not have as a whole is left out."""
    record = open_record("torch")
    if record is None:
        return
    beginnings = _beginnings(record)
    for entry in entries:
        for message in entry.messages:
            origin = _origin(message)
            if origin is None:
                continue
            recorded = {line for number, line in enumerate(record.lines) if origin.releases >> number & 1}
            stated = {line for line in record.lines if holds(message.torch, line)}
            if differing := recorded ^ stated:
                yield RangeDifference(
                    entry.id,
                    message.line,
                    message.text,
                    message.torch,
                    specifier(origin.ranges),
                    tuple(line for line in record.lines if line in differing),
                    _proven(origin, message, beginnings),
                )


def _beginnings(record: PackageRecord) -> dict[tuple[object, ...], int]:
    """Return the releases by the first words of everything that they print."""
    beginnings: dict[tuple[object, ...], int] = {}
    for number, template in record.templates():
        literals: tuple[object, ...] = tuple(takewhile(lambda piece: isinstance(piece, str), pieces_of(template)))[
            :_MIN_BEGINNING
        ]
        if len(literals) == _MIN_BEGINNING:
            beginnings[literals] = beginnings.get(literals, 0) | number
    return beginnings


def releases_left_out(message: Message) -> tuple[str, ...]:
    """Return the minor releases whose Python code prints a wording although its range leaves them out.

    Compiled code is not asked, because its texts do not tell the type of the exception.
    """
    record, origin = open_record("torch"), _origin(message) if message.torch else None
    if record is None or origin is None or origin.library or _is_twin(origin):
        return ()
    printing = (line for number, line in enumerate(record.lines) if origin.releases >> number & 1)
    return tuple(line for line in printing if not holds(message.torch, line))


def _origin(message: Message) -> MessageOrigin | None:
    """Return where torch prints a wording, None if the record does not have it as a whole."""
    type_, _, _ = message.text.partition(":")
    origin = likely_origin(sample_message(message.text), type_, "torch")
    if origin is None or origin.package != "torch" or origin.words < max(_MIN_WORDS, _own_words(message.text)):
        return None
    return origin


def _is_twin(origin: MessageOrigin) -> bool:
    """Return whether a message is that of a private Python twin of a compiled operator, which prints the same."""
    return origin.function.startswith("torch._")


def _own_words(wording: str) -> int:
    """Return how many words of a wording are its own, without those of the exception's type."""
    return sum(isinstance(piece, str) for piece in pieces_of(wording.partition(": ")[2]))


def _proven(origin: MessageOrigin, message: Message, beginnings: dict[tuple[object, ...], int]) -> str | None:
    """Return the range that the record proves: all of it for Python code; for a compiled text the first release, and the end as it was stated."""
    stated = message.torch
    first_words = tuple(pieces_of(message.text.partition(": ")[2])[:_MIN_BEGINNING])
    is_unread = bool(origin.library) and message.device == "cuda"
    if (
        _is_twin(origin)
        or is_unread
        or "ickl" in message.text.partition(":")[0]
        or beginnings.get(first_words, -1) & ~origin.releases
    ):
        return None
    if not origin.library:
        return specifier(origin.ranges)
    if any(part.startswith(">") for part in stated.split(",")):
        return None
    first = origin.ranges[0]
    start = "" if first.is_first else f">={first.since}"
    return ",".join(filter(None, (start, stated))) if start else None


def specifier(ranges: Iterable[VersionRange]) -> str:
    """Return ranges as PEP 440 writes them, `>=1.7,<2.0`, the first to the last release; empty for every release."""
    parts = list(ranges)
    bounds = ["" if parts[0].is_first else f">={parts[0].since}", f"<{parts[-1].gone}" if parts[-1].gone else ""]
    return ",".join(filter(None, bounds))


def write_range(path: Path, line: int, torch: str) -> bool:
    """Give the wording in that line of an entry another range, and change nothing else. Return False for a line in another form."""
    lines = path.read_text(encoding="utf-8").split("\n")
    text = lines[line - 1]
    field = f'torch: "{torch}"'
    if re.fullmatch(r"  - ([\"']).*\1", text):
        lines[line - 1] = f"  - {{text: {text[4:]}, {field}}}" if torch else text
    elif text.startswith("  - {text: ") and text.endswith("}"):
        without = re.sub(r', torch: "[^"]*"', "", text)
        lines[line - 1] = f"{without[:-1]}, {field}}}" if torch else without
    elif text.startswith("  - text: "):
        end = next(number for number in range(line, len(lines)) if not lines[number].startswith("    "))
        block = [inner for inner in lines[line:end] if not inner.startswith("    torch: ")]
        lines[line:end] = [f"    {field}", *block] if torch else block
    else:
        return False
    path.write_text("\n".join(lines), encoding="utf-8")
    return True

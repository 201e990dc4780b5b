"""The lines of a package's file: a module, a name, a message. Every look-up needs this module, so it imports nothing that is slow."""

from __future__ import annotations

from kb.record.ranges import decode
from kb.startup.lazy_regex import lazy_pattern

__all__ = [
    "CLASS",
    "FUNCTION",
    "IMPORT",
    "MESSAGES_PER_GROUP",
    "MODULE",
    "VARIABLE",
    "MessageRow",
    "NameRow",
    "message_key",
    "parse_message",
    "parse_module",
    "parse_name",
    "with_slots",
]

CLASS, FUNCTION, VARIABLE, IMPORT, MODULE = "c", "f", "v", "i", "m"
"""What a name stands for."""

_FORMAT = lazy_pattern(r"%[-+ #0]{0,3}\d{0,4}(?:\.\d{1,3})?(?:hh|h|ll|l|z|t|j)?[diuxXfeGgscp]\b|\{\}")
_MAX_SLOTS = 4

MESSAGES_PER_GROUP = 64
"""Messages are numbered in the order of their lines; a group has so many, and its key is the number of the first."""


class NameRow:
    """A name of a module, or `Class.member`: the releases that have it, and what it is in the newest of them.

    `target` is what an import takes (`package.module:name`), a module's name, or the bases of a class, separated by commas. `deprecated` are the releases
    that announce with `notice` that it will go, `removed` those in which it does nothing but raise `removal`.
    """

    __slots__ = (
        "deprecated",
        "kind",
        "mask",
        "notice",
        "removal",
        "removed",
        "signatures",
        "target",
    )  # no data class: importing those costs 9 ms

    def __init__(self, kind: str = "", target: str = "", mask: int = 0, deprecated: int = 0, notice: str = "") -> None:
        self.kind, self.target, self.mask, self.deprecated, self.notice = kind, target, mask, deprecated, notice
        self.signatures: dict[str, int] = {}
        self.removed, self.removal = 0, ""


class MessageRow:
    """A message: the releases that have it, and the condition and the line in the newest of them.

    For a text of a compiled library, `condition` is the name of the library.
    """

    __slots__ = ("condition", "line", "mask")

    def __init__(self, mask: int = 0, condition: str = "", line: int = 0) -> None:
        self.mask, self.condition, self.line = mask, condition, line


def message_key(number: int) -> str:
    """Return the key of the group that has the message of that number."""
    return f"{number // MESSAGES_PER_GROUP * MESSAGES_PER_GROUP:08d}"


def parse_module(line: str, count: int) -> tuple[str, int, int]:
    """Return the name of a module, the releases that have it, and those in which it makes names at run time."""
    name, ranges, dynamic = line.removeprefix("@").split("\t")
    return name, decode(ranges, count), decode(dynamic, count)


def parse_name(line: str, count: int, module_mask: int) -> NameRow:
    """Return the row that a line of the section `names` stands for."""
    fields = line.split("\t")
    fields += [""] * (9 - len(fields))
    _, kind, ranges, target, signatures, deprecated, notice, removed, removal = fields
    mask = decode(ranges, count) if ranges else module_mask
    row = NameRow(kind, target, mask, decode(deprecated, count), notice)
    row.removed, row.removal = decode(removed, count), removal
    for part in signatures.split(";") if signatures else ():
        signature, _, releases = part.partition("@")
        row.signatures[signature] = decode(releases, count) if releases else mask
    return row


def with_slots(template: str) -> str:
    """Return a message's template with `{text}` for what C's `printf` and C++'s `fmt` put in, as far as a template may have so many."""
    if "%" not in template and "{}" not in template:
        return template
    parts = _FORMAT.split(template)
    return "{text}".join(parts[: _MAX_SLOTS + 1]).rstrip()


def parse_message(line: str, count: int) -> tuple[tuple[str, str, str], MessageRow]:
    """Return the key and the row that a line of the section `messages` stands for."""
    template, type_, function, ranges, condition, number = line.split("\t")
    return (template, type_, function), MessageRow(decode(ranges, count), condition, int(number or 0))

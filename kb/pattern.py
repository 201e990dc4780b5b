"""Match the pieces of a compiled message template against lexed text. Loads nothing beyond the lexer, because every look-up passes here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kb.lexer import Token, numbers

__all__ = ["MAX_OPEN", "OPEN", "PLACEHOLDERS", "Slot", "accepts", "inside", "match"]

PLACEHOLDERS = ("int", "num", "shape", "dtype", "device", "size", "name", "names", "path", "version", "text")
OPEN = frozenset({"names", "text"})
"""Placeholders that stand for one or more tokens, as few as possible."""

MAX_OPEN = 400
"""The most tokens that an open placeholder stands for: a list of a large model's missing keys is longer, but its end is rarely needed."""

_WORDS = {
    "num": frozenset(("nan", "inf", "infinity")),
    "dtype": frozenset(
        [
            "none",
            "undefined",
            "nonetype",
            "qint8",
            "quint8",
            "qint32",
            "complex",
            "tensor",
            "object",
            "str",
            "bits16",
            "numpy.object_",
            "numpy.str_",
            "unknown",
            "scalar",
            "type",
        ]
    ),
    "device": frozenset(("hpu", "xla", "privateuseone", "none", "npu", "hip", "gpu")),
}
_KINDS = {
    "int": ("num",),
    "num": ("num", "version"),
    "shape": ("shape",),
    "dtype": ("dtype",),
    "device": ("device",),
    "size": ("size",),
    "name": ("word", "dtype", "device", "path", "version"),
    "path": ("path", "word"),
    "version": ("version", "num"),
}


class Slot(NamedTuple):
    """A placeholder in a template: its type, its name when the writer gave one, and the lower-case text that is glued to it."""

    type: str
    name: str = ""
    prefix: str = ""
    suffix: str = ""


def accepts(type_: str, token: Token) -> bool:
    """Tell whether one token can stand for a placeholder of that type."""
    kind, text = token.type, token.text
    if type_ in OPEN:
        return kind != "cjk"
    if kind in _KINDS[type_]:
        return type_ != "int" or text.lstrip("+-").isdigit()
    if kind == "shape":
        return type_ in ("int", "num") and len(numbers(text)) == 1
    return text in _WORDS.get(type_, ())


def inside(slot: Slot, token: Token) -> str:
    """Return what stands between the affixes of `slot` in `token`, as printed, or the empty string where it does not fit."""
    text, head, tail = token.text, len(slot.prefix), len(slot.suffix)
    if (
        len(text) <= head + tail
        or not text.startswith(slot.prefix)
        or not text.endswith(slot.suffix)
        or token.type not in _KINDS["name"]
    ):
        return ""
    middle = token.raw[head : len(token.raw) - tail]
    return middle if slot.type == "name" or middle.isdigit() else ""


def match(pieces: Sequence[str | Slot], tokens: Sequence[Token], start: int = 0) -> tuple[int, dict[str, str]] | None:
    """Match `pieces` against `tokens` from index `start` on.

    Returns the index after the last token used and the captured values by name, or None. Text after the match is no matter.
    """
    return _match(pieces, 0, tokens, start, set())


def _match(
    pieces: Sequence[str | Slot], at: int, tokens: Sequence[Token], i: int, failed: set[tuple[int, int]]
) -> tuple[int, dict[str, str]] | None:
    """Walk both sides; only an open placeholder tries more than one continuation, and none is tried twice."""
    values: dict[str, str] = {}
    while at < len(pieces):
        piece = pieces[at]
        if i >= len(tokens):
            return None
        token = tokens[i]
        if token.type == "shape" and (piece.isdigit() if isinstance(piece, str) else piece.type in ("int", "num")):
            used = _match_numbers(pieces, at, token, values)
            if not used:
                return None
            at += used
            i += 1
            continue
        if isinstance(piece, Slot) and piece.type in OPEN:
            rest = _match_open(pieces, at, tokens, i, failed)
            return None if rest is None else (rest[0], values | rest[1])
        if not _fits(piece, token, values):
            return None
        at += 1
        i += 1
    return i, values


def _fits(piece: str | Slot, token: Token, values: dict[str, str]) -> bool:
    """Tell whether one token stands for the piece, and note its value.

    A sentence may be glued to the last word of one: `not allowed.You can` is one token.
    """
    if isinstance(piece, str):
        return piece == token.text or token.text.startswith(piece + ".")
    value = inside(piece, token) if piece.prefix or piece.suffix else token.raw if accepts(piece.type, token) else ""
    if value and piece.name:
        values[piece.name] = value
    return bool(value)


def _match_numbers(pieces: Sequence[str | Slot], at: int, token: Token, values: dict[str, str]) -> int:
    """`[{low:int}, {high:int}]` against one size token: as many `int` pieces, or literal numbers, as the size has numbers.

    Returns how many pieces were used, 0 when they do not match.
    """
    found = numbers(token.text)
    run = pieces[at : at + len(found)]
    if len(run) < len(found):
        return 0
    for piece, number in zip(run, found, strict=True):
        if isinstance(piece, str):
            if piece != str(number):
                return 0
        elif piece.type not in ("int", "num"):
            return 0
        elif piece.name:
            values[piece.name] = str(number)
    return len(found)


def _match_open(
    pieces: Sequence[str | Slot], at: int, tokens: Sequence[Token], i: int, failed: set[tuple[int, int]]
) -> tuple[int, dict[str, str]] | None:
    if (at, i) in failed:
        return None
    slot = pieces[at]
    assert isinstance(slot, Slot)
    following = pieces[at + 1] if at + 1 < len(pieces) else None
    for end in range(i + 1, min(len(tokens), i + MAX_OPEN) + 1):
        if tokens[end - 1].type == "cjk":
            break
        if isinstance(following, str) and (end >= len(tokens) or tokens[end].text != following):
            continue
        rest = _match(pieces, at + 1, tokens, end, failed)
        if rest is not None:
            values = {slot.name: ", ".join(token.raw for token in tokens[i:end])} if slot.name else {}
            return rest[0], values | rest[1]
    failed.add((at, i))
    return None

"""Align the pieces of a compiled message template with the tokens of a text. Loads nothing but the lexer, because every look-up needs it."""

from __future__ import annotations

from collections.abc import Sequence

from kb.startup.named_tuple import NamedTuple
from kb.templates.attributes import MODULE, TENSOR, is_attribute
from kb.text.lexer import Token, numbers

__all__ = [
    "MAX_OPEN",
    "OPEN_TYPES",
    "PLACEHOLDER_TYPES",
    "Alignment",
    "Piece",
    "Placeholder",
    "align",
    "is_typed",
    "match",
]

PLACEHOLDER_TYPES = (
    *("int", "num", "shape", "dtype", "device", "size", "name", "names", "path", "version", "text"),
    TENSOR,
    MODULE,
)
OPEN_TYPES = frozenset({"names", "text"})
"""Placeholders that stand for one or more tokens, as few as possible."""

MAX_OPEN = 400
"""The maximum number of tokens that an open placeholder stands for. A list of missing keys may be longer, but its end is rarely needed."""

_MAX_STEPS = 20_000
"""The maximum number of pieces compared in one alignment. Real messages take tens; the bound is for pastes made to be slow."""

_WORDS = {
    "num": frozenset(("nan", "inf", "infinity")),
    "dtype": frozenset(
        "none undefined nonetype qint8 quint8 qint32 complex tensor object str bits16 numpy.object_ numpy.str_ unknown scalar type".split()
    ),
    "device": frozenset(("xla", "privateuseone", "none", "hip", "gpu")),
}
_TOKEN_TYPES = {
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


class Placeholder(NamedTuple):
    """A placeholder of a template: its type, the name that the author gave it, and the lower-case text glued to it."""

    type: str
    name: str = ""
    prefix: str = ""
    suffix: str = ""


Piece = str | Placeholder
"""A word that has to stand in the text, in lower case, or a placeholder."""


class Alignment(NamedTuple):
    """How far a template matches a text from some token on.

    `pieces` counts the matched pieces and `words` those of them that are words. `end` is the index after the last token used.
    `values` holds the captured values by placeholder name, and `spans` for an open one the indices of its first token and after its last;
    both are empty unless `whole`.
    """

    pieces: int
    words: int
    end: int
    whole: bool
    values: dict[str, str]
    spans: dict[str, tuple[int, int]]


def align(pieces: Sequence[Piece], tokens: Sequence[Token], start: int = 0) -> Alignment:
    """Return how far `pieces` match `tokens` from the index `start` on: completely, or else the beginning with the most words."""
    walk = _Walk(pieces, tokens)
    complete = walk.match(0, start, 0)
    if complete is not None:
        end, words, values = complete
        return Alignment(len(pieces), words, end, True, values, walk.spans)
    words, matched, end = walk.best
    if end < len(tokens) and matched < len(pieces):
        piece = pieces[matched]
        end += isinstance(piece, Placeholder) and piece.type not in OPEN_TYPES and _fits(piece, tokens[end], {})
    return Alignment(matched, words, end, False, {}, {})


def match(pieces: Sequence[Piece], tokens: Sequence[Token], start: int = 0) -> tuple[int, dict[str, str]] | None:
    """Return the index after the last token used and the captured values by name, or None if the pieces do not match completely.

    Text after the match does not matter.
    """
    complete = _Walk(pieces, tokens).match(0, start, 0)
    return None if complete is None else (complete[0], complete[2])


def is_typed(type_: str, tokens: Sequence[Token], start: int) -> bool:
    """Return whether an exception's type, in lower case and without its modules, stands right before the token at `start`."""
    return bool(type_) and start > 0 and tokens[start - 1].text.rpartition(".")[2] == type_


class _Walk:
    """One alignment. Only an open placeholder has several continuations, and none of them is tried twice."""

    def __init__(self, pieces: Sequence[Piece], tokens: Sequence[Token]) -> None:
        self._pieces, self._tokens = pieces, tokens
        self._failed: set[tuple[int, int]] = set()
        self._steps = _MAX_STEPS
        self.best = (0, 0, 0)
        """The words, the pieces and the end of the longest partial match."""
        self.spans: dict[str, tuple[int, int]] = {}
        """Where the named open placeholders of a complete match stand."""

    def match(self, at: int, i: int, words: int) -> tuple[int, int, dict[str, str]] | None:
        """Match the pieces from `at` on with the tokens from `i` on; return the end, the number of words, and the values."""
        pieces, tokens = self._pieces, self._tokens
        values: dict[str, str] = {}
        while at < len(pieces):
            if words > self.best[0]:
                self.best = words, at, i
            self._steps -= 1
            if i >= len(tokens) or self._steps < 0:
                return None
            piece, token = pieces[at], tokens[i]
            if isinstance(piece, Placeholder) and piece.type in OPEN_TYPES:
                rest = self._match_open(at, i, words)
                return None if rest is None else (rest[0], rest[1], values | rest[2])
            if token.type == "shape" and (used := _match_numbers(pieces, at, token, values)):
                at += used
                words += 1
            elif _fits(piece, token, values):
                at += 1
                words += isinstance(piece, str) or bool(piece.prefix or piece.suffix)
            else:
                return None
            i += 1
        return i, words, values

    def _match_open(self, at: int, i: int, words: int) -> tuple[int, int, dict[str, str]] | None:
        if (at, i) in self._failed:
            return None
        pieces, tokens = self._pieces, self._tokens
        placeholder = pieces[at]
        assert isinstance(placeholder, Placeholder)
        following = pieces[at + 1] if at + 1 < len(pieces) else None
        word, count = following if isinstance(following, str) else "", len(tokens)
        for end in range(i + 1, min(count, i + MAX_OPEN) + 1):
            if tokens[end - 1].type == "cjk":
                break
            if word and (end == count or not _can_begin(word, tokens[end])):
                continue
            rest = self.match(at + 1, end, words)
            if rest is not None:
                between = ", " if placeholder.type == "names" else " "
                captured = between.join(token.raw for token in tokens[i:end])
                if not placeholder.name:
                    return rest
                self.spans[placeholder.name] = i, end
                return rest[0], rest[1], {placeholder.name: captured} | rest[2]
        self._failed.add((at, i))
        return None


def _fits(piece: Piece, token: Token, values: dict[str, str]) -> bool:
    """Tell whether one token stands for the piece, and store the value that it captures."""
    if isinstance(piece, str):
        return _is_word(piece, token)
    glued = piece.prefix or piece.suffix
    value = _between_affixes(piece, token) if glued else token.raw if _accepts(piece.type, token) else ""
    if value and piece.name:
        values[piece.name] = value
    return bool(value)


def _is_word(word: str, token: Token) -> bool:
    """Tell whether the token is the word.

    The next sentence may be glued to the last word of a message: `not allowed.You can` contains the token `allowed.you`. A name
    such as `torch.func` is no such word.
    """
    return token.text == word or (token.text.startswith(word + ".") and token.raw[len(word) + 1 :][:1].isupper())


def _can_begin(word: str, token: Token) -> bool:
    """Tell whether a match that begins with the word can begin at the token; a size may hold it as its first number."""
    return token.type == "shape" or (token.text.startswith(word) and _is_word(word, token))


def _accepts(type_: str, token: Token) -> bool:
    """Tell whether one token can stand for a closed placeholder of that type."""
    kind, text = token.type, token.text
    if type_ in (TENSOR, MODULE):
        return is_attribute(type_, text)
    if kind in _TOKEN_TYPES[type_]:
        return type_ != "int" or text.lstrip("+-").isdigit()
    if kind == "shape":
        return type_ in ("int", "num") and len(numbers(text)) == 1
    return text in _WORDS.get(type_, ())


def _between_affixes(placeholder: Placeholder, token: Token) -> str:
    """Return what is printed between the prefix and the suffix, or the empty string if the token does not fit."""
    text, head, tail = token.text, len(placeholder.prefix), len(placeholder.suffix)
    if (
        len(text) <= head + tail
        or not text.startswith(placeholder.prefix)
        or not text.endswith(placeholder.suffix)
        or token.type not in _TOKEN_TYPES["name"]
    ):
        return ""
    middle = token.raw[head : len(token.raw) - tail]
    return middle if placeholder.type == "name" or middle.isdigit() else ""


def _match_numbers(pieces: Sequence[Piece], at: int, token: Token, values: dict[str, str]) -> int:
    """Match several pieces with one size: `[{low:int}, {high:int}]` is lexed as one token `[3, 4]`.

    Returns how many pieces the numbers of the size stand for, 0 if they do not match.
    """
    values_of_size = numbers(token.text)
    run = pieces[at : at + len(values_of_size)]
    if len(run) < len(values_of_size):
        return 0
    captured = {}
    for piece, number in zip(run, values_of_size, strict=True):
        if isinstance(piece, str):
            if piece != str(number):
                return 0
        elif piece.type not in ("int", "num"):
            return 0
        elif piece.name:
            captured[piece.name] = str(number)
    values |= captured
    return len(values_of_size)

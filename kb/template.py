"""Message templates: an error's wording with typed placeholders, compiled to the pieces that `kb.pattern` matches.

`Expected more than 1 value per channel when training, got input size {input:shape}` matches that message with any size and captures it as `input`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kb.lexer import lex
from kb.pattern import PLACEHOLDERS, Slot

__all__ = ["Template", "TemplateError", "compile_template"]

_SLOT = re.compile(r"\{(?:([a-z][a-z0-9_]*):)?([a-z]+)\}")
_PREFIX = re.compile(r"(?:[A-Za-z_]\w*(?:\.|::))*[A-Za-z_]\w*(?:\.|::)?$", re.ASCII)
_SUFFIX = re.compile(r"(?:(?:\.|::)?\w+)+", re.ASCII)
_TYPE = re.compile(
    r"([A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit|Unsupported|TritonMissing|InvalidCxxCompiler|[A-Z]\w*)): "
)
_TYPE_ALONE = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Warning|Unsupported|BackendCompilerFailed)")


class TemplateError(ValueError):
    """A template cannot be used; the text says why and what to write instead."""


class Template(NamedTuple):
    """A message template: the type of exception it begins with (the last part of its name, or empty) and the pieces of its wording."""

    source: str
    type: str
    pieces: tuple[str | Slot, ...]
    names: frozenset[str] = frozenset()

    @property
    def literals(self) -> int:
        """How many of the pieces are words to be found as they stand."""
        return sum(isinstance(piece, str) for piece in self.pieces)


def compile_template(source: str) -> Template:
    """Return the compiled template; raises `TemplateError` for an unknown placeholder, a lone brace, or a wording that is not there."""
    head = _TYPE.match(source)
    kind, body = (head.group(1), source[head.end() :]) if head else ("", source)
    if not head and _TYPE_ALONE.fullmatch(source.strip().rstrip(":")):
        kind, body = source.strip().rstrip(":"), ""
    pieces: list[str | Slot] = []
    position = 0
    for slot in _SLOT.finditer(body):
        name, type_ = slot.groups()
        if type_ not in PLACEHOLDERS:
            raise TemplateError(f"unknown placeholder {slot.group()}; the types are {', '.join(PLACEHOLDERS)}")
        before, after = body[position : slot.start()], body[slot.end() :]
        prefix = _group(_PREFIX.search(before)) if type_ in ("name", "int") else ""
        suffix = _group(_SUFFIX.match(after)) if type_ == "name" else ""
        pieces += _literal(before[: len(before) - len(prefix)])
        pieces.append(Slot(type_, name or "", prefix.lower(), suffix.lower()))
        position = slot.end() + len(suffix)
    pieces += _literal(body[position:])
    if not pieces and not kind:
        raise TemplateError("an empty message matches nothing; write the words that PyTorch prints")
    named = [piece.name for piece in pieces if isinstance(piece, Slot) and piece.name]
    if len(named) != len(set(named)):
        raise TemplateError("two placeholders have the same name; give each its own")
    return Template(source, kind.rpartition(".")[2], tuple(pieces), frozenset(named))


def _group(found: re.Match[str] | None) -> str:
    return found.group() if found else ""


def _literal(text: str) -> list[str | Slot]:
    if "{" in text or "}" in text:
        raise TemplateError("a brace without a placeholder; write {type} or {name:type}")
    return [token.text for token in lex(text)]

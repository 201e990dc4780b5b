"""Message templates: an error's wording with typed placeholders, compiled to the pieces that `kb.templates.matcher` matches.

`Expected more than 1 value per channel when training, got input size {input:shape}` matches that message with any size and captures it as `input`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kb.startup.named_tuple import NamedTuple
from kb.templates.matcher import OPEN_TYPES, PLACEHOLDER_TYPES, Placeholder
from kb.text.lexer import lex
from kb.text.program_messages import SIGNALS

__all__ = ["MAX_OPEN_PLACEHOLDERS", "Template", "TemplateError", "compile_template"]

_SLOT = re.compile(r"\{(?:([a-z][a-z0-9_]*):)?([a-z]+)\}")
_PREFIX = re.compile(r"(?:[A-Za-z_]\w*(?:\.|::))*[A-Za-z_]\w*(?:\.|::)?$", re.ASCII)
_SUFFIX = re.compile(r"(?:(?:\.|::)?\w+)+", re.ASCII)
_TYPE = re.compile(
    r"([A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit|Unsupported|TritonMissing|InvalidCxxCompiler|[A-Z]\w*)): "
)
_TYPE_ALONE = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Warning|Unsupported|BackendCompilerFailed)")


_MAX_PLACEHOLDERS = 20
MAX_OPEN_PLACEHOLDERS = 4
"""Each of them may stand for hundreds of words, so matching takes a power of their number in the worst case."""


class TemplateError(ValueError):
    """A template cannot be used; the text says why and what to write instead."""


class Template(NamedTuple):
    """A message template: the type of exception it begins with (the last part of its name, the name of a signal, or empty) and the pieces of its wording."""

    source: str
    type: str
    pieces: tuple[str | Placeholder, ...]
    names: frozenset[str] = frozenset()

    @property
    def literals(self) -> int:
        """How many of the pieces are words to be found as they stand."""
        return sum(isinstance(piece, str) for piece in self.pieces)


@lru_cache(maxsize=8192)
def compile_template(source: str) -> Template:
    """Return the compiled template; raises `TemplateError` for an unknown placeholder, a lone brace, or a wording that is not there."""
    head = _TYPE.match(source)
    kind, body = (head.group(1), source[head.end() :]) if head else ("", source)
    alone = source.strip().rstrip(":")
    if not head and (_TYPE_ALONE.fullmatch(alone) or alone in SIGNALS):
        kind, body = alone, ""
    pieces: list[str | Placeholder] = []
    position = 0
    for slot in _SLOT.finditer(body):
        name, type_ = slot.groups()
        if type_ not in PLACEHOLDER_TYPES:
            raise TemplateError(f"unknown placeholder {slot.group()}; the types are {', '.join(PLACEHOLDER_TYPES)}")
        before, after = body[position : slot.start()], body[slot.end() :]
        prefix = _group(_PREFIX.search(before)) if type_ in ("name", "int") else ""
        suffix = _group(_SUFFIX.match(after)) if type_ == "name" else ""
        pieces += _literal(before[: len(before) - len(prefix)])
        pieces.append(Placeholder(type_, name or "", prefix.lower(), suffix.lower()))
        position = slot.end() + len(suffix)
    pieces += _literal(body[position:])
    if not pieces and not kind:
        raise TemplateError("an empty message matches nothing; write the words that PyTorch prints")
    placeholders = [piece for piece in pieces if isinstance(piece, Placeholder)]
    open_placeholders = sum(placeholder.type in OPEN_TYPES for placeholder in placeholders)
    if len(placeholders) > _MAX_PLACEHOLDERS or open_placeholders > MAX_OPEN_PLACEHOLDERS:
        limits = f"{_MAX_PLACEHOLDERS} placeholders, and {MAX_OPEN_PLACEHOLDERS} of {' and '.join(sorted(OPEN_TYPES))}"
        raise TemplateError(f"too many placeholders; a message has at most {limits}")
    named = [placeholder.name for placeholder in placeholders if placeholder.name]
    if len(named) != len(set(named)):
        raise TemplateError("two placeholders have the same name; give each its own")
    return Template(source, kind.rpartition(".")[2], tuple(pieces), frozenset(named))


def _group(match: re.Match[str] | None) -> str:
    return match.group() if match else ""


def _literal(text: str) -> list[str | Placeholder]:
    if "{" in text or "}" in text:
        raise TemplateError("a brace without a placeholder; write {type} or {name:type}")
    return [token.text for token in lex(text)]

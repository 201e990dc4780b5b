"""Rules for messages, their placeholders, and the line that explains them."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator

from kb.corpus import Corpus
from kb.entry import LANGUAGES, Entry
from kb.lexer import lex
from kb.pattern import Slot, match
from kb.rules import Finding, line_of, rule
from kb.template import TemplateError, compile_template

_MIN_LITERALS = 3
_SLOT = re.compile(r"\{(?:[a-z][a-z0-9_]*:)?([a-z]+)\}")
_SAMPLES = {
    "int": "3",
    "num": "0.5",
    "shape": "[1, 512]",
    "dtype": "Float",
    "device": "cuda:0",
    "size": "20.00 MiB",
    "name": "fc1",
    "names": '"fc1.weight", "fc1.bias"',
    "path": "models/net.py",
    "version": "2.1.0",
    "text": "anything at all",
}
_EXPLAIN_SLOT = re.compile(r"\{([a-z][a-z0-9_]*)(?:\[-?\d+\])?\}")
_VERSIONS = re.compile(r"(?:<|<=|>|>=|==)(\d+(?:\.\d+)+)")


@rule("KB012", "Every message is a template that can be used.")
def unusable(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Braces, placeholder types, names used twice."""
    for message in entry.messages:
        try:
            compile_template(message.text)
        except TemplateError as error:
            yield message.line, f"{message.text!r}: {error}"


@rule("KB013", "A message has at least three literal words, unless its exception's type alone says enough.")
def too_few_words(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """A template such as `RuntimeError: {text}` would take every error."""
    for message in entry.messages:
        try:
            template = compile_template(message.text)
        except TemplateError:
            continue
        telling_type = template.type and not hasattr(builtins, template.type)
        affixed = sum(isinstance(piece, Slot) and bool(piece.prefix or piece.suffix) for piece in template.pieces)
        if template.literals + affixed < _MIN_LITERALS and not telling_type:
            yield (
                message.line,
                f"{message.text!r} has only {template.literals} literal words; write more of the message's own words",
            )


@rule("KB014", "A message matches itself when its placeholders are filled in.")
def unmatchable(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """`cuda:{int}` never matches: `cuda:0` is one token in a reader's text."""
    for message in entry.messages:
        try:
            template = compile_template(message.text)
        except TemplateError:
            continue
        filled = _SLOT.sub(lambda found: _SAMPLES[found.group(1)], message.text)
        body = filled.removeprefix(message.text.partition(": ")[0] + ": ") if template.type else filled
        if match(template.pieces, lex(body)) is None:
            yield (
                message.line,
                f"{filled!r} is read otherwise than {message.text!r}; let a placeholder stand for a whole token, as {{device}} for cuda:0",
            )


@rule("KB015", "What `explain` uses is captured by one of the messages.")
def explain_captured(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Names in `explain` that no single template captures together."""
    if entry.explain is None:
        return
    line = line_of(entry, "explain:")
    used = {name for lang in LANGUAGES for name in _EXPLAIN_SLOT.findall(entry.explain[lang])}
    if not used:
        yield line, "explain uses none of the reader's values; use one, or say it in the text"
    captured = []
    for message in entry.messages:
        try:
            captured.append(compile_template(message.text).names)
        except TemplateError:
            continue
    if not any(used <= names for names in captured):
        missing = min((used - names for names in captured), key=len, default=used)
        slots = ", ".join(f"{{{name}:type}}" for name in sorted(missing))
        yield line, f"no message captures all that explain uses; name the placeholders {slots} in one"


@rule("KB016", "No message stands twice in an entry.")
def twice(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """The same template again, whatever its placeholders are called."""
    seen: dict[tuple[object, ...], int] = {}
    for message in entry.messages:
        try:
            template = compile_template(message.text)
        except TemplateError:
            continue
        shape = (
            template.type,
            *(
                piece if isinstance(piece, str) else (piece.type, piece.prefix, piece.suffix)
                for piece in template.pieces
            ),
        )
        if shape in seen:
            yield (
                message.line,
                f"this message already stands in line {seen[shape]}; keep one (the one without a version, if both hold)",
            )
        seen.setdefault(shape, message.line)


@rule("KB017", "A version range is possible.")
def impossible_range(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """`>=2.0,<1.5` holds for no version."""
    for message in entry.messages:
        bounds = [tuple(map(int, version.split("."))) for version in _VERSIONS.findall(message.torch)]
        if len(bounds) == 2 and message.torch.startswith(">") and bounds[0] >= bounds[1]:
            yield message.line, f"no version is {message.torch}; write the lower bound first"

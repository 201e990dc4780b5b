"""Rules for messages, their placeholders, and the line that explains them."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator

from kb.corpus.entry import Entry
from kb.corpus.loader import Corpus
from kb.corpus.versions import is_impossible
from kb.lint.rules import Finding, rule
from kb.templates.conditions import ConditionError, check_condition
from kb.templates.entry_templates import entry_templates
from kb.templates.matcher import Placeholder, match
from kb.templates.template import TemplateError, compile_template
from kb.text.languages import LANGUAGES
from kb.text.lexer import lex

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
    "tensor": "unsqueeze",
    "module": "state_dict",
}
_EXPLAIN_SLOT = re.compile(r"\{([a-z][a-z0-9_]*)(?:\[-?\d+\])?\}")


@rule("KB012", "Every message is a template that can be used.")
def unusable(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Braces, placeholder types, names used twice, more than 20 placeholders or more than 4 of them `text` or `names`."""
    for message in entry.messages:
        try:
            compile_template(message.text)
        except TemplateError as error:
            yield message.line, f"{message.text!r}: {error}"


@rule(
    "KB013",
    "A message has at least three literal words, unless its exception's type or the file that it names says enough.",
)
def too_few_words(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """A template such as `RuntimeError: {text}` would take every error.

    A `{dtype}` counts as a word, because only the names of PyTorch's types match it.
    """
    for message, template in entry_templates(entry):
        is_specific = message.files or (template.type and not hasattr(builtins, template.type))
        telling = sum(
            isinstance(piece, Placeholder) and (piece.type == "dtype" or bool(piece.prefix or piece.suffix))
            for piece in template.pieces
        )
        if template.literals + telling < _MIN_LITERALS and not is_specific:
            count = f"{message.text!r} has only {template.literals} literal words"
            yield message.line, f"{count}; write more of the message's own words"


@rule("KB014", "A message matches itself when its placeholders are filled in.")
def unmatchable(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """`cuda:{int}` never matches: `cuda:0` is one token in a reader's text."""
    for message, template in entry_templates(entry):
        filled = _SLOT.sub(lambda slot: _SAMPLES[slot.group(1)], message.text)
        body = filled.removeprefix(message.text.partition(": ")[0] + ": ") if template.type else filled
        if match(template.pieces, lex(body)) is None:
            what = f"{filled!r} is read otherwise than {message.text!r}"
            yield message.line, f"{what}; let a placeholder stand for a whole token, as {{device}} for cuda:0"


@rule("KB015", "What `explain` uses is captured by its message.")
def explain_captured(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Names in `explain` that the message does not capture, and an `explain` that uses none."""
    for message, template in entry_templates(entry):
        if message.explain is None:
            continue
        used = {name for lang in LANGUAGES for name in _EXPLAIN_SLOT.findall(message.explain[lang])}
        if not used:
            yield message.line, "explain uses none of the reader's values; use one, or say it in the text"
        if missing := sorted(used - template.names):
            slots = ", ".join(f"{{{name}:type}}" for name in missing)
            yield message.line, f"the message does not capture all that explain uses; name the placeholders {slots}"


@rule("KB016", "No entry has a message twice.")
def twice(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """The same template again, whatever its placeholders are called."""
    seen: dict[tuple[object, ...], int] = {}
    for message, template in entry_templates(entry):
        shape = (
            template.type,
            *(
                piece if isinstance(piece, str) else (piece.type, piece.prefix, piece.suffix)
                for piece in template.pieces
            ),
        )
        if shape in seen:
            what = f"this message is already in line {seen[shape]}"
            yield message.line, f"{what}; keep one (the one without a version, if both hold)"
        seen.setdefault(shape, message.line)


@rule("KB018", "A message's cause is the number of an item of What to change.")
def cause_exists(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Also, a page with one item needs none."""
    count = len(entry.guidance["en"].items)
    for message in entry.messages:
        cause = max([message.cause, *message.causes_by_values.values()])
        if cause > count:
            yield message.line, f"cause {cause}, but What to change has {count} items; give the number of one"
        elif cause and count == 1:
            yield message.line, "What to change has one item, so the message needs no cause; leave it out"


@rule("KB019", "A condition on a message's values compares values that the message captures.")
def conditions(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """`target == 0` needs a placeholder `{target:int}`. It is read as Python, and has no calls but `len`."""
    for message, template in entry_templates(entry):
        for condition in message.causes_by_values:
            try:
                check_condition(condition, template.names)
            except ConditionError as error:
                yield message.line, str(error)


@rule("KB017", "A version range is possible.")
def impossible_range(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """`>=2.0,<1.5` holds for no version."""
    ranges = [(message.torch, message.line) for message in entry.messages]
    ranges += [(subject.torch, subject.line) for subject in entry.runnables]
    for spec, line in ranges:
        try:
            if is_impossible(spec):
                yield line, f"no version is {spec}; write the lower bound first"
        except ValueError as error:
            yield line, f"{spec!r} is no range of versions ({error}); write it as >=2.0,<2.6"

"""Begin an entry from a pasted error: topic and slug proposed, the message as a template, the headings and programs still to fill in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kb.answer import Answer, FoundError
from kb.corpus import Corpus
from kb.lexer import Token, lex
from kb.parse import HEADINGS

__all__ = ["Draft", "draft", "template_of"]

_TYPED = frozenset({"shape", "dtype", "device", "size", "path", "version"})
_QUOTED_NAME = re.compile(r"""(?<=['"`])[A-Za-z_][\w.:-]*(?=['"`])""")
_COMMON = frozenset(
    "a an and are as at be been but by can cannot could did do does for found from get given got had has have if in into is it its may must no not of on "
    "one only or should than that the them then there this to tried use used was were when which with would you your expected error torch tensor".split()
)
_SLUG_WORDS = 5


class Draft(NamedTuple):
    """The beginning of an entry: where it goes and what stands in it."""

    topic: str
    slug: str
    text: str


def template_of(error: FoundError) -> str:
    """Return the first line of an error's message as a template: all that is typed becomes a placeholder, and so do quoted names.

    Which plain numbers belong to the wording only a person knows: they become placeholders except where a letter follows, as in `3D`.
    """
    message = error.message.strip().partition("\n")[0]
    marks = [(token.start, token.end, kind) for token in lex(message) if (kind := _placeholder(token, message))]
    typed = [(start, end) for start, end, _ in marks]
    marks += [
        (found.start(), found.end(), "name")
        for found in _QUOTED_NAME.finditer(message)
        if not any(start < found.end() and found.start() < end for start, end in typed)
    ]
    parts, at = [], 0
    for start, end, kind in sorted(marks):
        parts += [message[at:start].replace("{", "(").replace("}", ")"), f"{{{kind}}}"]
        at = end
    parts.append(message[at:].replace("{", "(").replace("}", ")"))
    return f"{error.type}: {''.join(parts)}" if error.type else "".join(parts)


def draft(answer: Answer, corpus: Corpus, *, repro: str = "", topic: str = "", slug: str = "") -> Draft:
    """Return the beginning of an entry for the first error of an answer; raises ValueError when no error was found in the paste."""
    if not answer.errors:
        raise ValueError("no error was found in that text: give the traceback, or at least its last line")
    error = answer.errors[0]
    kind = _kind(error)
    template = template_of(error)
    near = [entry for match in answer.matches if kind != "silent" and (entry := corpus.get(match.id))]
    topics = Counter(entry.topic for entry in near)
    topic = topic or (topics.most_common(1)[0][0] if topics else "tensors")
    slug = slug or _slug(error.message, corpus)
    return Draft(topic, slug, _text(template, kind, repro, [entry.id for entry in near[:2]]))


def _kind(error: FoundError) -> str:
    """A failing assert in the reader's own code is the sign of a mistake that PyTorch says nothing about."""
    if error.type == "AssertionError" and error.frame and error.frame.code.lstrip().startswith("assert"):
        return "silent"
    return "warning" if error.type.endswith("Warning") else "error"


def _placeholder(token: Token, message: str) -> str:
    if token.type in _TYPED:
        return token.type
    if (
        token.type == "num"
        and not message[token.end : token.end + 1].isalpha()
        and message[token.end : token.end + 4] != "-dim"
    ):
        return "int" if re.fullmatch(r"-?\d+", token.raw) else "num"
    return ""


def _slug(message: str, corpus: Corpus) -> str:
    """The first telling words of the message, numbered when an entry has that slug already."""
    words = [
        word
        for token in lex(message.partition("\n")[0])
        if token.type == "word"
        for word in re.findall(r"[a-z]+", token.text)
        if len(word) > 1 and word not in _COMMON
    ]
    slug = "-".join(words[:_SLUG_WORDS]) or "unnamed"
    number = 2
    free = slug
    while corpus.get(free) is not None:
        free = f"{slug}-{number}"
        number += 1
    return free


def _text(template: str, kind: str, repro: str, related: Sequence[str]) -> str:
    """The file: what is known is filled in, and what `kb check` asks for is left empty."""
    quoted = template.replace("\\", "\\\\").replace('"', '\\"')
    lines = [
        "---",
        "title:",
        '  en: ""',
        '  zh: ""',
        f"kind: {kind}",
        *(["messages:", f'  - "{quoted}"'] if kind != "silent" else []),
        "apis: []",
        "tags: []",
    ]
    lines += ["aliases:", "  en: []", "  zh: []", "sources: []"]
    lines += [*([f"related: [{', '.join(related)}]"] if related else []), "---", ""]
    for heading in HEADINGS:
        lines += [heading, ""]
    program = repro.rstrip() or "import torch"
    lines += ["```python repro", program, "```", "", "```python fix", program, "```", ""]
    return "\n".join(lines)

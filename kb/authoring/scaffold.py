"""Begin an entry from a pasted error: propose topic and slug, make a template of the message, and leave the answer, the items and the programs to fill in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kb.corpus.loader import Corpus
from kb.corpus.sections import HEADINGS, RUN_IT
from kb.search.answer import Answer
from kb.text.languages import Lang
from kb.text.lexer import Token, lex
from kb.text.tracebacks import PastedError

__all__ = ["Draft", "draft", "template_of"]

_TYPED = frozenset({"shape", "dtype", "device", "size", "path", "version"})
_QUOTED_NAME = re.compile(r"""(?<=['"`])[A-Za-z_][\w.:-]*(?=['"`])""")
_COMMON = frozenset(
    "a an and are as at be been but by can cannot could did do does for found from get given got had has have if in into is it its may must no not of on "
    "one only or should than that the them then there this to tried use used was were when which with would you your expected error torch tensor".split()
)
_SLUG_WORDS = 5
_CASE = "first-case"
_ITEM: dict[Lang, str] = {
    "en": f"- **TODO what the reader sees or did**: TODO the change. [{_CASE}](#{_CASE})",
    "zh": f"- **TODO 读者看到或做了什么**：TODO 怎么改。[{_CASE}](#{_CASE})",
}
"""The item of *What to change* that a new entry begins with."""


class Draft(NamedTuple):
    """The beginning of an entry: its topic, its slug and the text of its file."""

    topic: str
    slug: str
    text: str


def template_of(error: PastedError) -> str:
    """Return the first line of an error's message as a template, in which typed values and quoted names are placeholders.

    Only a person knows which plain numbers belong to the wording: they become placeholders except where a letter follows, as in `3D`.
    """
    message = error.message.strip().partition("\n")[0]
    spans = [(token.start, token.end, type_) for token in lex(message) if (type_ := _placeholder(token, message))]
    typed = [(start, end) for start, end, _ in spans]
    spans += [
        (name.start(), name.end(), "name")
        for name in _QUOTED_NAME.finditer(message)
        if not any(start < name.end() and name.start() < end for start, end in typed)
    ]
    parts, position = [], 0
    for start, end, type_ in sorted(spans):
        parts += [_without_braces(message[position:start]), f"{{{type_}}}"]
        position = end
    parts.append(_without_braces(message[position:]))
    return f"{error.type}: {''.join(parts)}" if error.type else "".join(parts)


def draft(
    answer: Answer, corpus: Corpus, *, repro: str = "", topic: str = "", slug: str = "", requires: Sequence[str] = ()
) -> Draft:
    """Return the beginning of an entry for the first error of an answer; raises ValueError when no error was found in the paste.

    `requires` are the packages that its programs import besides torch and numpy.
    """
    if not answer.errors:
        raise ValueError("no error was found in that text: give the traceback, or at least its last line")
    error = answer.errors[0]
    kind = _kind(error)
    template = template_of(error)
    similar = [entry for match in answer.matches if kind != "silent" and (entry := corpus.get(match.id))]
    topics = Counter(entry.topic for entry in similar)
    topic = topic or (topics.most_common(1)[0][0] if topics else "tensors")
    slug = slug or _slug(error.message, corpus)
    return Draft(topic, slug, _text(template, kind, repro, [entry.id for entry in similar[:2]], requires))


def _without_braces(text: str) -> str:
    return text.replace("{", "(").replace("}", ")")


def _kind(error: PastedError) -> str:
    """Return the kind of entry; a failing assert in the reader's own code means a mistake that PyTorch says nothing about."""
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
    """Return the first words of the message that are not common, numbered when an entry has that slug already."""
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


def _text(template: str, kind: str, repro: str, related: Sequence[str], requires: Sequence[str]) -> str:
    """Return the file's text: what is known is filled in, and `kb check` asks for what is empty or says TODO."""
    quoted = template.replace("\\", "\\\\").replace('"', '\\"')
    lines = [
        "---",
        *("title:", '  en: ""', '  zh: ""'),
        f"kind: {kind}",
        *("answer:", "  en: TODO", "  zh: TODO"),
        *(["messages:", f'  - "{quoted}"'] if kind != "silent" else []),
        *("apis: []", "tags: []"),
        *("aliases:", "  en: []", "  zh: []"),
        *([f"requires: [{', '.join(requires)}]"] if requires else []),
        "sources: []",
        *([f"related: [{', '.join(related)}]"] if related else []),
        "---",
        "",
    ]
    for lang, headings in HEADINGS.items():
        lines += [headings["language"], "", headings["change"], "", _ITEM[lang], "", headings["why"], ""]
    program = repro.rstrip() or "import torch"
    lines += [RUN_IT, "", f"### {_CASE}", ""]
    lines += ["```python repro", program, "```", "", "```python fix", program, "```", ""]
    return "\n".join(lines)

"""Rules for what an entry tells a reader to do: the answer, the list of changes, how to tell causes apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kb.corpus.entry import Entry
from kb.corpus.guidance import linked_names
from kb.corpus.loader import Corpus
from kb.lint.rules import Finding, line_of, rule
from kb.templates.code_change import CodePattern, PatternError, change_code, compile_pattern
from kb.templates.entry_templates import entry_templates
from kb.templates.matcher import Placeholder
from kb.text.languages import LANGUAGES, Lang
from kb.text.lexer import lex
from kb.text.scripts import HAN

__all__: list[str] = []

_DATA = Path(__file__).parent.parent / "data"
_MAX_ANSWER = {"en": 32, "zh": 64}
_MAX_PARAGRAPH = {"en": 60, "zh": 115}
_MAX_WHY = {"en": 80, "zh": 155}
_MAX_ITEMS = 5
_UNIT = {"en": "words", "zh": "Chinese characters"}
_HAN = re.compile(f"[{HAN}]")
_SPAN = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.!?](?=\s+[A-Z`])|[。！？](?=.)")
_NOT_IMPERATIVE = re.compile(r"(?:因为|由于|这是|这个|这种|该|当前|它|报错|原因|说明|通常|一般|这里的?|你的)")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\(\)")
_CODE_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+|\b[A-Za-z]\w*_\w+\b|\b\w+(?=\(\))")
_LIBRARIES = frozenset("torch torchvision torchaudio nn np numpy F dist optim utils transformers".split())
_WORD = re.compile(r"[A-Za-z_]\w*")
_VALUE = re.compile(
    r"\b(?:Byte|Char|Short|Int|Long|Half|Float|Double|BFloat16|Bool|cpu|cuda(?::\d)?|mps|xpu|npu|\d+)\b"
)
_NAMED_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*):[a-z]+\}")
_HEADING = {"en": "### What to change", "zh": "### 怎么改"}
_WHY_HEADING = {"en": "### Why it happens", "zh": "### 原因"}


@rule("KB060", "The answer is one imperative sentence that can be acted on alone.")
def answer(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """At most 32 words or 64 Chinese characters; an English one begins with a verb, or has one after an opening clause."""
    line = line_of(entry, "answer:")
    for lang in LANGUAGES:
        text = entry.answer[lang].strip()
        if (length := _length(text, lang)) > _MAX_ANSWER[lang]:
            yield line, f"the {lang} answer has {length} {_UNIT[lang]}; keep it under {_MAX_ANSWER[lang]}"
        if _SENTENCE_END.search(_without_code(text)) or not text.endswith((".", "。")):
            yield line, f"the {lang} answer is one sentence with a full stop; write it so"
        if not _is_imperative(text, lang):
            yield line, f"the {lang} answer does not say what to do; begin with the verb of the change"


@rule("KB062", f"What to change has one to {_MAX_ITEMS} items, and one at least leads to a case or to another entry.")
def items(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """More causes are more entries. An item ends in a link to the case that shows its change, `[name](#name)`, or links to an entry.

    An item has no link where no program shows its change, as with a command that installs something.
    """
    for lang in LANGUAGES:
        changes = entry.guidance[lang].items
        if not 1 <= len(changes) <= _MAX_ITEMS:
            yield line_of(entry, _HEADING[lang]), f"{len(changes)} items; write one to {_MAX_ITEMS}"
        if changes and not any(item.cases or item.entries for item in changes):
            yield changes[0].line, "no item leads to a case or an entry; end this one with [case](#case)"
        for item in changes:
            if not item.change:
                yield item.line, "this item says no change; write it after the colon"


@rule("KB063", "Every case is named by one item, and every check by an item or by How to tell.")
def unnamed_cases(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """A program that nothing on the page leads to is not found; a link to a case that is not there leads nowhere.

    Under an item the page shows the change of its cases as verified, so a case stands under the one item whose change it is.
    """
    cases, checks = {case.name: case for case in entry.cases}, {check.name: check for check in entry.checks}
    for lang in LANGUAGES:
        guidance = entry.guidance[lang]
        in_items = {name for item in guidance.items for name in item.cases}
        named = in_items | set(linked_names(guidance.how_to_tell))
        for name, case in cases.items():
            if name not in in_items:
                yield (
                    case.repro.line - 1,
                    f"no {lang} item names the case {name!r}; end the item with [{name}](#{name})",
                )
            for item in [item for item in guidance.items if name in item.cases][1:]:
                yield (
                    item.line,
                    f"the case {name!r} stands under an item above; link it where its change is the one described",
                )
        for name, check in checks.items():
            if name not in named:
                yield check.program.line - 1, f"nothing in {lang} names the check {name!r}; link it where it helps"
        for name in sorted(named - set(cases) - set(checks)):
            yield line_of(entry, _HEADING[lang]), f"there is no case {name!r} under 'Run it'; mend the link"


@rule("KB064", "Both languages have the same items in the same order.")
def items_differ(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Compared by the cases and entries that they lead to."""
    targets = {lang: [(item.cases, item.entries) for item in entry.guidance[lang].items] for lang in LANGUAGES}
    if targets["en"] != targets["zh"]:
        yield line_of(entry, _HEADING["zh"]), "the items lead elsewhere than the English ones; keep both lists alike"
    if linked_names(entry.guidance["en"].how_to_tell) != linked_names(entry.guidance["zh"].how_to_tell):
        yield line_of(entry, "### 怎么判断"), "the checks named here are not those of the English text"


@rule("KB065", "A paragraph has at most 60 words, and Why it happens at most 80.")
def long_paragraphs(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """115 and 155 characters in Chinese. An item of a list counts as a paragraph."""
    for lang in LANGUAGES:
        guidance = entry.guidance[lang]
        paragraphs = [(item.line, f"{item.cause}: {item.change}") for item in guidance.items]
        for heading, text in ((_HEADING[lang], guidance.how_to_tell), (_WHY_HEADING[lang], guidance.why)):
            paragraphs += [(line_of(entry, heading), part) for part in text.split("\n") if part.strip()]
        for line, text in paragraphs:
            if (length := _length(text, lang)) > _MAX_PARAGRAPH[lang]:
                yield line, f"a paragraph of {length} {_UNIT[lang]}; keep it under {_MAX_PARAGRAPH[lang]}"
        if (length := _length(guidance.why, lang)) > _MAX_WHY[lang]:
            yield line_of(entry, _WHY_HEADING[lang]), f"{length} {_UNIT[lang]}; explain it in {_MAX_WHY[lang]}"


@rule("KB066", "A symptom says how to tell its causes apart, with a check that runs.")
def symptom_check(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """It has no message, so the reader has to find the cause."""
    if entry.kind == "symptom" and not (entry.guidance["en"].how_to_tell and entry.checks):
        yield line_of(entry, _HEADING["en"]), "a symptom needs ### How to tell and a ```python check under 'Run it'"


@rule("KB067", "A name that is younger than torch 2.0 carries its version.")
def unversioned_api(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """`torch.accelerator` (2.6): who has an old message has an old torch. The names are in `kb/lint/data/api_versions.txt`."""
    for lang in LANGUAGES:
        text = entry.prose(lang)
        for name, version in _young_names().items():
            if f"`{name}" in text and version not in text:
                yield line_of(entry, _HEADING[lang]), f"`{name}` came with torch {version}; say so in {lang}"


@rule("KB068", "An alias that names a function or class of a library is answered by the page.")
def alias_unanswered(entry: Entry, corpus: Corpus) -> Iterator[Finding]:
    """One that only the alias names gets no answer. Names of a reader's own, such as `accum_steps`, are no promise.

    A name counts as a library's when it begins as `torch.` or `np.` does, or when some entry has it in `apis`. One that is on the page is enough.
    """
    for alias in [alias for lang in LANGUAGES for alias in entry.aliases[lang]]:
        named = [name for name in _CODE_NAME.findall(alias) if _is_api(name, corpus)]
        if not named:
            continue
        known = {word.lower() for word in _WORD.findall(alias)} & corpus.api_names
        page = {word.lower() for word in _WORD.findall(_page(entry))}
        if not (known | {name.rpartition(".")[2].lower() for name in named}) & page:
            what = f"the alias {alias!r} names {named[0]}, the page does not; answer it or drop the alias"
            yield line_of(entry, "aliases:"), what


@rule("KB069", "A message is answered by a sentence or a program of the page.")
def message_unanswered(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Where none of its words is in the title, the text, the programs or `apis`, the page speaks of something else."""
    page = _page(entry).lower()
    names = set(_WORD.findall(page))
    for message, template in entry_templates(entry):
        words = {token.text for piece in template.pieces if isinstance(piece, str) for token in lex(piece)}
        words = {word for word in words if not word.isdigit()}
        called = {name.lower() for name in _CALLED.findall(message.text)}
        is_named = bool(called & names) or any(word in page for word in words if len(word) > 3)
        if words and message.explain is None and not is_named:
            yield message.line, f"nothing on the page speaks of {message.text[:60]!r}; answer it or explain it"


@rule("KB070", "Messages that differ in one value are one template.")
def enumerated_values(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """`expected scalar type Float but found Double` is `{dtype}` twice: a list by hand misses the next pair."""
    seen: dict[tuple[str, ...], int] = {}
    for message, template in entry_templates(entry):
        if any(isinstance(piece, Placeholder) and piece.type == "text" for piece in template.pieces):
            continue
        shape = _VALUE.sub("*", message.text)
        if "*" not in shape:
            continue
        key = (shape, message.torch, message.device)
        if key in seen:
            yield message.line, f"differs from line {seen[key]} in a value only; write a placeholder for it"
        seen.setdefault(key, message.line)


def _page(entry: Entry) -> str:
    """Return what a reader can see of an entry: titles, text in both languages, explanations and programs."""
    parts = [entry.title[lang] for lang in LANGUAGES] + [entry.prose(lang) for lang in LANGUAGES]
    parts += [message.explain[lang] for message in entry.messages if message.explain for lang in LANGUAGES]
    parts += [source for case in entry.cases for source in (case.repro.source, case.fix.source)]
    return "\n".join([*parts, *(check.program.source for check in entry.checks), *entry.apis])


def _is_api(name: str, corpus: Corpus) -> bool:
    """Return whether a dotted or underscored name is one of a library."""
    root, _, rest = name.partition(".")
    return (bool(rest) and root in _LIBRARIES) or name.rpartition(".")[2].lower() in corpus.api_names


def _length(text: str, lang: Lang) -> int:
    """Return the number of words, or of Chinese characters with each code span and Latin word as two."""
    text = _LINK.sub(r"\1", text)
    if lang == "en":
        return len(text.split())
    latin = _SPAN.sub("x", text)
    return len(_HAN.findall(text)) + 2 * len(re.findall(r"[A-Za-z0-9_.]+", latin))


def _is_imperative(text: str, lang: Lang) -> bool:
    if lang == "zh":
        return bool(text) and not _NOT_IMPERATIVE.match(text)
    words = re.findall(r"[a-z']+(?:-[a-z]+)?", _without_code(text).lower())
    after_commas = [part.split()[0].lower() for part in text.split(",")[1:] if part.split()]
    return bool(words) and (words[0] in _imperatives() or any(word in _imperatives() for word in after_commas))


def _without_code(text: str) -> str:
    return _SPAN.sub("`x`", text)


@cache
def _imperatives() -> frozenset[str]:
    lines = (_DATA / "imperatives.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@cache
def _young_names() -> dict[str, str]:
    lines = (_DATA / "api_versions.txt").read_text("utf-8").splitlines()
    return dict(line.rsplit(maxsplit=1) for line in lines if line.strip() and not line.startswith("#"))


@rule(
    "KB071",
    "An edit is that of a case, for a message of the entry, and its pattern changes a line of the case's repro.",
)
def edits(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """A pattern is Python with `$NAME`, `$$$NAME` and values of a message as `$name`."""
    cases = {case.name: case for case in entry.cases}
    for edit in entry.edits:
        messages = [message.text for message in entry.messages if edit.message in message.text]
        values = {name for message in messages for name in _NAMED_PLACEHOLDER.findall(message)}
        try:
            pattern = compile_pattern(edit.before, edit.after)
        except PatternError as error:
            yield edit.line, f"{error}; see docs/entry-format.md"
            continue
        if edit.case not in cases:
            yield edit.line, f"there is no case {edit.case!r}; name a case that shows this change"
        elif not messages:
            yield edit.line, f"no message has the words {edit.message!r}; quote those of a message"
        elif unknown := set(edit.where) - pattern.names:
            yield edit.line, f"where: ${min(unknown)} is not in {edit.before!r}"
        elif strange := {name for name in pattern.names if name.islower()} - values:
            yield edit.line, f"${min(strange)} is no value of the message; write names of the pattern in capitals"
        elif not _changes_a_line(pattern, cases[edit.case].repro.source):
            yield edit.line, f"{edit.before!r} matches no line of the repro {edit.case!r}; show the change there"


def _changes_a_line(pattern: CodePattern, repro: str) -> bool:
    """Tell whether the pattern matches some line of the program, whatever the message's values are."""
    return any(change_code(pattern, text, {}) for text in (repro, *repro.split("\n")))

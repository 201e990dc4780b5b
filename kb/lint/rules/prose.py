"""Rules for the text, in both languages and between them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.corpus.entry import Entry
from kb.corpus.loader import Corpus
from kb.corpus.sections import prose_lines
from kb.lint.rules import Finding, line_of, rule
from kb.text.languages import LANGUAGES, Lang
from kb.text.scripts import HAN, columns

_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")
_TIGHT = re.compile(rf"[{HAN}][A-Za-z0-9`]|[A-Za-z0-9`][{HAN}]")
_HALF_WIDTH = re.compile(rf"[{HAN}`][,;:!?](?=\s|$|[{HAN}`])|[{HAN}]\.(?=\s|$)|\((?=[{HAN}])|(?<=[{HAN}])\)")
_HEADINGS: dict[Lang, str] = {"en": "## English", "zh": "## 中文"}
_MAX_TITLE = 84
_MAX_WORDS = 320
_MAX_HAN = 640


@rule("KB030", "Both languages have the same code spans.")
def spans_differ(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """A name that only one language mentions is a fact that the other lacks."""
    spans = {lang: {code.strip() for _, code in _SPAN.findall(entry.prose(lang))} for lang in LANGUAGES}
    for present, absent in (LANGUAGES, LANGUAGES[::-1]):
        line = line_of(entry, _HEADINGS[absent])
        for span in sorted(spans[present] - spans[absent]):
            yield line, f"`{span}` is in the {present} text only; say it in {absent} too"


@rule("KB031", "Chinese and Latin letters, digits or code have a space between them.")
def tight(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """As in `用 reshape 代替`; full-width punctuation needs none."""
    for number, line in _chinese(entry):
        if match := _TIGHT.search(_plain(line)):
            yield number, f"put a space between the two in {match.group()!r}"


@rule("KB032", "Chinese text has full-width punctuation.")
def half_width(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """，。：；？！（） after Chinese characters; inside code spans and Latin text everything stays as it is."""
    for number, line in _chinese(entry):
        if match := _HALF_WIDTH.search(_plain(line)):
            yield number, f"half-width punctuation at {match.group()!r}; use ，。：；？！（）"


@rule("KB033", f"A title has at most {_MAX_TITLE} columns and no full stop.")
def title_shape(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """It is a heading, a link and a line in a list."""
    for lang in LANGUAGES:
        title = entry.title[lang]
        width = columns(title)
        if width > _MAX_TITLE:
            yield line_of(entry, "title:"), f"the {lang} title has {width} columns; say it shorter"
        if title.endswith((".", "。")):
            yield line_of(entry, "title:"), f"the {lang} title ends in a full stop; drop it"


@rule("KB034", "A page is read in about a minute.")
def too_long(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Counted over the answer, the items, how to tell and why, without programs."""
    if (count := len(entry.prose("en").split())) > _MAX_WORDS:
        what = f"{count} words are more than a minute's reading; keep it under {_MAX_WORDS}"
        yield line_of(entry, _HEADINGS["en"]), what
    if (count := len(re.findall(f"[{HAN}]", entry.prose("zh")))) > _MAX_HAN:
        what = f"{count} characters are more than a minute's reading; keep it under {_MAX_HAN}"
        yield line_of(entry, _HEADINGS["zh"]), what


@rule("KB035", "Links are https addresses or other entries.")
def links(entry: Entry, corpus: Corpus) -> Iterator[Finding]:
    """A relative link names an entry's file: `[text](slug.md)` or `[text](../topic/slug.md)`."""
    for number, _, line in prose_lines(entry.source):
        for text, target in _LINK.findall(line):
            slug = re.fullmatch(r"(?:\.\./[a-z0-9-]+/)?([a-z0-9-]+)\.md", target)
            if target.startswith("#"):  # a case: KB063
                continue
            if not text.strip():
                yield number, f"the link to {target!r} has no text; give it some"
            if slug and corpus.get(slug.group(1)) is None:
                yield number, f"there is no entry {slug.group(1)!r}; link one that exists"
            if not slug and not re.fullmatch(r"https://[^\s()]+", target):
                yield number, f"{target!r} is neither an https address nor an entry's file; mend it"


@rule("KB036", "The English text has no Chinese in it, and the Chinese text has some.")
def wrong_language(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Catches two sections that were filled the wrong way round, and one left untranslated."""
    texts: tuple[tuple[Lang, str], ...] = (
        ("en", entry.prose("en")),
        ("zh", entry.answer["zh"]),
        ("zh", entry.guidance["zh"].why),
        *(("zh", f"{item.cause} {item.change}") for item in entry.guidance["zh"].items),
    )
    for lang, text in texts:
        has_chinese = re.search(f"[{HAN}]", _plain(text)) is not None
        if has_chinese and lang == "en":
            yield line_of(entry, _HEADINGS[lang]), "there is Chinese in the English text; say it in English"
        elif not has_chinese and lang == "zh":
            yield line_of(entry, _HEADINGS[lang]), "the Chinese text has no Chinese; write it"


def _chinese(entry: Entry) -> Iterator[tuple[int, str]]:
    """Yield the lines of Chinese prose, the Chinese title, answer and explanations, with their numbers."""
    yield from ((number, line) for number, lang, line in prose_lines(entry.source) if lang == "zh")
    yield line_of(entry, "title:"), entry.title.zh
    yield line_of(entry, "answer:"), entry.answer.zh
    for message in entry.messages:
        if message.explain is not None:
            yield message.line, re.sub(r"\{[^}]*\}", "0", message.explain.zh)


def _plain(text: str) -> str:
    """Return the text with the inside of code spans and link targets blanked, so that only prose is checked."""
    text = _SPAN.sub(lambda span: "`" + "x" * len(span.group(2)) + "`", text)
    return re.sub(r"\]\([^)]*\)", "]", text).replace("**", "").replace("*", "")

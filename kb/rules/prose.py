"""Rules for the text, in both languages and between them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.corpus import Corpus
from kb.entry import LANGUAGES, Entry, Lang
from kb.parse import prose_lines
from kb.rules import Finding, line_of, rule

_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_TIGHT = re.compile(rf"[{_HAN}][A-Za-z0-9`]|[A-Za-z0-9`][{_HAN}]")
_HALF_WIDTH = re.compile(rf"[{_HAN}`][,;:!?](?=\s|$|[{_HAN}`])|[{_HAN}]\.(?=\s|$)|\((?=[{_HAN}])|(?<=[{_HAN}])\)")
_MAX_TITLE = 84
_MAX_WORDS = 260
_MAX_HAN = 520


@rule("KB030", "Both languages have the same code spans.")
def spans_differ(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """A name that only one language mentions is a fact that the other lacks."""
    spans = {
        lang: {found[1].strip() for found in _SPAN.findall(entry.prose[lang].why + "\n\n" + entry.prose[lang].fix)}
        for lang in LANGUAGES
    }
    for lang, other, heading in (("en", "zh", "## 中文"), ("zh", "en", "## English")):
        for missing in sorted(spans[lang] - spans[other]):  # type: ignore[index]
            yield line_of(entry, heading), f"`{missing}` stands in the {lang} text only; say it in {other} too"


@rule("KB031", "Chinese and Latin letters, digits or code have a space between them.")
def tight(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """As in `用 reshape 代替`; full-width punctuation needs none."""
    for number, line in _chinese(entry):
        if found := _TIGHT.search(_plain(line)):
            yield number, f"put a space between the two in {found.group()!r}"


@rule("KB032", "Chinese text has full-width punctuation.")
def half_width(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """，。：；？！（） after Chinese characters; inside code spans and Latin text everything stays as it is."""
    for number, line in _chinese(entry):
        if found := _HALF_WIDTH.search(_plain(line)):
            yield number, f"half-width punctuation at {found.group()!r}; use ，。：；？！（）"


@rule("KB033", f"A title has at most {_MAX_TITLE} columns and no full stop.")
def title_shape(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """It is a heading, a link and a line in a list."""
    for lang in LANGUAGES:
        title = entry.title[lang]
        width = sum(2 if re.match(f"[{_HAN}，。：；？！（）]", char) else 1 for char in title)
        if width > _MAX_TITLE:
            yield line_of(entry, "title:"), f"the {lang} title has {width} columns; say it shorter"
        if title.endswith((".", "。")):
            yield line_of(entry, "title:"), f"the {lang} title ends in a full stop; drop it"


@rule("KB034", "A page is read in about a minute.")
def too_long(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Counted over cause and fix together, without programs."""
    english = entry.prose["en"].why + " " + entry.prose["en"].fix
    chinese = entry.prose["zh"].why + entry.prose["zh"].fix
    if (count := len(english.split())) > _MAX_WORDS:
        yield (
            line_of(entry, "## English"),
            f"{count} words are more than a minute's reading; keep it under {_MAX_WORDS}",
        )
    if (count := len(re.findall(f"[{_HAN}]", chinese))) > _MAX_HAN:
        yield (
            line_of(entry, "## 中文"),
            f"{count} characters are more than a minute's reading; keep it under {_MAX_HAN}",
        )


@rule("KB035", "Links are https addresses or other entries.")
def links(entry: Entry, corpus: Corpus) -> Iterator[Finding]:
    """A relative link names an entry's file: `[text](slug.md)` or `[text](../topic/slug.md)`."""
    for number, _, line in prose_lines(entry.source):
        for text, target in _LINK.findall(line):
            slug = re.fullmatch(r"(?:\.\./[a-z]+/)?([a-z0-9-]+)\.md", target)
            if not text.strip():
                yield number, f"the link to {target!r} has no text; give it some"
            if slug and corpus.get(slug.group(1)) is None:
                yield number, f"there is no entry {slug.group(1)!r}; link one that exists"
            if not slug and not re.fullmatch(r"https://[^\s()]+", target):
                yield number, f"{target!r} is neither an https address nor an entry's file; mend it"


@rule("KB036", "The English text has no Chinese in it, and the Chinese text has some.")
def wrong_language(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Catches two sections that were filled the wrong way round, and one left untranslated."""
    lang: Lang
    for lang, text in (
        ("en", entry.prose["en"].why + entry.prose["en"].fix),
        ("zh", entry.prose["zh"].why),
        ("zh", entry.prose["zh"].fix),
    ):
        has_han = bool(re.search(f"[{_HAN}]", _plain(text)))
        if has_han == (lang == "en"):
            heading = "## English" if lang == "en" else "## 中文"
            yield (
                line_of(entry, heading),
                "Chinese stands in the English text; say it in English"
                if has_han
                else "the Chinese text has no Chinese; write it",
            )


def _chinese(entry: Entry) -> Iterator[tuple[int, str]]:
    """The lines of Chinese prose, and the Chinese title and explanation, with their numbers."""
    yield from ((number, line) for number, lang, line in prose_lines(entry.source) if lang == "zh")
    yield line_of(entry, "title:"), entry.title.zh
    if entry.explain is not None:
        yield line_of(entry, "explain:"), re.sub(r"\{[^}]*\}", "0", entry.explain.zh)


def _plain(text: str) -> str:
    """Text with the inside of code spans and link targets blanked, so that only prose is judged."""
    text = _SPAN.sub(lambda found: "`" + "x" * len(found.group(2)) + "`", text)
    return re.sub(r"\]\([^)]*\)", "]", text).replace("**", "").replace("*", "")

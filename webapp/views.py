"""What the templates show, made from entries, ledgers and answers: plain data in one language."""

from __future__ import annotations

import re
from typing import NamedTuple

from markupsafe import Markup

from kb.answer import Answer, Match
from kb.entry import Case, Entry, Lang
from kb.folder import origin
from kb.ledger import Record
from webapp.code import Line, difference, highlight
from webapp.knowledge import Knowledge
from webapp.prose import render

__all__ = [
    "AnswerView",
    "CaseView",
    "EntryView",
    "MatchView",
    "PasteLine",
    "fitting_case",
    "message_title",
    "placeholders",
    "runnable",
    "view_answer",
    "view_case",
    "view_entry",
    "visible",
]

_PLACEHOLDER = re.compile(r"\{(?:\w+:)?(\w+)\}")
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_AROUND = 3
"""Lines of the paste shown on either side of the line that matched."""
_LONGEST_LINE = 400
"""Characters shown of a line of the paste."""


class CaseView(NamedTuple):
    """One repro and its fix: their difference, both programs, and what has been proven of them."""

    id: str
    anchor: str
    name: str
    device: str
    runnable: bool
    lines: tuple[Line, ...]
    repro: Markup
    fix: Markup
    fix_source: str
    state: str
    records: list[Record]
    printed: str


class EntryView(NamedTuple):
    """An entry in one language. `related` are (slug, title)."""

    id: str
    topic: str
    kind: str
    origin: str
    title: str
    heading: str
    why: Markup
    fix: Markup
    summary: str
    messages: list[tuple[str, str, str]]
    apis: tuple[str, ...]
    tags: tuple[str, ...]
    sources: tuple[str, ...]
    cases: list[CaseView]
    open_case: str
    related: list[tuple[str, str]]


class PasteLine(NamedTuple):
    """A line of what was pasted, its number from 1, and whether it is the one that matched."""

    number: int
    text: str
    marked: bool


class MatchView(NamedTuple):
    """A match in one language: how sure, and why."""

    id: str
    title: str
    confidence: str
    template: str
    words: tuple[str, ...]
    explain: str
    line: str
    line_number: int


class AnswerView(NamedTuple):
    """An answer in one language: the match shown in full (none when nothing answers), why, and the other matches."""

    first: MatchView | None
    others: list[MatchView]
    excerpt: list[PasteLine]
    errors: list[tuple[str, str]]
    frame: tuple[str, int, str, str] | None


def message_title(entry: Entry, lang: Lang) -> str:
    """Return what people search for: the message as PyTorch words it today, with `…` for what varies; the title where there is none."""
    if not entry.messages:
        return entry.title[lang]
    return _PLACEHOLDER.sub("…", entry.messages[0].text)


def placeholders(template: str) -> Markup:
    """Return a message as HTML with its placeholders set off: `{input:shape}` as the word *shape*."""
    parts = _PLACEHOLDER.split(template)
    return Markup().join(
        Markup("<var>{}</var>").format(part) if i % 2 else Markup.escape(part) for i, part in enumerate(parts)
    )


def view_entry(knowledge: Knowledge, entry: Entry, lang: Lang, *, open_case: str = "") -> EntryView:
    """Return what an entry's page shows in that language; `open_case` names the case that is in view, the first by default."""
    prose = entry.prose[lang]
    why = render(prose.why)
    related = (knowledge.corpus.get(slug) for slug in entry.related)
    return EntryView(
        id=entry.id,
        topic=entry.topic,
        kind=entry.kind,
        origin=origin(entry),
        title=entry.title[lang],
        heading=message_title(entry, lang),
        why=why,
        fix=render(prose.fix),
        summary=" ".join(why.striptags().split()),
        messages=[(message.text, message.torch, message.device) for message in entry.messages],
        apis=entry.apis,
        tags=entry.tags,
        sources=tuple(source for source in entry.sources if source.startswith("https://")),
        cases=[view_case(knowledge, case) for case in entry.cases],
        open_case=open_case or entry.cases[0].name,
        related=[(other.id, other.title[lang]) for other in related if other],
    )


def runnable(case: Case) -> bool:
    """Tell whether readers may run the case: on the CPU of this system."""
    return case.device == "cpu" and not case.os


def view_case(knowledge: Knowledge, case: Case) -> CaseView:
    """Return what a page shows of a case."""
    records = knowledge.ledgers.records(case)
    return CaseView(
        id=case.id,
        anchor=case.name or "run",
        name=case.name,
        device=case.device,
        runnable=runnable(case),
        lines=difference(case.repro.source, case.fix.source),
        repro=highlight(case.repro.source),
        fix=highlight(case.fix.source),
        fix_source=case.fix.source,
        state=knowledge.ledgers.state(case),
        records=records,
        printed=records[0].printed.strip("\n") if records else "",
    )


def fitting_case(knowledge: Knowledge, entry: Entry, template: str) -> str:
    """Return the name of the case whose repro prints the message that matched: the first such, the first of all when none does.

    Messages that hold for one device only lead to a case for that device where no run tells more.
    """
    device = next((message.device for message in entry.messages if message.text == template), "")
    for fits in (lambda case: knowledge.template(case) == template, lambda case: case.device == device):
        if template and (found := next(filter(fits, entry.cases), None)):
            return found.name
    return entry.cases[0].name


def view_answer(answer: Answer, text: str, lang: Lang) -> AnswerView:
    """Return what the page shows for an answer to that text."""
    matches = [_view_match(match, lang) for match in answer.matches]
    first = matches[0] if matches and answer.answered else None
    frame = next((error.frame for error in answer.errors if error.frame), None)
    return AnswerView(
        first=first,
        others=matches[1:] if first else matches,
        excerpt=_excerpt(text, first) if first else [],
        errors=[(error.type, _shown(error.message)) for error in answer.errors],
        frame=(frame.file, frame.line, frame.function, _shown(frame.code)) if frame else None,
    )


def _view_match(match: Match, lang: Lang) -> MatchView:
    evidence = match.evidence
    return MatchView(
        id=match.id,
        title=match.title[lang],
        confidence=match.confidence,
        template=evidence.template,
        words=evidence.words,
        explain=evidence.explain[lang] if evidence.explain else "",
        line=_shown(evidence.line),
        line_number=evidence.line_number,
    )


def _excerpt(text: str, match: MatchView) -> list[PasteLine]:
    """Return the matched line of the paste with those around it; nothing when no single line matched."""
    lines = text.rstrip().split("\n")
    if not 0 < match.line_number <= len(lines):
        return []
    first, last = max(1, match.line_number - _AROUND), min(len(lines), match.line_number + _AROUND)
    shown = {number: _shown(lines[number - 1]) for number in range(first, last + 1)}
    if len(lines[match.line_number - 1]) > _LONGEST_LINE:
        shown[match.line_number] = match.line  # the part that matched need not stand at its beginning
    return [PasteLine(number, line, number == match.line_number) for number, line in shown.items()]


def visible(text: str) -> str:
    """Return text without terminal sequences and control characters."""
    return _CONTROL.sub("", text)


def _shown(text: str) -> str:
    """Return text without control characters, and cut where it is too long to read."""
    text = visible(text)
    return text if len(text) <= _LONGEST_LINE else text[:_LONGEST_LINE] + " …"

"""The view model of an answer: what was found for a paste, and why, in one language."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from kb.index.document import make_document
from kb.render.cause_choice import choose_cause
from kb.search.answer import RecordAnswer
from kb.text.languages import Lang
from webapp.presenters import EntryView, view_entry, visible
from webapp.snapshot import Answer, Match, Snapshot

__all__ = ["AnswerView", "FrameView", "MatchView", "RecordView", "view_answer"]

_MAX_LINE = 400
"""Characters shown of a line of the paste."""
_MAX_RELATED = 3
"""Entries named as related where none answers."""


class MatchView(NamedTuple):
    """A match in one language: its confidence and its evidence."""

    id: str
    title: str
    answer: str
    confidence: str
    template: str
    words: tuple[str, ...]
    explain: str
    line: str
    line_number: int


class FrameView(NamedTuple):
    """The innermost frame in the reader's own code."""

    file: str
    line: int
    code: str


class RecordView(NamedTuple):
    """What the released packages say, in one language. `history` is the name whose history has a page, empty if there is none."""

    text: Markup
    address: str
    history: str


class AnswerView(NamedTuple):
    """An answer in one language.

    `first` is the match shown in full and `entry` its entry, both None when no match answers. `errors` are (type, message).
    """

    first: MatchView | None
    entry: EntryView | None
    others: list[MatchView]
    errors: list[tuple[str, str]]
    frame: FrameView | None
    record: RecordView | None


def view_answer(snapshot: Snapshot, answer: Answer, text: str, lang: Lang) -> AnswerView:
    """Return the view of the answer to that text. The cause that fits the text best is chosen in its entry."""
    matches = [_view_match(snapshot, match, lang) for match in answer.matches]
    first = matches[0] if matches and answer.answered else None
    frame = next((error.frame for error in answer.errors if error.frame), None)
    return AnswerView(
        first=first,
        entry=_entry_for(snapshot, first, text, lang) if first else None,
        others=matches[1:] if first else matches[:_MAX_RELATED],
        errors=[(error.type, _shown(error.message)) for error in answer.errors],
        frame=FrameView(visible(frame.file), frame.line, _shown(frame.code)) if frame else None,
        record=_view_record(answer.record, lang) if answer.record else None,
    )


def _entry_for(snapshot: Snapshot, match: MatchView, text: str, lang: Lang) -> EntryView | None:
    entry = snapshot.corpus.get(match.id)
    if entry is None:
        return None
    choice = choose_cause(make_document(entry, snapshot.ledgers), text, match.template)
    return view_entry(snapshot, entry, lang, choice._replace(clue=_shown(choice.clue)))


def _view_match(snapshot: Snapshot, match: Match, lang: Lang) -> MatchView:
    evidence = match.evidence
    entry = snapshot.corpus.get(match.id)
    return MatchView(
        id=match.id,
        title=match.title[lang],
        answer=entry.answer[lang] if entry else "",
        confidence=match.confidence,
        template=evidence.template,
        words=evidence.words,
        explain=evidence.explain[lang] if evidence.explain else "",
        line=_shown(evidence.line),
        line_number=evidence.line_number,
    )


def _view_record(record: RecordAnswer, lang: Lang) -> RecordView:
    has_history = record.kind == "name" and record.verdict not in ("never", "unknown")
    return RecordView(
        text=_with_code(record.text(lang)),
        address=record.address,
        history=record.name if has_history else "",
    )


def _with_code(text: str) -> Markup:
    """Return text as HTML with its code spans."""
    return Markup().join(
        Markup("<code>{}</code>").format(part) if number % 2 else Markup.escape(part)
        for number, part in enumerate(visible(text).split("`"))
    )


def _shown(text: str) -> str:
    """Return text without control characters, cut to a length that can be read."""
    text = visible(text)
    return text if len(text) <= _MAX_LINE else text[:_MAX_LINE] + " …"

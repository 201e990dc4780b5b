"""The view model of an answer: what was found for a paste, and why, in one language."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from kb.corpus.entry import Entry
from kb.documents.making import make_document
from kb.render.declining import how_it_differs, what_was_read
from kb.render.own_line import OwnLine, own_line_change
from kb.render.prose import blocks
from kb.search.answer import RecordAnswer
from kb.search.cause_choice import CauseChoice, fitting_cause
from kb.text.languages import Lang
from webapp.highlighting import Line, difference
from webapp.presenters import EntryView, view_entry, visible
from webapp.snapshot import Answer, Match, Snapshot

__all__ = ["AnswerView", "FrameView", "MatchView", "RecordView", "fitting_parts", "view_answer", "with_code"]

_MAX_LINE = 400
"""Characters shown of a line of the paste."""
_MAX_TELL = 2
"""Paragraphs shown of how to tell whether an entry is the one."""
_MAX_OTHERS = 4
"""Entries that stand open below the one that answers; further ones are folded away."""
_MAX_RELATED = 3
"""Entries that stand open where none answers."""


class MatchView(NamedTuple):
    """A match in one language: its confidence and its evidence. `is_equal` says that it explains the same message as the first, as surely."""

    id: str
    title: str
    answer: str
    how_to_tell: tuple[str, ...]
    difference: Markup
    is_equal: bool
    confidence: str
    template: str
    words: tuple[str, ...]
    explain: str
    line: str
    line_number: int
    is_whole: bool


class FrameView(NamedTuple):
    """The innermost frame in the reader's own code. `change` is the difference on its line, empty where none is certain."""

    file: str
    line: int
    code: str
    change: tuple[Line, ...] = ()


class RecordView(NamedTuple):
    """What the released packages say, in one language. `history` is the name whose history has a page, empty if there is none."""

    text: Markup
    address: str
    history: str


class AnswerView(NamedTuple):
    """An answer in one language.

    `first` is the match shown in full and `entry` its entry, both None when no match answers. `others` are the next ones, and `further` those that are
    folded away below them; there are none where nothing is near. `outcome` is that of the answer. `errors` are (type, message).
    Where no match answers, `read` is what was read in the paste, `next_step` what to try, and `is_foreign` says that another library raised the error.
    """

    first: MatchView | None
    entry: EntryView | None
    others: list[MatchView]
    further: list[MatchView]
    outcome: str
    errors: list[tuple[str, str]]
    frame: FrameView | None
    record: RecordView | None
    read: Markup
    next_step: Markup
    is_foreign: bool


def view_answer(snapshot: Snapshot, answer: Answer, text: str, lang: Lang) -> AnswerView:
    """Return the view of the answer to that text. The cause that fits the text best is chosen in its entry."""
    answer = answer._replace(lang=lang)
    matches = [_view_match(snapshot, answer, match, is_equal=match in answer.equals) for match in answer.matches]
    first = matches[0] if matches and answer.answered else None
    fit = _fit(snapshot, answer, text)
    rest, shown = (matches[1:], _MAX_OTHERS) if first else (matches, _MAX_RELATED)
    return AnswerView(
        first=first,
        entry=view_entry(snapshot, fit.entry, lang, fit.choice._replace(clue=_shown(fit.choice.clue))) if fit else None,
        others=rest[:shown],
        further=rest[shown:] if first or answer.outcome == "unsure" else [],
        outcome=answer.outcome,
        errors=[(error.type, _shown(error.message)) for error in answer.errors],
        frame=_view_frame(answer, fit.change if fit else None),
        record=_view_record(answer.record, lang) if answer.record else None,
        read=Markup("") if answer.answered else with_code(what_was_read(answer)),
        next_step=with_code(answer.understood.next_step[lang] if answer.understood else ""),
        is_foreign=answer.is_foreign,
    )


def fitting_parts(snapshot: Snapshot, answer: Answer, text: str) -> tuple[CauseChoice | None, OwnLine | None]:
    """Return the cause that fits, and the change of the line at which the reader's program failed; None where there is no answer or no certain change."""
    fit = _fit(snapshot, answer, text)
    return (fit.choice, fit.change) if fit else (None, None)


class _Fit(NamedTuple):
    """What of the entry that answers fits the text: a cause, and a change of the reader's own line where one is certain."""

    entry: Entry
    choice: CauseChoice
    change: OwnLine | None


def _fit(snapshot: Snapshot, answer: Answer, text: str) -> _Fit | None:
    entry = snapshot.corpus.get(answer.matches[0].id) if answer.answered else None
    if entry is None:
        return None
    document = make_document(entry, snapshot.ledgers)
    choice = fitting_cause(answer, document, text)
    return _Fit(entry, choice, own_line_change(answer, document, choice))


def _view_frame(answer: Answer, change: OwnLine | None) -> FrameView | None:
    frame = next((error.frame for error in answer.errors if error.frame), None)
    if frame is None:
        return None
    lines = difference(*(visible("\n".join(part)) for part in (change.before, change.after))) if change else ()
    return FrameView(visible(frame.file), frame.line, _shown(frame.code), lines)


def _view_match(snapshot: Snapshot, answer: Answer, match: Match, *, is_equal: bool) -> MatchView:
    evidence, lang = match.evidence, answer.lang
    entry = snapshot.corpus.get(match.id)
    messages = [message.text for message in entry.messages] if entry else []
    return MatchView(
        id=match.id,
        title=match.title[lang],
        answer=entry.answer[lang] if entry else "",
        how_to_tell=tuple(text for _, text in blocks(entry.guidance[lang].how_to_tell))[:_MAX_TELL] if entry else (),
        difference=with_code(how_it_differs(answer, match, messages)),
        is_equal=is_equal,
        confidence=match.confidence,
        template=evidence.template,
        words=evidence.words,
        explain=evidence.explain[lang] if evidence.explain else "",
        line=_shown(evidence.line),
        line_number=evidence.line_number,
        is_whole=evidence.is_whole,
    )


def _view_record(record: RecordAnswer, lang: Lang) -> RecordView:
    has_history = record.kind == "name" and record.verdict not in ("never", "unknown")
    return RecordView(
        text=with_code(record.text(lang)),
        address=record.address,
        history=record.name if has_history else "",
    )


def with_code(text: str) -> Markup:
    """Return text as HTML with its code spans."""
    return Markup().join(
        Markup("<code>{}</code>").format(part) if number % 2 else Markup.escape(part)
        for number, part in enumerate(visible(text).split("`"))
    )


def _shown(text: str) -> str:
    """Return text without control characters, cut to a length that can be read."""
    text = visible(text)
    return text if len(text) <= _MAX_LINE else text[:_MAX_LINE] + " …"

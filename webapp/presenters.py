"""View models of entries for the templates: plain data in one language."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from flask import url_for
from markupsafe import Markup

from kb.corpus.collection import origin
from kb.corpus.entry import Case, ChangeItem, Check, Entry
from kb.corpus.ledger import Record
from kb.documents.remedy import comparable, without_asserts
from kb.render.entry_text import short_cause
from kb.render.prose import sentence
from kb.search.cause_choice import CauseChoice
from kb.text.languages import Lang
from kb.verify.version_drift import Change, ReleaseRun
from webapp.highlighting import Line, difference, highlight, hunks
from webapp.markdown import link_entries, render, render_inline
from webapp.snapshot import Snapshot

__all__ = [
    "CaseView",
    "CauseView",
    "ChangeView",
    "CheckView",
    "EntryView",
    "MessageView",
    "message_title",
    "placeholders",
    "runnable",
    "view_case",
    "view_changes",
    "view_entry",
    "visible",
]

_PLACEHOLDER = re.compile(r"\{(?:\w+:)?(\w+)\}")
_CASE_LINK = re.compile(r"\]\(#([a-z0-9-]+)\)")
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ISSUE = re.compile(r"/([^/]+/[^/]+)/(?:issues|pull|discussions)/(\d+)")
_CONTEXT_LINES = 2
"""Unchanged lines shown before and after a change."""


class CaseView(NamedTuple):
    """A case: what changes between its repro and its fix, the asserts that prove it, both programs, and the ledgers' records of them.

    `added` is what the reader copies: the lines that the fix adds.
    """

    id: str
    anchor: str
    name: str
    torch: str
    device: str
    runnable: bool
    lines: tuple[Line, ...]
    added: str
    check: Markup
    repro: Markup
    fix: Markup
    state: str
    records: list[Record]
    printed: str


class CheckView(NamedTuple):
    """A program that tells causes apart, and what it printed in its last run."""

    anchor: str
    name: str
    torch: str
    device: str
    program: Markup
    source: str
    state: str
    records: list[Record]
    printed: str


class CauseView(NamedTuple):
    """A cause with its change, numbered from 1. `clue` is the piece of the paste for which it was chosen, or empty.

    `leads` says that it is said first, in place of the entry's answer: its change, below its `short` label, which is empty where there is nothing to say.
    """

    number: int
    label: Markup
    short: Markup
    change: Markup
    cases: list[CaseView]
    entries: list[tuple[str, str]]
    chosen: bool
    leads: bool
    clue: str
    in_frame: bool


class MessageView(NamedTuple):
    """A message of an entry, the range of torch and the device it is limited to, and the releases on which a case of the entry printed it."""

    text: str
    torch: str
    device: str
    printed_by: frozenset[str]


class ChangeView(NamedTuple):
    """An entry whose cases a release words otherwise, or treats otherwise, and for each of them (anchor, name, change)."""

    entry: Entry
    changes: list[tuple[str, str, Change]]


class EntryView(NamedTuple):
    """An entry in one language. Its causes are the commonest first, but one that fits what was pasted before all others.

    `related` are (slug, title), `documentation` (label, address), `other_cases` those that no cause names. `releases` are those of torch on which
    its cases ran, oldest first.
    """

    id: str
    topic: str
    kind: str
    origin: str
    title: str
    heading: str
    answer: Markup
    summary: str
    causes: list[CauseView]
    other_cases: list[CaseView]
    how_to_tell: Markup
    checks: list[CheckView]
    why: Markup
    messages: list[MessageView]
    releases: tuple[str, ...]
    apis: tuple[str, ...]
    tags: tuple[str, ...]
    documentation: list[tuple[str, str]]
    related: list[tuple[str, str]]


def message_title(entry: Entry, lang: Lang) -> str:
    """Return the entry's current message with `…` for each placeholder, which is what people search for; its title where it has no message."""
    if not entry.messages:
        return entry.title[lang]
    return _PLACEHOLDER.sub("…", entry.messages[0].text)


def placeholders(template: str) -> Markup:
    """Return a message as HTML with each placeholder as its type in `<var>`: `{input:shape}` as *shape*."""
    parts = _PLACEHOLDER.split(template)
    return Markup().join(
        Markup("<var>{}</var>").format(part) if i % 2 else Markup.escape(part) for i, part in enumerate(parts)
    )


def view_entry(snapshot: Snapshot, entry: Entry, lang: Lang, choice: CauseChoice | None = None) -> EntryView:
    """Return the view of an entry in that language. `choice` is the cause that is shown at first, by default the first one."""
    choice = choice or CauseChoice(0, "")
    guidance = entry.guidance[lang]
    answer = render_inline(entry.answer[lang])
    named = {name for item in guidance.items for name in item.cases}
    causes = [_view_cause(snapshot, entry, lang, item, index, choice) for index, item in enumerate(guidance.items)]
    printed = snapshot.printed_by(entry)
    return EntryView(
        id=entry.id,
        topic=entry.topic,
        kind=entry.kind,
        origin=origin(entry),
        title=entry.title[lang],
        heading=message_title(entry, lang),
        answer=answer,
        summary=answer.striptags(),
        causes=sorted(causes, key=lambda cause: not cause.chosen),
        other_cases=[view_case(snapshot, case) for case in entry.cases if case.name not in named],
        how_to_tell=_prose(guidance.how_to_tell),
        checks=[_view_check(snapshot, check) for check in entry.checks],
        why=_prose(guidance.why),
        messages=[
            MessageView(message.text, message.torch, message.device, names) for message, names in printed.by_message
        ],
        releases=printed.releases,
        apis=entry.apis,
        tags=entry.tags,
        documentation=[(_source_label(source), source) for source in entry.sources if source.startswith("https://")],
        related=_titles(snapshot, entry.related, lang),
    )


def view_changes(snapshot: Snapshot, run: ReleaseRun) -> list[ChangeView]:
    """Return the changes of a release by entry, in the order of slugs; those of entries and cases that are gone are left out."""
    views: dict[str, ChangeView] = {}
    for change in run.changes:
        known = snapshot.case(change.case)
        if known:
            entry, case = known
            view = views.setdefault(entry.id, ChangeView(entry, []))
            view.changes.append((_anchor(case), case.name, change))
    return sorted(views.values(), key=lambda view: view.entry.id)


def _anchor(case: Case) -> str:
    """Return the name of the case's place on its entry's page."""
    return f"case-{case.name or 'run'}"


def runnable(case: Case) -> bool:
    """Return whether readers may run the case: it needs no GPU and no other operating system."""
    return case.device == "cpu" and not case.os


def view_case(snapshot: Snapshot, case: Case) -> CaseView:
    """Return the view of a case."""
    records = snapshot.ledgers.records(case)
    lines = _change_of(case.repro.source, case.fix.source)
    return CaseView(
        id=case.id,
        anchor=_anchor(case),
        name=case.name,
        torch=case.torch,
        device=case.device,
        runnable=runnable(case),
        lines=lines,
        added=added_lines(lines),
        check=highlight(without_asserts(case.fix.source)[1]),
        repro=highlight(case.repro.source),
        fix=highlight(case.fix.source),
        state=snapshot.ledgers.state(case),
        records=records,
        printed=records[0].printed.strip("\n") if records else "",
    )


@lru_cache(maxsize=1024)
def _change_of(repro: str, fix: str) -> tuple[Line, ...]:
    return hunks(difference(*comparable(repro, fix)), _CONTEXT_LINES)


def added_lines(lines: Iterable[Line]) -> str:
    """Return the lines that a difference adds, without their common indent."""
    return textwrap.dedent("\n".join(line.text for line in lines if line.sign == "added")).strip("\n")


def visible(text: str) -> str:
    """Return text without terminal sequences and control characters."""
    return _CONTROL.sub("", text)


def _view_cause(
    snapshot: Snapshot, entry: Entry, lang: Lang, item: ChangeItem, index: int, choice: CauseChoice
) -> CauseView:
    chosen = index == choice.item
    leads = chosen and choice.leads
    cases = [case for case in entry.cases if case.name in item.cases]
    if chosen:
        cases.sort(key=lambda case: case.name != choice.case)
    return CauseView(
        number=index + 1,
        label=render_inline(item.cause),
        short=render_inline(short_cause(item.cause)) if leads else Markup(""),
        change=_prose(sentence(item.change)),
        cases=[view_case(snapshot, case) for case in cases],
        entries=[] if cases else _titles(snapshot, item.entries, lang),
        chosen=chosen,
        leads=leads,
        clue=choice.clue if chosen else "",
        in_frame=choice.in_frame,
    )


def _view_check(snapshot: Snapshot, check: Check) -> CheckView:
    records = snapshot.ledgers.records(check)
    return CheckView(
        anchor=f"case-{check.name}",
        name=check.name,
        torch=check.torch,
        device=check.device,
        program=highlight(check.program.source),
        source=check.program.source,
        state=snapshot.ledgers.state(check),
        records=records,
        printed=records[0].printed.strip("\n") if records else "",
    )


def _prose(text: str) -> Markup:
    """Return prose of an entry as HTML, with links to the pages of other entries and to the cases on its own page."""
    linked = link_entries(_CASE_LINK.sub(r"](#case-\1)", text), lambda slug: url_for("pages.entry", slug=slug))
    return render(linked)


def _titles(snapshot: Snapshot, slugs: Iterable[str], lang: Lang) -> list[tuple[str, str]]:
    """Return (slug, title) of the entries that there are."""
    entries = [snapshot.corpus.get(slug) for slug in slugs]
    return [(entry.id, entry.title[lang]) for entry in entries if entry]


def _source_label(address: str) -> str:
    """Return what a link to a source is called: the API or the page that it documents, or the issue."""
    url = urlsplit(address)
    if issue := _ISSUE.fullmatch(url.path) if url.netloc == "github.com" else None:
        return f"{issue[1]}#{issue[2]}"
    if url.fragment.startswith("torch"):
        return unquote(url.fragment)
    page = unquote(url.path.rstrip("/").rpartition("/")[2]).removesuffix(".html")
    name = page or url.netloc
    return f"{name}: {url.fragment}" if url.fragment else name

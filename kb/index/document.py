"""What is shown of an entry, as plain JSON data: made when the index is built, so an answer parses no Markdown and computes no difference."""

from __future__ import annotations

from typing import TypedDict

from kb.text.languages import LANGUAGES, Lang

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb.corpus.entry import Bilingual, Case, Check, Edit, Entry
    from kb.corpus.ledger import Ledgers, Record

__all__ = [
    "Badge",
    "CaseDocument",
    "ChangeDocument",
    "CheckDocument",
    "EditDocument",
    "EntryDocument",
    "EntrySummary",
    "RelatedEntry",
    "changed_lines",
    "make_document",
    "make_summary",
]


class Badge(TypedDict):
    """Where and when a case was verified. `gpu` names model, driver and CUDA version, or is empty; `packages` are the versions of what its entry requires."""

    torch: str
    packages: dict[str, str]
    device: str
    date: str
    gpu: str


class CaseDocument(TypedDict):
    """One case: both programs, their difference, what the repro printed last, and where it was verified."""

    id: str
    name: str
    device: str
    gpus: int
    os: str
    repro: str
    fix: str
    diff: list[str]
    last_line: str
    state: str
    badges: list[Badge]


class CheckDocument(TypedDict):
    """A program that tells causes apart, and what it printed last time."""

    id: str
    name: str
    device: str
    gpus: int
    os: str
    program: str
    printed: str
    state: str
    badges: list[Badge]


class ChangeDocument(TypedDict):
    """One item of *What to change*, in one language: the cause, the change, and what it leads to, by names of cases and slugs of entries."""

    cause: str
    change: str
    cases: list[str]
    entries: list[str]


class EditDocument(TypedDict):
    """A change of one expression, which is that of a case, words of its messages, and what names of its pattern have to be."""

    case: str
    before: str
    after: str
    message: str
    where: dict[str, str]


class RelatedEntry(TypedDict):
    """An entry that another one names as related."""

    id: str
    title: dict[Lang, str]


class EntrySummary(TypedDict):
    """What a list of matches or entries needs of one."""

    id: str
    topic: str
    kind: str
    title: dict[Lang, str]
    answer: dict[Lang, str]
    explanations: dict[str, dict[Lang, str]]
    generic: list[str]
    tags: list[str]
    also: list[str]


class EntryDocument(TypedDict):
    """One entry as pages and terminals show it."""

    id: str
    topic: str
    kind: str
    title: dict[Lang, str]
    answer: dict[Lang, str]
    items: dict[Lang, list[ChangeDocument]]
    how_to_tell: dict[Lang, str]
    why: dict[Lang, str]
    messages: list[str]
    explanations: dict[str, dict[Lang, str]]
    inspect: str
    edits: list[EditDocument]
    apis: list[str]
    tags: list[str]
    sources: list[str]
    also: list[str]
    related: list[RelatedEntry]
    cases: list[CaseDocument]
    checks: list[CheckDocument]


def make_document(entry: Entry, ledgers: Ledgers) -> EntryDocument:
    """Return the entry with the difference and the badges of each case. Related entries have no titles yet: `Index.document` adds them."""
    return {
        "id": entry.id,
        "topic": entry.topic,
        "kind": entry.kind,
        "title": _by_language(entry.title),
        "answer": _by_language(entry.answer),
        "items": {lang: _items(entry, lang) for lang in LANGUAGES},
        "how_to_tell": {lang: entry.guidance[lang].how_to_tell for lang in LANGUAGES},
        "why": {lang: entry.guidance[lang].why for lang in LANGUAGES},
        "messages": [message.text for message in entry.messages],
        "explanations": _explanations(entry),
        "inspect": entry.inspect,
        "edits": [_edit(edit) for edit in entry.edits],
        "apis": list(entry.apis),
        "tags": list(entry.tags),
        "sources": list(entry.sources),
        "also": list(entry.also),
        "related": [{"id": slug, "title": {}} for slug in entry.related],
        "cases": [_case_document(case, ledgers) for case in entry.cases],
        "checks": [_check_document(check, ledgers) for check in entry.checks],
    }


def make_summary(entry: Entry) -> EntrySummary:
    """Return the summary of an entry."""
    return {
        "id": entry.id,
        "topic": entry.topic,
        "kind": entry.kind,
        "title": _by_language(entry.title),
        "answer": _by_language(entry.answer),
        "explanations": _explanations(entry),
        "generic": [message.text for message in entry.messages if message.is_generic],
        "tags": list(entry.tags),
        "also": list(entry.also),
    }


def changed_lines(before: str, after: str, context: int = 1) -> list[str]:
    """Return the lines that differ, marked `-` and `+`, with `context` unchanged lines around them and `…` where others are left out."""
    import difflib

    lines: list[str] = []
    diff = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=context))[2:]
    for line in diff:
        if not line.startswith("@@"):
            lines.append(line)
        elif lines:
            lines.append("…")
    return lines


def _case_document(case: Case, ledgers: Ledgers) -> CaseDocument:
    from kb.templates.program_output import last_line

    records = ledgers.records(case)
    return {
        "id": case.id,
        "name": case.name,
        "device": case.device,
        "gpus": case.gpus,
        "os": case.os,
        "repro": case.repro.source,
        "fix": case.fix.source,
        "diff": changed_lines(case.repro.source, case.fix.source),
        "last_line": last_line(records[0].printed) if records else "",
        "state": ledgers.state(case),
        "badges": _badges(records),
    }


def _check_document(check: Check, ledgers: Ledgers) -> CheckDocument:
    records = ledgers.records(check)
    return {
        "id": check.id,
        "name": check.name,
        "device": check.device,
        "gpus": check.gpus,
        "os": check.os,
        "program": check.program.source,
        "printed": records[0].printed if records else "",
        "state": ledgers.state(check),
        "badges": _badges(records),
    }


def _badges(records: Sequence[Record]) -> list[Badge]:
    return [
        {
            "torch": record.torch,
            "packages": dict(record.packages),
            "device": record.device,
            "date": record.date,
            "gpu": record.gpu,
        }
        for record in records
    ]


def _items(entry: Entry, lang: Lang) -> list[ChangeDocument]:
    return [
        {"cause": item.cause, "change": item.change, "cases": list(item.cases), "entries": list(item.entries)}
        for item in entry.guidance[lang].items
    ]


def _edit(edit: Edit) -> EditDocument:
    return {
        "case": edit.case,
        "before": edit.before,
        "after": edit.after,
        "message": edit.message,
        "where": edit.where,
    }


def _explanations(entry: Entry) -> dict[str, dict[Lang, str]]:
    """Return the line about the reader's values, in both languages, by the text of the message that captures them."""
    return {message.text: _by_language(message.explain) for message in entry.messages if message.explain}


def _by_language(text: Bilingual) -> dict[Lang, str]:
    return {lang: text[lang] for lang in LANGUAGES}

"""What is shown of an entry, as plain JSON data: made when the index is built, so an answer parses no Markdown and computes no difference."""

from __future__ import annotations

from typing import TypedDict

from kb.text.languages import LANGUAGES, Lang

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.corpus.entry import Bilingual, Case, Check, Edit, Entry, Runnable
    from kb.corpus.ledger import Ledgers

__all__ = [
    "Badge",
    "CaseDocument",
    "ChangeDocument",
    "CheckDocument",
    "EditDocument",
    "EntryDocument",
    "EntryHead",
    "EntrySummary",
    "RelatedEntry",
    "RunnableDocument",
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


class RunnableDocument(TypedDict):
    """What a case and a check have in common: what the programs need to run, and where they were verified."""

    id: str
    name: str
    torch: str
    device: str
    gpus: int
    os: str
    state: str
    badges: list[Badge]


class CaseDocument(RunnableDocument):
    """One case: both programs, their difference, and what the repro printed last."""

    repro: str
    fix: str
    diff: list[str]
    last_line: str


class CheckDocument(RunnableDocument):
    """A program that tells causes apart, and what it printed last time."""

    program: str
    printed: str


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


class EntryHead(TypedDict):
    """What a list of entries and the page of one have in common."""

    id: str
    topic: str
    kind: str
    title: dict[Lang, str]
    answer: dict[Lang, str]
    explanations: dict[str, dict[Lang, str]]
    tags: list[str]
    also: list[str]


class EntrySummary(EntryHead):
    """What a list of matches or entries needs of one. `generic` are the messages that any Python program may print."""

    generic: list[str]


class EntryDocument(EntryHead):
    """One entry as pages and terminals show it."""

    items: dict[Lang, list[ChangeDocument]]
    how_to_tell: dict[Lang, str]
    why: dict[Lang, str]
    messages: list[str]
    inspect: str
    edits: list[EditDocument]
    apis: list[str]
    sources: list[str]
    related: list[RelatedEntry]
    cases: list[CaseDocument]
    checks: list[CheckDocument]


def make_document(entry: Entry, ledgers: Ledgers) -> EntryDocument:
    """Return the entry with the difference and the badges of each case. Related entries have no titles yet: `Index.document` adds them."""
    return {
        **_head(entry),
        "items": {lang: _items(entry, lang) for lang in LANGUAGES},
        "how_to_tell": {lang: entry.guidance[lang].how_to_tell for lang in LANGUAGES},
        "why": {lang: entry.guidance[lang].why for lang in LANGUAGES},
        "messages": [message.text for message in entry.messages],
        "inspect": entry.inspect,
        "edits": [_edit(edit) for edit in entry.edits],
        "apis": list(entry.apis),
        "sources": list(entry.sources),
        "related": [{"id": slug, "title": {}} for slug in entry.related],
        "cases": [_case_document(case, ledgers) for case in entry.cases],
        "checks": [_check_document(check, ledgers) for check in entry.checks],
    }


def make_summary(entry: Entry) -> EntrySummary:
    """Return the summary of an entry."""
    return {**_head(entry), "generic": [message.text for message in entry.messages if message.is_generic]}


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


def _head(entry: Entry) -> EntryHead:
    return {
        "id": entry.id,
        "topic": entry.topic,
        "kind": entry.kind,
        "title": _by_language(entry.title),
        "answer": _by_language(entry.answer),
        "explanations": {message.text: _by_language(message.explain) for message in entry.messages if message.explain},
        "tags": list(entry.tags),
        "also": list(entry.also),
    }


def _runnable(subject: Runnable, ledgers: Ledgers) -> RunnableDocument:
    badges: list[Badge] = [
        {
            "torch": record.torch,
            "packages": dict(record.packages),
            "device": record.device,
            "date": record.date,
            "gpu": record.gpu,
        }
        for record in ledgers.records(subject)
    ]
    return {
        "id": subject.id,
        "name": subject.name,
        "torch": subject.torch,
        "device": subject.device,
        "gpus": subject.gpus,
        "os": subject.os,
        "state": ledgers.state(subject),
        "badges": badges,
    }


def _case_document(case: Case, ledgers: Ledgers) -> CaseDocument:
    from kb.templates.program_output import last_line

    return {
        **_runnable(case, ledgers),
        "repro": case.repro.source,
        "fix": case.fix.source,
        "diff": changed_lines(case.repro.source, case.fix.source),
        "last_line": last_line(_printed(case, ledgers)),
    }


def _check_document(check: Check, ledgers: Ledgers) -> CheckDocument:
    return {**_runnable(check, ledgers), "program": check.program.source, "printed": _printed(check, ledgers)}


def _printed(subject: Runnable, ledgers: Ledgers) -> str:
    """Return what the newest record says that a case's repro or a check printed, or the empty string."""
    return next((record.printed for record in ledgers.records(subject)), "")


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


def _by_language(text: Bilingual) -> dict[Lang, str]:
    return {lang: text[lang] for lang in LANGUAGES}

"""Make the documents of an entry when the index is built, so an answer parses no Markdown and computes no difference."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from kb.documents.shapes import (
    Badge,
    CaseDocument,
    ChangeDocument,
    CheckDocument,
    EditDocument,
    EntryDocument,
    EntryHead,
    MessagesDocument,
)
from kb.templates.conditions import read_conditions
from kb.text.languages import LANGUAGES, Lang

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.corpus.entry import Case, Check, Entry, Runnable
    from kb.corpus.ledger import Ledgers

__all__ = ["changed_lines", "make_document", "make_messages", "make_summary"]

_Document = TypeVar("_Document")


def make_document(entry: Entry, ledgers: Ledgers) -> EntryDocument:
    """Return the entry with the difference and the badges of each case. Related entries have no titles yet: `Index.document` adds them."""
    guidance = {lang: entry.guidance[lang] for lang in LANGUAGES}
    return _fill(
        EntryDocument,
        entry,
        explanations=_explanations(entry),
        items={lang: [_fill(ChangeDocument, item) for item in guidance[lang].items] for lang in LANGUAGES},
        causes=entry.named_causes,
        causes_by_values={text: read_conditions(causes) for text, causes in entry.causes_by_values.items()},
        how_to_tell={lang: guidance[lang].how_to_tell for lang in LANGUAGES},
        why={lang: guidance[lang].why for lang in LANGUAGES},
        messages=[message.text for message in entry.messages],
        edits=[_fill(EditDocument, edit) for edit in entry.edits],
        related=[{"id": slug, "title": {}} for slug in entry.related],
        cases=[_case_document(entry, case, ledgers) for case in entry.cases],
        checks=[_check_document(check, ledgers) for check in entry.checks],
    )


def make_summary(entry: Entry) -> EntryHead:
    """Return the summary of an entry."""
    return _fill(EntryHead, entry)


def make_messages(entry: Entry) -> MessagesDocument:
    """Return what a match needs of the entry's messages."""
    generic = [message.text for message in entry.messages if message.is_generic]
    raised_in = {message.text: list(message.raised_in) for message in entry.messages if message.raised_in}
    raised_below = {message.text: list(message.raised_below) for message in entry.messages if message.raised_below}
    files = {"raised_in": raised_in, "raised_below": raised_below}
    return _fill(MessagesDocument, entry, explanations=_explanations(entry), generic=generic, **files)


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


def _fill(shape: type[_Document], source: object, **others: object) -> _Document:
    """Return a document of that shape: what has the same names in the source, and the others."""
    document = {
        name: others[name] if name in others else _plain(getattr(source, name)) for name in shape.__annotations__
    }
    return cast("_Document", document)


def _plain(value: Any) -> Any:
    from kb.corpus.entry import Bilingual

    if isinstance(value, Bilingual):
        return {lang: value[lang] for lang in LANGUAGES}
    return list(value) if isinstance(value, tuple) else value


def _explanations(entry: Entry) -> dict[str, dict[Lang, str]]:
    return {message.text: _plain(message.explain) for message in entry.messages if message.explain}


def _runnable_parts(subject: Runnable, ledgers: Ledgers) -> dict[str, Any]:
    return {"state": ledgers.state(subject), "badges": [_fill(Badge, record) for record in ledgers.records(subject)]}


def _case_document(entry: Entry, case: Case, ledgers: Ledgers) -> CaseDocument:
    from kb.documents.remedy import remedy
    from kb.templates.printed_messages import printed_messages
    from kb.templates.program_output import last_line

    repro, fix = case.repro.source, case.fix.source
    diff = changed_lines(repro, fix)
    outputs = dict.fromkeys(record.printed for record in ledgers.records(case))
    printed = {message.text for output in outputs for message in printed_messages(entry, output)}
    return _fill(
        CaseDocument,
        case,
        **_runnable_parts(case, ledgers),
        repro=repro,
        fix=fix,
        diff=diff,
        remedy=remedy(diff, fix),
        last_lines=list(dict.fromkeys(filter(None, map(last_line, outputs)))),
        messages=[message.text for message in entry.messages if message.text in printed],
    )


def _check_document(check: Check, ledgers: Ledgers) -> CheckDocument:
    parts = _runnable_parts(check, ledgers)
    printed = next((record.printed for record in ledgers.records(check)), "")
    return _fill(CheckDocument, check, **parts, program=check.program.source, printed=printed)

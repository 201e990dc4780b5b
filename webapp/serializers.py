"""JSON documents of the API, made from entries, ledgers and answers."""

from __future__ import annotations

from typing import Any

from flask import url_for

from kb.corpus.entry import Case, Check, Entry, Message
from kb.render.entry_markdown import items_markdown
from kb.text.languages import LANGUAGES, Lang
from webapp.answer_view import fitting_parts
from webapp.snapshot import Answer, Snapshot

__all__ = ["answer_document", "entry_document", "entry_summary"]


def answer_document(snapshot: Snapshot, answer: Answer, text: str) -> dict[str, Any]:
    """Return the answer to that text as `kb lookup --json` prints it, with the address and the guidance of each match."""
    cause, change = fitting_parts(snapshot, answer, text)
    document = answer.to_dict() | {"cause": cause and cause.to_dict(), "change": change and change._asdict()}
    for match in document["matches"]:
        match["url"] = url_for("pages.entry", slug=match["id"])
        entry = snapshot.corpus.get(match["id"])
        if entry:
            match.update(_guidance(entry))
    return document


def entry_summary(entry: Entry) -> dict[str, Any]:
    """Return the fields of an entry in a list of entries."""
    return {
        "id": entry.id,
        "url": url_for("pages.entry", slug=entry.id),
        "topic": entry.topic,
        "kind": entry.kind,
        "title": {lang: entry.title[lang] for lang in LANGUAGES},
        "answer": {lang: entry.answer[lang] for lang in LANGUAGES},
        "tags": list(entry.tags),
        "apis": list(entry.apis),
    }


def entry_document(snapshot: Snapshot, entry: Entry) -> dict[str, Any]:
    """Return a whole entry: prose in both languages as Markdown, its programs, and where they were verified.

    `fix` is the answer and the items in one Markdown text, for clients that know no items.
    """
    return entry_summary(entry) | {
        "messages": [_message(message) for message in entry.messages],
        **_guidance(entry),
        "fix": {lang: items_markdown(entry.answer[lang], _items(entry, lang)) for lang in LANGUAGES},
        "cases": [_case(snapshot, case) for case in entry.cases],
        "checks": [_check(snapshot, check) for check in entry.checks],
        "related": list(entry.related),
        "sources": list(entry.sources),
    }


def _guidance(entry: Entry) -> dict[str, Any]:
    return {
        "answer": {lang: entry.answer[lang] for lang in LANGUAGES},
        "items": {lang: _items(entry, lang) for lang in LANGUAGES},
        "how_to_tell": {lang: entry.guidance[lang].how_to_tell for lang in LANGUAGES},
        "why": {lang: entry.guidance[lang].why for lang in LANGUAGES},
    }


def _items(entry: Entry, lang: Lang) -> list[dict[str, Any]]:
    return [
        {"cause": item.cause, "change": item.change, "cases": list(item.cases), "entries": list(item.entries)}
        for item in entry.guidance[lang].items
    ]


def _message(message: Message) -> dict[str, Any]:
    explain = {lang: message.explain[lang] for lang in LANGUAGES} if message.explain else None
    return {"text": message.text, "torch": message.torch, "device": message.device, "explain": explain}


def _case(snapshot: Snapshot, case: Case) -> dict[str, Any]:
    return {
        "id": case.id,
        "torch": case.torch,
        "device": case.device,
        "repro": case.repro.source,
        "fix": case.fix.source,
        "state": snapshot.ledgers.state(case),
        "verified": _verified(snapshot, case),
    }


def _check(snapshot: Snapshot, check: Check) -> dict[str, Any]:
    records = snapshot.ledgers.records(check)
    return {
        "id": check.id,
        "torch": check.torch,
        "device": check.device,
        "program": check.program.source,
        "printed": records[0].printed if records else "",
        "state": snapshot.ledgers.state(check),
        "verified": _verified(snapshot, check),
    }


def _verified(snapshot: Snapshot, program: Case | Check) -> list[dict[str, Any]]:
    return [
        {
            "torch": record.torch,
            "packages": dict(record.packages),
            "device": record.device,
            "gpu": record.gpu,
            "date": record.date,
        }
        for record in snapshot.ledgers.records(program)
    ]

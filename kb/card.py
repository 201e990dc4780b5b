"""What a terminal shows of an entry, as plain data: made when the index is built, so that an answer parses no Markdown and computes no difference."""

from __future__ import annotations

import difflib
from typing import Any

from kb.entry import LANGUAGES, Case, Entry
from kb.ledger import Ledgers
from kb.printed import last_line

__all__ = ["changes", "make_card"]


def make_card(entry: Entry, ledgers: Ledgers) -> dict[str, Any]:
    """Return the entry as JSON data, with the difference and the badges of each case; related entries are named by their slugs."""
    return {
        "id": entry.id,
        "topic": entry.topic,
        "kind": entry.kind,
        "title": _both(entry.title),
        "why": {lang: entry.prose[lang].why for lang in LANGUAGES},
        "fix": {lang: entry.prose[lang].fix for lang in LANGUAGES},
        "explain": _both(entry.explain) if entry.explain else None,
        "messages": [message.text for message in entry.messages],
        "apis": list(entry.apis),
        "tags": list(entry.tags),
        "sources": list(entry.sources),
        "also": list(entry.also),
        "related": list(entry.related),
        "cases": [_case(case, ledgers) for case in entry.cases],
    }


def changes(before: str, after: str, context: int = 1) -> list[str]:
    """Return the lines that differ, marked `-` and `+`, with some unchanged lines around them and `…` where others are left out."""
    lines: list[str] = []
    diff = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=context))[2:]
    for line in diff:
        if not line.startswith("@@"):
            lines.append(line)
        elif lines:
            lines.append("…")
    return lines


def _case(case: Case, ledgers: Ledgers) -> dict[str, Any]:
    records = ledgers.records(case)
    return {
        "id": case.id,
        "name": case.name,
        "device": case.device,
        "os": case.os,
        "repro": case.repro.source,
        "fix": case.fix.source,
        "diff": changes(case.repro.source, case.fix.source),
        "said": last_line(records[0].printed) if records else "",
        "state": ledgers.state(case),
        "badges": [
            {"torch": found.torch, "device": found.device, "date": found.date, "gpu": found.gpu} for found in records
        ],
    }


def _both(text: Any) -> dict[str, str]:
    return {lang: text[lang] for lang in LANGUAGES}

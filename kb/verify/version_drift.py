"""Compares the ledgers of two versions of torch: which messages they word differently. `python -m kb.verify.version_drift 2.4.1`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from kb.corpus.ledger import Ledgers, load_ledgers
from kb.corpus.versions import release, sort_key
from kb.templates.program_output import last_line
from kb.text.lexer import lex

__all__ = ["Drift", "drifts", "newest", "table"]


class Drift(NamedTuple):
    """A case that two versions word differently: what each printed last, and whether the case passes on the other version."""

    case: str
    outcome: str
    here: str
    there: str


def drifts(ledgers: Ledgers, there: str, here: str) -> Iterator[Drift]:
    """Yield the cases whose repro printed another last line on version `there` than on `here`, or came out differently, in order."""
    for case, records in sorted(ledgers.by_id.items()):
        by_release = {release(record.torch): record for record in reversed(records) if record.device == "cpu"}
        if here not in by_release or there not in by_release:
            continue
        ours, theirs = by_release[here], by_release[there]
        our_line, their_line = last_line(ours.printed), last_line(theirs.printed)
        if _words(our_line) != _words(their_line) or ours.outcome != theirs.outcome:
            yield Drift(case, theirs.outcome, our_line, their_line)


def table(ledgers: Ledgers, there: str, here: str) -> str:
    """Return the drifts as a Markdown table."""
    lines = [f"| case | on {there} | printed by {here} | printed by {there} |", "|---|---|---|---|"]
    for drift in drifts(ledgers, there, here):
        texts = (text[:160].replace("|", "\\|").replace("`", "'") for text in (drift.here, drift.there))
        cells = " | ".join(f"`{text}`" if text else "nothing" for text in texts)
        lines.append(f"| {drift.case} | {drift.outcome} | {cells} |")
    return "\n".join(lines) + "\n"


def newest(ledgers: Ledgers) -> str:
    """Return the newest release of torch that any ledger has a record of."""
    return release(max((record.torch for records in ledgers.by_id.values() for record in records), key=sort_key))


def _words(text: str) -> list[str]:
    return [token.text for token in lex(text) if token.type == "word"]


if __name__ == "__main__":
    known = load_ledgers()
    print(table(known, sys.argv[1], newest(known)), end="")  # noqa: T201 - it is a program that prints a table

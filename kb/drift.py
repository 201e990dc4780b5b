"""Which messages another version of torch words otherwise: the ledgers of two versions side by side, `python -m kb.drift 2.4.1`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from kb.corpus import load
from kb.ledger import Ledgers, load_ledgers
from kb.lexer import lex
from kb.printed import last_line

__all__ = ["Drift", "drifts", "table"]


class Drift(NamedTuple):
    """A case that two versions word otherwise: what each printed, and whether the case still passes on the other."""

    case: str
    outcome: str
    here: str
    there: str


def drifts(ledgers: Ledgers, there: str, here: str) -> Iterator[Drift]:
    """Yield the cases whose repro printed another last line on version `there` than on `here`, or came out otherwise, in order."""
    for case, records in sorted(ledgers.by_case.items()):
        found = {record.torch.partition("+")[0]: record for record in reversed(records) if record.device == "cpu"}
        if here not in found or there not in found:
            continue
        one, other = last_line(found[here].printed), last_line(found[there].printed)
        if _words(one) != _words(other) or found[there].outcome != found[here].outcome:
            yield Drift(case, found[there].outcome, one, other)


def table(ledgers: Ledgers, there: str, here: str) -> str:
    """Return the drifts as a Markdown table."""
    lines = [f"| case | on {there} | printed by {here} | printed by {there} |", "|---|---|---|---|"]
    for found in drifts(ledgers, there, here):
        texts = (text[:160].replace("|", "\\|").replace("`", "'") for text in (found.here, found.there))
        lines.append(
            f"| {found.case} | {found.outcome} | "
            + " | ".join(f"`{text}`" if text else "nothing" for text in texts)
            + " |"
        )
    return "\n".join(lines) + "\n"


def _words(text: str) -> list[str]:
    return [token.text for token in lex(text) if token.type == "word"]


if __name__ == "__main__":
    newest = max(
        (
            record.torch.partition("+")[0]
            for case in load()
            for one in case.cases
            for record in load_ledgers().records(one)
        ),
        key=lambda version: tuple(map(int, version.split("."))),
    )
    print(table(load_ledgers(), sys.argv[1], newest), end="")  # noqa: T201 - it is a program that prints a table

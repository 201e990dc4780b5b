"""Compare what ledgers of different releases of torch say: which releases print a message, and what changes from one release to the next.

`python -m kb.verify.version_drift 2.4.1` prints what that release words otherwise than the newest.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from kb.corpus.entry import Entry, Message
from kb.corpus.ledger import Ledgers, Record, load_ledgers
from kb.corpus.versions import release, sort_key
from kb.templates.printed_messages import printed_messages
from kb.templates.program_output import last_line
from kb.text.lexer import lex

__all__ = ["Change", "Printed", "ReleaseRun", "changes", "printed_by", "release_runs", "table"]


class Change(NamedTuple):
    """A case that a later release words otherwise, or that comes out otherwise there: the last line that its repro printed, and both outcomes."""

    case: str
    earlier_line: str
    later_line: str
    earlier_outcome: str
    later_outcome: str


class ReleaseRun(NamedTuple):
    """How the CPU cases came out on one release, and what changed since `previous`, the release before it that has a ledger (empty for the first)."""

    release: str
    passed: int
    failed: int
    previous: str
    changes: tuple[Change, ...]


class Printed(NamedTuple):
    """The releases on which an entry's cases ran, oldest first, and for each of its messages those that printed it."""

    releases: tuple[str, ...]
    by_message: tuple[tuple[Message, frozenset[str]], ...]


def changes(ledgers: Ledgers, earlier: str, later: str) -> Iterator[Change]:
    """Yield what differs between two releases on a CPU, in the order of cases. A case counts only where both ran the same programs."""
    for case, by_release in _cpu_records(ledgers):
        if earlier not in by_release or later not in by_release:
            continue
        before, after = by_release[earlier], by_release[later]
        if before.hash != after.hash:
            continue
        lines = last_line(before.printed), last_line(after.printed)
        if _words(lines[0]) != _words(lines[1]) or before.outcome != after.outcome:
            yield Change(case, *lines, before.outcome, after.outcome)


def release_runs(ledgers: Ledgers) -> list[ReleaseRun]:
    """Return the releases that have CPU records, newest first."""
    outcomes: dict[str, list[str]] = {}
    for _, by_release in _cpu_records(ledgers):
        for name, record in by_release.items():
            outcomes.setdefault(name, []).append(record.outcome)
    ordered = sorted(outcomes, key=sort_key)
    runs = []
    for previous, name in pairwise(["", *ordered]):
        changed = tuple(changes(ledgers, previous, name)) if previous else ()
        runs.append(ReleaseRun(name, outcomes[name].count("passed"), outcomes[name].count("failed"), previous, changed))
    return runs[::-1]


def printed_by(entry: Entry, ledgers: Ledgers) -> Printed:
    """Return which releases printed which message of an entry, in any of its cases and on any device."""
    releases: set[str] = set()
    printing: dict[Message, set[str]] = {message: set() for message in entry.messages}
    for case in entry.cases:
        for record in ledgers.by_id.get(case.id, ()):
            name = release(record.torch)
            releases.add(name)
            for message in printed_messages(entry, record.printed):
                printing[message].add(name)
    return Printed(
        tuple(sorted(releases, key=sort_key)),
        tuple((message, frozenset(names)) for message, names in printing.items()),
    )


def table(ledgers: Ledgers, earlier: str, later: str) -> str:
    """Return the changes as a Markdown table."""
    lines = [
        f"| case | on {earlier} | on {later} | printed by {earlier} | printed by {later} |",
        "|---|---|---|---|---|",
    ]
    for change in changes(ledgers, earlier, later):
        texts = (text[:160].replace("|", "\\|").replace("`", "'") for text in (change.earlier_line, change.later_line))
        cells = " | ".join(f"`{text}`" if text else "nothing" for text in texts)
        lines.append(f"| {change.case} | {change.earlier_outcome} | {change.later_outcome} | {cells} |")
    return "\n".join(lines) + "\n"


def _cpu_records(ledgers: Ledgers) -> Iterator[tuple[str, dict[str, Record]]]:
    """Yield the id of each case with its CPU records by release."""
    for case, records in sorted(ledgers.by_id.items()):
        yield case, {release(record.torch): record for record in reversed(records) if record.device == "cpu"}


def _words(text: str) -> list[str]:
    """Return the words of a line; a word with a digit in it, such as an address or a temporary file, differs in each run."""
    words = (token.text for token in lex(text) if token.type == "word")
    return [word for word in words if not any(character.isdigit() for character in word)]


if __name__ == "__main__":
    known = load_ledgers()
    newest = release_runs(known)[0].release
    print(table(known, sys.argv[1], newest), end="")  # noqa: T201 - it is a program that prints a table

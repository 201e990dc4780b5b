"""Check entries by the rules and return every fault of every file at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from kb.corpus.diagnostic import Diagnostic, display_path
from kb.corpus.entry import Entry
from kb.corpus.environments import environments_in
from kb.corpus.git_changes import stale_translations
from kb.corpus.ledger import Ledgers, load_ledgers
from kb.corpus.loader import Corpus, load
from kb.lint.exemptions import apply_exemptions
from kb.lint.ledger_checks import check_collisions, check_records
from kb.lint.rules import CHECKS, load_rules

__all__ = ["check", "check_entry"]

_MIN_ENTRIES = 20
"""The number of entries that are worth a process of their own."""


def check_entry(entry: Entry, corpus: Corpus, name: str, ignore: Collection[str] = ()) -> list[Diagnostic]:
    """Return what breaks a rule in one entry; `name` is what the faults call its file."""
    load_rules()
    return sorted(
        Diagnostic(name, line, rule, what)
        for find in CHECKS
        for rule, line, what in find(entry, corpus)
        if rule not in ignore
    )


def check(
    corpus: Corpus | None = None,
    paths: Iterable[Path] = (),
    ignore: Collection[str] = (),
    base: str = "",
    *,
    processes: int = 1,
) -> list[Diagnostic]:
    """Return the faults of the corpus, or only those of the files in `paths`, sorted by file and line.

    Rules between entries look at the whole corpus in either case. With `base`, a git revision, translations that were not changed along with their
    original are faults too; raises `kb.corpus.git_changes.GitFailed` when there is no such revision. Up to `processes` processes share the work;
    a program with threads leaves that at 1, because they are forked.
    """
    corpus = load() if corpus is None else corpus
    names = {display_path(path) for path in paths}
    wanted = {entry.id: display_path(entry.path) for entry in corpus}
    if names:
        wanted = {slug: name for slug, name in wanted.items() if name in names}
    folders = sorted({entry.path.parent.parent for entry in corpus})
    faults = list(corpus.faults)
    faults += (fault for folder in folders for fault in environments_in(folder)[1])
    ledgers = load_ledgers(folders)
    check_entries = _start(corpus, ledgers, wanted, min(processes, len(wanted) // _MIN_ENTRIES))
    faults += check_collisions(corpus, ledgers, wanted)
    faults += check_entries()
    faults += stale_translations(corpus, base) if base else ()
    relevant = {fault for fault in faults if fault.rule not in ignore and (not names or fault.path in names)}
    unread = {Path(fault.path).stem for fault in corpus.faults}
    named = {Path(name).stem for name in names}
    return apply_exemptions(relevant, folders, lambda slug: slug not in unread and (not named or slug in named))


def _start(corpus: Corpus, ledgers: Ledgers, names: dict[str, str], processes: int) -> Callable[[], list[Diagnostic]]:
    """Begin to check the entries with these slugs, whose files have these names; return a function that waits for the faults."""

    def check_slugs(slugs: Iterable[str]) -> list[Diagnostic]:
        return [
            fault
            for slug in slugs
            for entry in [corpus.entries[slug]]
            for fault in (*check_entry(entry, corpus, names[slug]), *check_records(entry, ledgers))
        ]

    if processes < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return lambda: check_slugs(names)
    global _check_slugs  # noqa: PLW0603 - forked processes inherit it, and with it corpus and ledgers, which would take longer to send than to check
    _check_slugs = check_slugs
    pool = multiprocessing.get_context("fork").Pool(processes)
    pending = pool.map_async(_run_check, [list(names)[first::processes] for first in range(processes)])

    def wait() -> list[Diagnostic]:
        with pool:
            return [fault for faults in pending.get() for fault in faults]

    return wait


def _run_check(slugs: list[str]) -> list[Diagnostic]:
    return _check_slugs(slugs)


_check_slugs: Callable[[Iterable[str]], list[Diagnostic]]

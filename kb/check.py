"""Judge entries by the rules; every fault of every file in one go."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from kb.corpus import Corpus, load
from kb.entry import Entry, Fault
from kb.rules import load_rules

__all__ = ["check", "check_entry"]


def check_entry(entry: Entry, corpus: Corpus, name: str, ignore: Collection[str] = ()) -> list[Fault]:
    """Return what breaks a rule in one entry; `name` is what the faults call its file."""
    return sorted(
        Fault(name, line, rule.id, what)
        for rule in load_rules().values()
        if rule.id not in ignore
        for line, what in rule.find(entry, corpus)
    )


def check(corpus: Corpus | None = None, paths: Iterable[Path] = (), ignore: Collection[str] = ()) -> list[Fault]:
    """Return the faults of the corpus, or only those of the files in `paths`, sorted by file and line.

    Rules between entries look at the whole corpus in either case.
    """
    corpus = load() if corpus is None else corpus
    wanted = {path.resolve() for path in paths}
    faults = [fault for fault in corpus.faults if not wanted or any(str(path).endswith(fault.path) for path in wanted)]
    for entry in corpus:
        if not wanted or entry.path.resolve() in wanted:
            faults += check_entry(entry, corpus, _name(entry.path), ignore)
    return sorted(set(faults))


def _name(path: Path) -> str:
    """The path as a person would type it: relative to here where that is below."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)

"""Judge entries by the rules; every fault of every file in one go."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from kb.changed import left_behind
from kb.corpus import Corpus, load, shown
from kb.entry import Entry, Fault
from kb.exemptions import exempt
from kb.proof import contradictions
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


def check(
    corpus: Corpus | None = None, paths: Iterable[Path] = (), ignore: Collection[str] = (), base: str = ""
) -> list[Fault]:
    """Return the faults of the corpus, or only those of the files in `paths`, sorted by file and line.

    Rules between entries look at the whole corpus in either case. With `base`, a git revision, translations that were left behind since are faults
    too; raises `kb.changed.GitFailed` when there is no such revision.
    """
    corpus = load() if corpus is None else corpus
    wanted = {shown(path) for path in paths}
    faults = [fault for fault in corpus.faults if not wanted or fault.path in wanted]
    folders = {entry.path.parent.parent for entry in corpus}
    for entry in corpus:
        if not wanted or shown(entry.path) in wanted:
            faults += check_entry(entry, corpus, shown(entry.path), ignore)
    others = [*contradictions(corpus, folders), *(left_behind(corpus, base) if base else ())]
    faults += [fault for fault in others if fault.rule not in ignore and (not wanted or fault.path in wanted)]
    return exempt(set(faults), sorted(folders), {Path(name).stem for name in wanted} or None)

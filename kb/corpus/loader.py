"""All entries together, read from their folders. A file that is wrong costs its own entry and no other."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from kb.corpus.collection import apply_settings, read_settings
from kb.corpus.diagnostic import Diagnostic, display_path
from kb.corpus.entry import Entry
from kb.corpus.files import entry_files
from kb.corpus.parser import parse
from kb.corpus.paths import entry_folder_names
from kb.text.languages import LANGUAGES, Lang

__all__ = ["Corpus", "entry_files", "entry_folders", "load", "slug_conflict"]


@dataclass(frozen=True)
class Corpus:
    """Entries by slug, in the order of topic and slug, and what is wrong with the files that were left out."""

    entries: dict[str, Entry]
    faults: tuple[Diagnostic, ...] = ()
    redirects: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, slug: str) -> Entry | None:
        """Return the entry of that slug, followed through `also`, or None."""
        return self.entries.get(self.redirects.get(slug, slug))

    @cached_property
    def api_names(self) -> frozenset[str]:
        """The names of the functions and classes that some entry has in `apis`, in lower case and without their modules."""
        return frozenset(api.rpartition(".")[2].lower() for entry in self for api in entry.apis)

    @cached_property
    def alias_owners(self) -> dict[Lang, dict[str, list[str]]]:
        """The slugs of the entries that have an alias, by language and by the alias as `Entry.alias_keys` returns it."""
        owners: dict[Lang, dict[str, list[str]]] = {lang: {} for lang in LANGUAGES}
        for entry in self:
            for lang in LANGUAGES:
                for key in set(entry.alias_keys(lang)):
                    owners[lang].setdefault(key, []).append(entry.id)
        return owners


def entry_folders(extra: Iterable[Path | str] = ()) -> tuple[Path, ...]:
    """Return the folders that hold entries: the one that ships, those in KB_ENTRIES (separated as in PATH), then `extra`.

    In a checkout the entries are beside the package; installed, inside it.
    """
    return tuple(Path(name) for name in entry_folder_names(extra))


def load(folders: Iterable[Path] | None = None, *, programs_of: Collection[str] | None = None) -> Corpus:
    """Return the corpus of these folders, of `entry_folders()` when none are named.

    Where two files claim one slug, the first one keeps it and the second is a fault. Cases get the image that their folder's settings name.
    Where only some entries are looked at closely, `programs_of` has their slugs: programs of others may be no Python, which takes half the time to find out.
    """
    with _without_collection():
        return _load(entry_folders() if folders is None else folders, programs_of)


def _load(folders: Iterable[Path], programs_of: Collection[str] | None) -> Corpus:
    entries: dict[str, Entry] = {}
    redirects: dict[str, str] = {}
    faults: list[Diagnostic] = []
    for folder in folders:
        settings, diagnostics = read_settings(folder)
        faults += diagnostics
        for path in entry_files(folder):
            with_programs = programs_of is None or path.stem in programs_of
            entry, diagnostics = parse(path, name=display_path(path), with_programs=with_programs)
            faults += diagnostics
            if entry is None:
                continue
            if entry.id in entries:
                faults.append(slug_conflict(path, entries[entry.id]))
                continue
            entries[entry.id] = apply_settings(entry, settings)
            redirects |= dict.fromkeys(entry.also, entry.id)
    return Corpus(entries, tuple(faults), redirects)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Keep Python from looking for circular garbage: trees of programs have none, and each look at all of them costs a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def slug_conflict(path: Path, owner: Entry) -> Diagnostic:
    """Return the fault of a file whose slug another entry has."""
    what = f"the slug {owner.id!r} is taken by {display_path(owner.path)}; choose another"
    return Diagnostic(display_path(path), 1, "KB011", what)

"""All entries together: read from folders, one broken file never hiding the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kb.entry import Entry, Fault
from kb.folder import FILE, placed, settings
from kb.parse import parse
from kb.stamps import entry_folder_names

__all__ = ["Corpus", "entry_files", "entry_folders", "load", "shown"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Entries by slug, in the order of topic and slug, and the faults of the files that were left out."""

    entries: dict[str, Entry]
    faults: tuple[Fault, ...] = ()
    redirects: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, slug: str) -> Entry | None:
        """Return the entry of that slug, followed through `also`, or None."""
        return self.entries.get(self.redirects.get(slug, slug))


def entry_folders(extra: Iterable[Path | str] = ()) -> tuple[Path, ...]:
    """Return the folders that hold entries: the one that ships, those in KB_ENTRIES (separated as in PATH), then `extra`.

    In a checkout the entries stand beside the package; installed, inside it.
    """
    return tuple(Path(name) for name in entry_folder_names(extra))


def entry_files(folder: Path) -> list[Path]:
    """Return the entries' files of a folder, `<topic>/<slug>.md`, in order."""
    return sorted(folder.glob("*/*.md"))


def shown(path: Path) -> str:
    """Return the path as a person would type it: relative to the working directory where it lies below."""
    here, whole = Path.cwd(), path.resolve()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def load(folders: Iterable[Path] | None = None) -> Corpus:
    """Return the corpus of these folders, of `entry_folders()` when none are named.

    A later folder may not take a slug that an earlier one has: that is reported, and the earlier entry stays. Cases get the image that their folder
    asks for.
    """
    entries: dict[str, Entry] = {}
    redirects: dict[str, str] = {}
    faults: list[Fault] = []
    for folder in entry_folders() if folders is None else folders:
        asked, found = settings(folder, shown(folder / FILE))
        faults += found
        for path in entry_files(folder):
            entry, found = parse(path, name=shown(path))
            faults += found
            if entry is None:
                continue
            if entry.id in entries:
                taken = f"the slug {entry.id!r} is taken by {shown(entries[entry.id].path)}; choose another"
                faults.append(Fault(shown(path), 1, "KB011", taken))
                continue
            entries[entry.id] = placed(entry, asked)
            redirects |= dict.fromkeys(entry.also, entry.id)
    return Corpus(entries, tuple(faults), redirects)

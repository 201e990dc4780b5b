"""A generation of the index while it is written: begun empty, or from the one before with some entries gone and some new.

Every way to an index leads through here, so an index that was changed step by step answers as one built at once does.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Self

from kb.card import make_card
from kb.entry import Block, Case, Entry, Message, Prose, Text
from kb.growing import GrowingBlobs, GrowingStrings, Log, column
from kb.index import HAS_MESSAGE, LISTING, MAIN, SILENT, Index
from kb.ledger import Ledgers
from kb.store import Arrays, Blobs, Texts, write_arrays
from kb.vectors import MESSAGE
from kb.vocabulary import Lexicon, Spelling, spelt
from kb.wordings import Said, Wordings, said
from kb.words import FOLDER as WORDS
from kb.words import Weighed, weighed, write_words

__all__ = ["Generation", "Parsed", "TakenError", "remembered"]

_LISTS = ("heads", "cards", "vectors", "phrases", "parsed")


class Parsed(NamedTuple):
    """An entry that was parsed, and the stamp of its file: the time of its change and its size."""

    entry: Entry
    stamp: str = ""


class TakenError(Exception):
    """Two entries claim the same slug; which of them has it is decided among all entries."""


class Generation:
    """The index that is written into `folder`, from the one in `old` where there is one."""

    def __init__(self, folder: Path, old: Path | None = None) -> None:
        self._folder, self._old = folder, old
        arrays = Arrays(str(old / MAIN)) if old else None
        texts = Texts(str(old), arrays["texts.size"][0]) if arrays else None
        self._log = Log(folder, old)
        self._blobs = {name: GrowingBlobs(name, self._log, arrays, texts) for name in _LISTS}
        self._wordings = Wordings(self._log, arrays, texts)
        self._lexicon, self._spelling = Lexicon(arrays), Spelling(arrays)
        self._slugs = GrowingStrings("slugs", arrays)
        self._entry_of_slug = column(arrays, "slugs.entry", "I", (0,))
        self._slug_of_entry = column(arrays, "entries.slug", "I")
        self._kinds = column(arrays, "entries.kind", "B")
        self._size = column(arrays, "entries.size", "Q", (0,))
        self._changed = column(arrays, "entries.changed", "Q", (0,))
        self._shared = column(arrays, "slugs.shared", "B", (0,))

    def __len__(self) -> int:
        return self._size[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    @property
    def changed(self) -> int:
        """How many entries came or went since an index was built from nothing."""
        return self._changed[0]

    @property
    def shared(self) -> bool:
        """Whether several entries claim the same slug, so that any change may decide anew which of them has it."""
        return bool(self._shared[0])

    def path(self, slug: str) -> str:
        """Return the file of the entry of that slug, or the empty string when the generation before has none."""
        number = self._number(slug)
        if number is None or self._slugs.text(self._slug_of_entry[number]) != slug:
            return ""
        return str(self._blobs["parsed"].before(number)["path"])

    def change(self, gone: Sequence[str], new: Sequence[Parsed], ledgers: Ledgers, *, shared: bool = False) -> None:
        """Take the entries of the slugs `gone` out and put `new` ones in; one that changed is in both.

        `shared` says that an entry was left out because another has its slug. TakenError is raised when that is found
        here, in a generation that has one before it; the generation is of no use then.
        """
        before = {number: self._restored(number) for number in map(self._required, gone)}
        for number, entry in before.items():
            self._forget(number, entry)
        placed = self._place([one.entry for one in new])
        self._claim(placed, shared=shared)
        self._wordings.change(
            {number: _said(entry) for number, entry in before.items()},
            {number: _said(entry) for number, entry in placed.items()},
            lambda number: _said(self._restored(number)),
        )
        printed = ledgers.printed()
        vectors = {}
        for (number, entry), one in zip(placed.items(), new, strict=True):
            found = weighed(entry, printed)
            vectors[entry.id] = found.vector
            self._note(number, one, found, ledgers)
        write_words(self._folder / WORDS, gone, vectors, self._old / WORDS if self._old else None)
        self._size[0] += len(new) - len(gone)
        self._changed[0] += len({*gone, *vectors}) if self._old else 0

    def write(self, stamps: str) -> None:
        """Write the files; `stamps` says of which files of the entries the index is made."""
        sections = {
            **self._wordings.sections(),
            **self._lexicon.sections(),
            **self._spelling.sections(),
            **self._slugs.sections(),
            "slugs.entry": self._entry_of_slug,
            "slugs.shared": self._shared,
            "entries.slug": self._slug_of_entry,
            "entries.kind": self._kinds,
            "entries.size": self._size,
            "entries.changed": self._changed,
            "texts.size": array("Q", [self._log.close()]),
        }
        for blobs in self._blobs.values():
            sections |= blobs.sections()
        write_arrays(str(self._folder / MAIN), sections)
        (self._folder / LISTING).write_text(stamps, "utf-8")

    def _number(self, slug: str) -> int | None:
        found = self._entry_of_slug[self._slugs.number(slug)]
        return found - 1 if found else None

    def _required(self, slug: str) -> int:
        number = self._number(slug)
        if number is None:
            raise KeyError(slug)
        return number

    def _restored(self, number: int) -> Entry:
        return _restored(self._blobs["parsed"].before(number))

    def _forget(self, number: int, entry: Entry) -> None:
        """Take an entry out of all but the wordings and Whoosh."""
        for slug in (entry.id, *entry.also):
            self._entry_of_slug[self._slugs.number(slug)] = 0
        self._kinds[number] = 0
        phrases = [(field, terms) for field, terms, _ in self._blobs["phrases"].before(number)]
        self._lexicon.count(Weighed(self._blobs["vectors"].before(number), phrases).counted(), -1)
        self._spelling.count(spelt(entry), -1)

    def _place(self, entries: Iterable[Entry]) -> dict[int, Entry]:
        """Return the entries by their numbers: that of the entry that had the slug before, or a new one."""
        known = {slug: number for number, slug in enumerate(self._slug_of_entry)} if self._old else {}
        placed = {}
        for entry in entries:
            slug = self._slug(entry.id)
            number = known.get(slug, len(self._kinds))
            if number == len(self._kinds):
                self._kinds.append(0)
                self._slug_of_entry.append(slug)
            if self._kinds[number]:
                raise TakenError(entry.id)
            self._kinds[number] = SILENT if entry.kind == "silent" else HAS_MESSAGE
            placed[number] = entry
        return placed

    def _claim(self, placed: Mapping[int, Entry], *, shared: bool) -> None:
        """Let slugs lead to entries: an entry's own first, then those that `also` lead to it, where the last one counts."""
        own = set()
        for number, entry in placed.items():
            own.add(entry.id)
            shared |= not self._lead(entry.id, number)
        for number, entry in placed.items():
            for slug in entry.also:
                shared |= slug in own or not self._lead(slug, number)
        if shared and self._old:
            raise TakenError
        self._shared[0] = shared

    def _lead(self, slug: str, number: int) -> bool:
        """Let the slug lead to the entry; tell whether it led nowhere else."""
        at = self._slug(slug)
        free = self._entry_of_slug[at] in (0, number + 1)
        self._entry_of_slug[at] = number + 1
        return free

    def _slug(self, slug: str) -> int:
        at = self._slugs.add(slug)
        if at == len(self._entry_of_slug):
            self._entry_of_slug.append(0)
        return at

    def _note(self, number: int, one: Parsed, found: Weighed, ledgers: Ledgers) -> None:
        """Note all of an entry but its wordings."""
        entry = one.entry
        self._lexicon.count(found.counted(), 1)
        self._spelling.count(spelt(entry), 1)
        phrases = [
            (field, terms, [self._lexicon.number(MESSAGE + term if field == "message" else term) for term in terms])
            for field, terms in found.phrases
        ]
        head = {
            "id": entry.id,
            "kind": entry.kind,
            "title": asdict(entry.title),
            "explain": asdict(entry.explain) if entry.explain else None,
        }
        parsed = {"path": str(entry.path), "stamp": one.stamp, "entry": asdict(entry)}
        values = (head, make_card(entry, ledgers), found.vector, phrases, parsed)
        for name, value in zip(_LISTS, values, strict=True):
            self._blobs[name].put(number, value)


def remembered(folder: str) -> Callable[[Path, str], Entry | None]:
    """Return a function from an entry's file and its stamp to the entry, as the generation in `folder` has it, or to None."""
    index = Index(folder)
    rows = Blobs(index.arrays, "parsed", index.texts)

    def recall(path: Path, stamp: str) -> Entry | None:
        try:
            row = rows[index.number(path.stem)]
        except KeyError:
            return None
        return _restored(row) if (row["path"], row["stamp"]) == (str(path), stamp) else None

    return recall


def _said(entry: Entry) -> Said:
    return said([message.text for message in entry.messages])


def _restored(row: Mapping[str, Any]) -> Entry:
    """Return the entry that `asdict` turned into plain data."""
    data = row["entry"]
    lists: dict[str, Any] = {key: tuple(data[key]) for key in ("apis", "tags", "sources", "related", "also")}
    cases = [{**case, "repro": Block(**case["repro"]), "fix": Block(**case["fix"])} for case in data["cases"]]
    return Entry(
        **{key: data[key] for key in ("id", "topic", "kind", "source")},
        **lists,
        title=Text(**data["title"]),
        explain=Text(**data["explain"]) if data["explain"] else None,
        messages=tuple(Message(**message) for message in data["messages"]),
        aliases={lang: tuple(texts) for lang, texts in data["aliases"].items()},
        prose={lang: Prose(**prose) for lang, prose in data["prose"].items()},
        cases=tuple(Case(**case) for case in cases),
        path=Path(row["path"]),
    )

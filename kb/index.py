"""Open the index of all entries: fresh if the entries did not change, else built again beside the old one, which goes on serving meanwhile.

The index is a cache. It lives in the user's cache folder, is made here from the Markdown, and one from elsewhere is never opened.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kb.stamps import cache_folder, entry_folder_names, listing
from kb.store import Arrays, Blobs, StoreError, StringTable, Texts
from kb.trie import Trie

__all__ = ["Index", "build_index", "index_state", "open_index", "opened_index"]

CURRENT = "current"
MAIN = "index.bin"
LISTING = "listing.txt"
SILENT, HAS_MESSAGE = 1, 2
"""What an entry is about; 0 stands for one that is gone."""


def open_index(
    folders: Iterable[str | os.PathLike[str]] | None = None,
    cache: str | os.PathLike[str] | None = None,
    *,
    first: Callable[[], object] = lambda: None,
) -> Index:
    """Return the index of the entries in `folders`, of `entry_folder_names()` when none are named.

    When entries changed since it was built it is built again; while another process is doing that, the index as it was is returned at once.
    Where there is none yet, `first` is called before it is built, which takes seconds. StoreError when it cannot be written.
    """
    names, place = _where(folders, cache)
    wanted = listing(names)
    found = _opened(place)
    if found is not None and found.listing == wanted:
        return found
    if found is None:
        first()
    return _built(names, place, waiting=found is None)


def build_index(
    folders: Iterable[str | os.PathLike[str]] | None = None, cache: str | os.PathLike[str] | None = None
) -> Index:
    """Build the index anew, every entry parsed again, and return it."""
    names, place = _where(folders, cache)
    return _built(names, place, waiting=True, anew=True)


def index_state(cache: str | os.PathLike[str] | None = None) -> tuple[bool, str]:
    """Return whether the index of the shipped entries is fresh, and a line: where, how many entries, built when, its size."""
    from datetime import UTC, datetime

    names, place = _where(None, cache)
    found = _opened(place)
    if found is None:
        return False, f"none in {place}; the first look-up builds it"
    files = [os.path.join(folder, name) for folder, _, names_ in os.walk(found.folder) for name in names_]
    size = sum(os.path.getsize(file) for file in files) / (1 << 20)
    built = datetime.fromtimestamp(os.path.getmtime(os.path.join(found.folder, MAIN)), UTC)
    fresh = found.listing == listing(names)
    note = "" if fresh else "; entries changed since, the next look-up builds it again"
    return fresh, f"{len(found)} entries, {size:.1f} MiB, built {built:%Y-%m-%d %H:%M} UTC in {found.folder}{note}"


def opened_index(
    folders: Iterable[str | os.PathLike[str]] | None = None, cache: str | os.PathLike[str] | None = None
) -> Index | None:
    """Return the index as it is, fresh or not, or None when there is none that can be read: nothing is built."""
    return _opened(_where(folders, cache)[1])


class Index:
    """An opened index: the prefix tree of the messages, what a terminal shows of each entry, and the Whoosh index of the words."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        with open(os.path.join(folder, LISTING), encoding="utf-8") as file:
            self.listing = file.read()
        arrays = Arrays(os.path.join(folder, MAIN))
        self.arrays = arrays
        self.trie = Trie(arrays)
        self._size = int(arrays["entries.size"][0])
        self.texts = texts = Texts(folder, arrays["texts.size"][0])
        self._slugs = StringTable(arrays, "slugs")
        self._entry_of_slug, self._slug_of_entry = arrays["slugs.entry"], arrays["entries.slug"]
        self._heads, self._cards = Blobs(arrays, "heads", texts), Blobs(arrays, "cards", texts)
        self._templates = Blobs(arrays, "templates", texts)
        self._kinds = arrays["entries.kind"]
        self.owners = arrays["templates.owner"]
        self._told, self._speaking = arrays["tells.entries"], arrays["tells.speaking"][0]
        self._tells: dict[str, float] = {}
        self._words: Any = None
        self._speller: Any = None
        self._vectors: Any = None

    def __len__(self) -> int:
        return self._size

    def number(self, slug: str) -> int:
        """Return the entry's number, followed through `also`; KeyError when there is none."""
        number = self._found(slug)
        if number is None:
            raise KeyError(slug)
        return number

    def _found(self, slug: str) -> int | None:
        number: int = self._entry_of_slug[self._slugs.number(slug)]
        return number - 1 if number else None

    def slug(self, number: int) -> str:
        """Return the slug of the entry of that number."""
        return self._slugs.text(self._slug_of_entry[number])

    def slugs(self) -> list[str]:
        """Return the entries' slugs in order."""
        return sorted(self.slug(number) for number, kind in enumerate(self._kinds) if kind)

    def head(self, number: int) -> dict[str, Any]:
        """Return the entry's id, kind, title and explain line."""
        found: dict[str, Any] = self._heads[number]
        return found

    def has_message(self, number: int) -> bool:
        """Tell whether the entry is about an error or a warning, and not about a silent pitfall."""
        return bool(self._kinds[number] == HAS_MESSAGE)

    def card(self, slug: str) -> dict[str, Any]:
        """Return what is shown of the entry, as `kb.card.make_card` made it, with the titles of related entries.

        KeyError when there is no entry of that slug.
        """
        found: dict[str, Any] = self._cards[self.number(slug)]
        heads = [self.head(number) for other in found["related"] if (number := self._found(other)) is not None]
        return found | {"related": [{"id": head["id"], "title": head["title"]} for head in heads]}

    def template(self, number: int) -> dict[str, Any]:
        """Return a message template: its source, type and pieces, whether it is the end (`tail`) of one, and how much each word tells."""
        found: dict[str, Any] = self._templates[number]
        found["tells"] = [self._tell(piece) for piece in found["pieces"] if isinstance(piece, str)]
        return found

    def _tell(self, word: str) -> float:
        """Return how much a word of the messages tells, in nats: less, the more entries have it."""
        told = self._tells.get(word)
        if told is None:
            count = self._told[self.trie.words.number(word)]
            told = self._tells[word] = round(math.log(1 + self._speaking / count), 1)
        return told

    @property
    def words(self) -> Any:
        """The searcher over the entries' words; Whoosh is loaded at the first use."""
        if self._words is None:
            from kb.words import Searcher

            self._words = Searcher(self.folder, self.vectors, self.number)
        return self._words

    @property
    def vectors(self) -> Any:
        """What each entry says, as weighted terms."""
        if self._vectors is None:
            from kb.vectors import Vectors

            self._vectors = Vectors(self.arrays, self.texts, len(self))
        return self._vectors

    @property
    def speller(self) -> Any:
        """The mender of misspelt words."""
        if self._speller is None:
            from kb.spell import Speller

            self._speller = Speller(self.arrays)
        return self._speller


def _where(
    folders: Iterable[str | os.PathLike[str]] | None, cache: str | os.PathLike[str] | None
) -> tuple[list[str], str]:
    """Return the folders of entries as whole paths, and the folder of their index."""
    names = entry_folder_names() if folders is None else [os.path.abspath(folder) for folder in folders]
    return names, cache_folder(names, cache)


def _opened(place: str) -> Index | None:
    """Return the current generation; one that was swapped away while it was being opened is looked for again."""
    for _ in range(5):
        try:
            with open(os.path.join(place, CURRENT), encoding="utf-8") as file:
                name = file.read().strip()
            return Index(os.path.join(place, name))
        except FileNotFoundError:
            continue
        except (OSError, StoreError, ValueError, KeyError):
            return None
    return None


def _built(names: Sequence[str], place: str, *, waiting: bool, anew: bool = False) -> Index:
    from kb.build import build

    try:
        build(names, place, waiting=waiting, anew=anew)
    except OSError as error:
        raise StoreError(
            f"the index cannot be written to {place} ({error.strerror or error}); set KB_CACHE to a folder that can be written"
        ) from error
    found = _opened(place)
    if found is None:
        raise StoreError(f"the index in {place} could not be built; delete that folder and try again")
    return found

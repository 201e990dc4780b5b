"""All wordings of all entries: each message as a template in the prefix tree, and its end from a clause on where no other entry has that end.

Begun empty or taken from the generation before; a change of some entries touches those, and the few that share an end
of a message with them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kb.growing import GrowingBlobs, GrowingSlots, Log, Sections, column
from kb.pattern import OPEN, Slot
from kb.plant import Pieces, Tree
from kb.store import Arrays, Texts
from kb.template import Template, TemplateError, compile_template

__all__ = ["Said", "Wordings", "said", "templates_of"]

_SHORTEST_TAIL = 5


class _Row(NamedTuple):
    """A template, and the pieces of it that stand in the tree."""

    template: Template
    pieces: Pieces
    bare: bool = False


class Said(NamedTuple):
    """What an entry's messages say: the templates of whole messages, and of their ends, those by key."""

    whole: list[_Row]
    tails: dict[int, _Row]

    def every_key(self) -> Iterator[int]:
        """Yield the keys of all of them, whole messages and ends."""
        yield from self.tails
        yield from (_key(row.pieces) for row in self.whole)

    def words(self) -> set[str]:
        """Return the words of all of them."""
        rows = [*self.whole, *self.tails.values()]
        return {piece for row in rows for piece in row.pieces if isinstance(piece, str)}


class _Ends:
    """How many entries have an end of a message, the sum of their numbers, and how many messages consist of just that."""

    def __init__(self, arrays: Arrays | None) -> None:
        self._places = GrowingSlots("ends", arrays)
        self._owners = column(arrays, "ends.owners", "I", (0,))
        self._sums = column(arrays, "ends.sums", "Q", (0,))
        self._whole = column(arrays, "ends.whole", "I", (0,))

    def owner(self, key: int) -> int | None:
        """Return the entry that alone has that end, or None; an end that is also a whole message is nobody's."""
        at = self._places.get(key)
        return self._sums[at] - 1 if self._owners[at] == 1 and not self._whole[at] else None

    def count(self, number: int, one: Said, step: int) -> None:
        """Count an entry's messages and their ends in (1) or out (-1)."""
        for row in one.whole:
            self._whole[self._place(_key(row.pieces))] += step
        for key in one.tails:
            at = self._place(key)
            self._owners[at] += step
            self._sums[at] += step * (number + 1)

    def sections(self) -> Sections:
        """Return the table's sections."""
        counts: Sections = {"ends.owners": self._owners, "ends.sums": self._sums, "ends.whole": self._whole}
        return {**self._places.sections(), **counts}

    def _place(self, key: int) -> int:
        at = self._places.get(key)
        if not at:
            at = len(self._owners)
            self._places.put(key, at)
            for values in (self._owners, self._sums, self._whole):
                values.append(0)
        return at


class Wordings:
    """The prefix tree, the templates' data, and how many entries have each word in their messages."""

    def __init__(self, log: Log, arrays: Arrays | None = None, texts: Texts | None = None) -> None:
        self.owners = column(arrays, "templates.owner", "I")
        self._tree, self._ends = Tree(arrays), _Ends(arrays)
        self._templates = GrowingBlobs("templates", log, arrays, texts)
        self._told = column(arrays, "tells.entries", "I", (0,))
        self._speaking = column(arrays, "tells.speaking", "I", (0,))

    def change(self, gone: Mapping[int, Said], new: Mapping[int, Said], known: Callable[[int], Said]) -> None:
        """Take the entries `gone` out and put the `new` ones in, by their numbers; one that changed is in both.

        `known` says what any other entry says.
        """
        keys = {key for one in (*gone.values(), *new.values()) for key in one.every_key()}
        before = {key: self._ends.owner(key) for key in keys}
        for step, changed in ((-1, gone), (1, new)):
            for number, one in changed.items():
                self._ends.count(number, one, step)
                self._tell(one, step)
        after = {key: self._ends.owner(key) for key in keys}
        flipped = {owner for key in keys if before[key] != after[key] for owner in (before[key], after[key])}
        beside = {number: known(number) for number in flipped - {None, *gone, *new} if number is not None}
        for number, one in {**gone, **beside}.items():
            self._tree.remove(number, [row.pieces for row, _ in self._chosen(number, one, before)], self.owners)
        there = {**new, **beside}
        for number, one in there.items():
            self._add(number, self._chosen(number, one, after))
        for number in there.keys() | self._tree.left_alone():
            rows = self._chosen(number, there[number] if number in there else known(number), after)
            self._tree.point(number, [row.pieces for row, _ in rows], self.owners)

    def sections(self) -> Sections:
        """Return the sections that `kb.trie` and `kb.index` read."""
        counts: Sections = {"tells.entries": self._told, "tells.speaking": self._speaking}
        own: Sections = {"templates.owner": self.owners, **self._templates.sections()}
        return {**self._tree.sections(), **self._ends.sections(), **own, **counts}

    def _chosen(self, number: int, one: Said, owner: Mapping[int, int | None]) -> list[tuple[_Row, bool]]:
        """Return the entry's templates that stand in the tree, and whether each is an end; `owner` says whose an end is."""
        tails = [row for key, row in one.tails.items() if owner.get(key, self._ends.owner(key)) == number]
        return [*((row, False) for row in one.whole), *((row, True) for row in tails)]

    def _add(self, number: int, rows: Sequence[tuple[_Row, bool]]) -> None:
        placed = []
        for (template, pieces, bare), tail in rows:
            placed.append((len(self._templates), pieces))
            shown = {"source": template.source, "type": template.type, "pieces": _plain(pieces)}
            self._templates.put(len(self._templates), shown | {"tail": tail, "bare": bare})
            self.owners.append(number)
        self._tree.add(number, placed)

    def _tell(self, one: Said, step: int) -> None:
        self._speaking[0] += step * bool(one.whole)
        for word in one.words():
            number = self._tree.words.add(word)
            while len(self._told) <= number:
                self._told.append(0)
            self._told[number] += step


def templates_of(messages: Sequence[str]) -> Iterator[Template]:
    """Yield the compiled messages; one that cannot be compiled is left out, since `kb check` reports it."""
    for message in messages:
        with contextlib.suppress(TemplateError):
            yield compile_template(message)


def said(messages: Sequence[str]) -> Said:
    """Return what an entry's messages say."""
    found = Said([], {})
    for template in templates_of(messages):
        pieces = _closed(template.pieces)
        if not pieces:
            found.whole.extend(_Row(template, (name,), bare=True) for name in _type_names(template))
            continue
        found.whole.append(_Row(template, pieces))
        for tail in _tails(template):
            found.tails.setdefault(_key(tail), _Row(template, tail))
    return found


def _key(pieces: Pieces) -> int:
    """Return 64 bits that stand for the pieces: among a million the odds that two are alike are one in ten million."""
    text = json.dumps(_plain(pieces), ensure_ascii=False)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()) or 1


def _plain(pieces: Pieces) -> list[str | list[str]]:
    return [list(piece) if isinstance(piece, Slot) else piece for piece in pieces]


def _closed(pieces: Pieces) -> Pieces:
    """The pieces without placeholders for anything at either end: those tell nothing."""
    start, end = 0, len(pieces)
    while start < end and isinstance(pieces[start], Slot) and pieces[start].type in OPEN:  # type: ignore[union-attr]
        start += 1
    while end > start and isinstance(pieces[end - 1], Slot) and pieces[end - 1].type in OPEN:  # type: ignore[union-attr]
        end -= 1
    return pieces[start:end]


def _type_names(template: Template) -> list[str]:
    """Return the type of a message that consists of nothing else, as a token: with its module, and without."""
    full = template.source.partition(": ")[0].rstrip(": ").lower()
    return [full, template.type.lower()] if "." in full else [full]


def _tails(template: Template) -> Iterator[Pieces]:
    """Yield what follows each clause of the message, where it is long enough to be told from other messages."""
    for clause in _clauses(template.source):
        with contextlib.suppress(TemplateError):
            pieces = _closed(compile_template(clause).pieces)
            if sum(isinstance(piece, str) for piece in pieces) >= _SHORTEST_TAIL and len(pieces) < len(template.pieces):
                yield pieces


def _clauses(source: str) -> list[str]:
    body = source.partition(": ")[2]
    found = []
    for mark in (": ", ". ", ", ", "! ", "\n"):
        rest = body
        while rest := rest.partition(mark)[2]:
            found.append(rest)
    return found

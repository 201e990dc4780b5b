"""Plant the prefix tree of message templates, or change it: sections of a store that `kb.trie` reads.

A node knows how many entries have templates that go through it, and the sum of their numbers: where one is left, the
sum is that one. So an entry is taken out by walking its own paths alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kb.growing import GrowingSlots, GrowingStrings, Sections, column
from kb.pattern import Slot
from kb.store import Arrays
from kb.trie import FIRST_WORD, ROOT, SEVERAL, TYPES

__all__ = ["Pieces", "Tree"]

Pieces = tuple[str | Slot, ...]
_Glued = tuple[int, int, int]
_COLUMNS = {"masks": "I", "below": "I", "owner": "I", "owners": "I", "sums": "Q", "starts": "I"}


class Tree:
    """A tree that grows; a node is a place in each of the columns. It is begun empty, or taken from the generation before."""

    def __init__(self, arrays: Arrays | None = None) -> None:
        self.words = GrowingStrings("trie.words", arrays)
        self._edges = GrowingSlots("trie.edges", arrays)
        self._lists = column(arrays, "trie.lists", "I", (0,))
        self._columns = {name: column(arrays, f"trie.{name}", code) for name, code in _COLUMNS.items()}
        self._owners, self._sums = self._columns["owners"], self._columns["sums"]
        self._rows: dict[int, tuple[list[int], dict[_Glued, int]]] = {}
        self._thinned: set[int] = set()
        while len(self._owners) <= ROOT:
            self._grow()

    def add(self, owner: int, templates: Iterable[tuple[int, Pieces]]) -> None:
        """Add an entry's templates by their numbers; none of them begins with an open placeholder."""
        nodes: set[int] = set()
        for number, pieces in templates:
            node = ROOT
            for piece in pieces:
                node = self._child(node, piece) or self._plant(node, piece)
                nodes.add(node)
            self._row(node)[0].append(number)
        for node in nodes:
            self._count(node, 1, owner)

    def remove(self, owner: int, templates: Iterable[Pieces], owner_of: Sequence[int]) -> None:
        """Take an entry's templates out; `owner_of` says whose each template is."""
        came: dict[int, tuple[int, str | Slot]] = {}
        for pieces in templates:
            node = ROOT
            for piece in pieces:
                before, node = node, self._child(node, piece)
                came[node] = before, piece
            ends = self._row(node)[0]
            ends[:] = [number for number in ends if owner_of[number] != owner]
        for node, (before, piece) in came.items():
            self._count(node, -1, owner)
            if self._owners[node]:
                self._thinned.add(node)
            else:
                self._unlink(before, piece)

    def left_alone(self) -> set[int]:
        """Return the entries that have a node to themselves now since others were taken out."""
        return {self._sums[node] - 1 for node in self._thinned if self._owners[node] == 1}

    def point(self, owner: int, templates: Iterable[Pieces], owner_of: Sequence[int]) -> None:
        """Let each node that is an entry's alone point to the nearest end below it; `templates` are all that the entry has, in order."""
        nearest: dict[int, tuple[int, int]] = {}
        for pieces in templates:
            path = list(self._path(pieces))
            number = min(found for found in self._row(path[-1])[0] if owner_of[found] == owner)
            for left, node in enumerate(reversed(path)):
                if self._owners[node] == 1 and (node not in nearest or left < nearest[node][0]):
                    nearest[node] = left, number
        for node, (_, number) in nearest.items():
            self._columns["below"][node] = number

    def sections(self) -> Sections:
        """Return the tree as arrays: a node's lists are its templates and its placeholders with glued text."""
        starts = self._columns["starts"]
        for node, (ends, glued) in self._rows.items():
            starts[node] = len(self._lists) if ends or glued else 0
            if ends or glued:
                self._lists.extend([len(ends), *ends, len(glued)])
                for key, to in glued.items():
                    self._lists.extend([*key, to])
        self._rows.clear()
        columns: Sections = {f"trie.{name}": values for name, values in self._columns.items()}
        return {**columns, **self._edges.sections(), "trie.lists": self._lists, **self.words.sections()}

    def _path(self, pieces: Pieces) -> Iterator[int]:
        node = ROOT
        for piece in pieces:
            node = self._child(node, piece)
            yield node

    def _row(self, node: int) -> tuple[list[int], dict[_Glued, int]]:
        """Return the templates that end at the node, and where each placeholder with glued text leads, both to be changed."""
        if node not in self._rows:
            ends: list[int] = []
            glued: dict[_Glued, int] = {}
            if at := self._columns["starts"][node]:
                lists = self._lists
                ends = list(lists[at + 1 : at + 1 + lists[at]])
                at += 1 + lists[at]
                for offset in range(at + 1, at + 1 + 4 * lists[at], 4):
                    type_, prefix, suffix, to = lists[offset : offset + 4]
                    glued[type_, prefix, suffix] = to
            self._rows[node] = ends, glued
        return self._rows[node]

    def _count(self, node: int, step: int, owner: int) -> None:
        self._owners[node] += step
        self._sums[node] += step * (owner + 1)
        self._columns["owner"][node] = self._sums[node] if self._owners[node] <= 1 else SEVERAL

    def _grow(self) -> int:
        for values in self._columns.values():
            values.append(0)
        return len(self._owners) - 1

    def _child(self, node: int, piece: str | Slot) -> int:
        """Return where the piece leads from the node, or 0."""
        if isinstance(piece, Slot) and (piece.prefix or piece.suffix):
            return self._row(node)[1].get(self._glued(piece), 0)
        return self._edges.get(node << 32 | self._number(piece))

    def _plant(self, node: int, piece: str | Slot) -> int:
        to = self._grow()
        if isinstance(piece, Slot) and (piece.prefix or piece.suffix):
            self._row(node)[1][self._glued(piece)] = to
            return to
        self._edges.put(node << 32 | self._number(piece), to)
        if isinstance(piece, Slot):
            self._columns["masks"][node] |= 1 << self._number(piece)
        return to

    def _unlink(self, node: int, piece: str | Slot) -> None:
        if isinstance(piece, Slot) and (piece.prefix or piece.suffix):
            del self._row(node)[1][self._glued(piece)]
            return
        self._edges.put(node << 32 | self._number(piece), 0)
        if isinstance(piece, Slot):
            self._columns["masks"][node] &= ~(1 << self._number(piece))

    def _number(self, piece: str | Slot) -> int:
        return TYPES[piece.type] if isinstance(piece, Slot) else self.words.add(piece) + FIRST_WORD

    def _glued(self, slot: Slot) -> _Glued:
        prefix, suffix = (self.words.add(affix) + FIRST_WORD if affix else 0 for affix in (slot.prefix, slot.suffix))
        return TYPES[slot.type], prefix, suffix

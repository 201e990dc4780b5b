"""Plant the prefix tree of message templates, as sections of a store that `kb.trie` reads."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from kb.pattern import Slot
from kb.store import hash_slots, string_sections
from kb.trie import FIRST_WORD, ROOT, SEVERAL, TYPES

__all__ = ["trie_sections"]

_FAR = 1 << 30


def trie_sections(templates: Sequence[Sequence[str | Slot]], owners: Sequence[int]) -> dict[str, array[int] | bytes]:
    """Return the tree's sections for `kb.store`: templates are numbered from 0 in their order, `owners` says whose each is.

    A template does not begin with an open placeholder.
    """
    tree = _Tree()
    for number, pieces in enumerate(templates):
        if pieces:
            tree.add(number, pieces, owners[number])
    return tree.sections()


class _Tree:
    """A tree that grows; a node is a place in each of the columns."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._edges: dict[int, int] = {}
        self._masks, self._below, self._owner = array("I"), array("I"), array("I")
        self._nearest: list[int] = []
        self._ends: list[list[int]] = []
        self._glued: list[list[tuple[tuple[int, int, int], int]]] = []
        while self._grow() < ROOT:
            pass

    def add(self, number: int, pieces: Sequence[str | Slot], owner: int) -> None:
        """Add the path of a template."""
        node = ROOT
        for depth, piece in enumerate(pieces, 1):
            node = self._child(node, piece)
            left = len(pieces) - depth
            if left < self._nearest[node]:
                self._nearest[node], self._below[node] = left, number
            self._owner[node] = owner + 1 if self._owner[node] in (0, owner + 1) else SEVERAL
        self._ends[node].append(number)

    def sections(self) -> dict[str, array[int] | bytes]:
        """Return the tree as arrays: a node's lists are its templates and its placeholders with glued text."""
        lists, starts = array("I", [0]), array("I")
        for ends, glued in zip(self._ends, self._glued, strict=True):
            starts.append(len(lists) if ends or glued else 0)
            if ends or glued:
                lists.extend([len(ends), *ends, len(glued)])
                for key, to in glued:
                    lists.extend([*key, to])
        slots, children = hash_slots(list(self._edges), list(self._edges.values()))
        return {
            "trie.edges": slots,
            "trie.children": children,
            "trie.masks": self._masks,
            "trie.below": self._below,
            "trie.owner": self._owner,
            "trie.starts": starts,
            "trie.lists": lists,
            **string_sections("trie.words", self._words),
        }

    def _grow(self) -> int:
        for column in (self._masks, self._below, self._owner):
            column.append(0)
        self._nearest.append(_FAR)
        self._ends.append([])
        self._glued.append([])
        return len(self._ends) - 1

    def _child(self, node: int, piece: str | Slot) -> int:
        if isinstance(piece, Slot) and (piece.prefix or piece.suffix):
            return self._glued_child(node, piece)
        number = TYPES[piece.type] if isinstance(piece, Slot) else self._word(piece)
        if isinstance(piece, Slot):
            self._masks[node] |= 1 << number
        key = (node << 32) | number
        if key not in self._edges:
            self._edges[key] = self._grow()
        return self._edges[key]

    def _glued_child(self, node: int, slot: Slot) -> int:
        affixes = [self._word(affix) if affix else 0 for affix in (slot.prefix, slot.suffix)]
        key = (TYPES[slot.type], affixes[0], affixes[1])
        for other, to in self._glued[node]:
            if other == key:
                return to
        to = self._grow()
        self._glued[node].append((key, to))
        return to

    def _word(self, text: str) -> int:
        return self._words.setdefault(text, len(self._words) + 1) + FIRST_WORD

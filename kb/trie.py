"""The prefix tree over message templates: every template that some place of a paste matches, at a cost that does not grow with their number.

A node's children are found in one hash table keyed by node and token, so a step costs the same in a tree of any size. A placeholder is a child whose
key is its type; one with text glued to it (`{layer:name}.num_batches_tracked`) stands in a short list at its node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kb.lexer import Token, numbers
from kb.pattern import MAX_OPEN, OPEN, PLACEHOLDERS, Slot, accepts, inside
from kb.store import Arrays, HashSlots, StringTable

__all__ = ["FIRST_WORD", "ROOT", "SEVERAL", "TYPES", "Hit", "Trie"]

TYPES = {type_: number for number, type_ in enumerate(PLACEHOLDERS, 1)}
FIRST_WORD = 32
"""Token numbers below this are placeholder types; a word's number in the string table is shifted by it."""

_MAX_STEPS = 150_000
"""The most steps that one look-up takes over all starting places, against pastes made to be slow; a real one takes some hundreds."""

ROOT = 1
SEVERAL = 0xFFFFFFFF
_LEAST_LITERALS = 3
"""The fewest words of a template's beginning that are worth telling of."""

_MAX_READ = 10_000
"""Nodes whose lists are kept once read."""


class Hit(NamedTuple):
    """A place where a template matches: the template's number, the tokens from `start` up to `end`, the words found as they stand.

    `whole` is false where only the beginning of the template was found.
    """

    template: int
    start: int
    end: int
    literals: int
    whole: bool


class Trie:
    """The prefix tree, read from its mapped sections."""

    def __init__(self, arrays: Arrays) -> None:
        self.words = StringTable(arrays, "trie.words")
        self._edges = HashSlots(arrays, "trie.edges")
        self._masks, self._below, self._owner = arrays["trie.masks"], arrays["trie.below"], arrays["trie.owner"]
        self._starts, self._lists = arrays["trie.starts"], arrays["trie.lists"]
        self._plans: dict[int, list[tuple[int, str]]] = {}
        self._read: dict[int, tuple[list[int], list[tuple[Slot, int]]]] = {}
        self._first_glued = self._row(ROOT)[1] if self._starts[ROOT] else []
        self._first_slots = []
        for number, type_ in enumerate(PLACEHOLDERS, 1):
            if self._masks[ROOT] >> number & 1:
                to = self._edges.get(ROOT << 32 | number)
                self._first_slots.append((type_, to, not self._masks[to] and not self._starts[to]))

    def find(self, tokens: Sequence[Token]) -> list[Hit]:
        """Return, for each place, every template that matches there.

        Where none does, the beginning of one that is found there alone is returned.
        """
        ids = self._numbers(tokens)
        steps = _MAX_STEPS
        hits: list[Hit] = []
        for start in range(len(tokens)):
            begun = self._begin(tokens, ids, start)
            if begun:
                steps -= self._walk(tokens, ids, start, begun, hits, steps)
                if steps <= 0:
                    break
        return hits

    def _begin(self, tokens: Sequence[Token], ids: Sequence[int], start: int) -> list[tuple[int, int, int]]:
        """Return where the root leads from the token at `start`: node, next token, words found.

        Every token of a paste comes here, so a placeholder at the root is followed only where the next word goes on.
        """
        get, token = self._edges.get, tokens[start]
        begun = []
        number = ids[start]
        if number and (to := get(ROOT << 32 | number)):
            begun.append((to, start + 1, 1))
        last = start + 1 == len(ids)
        following, sized = (0, False) if last else (ids[start + 1], tokens[start + 1][1] == "shape")
        for type_, to, only_words in self._first_slots:
            if only_words and not sized and not (following and get(to << 32 | following)):
                continue
            if accepts(type_, token):
                begun.append((to, start + 1, 0))
        for slot, to in self._first_glued:
            if token[0].startswith(slot.prefix) and inside(slot, token):
                begun.append((to, start + 1, 1))
        if token[1] == "shape":
            begun += [(to, start + 1, 1) for to in self._numbered(ROOT, numbers(token[0]))]
        return begun

    def _numbers(self, tokens: Sequence[Token]) -> list[int]:
        """Return the number of each token's text, 0 where no template has it."""
        known: dict[str, int] = {}
        ids = []
        for token in tokens:
            text = token[0]
            found = known.get(text)
            if found is None:
                found = known[text] = self._number(token)
            ids.append(found)
        return ids

    def _number(self, token: Token) -> int:
        """Return a word's number; of two sentences glued together, as in `not allowed.You can`, that of the first one's last word."""
        text, kind, _, raw = token
        found = self.words.number(text)
        if not found and kind == "word" and raw.partition(".")[2][:1].isupper():
            found = self.words.number(text.partition(".")[0])
        return found + FIRST_WORD if found else 0

    def _walk(
        self,
        tokens: Sequence[Token],
        ids: Sequence[int],
        start: int,
        stack: list[tuple[int, int, int]],
        hits: list[Hit],
        steps: int,
    ) -> int:
        """Follow every path on from those in `stack`, begun at the token `start`; append the hits, return the steps taken."""
        masks, starts, get = self._masks, self._starts, self._edges.get
        seen: set[tuple[int, int]] = set()
        taken, total, before = 0, len(tokens), len(hits)
        deepest = (0, 0, 0)
        while stack and taken < steps:
            state = node, at, literals = stack.pop()
            taken += 1
            if literals > deepest[2]:
                deepest = state
            if starts[node]:
                ends, glued = self._read.get(node) or self._row(node)
                hits += [Hit(template, start, at, literals, True) for template in ends]
                if at < total:
                    stack += [(to, at + 1, literals + 1) for slot, to in glued if inside(slot, tokens[at])]
            if at >= total:
                continue
            mask = masks[node]
            if mask:
                if (node, at) in seen:
                    continue
                seen.add((node, at))
                taken += self._slots(node, mask, tokens, at, literals, stack)
            if tokens[at][1] == "shape":
                stack += [(to, at + 1, literals + 1) for to in self._numbered(node, numbers(tokens[at][0]))]
            number = ids[at]
            if number and (to := get(node << 32 | number)):
                stack.append((to, at + 1, literals + 1))
        if len(hits) == before:
            self._begun(start, deepest, tokens, hits)
        return taken

    def _begun(self, start: int, deepest: tuple[int, int, int], tokens: Sequence[Token], hits: list[Hit]) -> None:
        """Note the beginning of a template where only one entry has templates that begin so, with what stands for the placeholder after it."""
        node, at, literals = deepest
        if literals >= _LEAST_LITERALS and self._owner[node] not in (0, SEVERAL):
            closed = (type_ for number, type_ in self._plan(self._masks[node]) if type_ not in OPEN)
            at += at < len(tokens) and any(accepts(type_, tokens[at]) for type_ in closed)
            hits.append(Hit(self._below[node], start, at, literals, False))

    def _row(self, node: int) -> tuple[list[int], list[tuple[Slot, int]]]:
        """Return the templates that end at the node, and its placeholders with glued text and where each leads."""
        lists, row = self._lists, self._starts[node]
        count = lists[row]
        ends = list(lists[row + 1 : row + 1 + count])
        row += 1 + count
        glued = []
        for offset in range(row + 1, row + 1 + 4 * lists[row], 4):
            type_, prefix, suffix, to = lists[offset : offset + 4]
            glued.append((Slot(PLACEHOLDERS[type_ - 1], "", self._text(prefix), self._text(suffix)), to))
        glued.sort()  # in which order they were planted is no matter
        if len(self._read) < _MAX_READ:
            self._read[node] = ends, glued
        return ends, glued

    def _text(self, number: int) -> str:
        return self.words.text(number - FIRST_WORD) if number else ""

    def _slots(
        self, node: int, mask: int, tokens: Sequence[Token], at: int, literals: int, stack: list[tuple[int, int, int]]
    ) -> int:
        """Follow the placeholders of the node; return the extra steps taken."""
        extra, token = 0, tokens[at]
        for number, type_ in self._plan(mask):
            if not accepts(type_, token):
                continue
            to = self._edges.get(node << 32 | number)
            if type_ not in OPEN:
                stack.append((to, at + 1, literals))
                continue
            last = at + 1
            while last < min(len(tokens), at + MAX_OPEN) and tokens[last][1] != "cjk":
                last += 1
            extra += last - at
            stack += [(to, end, literals) for end in range(last, at, -1)]
        return extra

    def _plan(self, mask: int) -> list[tuple[int, str]]:
        """Return the placeholders of a mask: the number of each and its type."""
        plan = self._plans.get(mask)
        if plan is None:
            plan = self._plans[mask] = [(n, type_) for n, type_ in enumerate(PLACEHOLDERS, 1) if mask >> n & 1]
        return plan

    def _numbered(self, node: int, found: Sequence[int]) -> list[int]:
        """Return where a size leads when each of its numbers stands for one piece, as in `[{low:int}, {high:int}]`."""
        if not 0 < len(found) <= 8:
            return []
        nodes = [node]
        for number in found:
            word = self.words.number(str(number))
            keys = [TYPES["int"], TYPES["num"]] + ([word + FIRST_WORD] if word else [])
            nodes = [to for at in nodes for key in keys if (to := self._edges.get(at << 32 | key))]
            if not nodes:
                return []
        return nodes

"""Mend words that a screenshot retyped by hand, or read by a machine, spoils: one letter wrong, missing, added or swapped, or a space lost.

Symmetric deletion, as in Garbe's SymSpell: every known word is stored with each of its letters left out, so that a look-up tries a word's own deletions
and costs the same for any number of known words.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from kb.store import Arrays, StringTable, string_sections

__all__ = ["Speller", "spell_sections"]

_SHORTEST, _LONGEST = 4, 24
_TWO_ERRORS = 9
"""From this length on a word may differ in two places."""


def spell_sections(words: Iterable[str]) -> dict[str, Any]:
    """Return the sections of a speller for `kb.store`; of two words that a misspelling may stand for the one that comes first in `words` is taken."""
    known: dict[str, int] = {}
    variants: dict[str, int] = {}
    for word in words:
        number = known.setdefault(word, len(known) + 1)
        if _SHORTEST <= len(word) <= _LONGEST and number == len(known):
            for variant in _deletions(word):
                variants.setdefault(variant, number)
    return {
        **string_sections("spell.words", known),
        **string_sections("spell.variants", variants),
        "spell.of": array("I", [0, *variants.values()]),
    }


class Speller:
    """Finds the known word that a misspelt one stands for."""

    def __init__(self, arrays: Arrays) -> None:
        self._words = StringTable(arrays, "spell.words")
        self._variants = StringTable(arrays, "spell.variants")
        self._of = arrays["spell.of"]

    def known(self, word: str) -> bool:
        """Tell whether the lower-case word is known."""
        return bool(self._words.number(word))

    def mend(self, word: str) -> list[str]:
        """Return the known word that a lower-case word stands for, or the two that it runs together; an empty list when there is none, or it is known."""
        if not _SHORTEST <= len(word) <= _LONGEST or not word.isascii() or not word.isalpha() or self.known(word):
            return []
        for candidate in self._candidates(word):
            if _near(word, candidate, 2 if len(word) >= _TWO_ERRORS else 1):
                return [candidate]
        for at in range(2, len(word) - 2):
            if len(word) >= 8 and self.known(word[:at]) and self.known(word[at:]):
                return [word[:at], word[at:]]
        return []

    def _candidates(self, word: str) -> Iterator[str]:
        if number := self._variants.number(word):
            yield self._words.text(self._of[number])
        for variant in _deletions(word):
            if self._words.number(variant):
                yield variant
            if number := self._variants.number(variant):
                yield self._words.text(self._of[number])


def _deletions(word: str) -> list[str]:
    return [word[:at] + word[at + 1 :] for at in range(len(word))]


def _near(one: str, other: str, most: int) -> bool:
    """Tell whether at most `most` letters were replaced, added, left out or swapped with their neighbour (optimal string alignment)."""
    if abs(len(one) - len(other)) > most:
        return False
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        new = [i]
        for j, other_letter in enumerate(other, 1):
            cost = min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (letter != other_letter))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == other_letter:
                cost = min(cost, before[j - 2] + 1)
            new.append(cost)
        before, row = row, new
    return row[-1] <= most

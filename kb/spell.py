"""Mend words that a screenshot retyped by hand, or read by a machine, spoils: one letter wrong, missing, added or swapped, or a space lost.

Symmetric deletion, as in Garbe's SymSpell: every known word is stored with each of its letters left out, so that a look-up tries a word's own deletions
and costs the same for any number of known words.
"""

from __future__ import annotations

from collections.abc import Iterator

from kb.store import Arrays, StringTable

__all__ = ["LONGEST", "SHORTEST", "Speller", "deletions"]

SHORTEST, LONGEST = 4, 24
"""The letters of a word that is mended."""
_TWO_ERRORS = 9
"""From this length on a word may differ in two places."""


class Speller:
    """Finds the known word that a misspelt one stands for."""

    def __init__(self, arrays: Arrays) -> None:
        self._words, self._counts = StringTable(arrays, "spell.words"), arrays["spell.counts"]
        self._variants, self._last = StringTable(arrays, "spell.variants"), arrays["spell.last"]
        self._of, self._before = arrays["spell.of"], arrays["spell.before"]

    def known(self, word: str) -> bool:
        """Tell whether the lower-case word is known."""
        return bool(self._counts[self._words.number(word)])

    def mend(self, word: str) -> list[str]:
        """Return the known word that a lower-case word stands for, or the two that it runs together; an empty list when there is none, or it is known."""
        if not SHORTEST <= len(word) <= LONGEST or not word.isascii() or not word.isalpha() or self.known(word):
            return []
        for candidate in self._candidates(word):
            if _near(word, candidate, 2 if len(word) >= _TWO_ERRORS else 1):
                return [candidate]
        for at in range(2, len(word) - 2):
            if len(word) >= 8 and self.known(word[:at]) and self.known(word[at:]):
                return [word[:at], word[at:]]
        return []

    def _candidates(self, word: str) -> Iterator[str]:
        yield from self._missing_a_letter(word)
        for variant in deletions(word):
            if self.known(variant):
                yield variant
            yield from self._missing_a_letter(variant)

    def _missing_a_letter(self, variant: str) -> list[str]:
        """Return the commonest of the known words that are the variant when one of their letters is left out."""
        words = []
        at = self._last[self._variants.number(variant)]
        while at:
            number = self._of[at]
            if count := self._counts[number]:
                words.append((-count, self._words.text(number)))
            at = self._before[at]
        return [min(words)[1]] if words else []


def deletions(word: str) -> list[str]:
    """Return the word with each of its letters left out."""
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

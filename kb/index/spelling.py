"""Correct words with one or two wrong letters: retyped from a screenshot, or read by a machine.

Symmetric deletion, as in Garbe's SymSpell: the index stores every known word under each of its variants with one letter
left out. A look-up tries the variants of the misspelt word, so its cost does not grow with the number of known words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kb.index.storage import Row, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.corpus.entry import Entry

__all__ = ["Speller", "word_counts", "word_rows"]

_MIN_LETTERS, _MAX_LETTERS = 4, 24
"""The lengths of words that are corrected."""

_TWO_ERRORS = 9
"""The length from which a word may differ in two places."""


class Speller:
    """Finds the known word that a misspelt one stands for."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def is_known(self, word: str) -> bool:
        """Tell whether some entry contains the lower-case word."""
        return self._store.count("words", word) > 0

    def correct(self, word: str) -> list[str]:
        """Return the known word that a lower-case word stands for, or the two words that it joins.

        The list is empty if the word is known or nothing is near.
        """
        if (
            not _MIN_LETTERS <= len(word) <= _MAX_LETTERS
            or not word.isascii()
            or not word.isalpha()
            or self.is_known(word)
        ):
            return []
        for candidate in self._candidates(word):
            if len(word) >= _TWO_ERRORS or _differ_once(word, candidate):
                return [candidate]
        for at in range(2, len(word) - 2):
            if len(word) >= 8 and self.is_known(word[:at]) and self.is_known(word[at:]):
                return [word[:at], word[at:]]
        return []

    def _candidates(self, word: str) -> Iterator[str]:
        """Yield known words that are at most two letters away."""
        yield from self._with_one_letter_more(word)
        for variant in _deletions(word):
            if self.is_known(variant):
                yield variant
            yield from self._with_one_letter_more(variant)

    def _with_one_letter_more(self, variant: str) -> list[str]:
        """Return the most frequent known word that is the variant with one letter more."""
        words = filter(self.is_known, self._store.members("deletions", variant))
        return sorted(words, key=lambda word: (-self._frequency(word), word))[:1]

    def _frequency(self, word: str) -> float:
        return sum(count for _, count in self._store.postings("words", word))


def word_counts(entry: Entry) -> Counter[str]:
    """Return how often each word occurs in the messages, titles, aliases, names and prose of an entry."""
    from kb.index.term_vectors import entry_texts
    from kb.text.lexer import lex

    return Counter(
        token.text
        for field, text in entry_texts(entry)
        if field in ("message", "title", "alias", "prose", "api")
        for token in lex(text)
        if token.type in ("word", "dtype", "device") and token.text.isascii()
    )


def word_rows(store: Store, number: int, counts: Mapping[str, int]) -> Iterator[Row]:
    """Yield how often one entry has each word, and the variants of the words that no entry has had."""
    for word, count in sorted(counts.items()):
        if _MIN_LETTERS <= len(word) <= _MAX_LETTERS and not store.count("words", word):
            for variant in _deletions(word):
                yield "deletions", variant, word
        yield "words", word, (number, count)


def _deletions(word: str) -> list[str]:
    """Return the word with each of its letters left out."""
    return list(dict.fromkeys(word[:at] + word[at + 1 :] for at in range(len(word))))


def _differ_once(left: str, right: str) -> bool:
    """Tell whether one letter was replaced, added, left out or swapped with its neighbour."""
    while left and left[0] == right[:1]:
        left, right = left[1:], right[1:]
    while left and left[-1] == right[-1:]:
        left, right = left[:-1], right[:-1]
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])

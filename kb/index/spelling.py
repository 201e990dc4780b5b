"""Correct words with one or two wrong letters: retyped from a screenshot, or read by a machine.

Symmetric deletion, as in Garbe's SymSpell: the index stores every known word under each of its variants with one letter
left out. A look-up tries the variants of the misspelt word, so its cost does not grow with the number of known words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kb.index.storage import Store, WriteBuffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.corpus.entry import Entry

__all__ = ["TABLES", "Speller", "count_words", "word_counts"]

TABLES = ("word_counts", "deletions")

_MIN_LETTERS, _MAX_LETTERS = 4, 24
"""The lengths of words that are corrected."""

_TWO_ERRORS = 9
"""The length from which a word may differ in two places."""


class Speller:
    """Finds the known word that a misspelt one stands for."""

    def __init__(self, store: Store | WriteBuffer) -> None:
        self._store = store

    def is_known(self, word: str) -> bool:
        """Tell whether some entry contains the lower-case word."""
        return self._store.get("word_counts", word) is not None

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
        words = self._store.get("deletions", variant) or ()
        return sorted(words, key=lambda word: (-self._store.get("word_counts", word), word))[:1]


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


def count_words(buffer: WriteBuffer, counts: Mapping[str, int], step: int = 1) -> None:
    """Add the words of one entry to the index, or remove them (`step` is -1)."""
    for word, count in counts.items():
        was_known = bool(buffer.get("word_counts", word))
        buffer.count("word_counts", word, step * count)
        if was_known != bool(buffer.get("word_counts", word)) and _MIN_LETTERS <= len(word) <= _MAX_LETTERS:
            for variant in _deletions(word):
                buffer.count("deletions", variant, step, word)


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

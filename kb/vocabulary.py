"""The words of all entries, counted: how many entries have a term, and how often a word stands in all of them, with the ways to misspell it.

Begun empty or taken from the generation before; `kb.vectors` and `kb.spell` read them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kb.entry import Entry
from kb.growing import GrowingStrings, Sections, column
from kb.lexer import lex
from kb.spell import LONGEST, SHORTEST, deletions
from kb.store import Arrays
from kb.words import entry_texts

__all__ = ["Lexicon", "Spelling", "spelt"]


class Lexicon:
    """In how many entries each term stands."""

    def __init__(self, arrays: Arrays | None = None) -> None:
        self._terms = GrowingStrings("lexicon", arrays)
        self._entries = column(arrays, "lexicon.entries", "I", (0,))

    def number(self, term: str) -> int:
        """Return the term's number, a new one when it has none."""
        number = self._terms.add(term)
        if number == len(self._entries):
            self._entries.append(0)
        return number

    def count(self, terms: Iterable[str], step: int) -> None:
        """Count one entry's terms in (1) or out (-1)."""
        for term in terms:
            self._entries[self.number(term)] += step

    def sections(self) -> Sections:
        """Return the lexicon's sections."""
        return {**self._terms.sections(), "lexicon.entries": self._entries}


class Spelling:
    """How often each word stands in all entries, and for each word with a letter left out the words that this may be.

    Those words are a list of links: the last one that came, and at each the one before.
    """

    def __init__(self, arrays: Arrays | None = None) -> None:
        self._words = GrowingStrings("spell.words", arrays)
        self._counts = column(arrays, "spell.counts", "I", (0,))
        self._variants = GrowingStrings("spell.variants", arrays)
        self._last = column(arrays, "spell.last", "I", (0,))
        self._of = column(arrays, "spell.of", "I", (0,))
        self._before = column(arrays, "spell.before", "I", (0,))

    def count(self, words: Mapping[str, int], step: int) -> None:
        """Count one entry's words in (1) or out (-1)."""
        for word, times in words.items():
            number = self._words.add(word)
            if number == len(self._counts):
                self._counts.append(0)
                if SHORTEST <= len(word) <= LONGEST:
                    self._link(number, set(deletions(word)))
            self._counts[number] += step * times

    def sections(self) -> Sections:
        """Return the speller's sections."""
        lists: Sections = {"spell.last": self._last, "spell.of": self._of, "spell.before": self._before}
        return {**self._words.sections(), **self._variants.sections(), "spell.counts": self._counts, **lists}

    def _link(self, number: int, variants: set[str]) -> None:
        for variant in variants:
            at = self._variants.add(variant)
            if at == len(self._last):
                self._last.append(0)
            self._of.append(number)
            self._before.append(self._last[at])
            self._last[at] = len(self._of) - 1


def spelt(entry: Entry) -> Counter[str]:
    """Return how often each word stands in the entry's messages, titles, aliases, names and prose."""
    return Counter(
        token.text
        for field, text in entry_texts(entry)
        if field in ("message", "title", "alias", "prose", "api")
        for token in lex(text)
        if token.type in ("word", "dtype", "device") and token.text.isascii()
    )

"""Find message templates that match what another entry's repro printed: such a template would answer the wrong question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kb.corpus.entry import Entry
from kb.corpus.loader import Corpus
from kb.search.reading import read
from kb.templates.entry_templates import entry_templates
from kb.templates.matcher import Piece, is_typed
from kb.templates.occurrences import find_occurrences
from kb.text.lexer import Token, lex
from kb.text.normalize import normalize

__all__ = ["TemplateCollision", "template_collisions"]

_MIN_LITERALS = 3
"""Templates with fewer literal words count only together with their exception's type, which other errors do not have."""


class TemplateCollision(NamedTuple):
    """A template of the entry `slug` that matches what a repro of the entry `printed_by` printed."""

    slug: str
    template: str
    printed_by: str


class _Template(NamedTuple):
    """A message of an entry: its pieces, how many are literal, the words that a text must have, its type, and the files of which the frames must have one."""

    slug: str
    source: str
    pieces: tuple[Piece, ...]
    literals: int
    words: frozenset[str]
    type: str
    files: tuple[str, ...] = ()


class _Match(NamedTuple):
    """A template and the tokens from `start` up to `end` of an output that it matches, the exception's type included."""

    template: _Template
    start: int
    end: int

    def covers(self, match: _Match) -> bool:
        """Return whether the other match is inside this one and no more specific."""
        return self.start <= match.start and match.end <= self.end and self.template.literals >= match.template.literals


def template_collisions(
    corpus: Corpus, printed: Mapping[str, str], slugs: Collection[str] | None = None
) -> list[TemplateCollision]:
    """Return every template that matches the output of another entry's repro; `printed` holds the outputs by the ids of cases and checks.

    With `slugs`, only the templates of these entries are looked at.

    What a check printed is no error and does not count.

    Where an output has several errors, only those count that the entry's own templates match. A template that matches inside a longer match of the
    entry's own may, because the more specific answer wins. So may a message that both entries give, word for word: there the rest of a paste decides.
    """
    templates = _TemplateIndex([entry for entry in corpus if slugs is None or entry.id in slugs])
    collisions = set()
    for case in (case for entry in corpus for case in entry.cases if case.id in printed):
        collisions |= {
            TemplateCollision(template.slug, template.source, case.entry)
            for template in templates.colliding(corpus.entries[case.entry], printed[case.id])
        }
    return sorted(collisions)


class _TemplateIndex:
    """The templates of entries by their rarest word, so that an output is compared with few of them."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._by_word: dict[str, list[_Template]] = {}
        templates = list(_templates(entries))
        counts = Counter(word for template in templates for word in template.words)
        for template in templates:
            rarest = min(template.words, key=lambda word: (counts[word], -len(word), word), default="")
            self._by_word.setdefault(rarest, []).append(template)

    def colliding(self, entry: Entry, output: str) -> set[_Template]:
        """Return the templates of other entries that match what a repro of the entry printed, without those that may."""
        text = normalize(output).text
        lowered = text.lower()
        if not any(word in lowered for word in self._by_word):
            return set()
        slug, tokens = entry.id, lex(text)
        matches = [match for match in self._matches(tokens) if match.template.slug != slug]
        if not matches:
            return set()  # as nearly always; finding the errors takes longer than all else here
        own_templates = list(_templates([entry]))
        matches += (match for template in own_templates for match in _occurrences(template, tokens))
        reading = read(output)
        ranks = [
            reading.error_rank(reading.tokens[match.start].start, reading.tokens[match.end - 1].start)
            for match in matches
        ]
        own = [match for match in matches if match.template.slug == slug]
        own_errors = {rank for match, rank in zip(matches, ranks, strict=True) if match.template.slug == slug}
        own_errors -= {len(reading.errors)}
        foreign = [
            match
            for match, rank in zip(matches, ranks, strict=True)
            if match.template.slug != slug
            and (not own_errors or rank in own_errors)
            and (not match.template.files or any(f'{file}"' in output for file in match.template.files))
        ]
        covered = {match.template for match in foreign if any(longer.covers(match) for longer in own)}
        shared = {template.pieces for template in own_templates}
        return {match.template for match in foreign if match.template.pieces not in shared} - covered

    def _matches(self, tokens: Sequence[Token]) -> Iterator[_Match]:
        words = _words(tokens)
        for word in (*words, ""):
            for template in self._by_word.get(word, ()):
                if template.words <= words:
                    yield from _occurrences(template, tokens)


def _occurrences(template: _Template, tokens: Sequence[Token]) -> Iterator[_Match]:
    for start, end in find_occurrences(template.pieces, tokens):
        yield _Match(template, start - is_typed(template.type, tokens, start), end)


def _templates(entries: Iterable[Entry]) -> Iterator[_Template]:
    """Yield the messages of entries that have enough literal words."""
    for entry in entries:
        for message, template in entry_templates(entry):
            pieces = template.pieces
            literals = sum(isinstance(piece, str) or bool(piece.prefix or piece.suffix) for piece in pieces)
            if literals >= _MIN_LITERALS:
                words = frozenset(piece for piece in pieces if isinstance(piece, str) and not piece.isdigit())
                yield _Template(entry.id, message.text, pieces, literals, words, template.type.lower(), message.files)


def _words(tokens: Sequence[Token]) -> set[str]:
    """Return the literal pieces that some token can match: its text, and what is before a dot of it, where two sentences are glued together."""
    words = {token.text for token in tokens}
    for text in [text for text in words if "." in text]:
        words |= {text[:place] for place, char in enumerate(text[:200]) if char == "."}
    return words

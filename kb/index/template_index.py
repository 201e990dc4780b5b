"""The inverted index of message templates: which templates may match at some place of a text, for the matcher to check.

A template is found by its anchor: its first words, at most three, with their distances. A paste is scanned once, and each of its
words is looked up as the first word of an anchor. So the cost depends on the length of the paste, and hardly on the number
of templates: this is the n-gram index of Zobel and Moffat (2006, section 4), with gaps where a template has placeholders.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from kb.index.storage import Store, WriteBuffer
from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple
from kb.templates.matcher import OPEN_TYPES, Alignment, Piece, Placeholder, align
from kb.text.lexer import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.templates.template import Template

__all__ = ["TABLES", "TemplateHit", "TemplateIndex", "TemplateRecord", "count_messages"]

TABLES = ("templates", "anchors", "first_words", "message_words")

_ANCHOR_WORDS = 3
_MAX_SIZES = 6
"""The maximum number of numbers in a row that may be one size, as `[{n:int}, {c:int}, {d:int}, {h:int}, {w:int}]` of a batch of volumes."""

_MIN_TAIL_WORDS = 5
_MIN_PREFIX_WORDS = 3
"""The minimum number of words of a template's beginning that counts as a partial match."""

_MAX_ALIGNMENTS = 4_000
"""The maximum number of alignments in one look-up. Real pastes need tens; the bound is for pastes made to be slow."""

_MAX_CACHED = 20_000
"""Records, templates by anchor, and lists of the offsets of anchors, that are kept once read, of each so many: a log repeats its lines."""

_CLAUSE_END = lazy_pattern(r"[:.,!] |\n")


class TemplateRecord(NamedTuple):
    """A template as it is indexed: a whole message, the tail of one (`is_tail`), or only the name of an exception or signal (`is_bare_type`).

    `type` is the exception's class name without modules, the name of a signal, or empty. `information` is the information content of each word
    of `pieces` in nats: the natural logarithm of one over the share of the entries whose messages have the word. `open_ends` are the
    names of the open placeholders before and after `pieces`, which hold none; empty where there is none.
    """

    id: str
    slug: str
    source: str
    type: str
    pieces: tuple[Piece, ...]
    is_tail: bool
    is_bare_type: bool
    open_ends: tuple[str, str] = ("", "")
    information: tuple[float, ...] = ()


class TemplateHit(NamedTuple):
    """A place where a template matches, completely or with its beginning, from the token `start` on."""

    template: TemplateRecord
    start: int
    alignment: Alignment

    @property
    def end(self) -> int:
        """The index after the last token of the match."""
        return self.alignment.end


class TemplateIndex:
    """Finds the templates that match in a text."""

    def __init__(self, store: Store | WriteBuffer, entries_with_messages: int) -> None:
        self._store, self._entries = store, entries_with_messages
        self._offsets = lru_cache(_MAX_CACHED)(self._read_offsets)
        self._anchored = lru_cache(_MAX_CACHED)(self._read_anchored)
        self._record = lru_cache(_MAX_CACHED)(self._read_record)
        self._weighed = lru_cache(_MAX_CACHED)(self._weigh)

    def find(self, tokens: Sequence[Token]) -> list[TemplateHit]:
        """Return every complete match, in the order of the text; where none begins, the beginning of a template if only one entry has such a template."""
        words = [self._word(token) for token in tokens]
        candidates: dict[int, set[str]] = {}
        for at in range(len(words)):
            for start, template_id in self._candidates(words, at):
                candidates.setdefault(start, set()).add(template_id)
        hits: list[TemplateHit] = []
        alignments = 0
        for start, template_ids in sorted(candidates.items()):
            alignments += len(template_ids)
            if alignments > _MAX_ALIGNMENTS:
                break
            records = [self._record(template_id) for template_id in sorted(template_ids)]
            aligned = [TemplateHit(record, start, align(record.pieces, tokens, start)) for record in records]
            complete = [hit for hit in aligned if hit.alignment.whole]
            hits += complete or _unique_prefix(aligned)
        return [hit._replace(template=self._weighed(hit.template)) for hit in _without_shared_tails(hits)]

    def _candidates(self, words: Sequence[str], at: int) -> Iterator[tuple[int, str]]:
        """Yield (start, template) for the anchors whose first word is the word at the index `at`."""
        for offsets in self._offsets(words[at]):
            start = at - offsets[0]
            if start >= 0 and start + offsets[-1] < len(words):
                key = _anchor_key(offsets, [words[start + offset] for offset in offsets])
                for template_id in self._anchored(key):
                    yield start, template_id

    def _word(self, token: Token) -> str:
        """Return the word to look up; of two sentences glued together, as in `not allowed.You can`, the last word of the first."""
        first, dot, rest = token.raw.partition(".")
        if dot and rest[:1].isupper() and token.type == "word" and self._store.get("message_words", token.text) is None:
            return first.lower()
        return token.text

    def _read_offsets(self, word: str) -> list[tuple[int, ...]]:
        """Return the offsets of the anchors whose first word it is."""
        return [tuple(map(int, offsets.split())) for offsets in self._store.get("first_words", word) or ()]

    def _read_anchored(self, key: str) -> tuple[str, ...]:
        """Return the templates that have the anchor."""
        return tuple(self._store.get("anchors", key) or ())

    def _read_record(self, template_id: str) -> TemplateRecord:
        slug, source, type_, pieces, is_tail, is_bare_type, ends = self._store.get("templates", template_id)
        pieces = tuple(Placeholder(*piece) if isinstance(piece, list) else piece for piece in pieces)
        return TemplateRecord(template_id, slug, source, type_, pieces, is_tail, is_bare_type, (ends[0], ends[1]))

    def _weigh(self, record: TemplateRecord) -> TemplateRecord:
        """Return the record with the information of its words, which takes longer than the rest: few of the templates that are tried match."""
        counts = [self._store.get("message_words", word) or math.inf for word in record.pieces if isinstance(word, str)]
        return record._replace(information=tuple(round(math.log(1 + self._entries / count), 1) for count in counts))


def count_messages(buffer: WriteBuffer, slug: str, messages: Sequence[str], step: int = 1) -> None:
    """Add the messages of one entry to the index, or remove them (`step` is -1). Those that cannot be compiled are left out; `kb check` reports them."""
    words: set[str] = set()
    for number, (template, pieces, is_tail, is_bare_type) in enumerate(_rows(messages)):
        template_id = f"{slug} {number}"
        words.update(piece for piece in pieces if isinstance(piece, str))
        row = [slug, template.source, template.type, pieces, is_tail, is_bare_type, _open_ends(template.pieces)]
        buffer.put("templates", template_id, row if step > 0 else None)
        for offsets, anchor_words in _anchors(pieces):
            buffer.count("anchors", _anchor_key(offsets, anchor_words), step, template_id)
            buffer.count("first_words", anchor_words[0], step, " ".join(map(str, offsets)))
    for word in words:
        buffer.count("message_words", word, step)


def _rows(messages: Sequence[str]) -> Iterator[tuple[Template, tuple[Piece, ...], bool, bool]]:
    """Yield (template, pieces, is_tail, is_bare_type) for whole messages and then for their tails."""
    tails: dict[tuple[Piece, ...], Template] = {}
    for template in filter(None, map(_compile, messages)):
        pieces = _closed(template.pieces)
        if pieces:
            yield template, pieces, False, False
        else:
            yield from ((template, name, False, True) for name in _type_names(template))
        for tail in _tails(template):
            tails.setdefault(tail, template)
    yield from ((template, tail, True, False) for tail, template in tails.items())


def _compile(message: str) -> Template | None:
    from kb.templates.template import TemplateError, compile_template

    try:
        return compile_template(message)
    except TemplateError:
        return None


def _anchors(pieces: Sequence[Piece]) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Return the anchors of a template: the offsets of its first words from its beginning, in tokens, and the words.

    Several numbers in a row may be one token of a size, as in `[{low:int}, {high:int}]`, so all counts of tokens are tried.
    """
    variants: list[tuple[int, tuple[int, ...], tuple[str, ...]]] = [(0, (), ())]
    numbers = 0
    for piece in pieces:
        if isinstance(piece, str) and not piece.isdigit():
            numbers = 0
            variants = [(position + 1, (*offsets, position), (*words, piece)) for position, offsets, words in variants]
            if len(variants[0][1]) == _ANCHOR_WORDS:
                break
        elif isinstance(piece, Placeholder) and piece.type in OPEN_TYPES:
            break
        else:
            numbers = numbers + 1 if isinstance(piece, str) or piece.type in ("int", "num") else 0
            advanced = [(position + 1, offsets, words) for position, offsets, words in variants]
            variants = list(dict.fromkeys(advanced + (variants if 1 < numbers <= _MAX_SIZES else [])))
    return list(dict.fromkeys((offsets, words) for _, offsets, words in variants if words))


def _anchor_key(offsets: Sequence[int], words: Sequence[str]) -> str:
    return " ".join([*map(str, offsets), *words])


def _unique_prefix(hits: Sequence[TemplateHit]) -> list[TemplateHit]:
    """Return the hit whose template's beginning has the most words, unless several entries have a template that begins so.

    Of an entry's own templates the one of which the least is missing is returned.
    """
    most = max(hit.alignment.words for hit in hits)
    longest = [hit for hit in hits if hit.alignment.words == most]
    if most < _MIN_PREFIX_WORDS or len({hit.template.slug for hit in longest}) > 1:
        return []
    return [min(longest, key=lambda hit: (len(hit.template.pieces) - hit.alignment.pieces, hit.template.id))]


def _without_shared_tails(hits: list[TemplateHit]) -> list[TemplateHit]:
    """Remove tails that other entries have as well, as a tail or as a whole message, because they identify none of them."""
    owners: dict[tuple[int, tuple[Piece, ...]], set[str]] = {}
    for hit in hits:
        owners.setdefault((hit.start, _unnamed(hit.template.pieces)), set()).add(hit.template.slug)
    return [
        hit for hit in hits if not hit.template.is_tail or len(owners[hit.start, _unnamed(hit.template.pieces)]) == 1
    ]


def _unnamed(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    return tuple(piece._replace(name="") if isinstance(piece, Placeholder) else piece for piece in pieces)


def _closed(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return the pieces without open placeholders at either end, which match anything."""
    closed = [at for at, piece in enumerate(pieces) if isinstance(piece, str) or piece.type not in OPEN_TYPES]
    return tuple(pieces[closed[0] : closed[-1] + 1]) if closed else ()


def _open_ends(pieces: Sequence[Piece]) -> tuple[str, str]:
    """Return the names of the open placeholders with which a template begins and ends."""
    ends = [piece.name if isinstance(piece, Placeholder) and piece.type in OPEN_TYPES else "" for piece in pieces]
    return (ends[0], ends[-1]) if ends else ("", "")


def _type_names(template: Template) -> list[tuple[str, ...]]:
    """Return the name of an exception whose message is empty, or of a signal, as tokens: with its module, and without."""
    full = template.source.partition(": ")[0].rstrip(": ").lower()
    return [(full,), (template.type.lower(),)] if "." in full else [tuple(full.split())]


def _tails(template: Template) -> Iterator[tuple[Piece, ...]]:
    """Yield what follows each clause of the message if it has enough words to differ from other messages.

    A message that begins with the line of code that raised it needs that line.
    """
    head, _, body = template.source.partition(": ")
    if " " in head and head.endswith(("Error", "Exception", "Warning")):
        return
    for tail in (_compile(body[end.end() :]) for end in _CLAUSE_END.finditer(body)):
        pieces = _closed(tail.pieces) if tail else ()
        if sum(isinstance(piece, str) for piece in pieces) >= _MIN_TAIL_WORDS and len(pieces) < len(template.pieces):
            yield pieces

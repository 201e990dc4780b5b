"""Match the messages of entries with a paste: which templates stand in it, and in which of its errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kb.index.reader import Index
from kb.index.template_index import TemplateHit
from kb.search.answer import Confidence
from kb.search.reading import Reading
from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple
from kb.templates.attributes import MODULE, TENSOR, is_of_pytorch_alone
from kb.templates.matcher import Piece, Placeholder, is_typed
from kb.text.frames import traceback_files
from kb.text.software import BUILT_ON_PYTORCH, names_pytorch
from kb.text.tracebacks import ErrorSpan
from kb.text.wrappers import is_wrapper, reports_another

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kb.documents.shapes import MessagesDocument
    from kb.search.query import Query

__all__ = ["MessageMatch", "best_ties", "has_full_line", "is_all_of_paste", "match_messages", "message_signals"]

MIN_INFORMATION = 10.0
"""Minimum information content, in nats, that the matched words of an incomplete template need. About four rare words."""

MIN_COVERAGE = 0.7
"""Minimum share of a template's information that has to be matched if the message goes on in other words."""

_SENTENCE_END = lazy_pattern(r"['\"`)]?(?:[.!?]\s|[。！？])")
_DEPRECATIONS = frozenset({"DeprecationWarning", "FutureWarning", "PendingDeprecationWarning"})
"""Warnings about another release, not about what happens in this one."""

_LEVEL: dict[Confidence, int] = {"exact": 0, "likely": 1, "related": 2}


class MessageMatch(NamedTuple):
    """A template that matches, and the error that it matches in.

    `error_rank` is that error's position in the order of causes, or the number of errors if the match is in none.
    `is_typed` says that the exception's name stands before the message. `is_aside` says that the match explains a warning,
    a notice or a wrapper while the paste has an error or the traceback of one, `is_notice` that its entry is about what is printed beside errors,
    `reports_shown` that the message only reports an error that the paste shows, `is_below` that an empty line parts the match
    from the beginning of its error, and `is_placed` that the template counts only with a file among the frames, which the paste has.
    """

    hit: TemplateHit
    error_rank: int
    is_typed: bool
    is_aside: bool
    is_notice: bool
    reports_shown: bool
    is_below: bool
    confidence: Confidence
    is_placed: bool = False

    @property
    def slug(self) -> str:
        """The entry that the template belongs to."""
        return self.hit.template.slug

    @property
    def specificity(self) -> tuple[int, bool]:
        """Order of matches at the same place: the number of matched words, more for complete templates, then the exception's name."""
        return self.hit.alignment.words + 2 * self.hit.alignment.whole, self.is_typed

    def order(self) -> tuple[Any, ...]:
        """Sort key, best first; matches with equal keys are ties that only the rest of the paste tells apart."""
        template = self.hit.template
        is_warning = (self.is_notice or template.type.endswith("Warning")) + (template.type in _DEPRECATIONS)
        information = -sum(template.information)
        level = _LEVEL["likely"] + 0.5 if self.reports_shown else _LEVEL[self.confidence]
        place = self.error_rank, reports_another(template.source), self.is_below
        return (
            self.confidence == "related",
            self.is_aside,
            level,
            is_warning,
            *place,
            not self.is_placed,
            information,
            not self.is_typed,
        )


def match_messages(index: Index, reading: Reading) -> list[MessageMatch]:
    """Return the best match of each entry whose messages stand in the paste, best first; ties in the order of slugs."""
    matches = []
    for hit in index.templates.find(reading.tokens):
        messages = index.messages(hit.template.slug)
        is_notice = messages["kind"] == "warning" or (messages["kind"] == "silent" and not hit.template.type)
        match = _judge(hit, reading, is_notice=is_notice) if _is_raised_there(messages, reading, hit) else None
        if match is not None and match.confidence == "exact" and not _shows_pytorch(messages, reading, hit):
            match = match._replace(confidence="likely")
        if match is not None:
            is_placed = any(hit.template.source in messages[files] for files in ("raised_in", "raised_below"))
            matches.append(match._replace(is_placed=is_placed))
    best: dict[str, MessageMatch] = {}
    for match in sorted(_without_covered(matches), key=_order_within_entry):
        best.setdefault(match.slug, match)
    return sorted(best.values(), key=_total_order)


def _order_within_entry(match: MessageMatch) -> tuple[Any, ...]:
    """Return the order of an entry's messages: one in the error before one in a warning beside it; of two in one error, the one at its beginning."""
    *levels, information, is_untyped = match.order()
    return match.is_aside, levels, match.hit.start, information, is_untyped, match.hit.template.id


def _total_order(match: MessageMatch) -> tuple[Any, ...]:
    return match.order(), match.slug, match.hit.start, match.hit.template.id


def best_ties(matches: list[MessageMatch]) -> int:
    """Return how many of the matches, which are in order, are tied with the first one."""
    return sum(match.order() == matches[0].order() for match in matches)


def message_signals(
    reading: Reading, query: Callable[[], Query], match: MessageMatch, reliability: float, ties: int, *, is_alone: bool
) -> dict[str, float]:
    """Return the numbers by which the entry of a message that matched whole is judged.

    `query` makes the terms of the paste; it is not called for a message alone. `reliability` is that of the entry, as log odds, and `ties` the number of
    entries that have the same message. A paste that says more shows more of its cause: the more terms it has beside the message, and the less these mean
    what the entry says, the more often the cause is one that the entry does not know. With `is_alone` the rest of the paste does not count, because it is
    about another error.
    """
    is_all = is_all_of_paste(reading, match)
    rest = {} if is_alone or is_all else query().rest(match.hit.template.source)
    return {
        "reliability": reliability,
        "ties": float(ties),
        "is_all": float(is_all),
        "rest": math.log1p(len(rest)),
        "rest_meaning": query().meaning(rest, match.slug) if rest else 0.0,
    }


def is_all_of_paste(reading: Reading, match: MessageMatch) -> bool:
    """Tell whether the paste is the message and no more, the exception's name aside: then its words tell nothing that the message does not."""
    return len(reading.tokens) <= match.hit.end - match.hit.start + match.is_typed


def has_full_line(reading: Reading, match: MessageMatch) -> bool:
    """Tell whether a line of the match is as long as the longest of the paste, and is not the last one: the paste may be wrapped there."""
    text = reading.text.text.rstrip()
    first, last = (reading.tokens[at].start for at in (match.hit.start, match.hit.end - 1))
    begin, end = text.rfind("\n", 0, first) + 1, text.find("\n", last)
    lines = text[begin:end].split("\n") if end >= 0 else text[begin:].split("\n")[:-1]
    return max(map(len, lines), default=0) == max(map(len, text.split("\n")))


def _judge(hit: TemplateHit, reading: Reading, *, is_notice: bool) -> MessageMatch | None:
    """Return the match with its confidence, or None if too little was matched to say anything.

    `is_notice` says that the entry is about what programs print beside their errors.
    """
    template, tokens, errors = hit.template, reading.tokens, reading.errors
    type_ = template.type.lower()
    typed = is_typed(type_, tokens, hit.start)
    rank = reading.error_rank(tokens[hit.start].start, tokens[hit.end - 1].start)
    error = errors[rank] if rank < len(errors) else None
    confidence: Confidence | None
    if template.is_bare_type:
        is_its_type = error is not None and (error.start == tokens[hit.start].start or error.type == template.type)
        confidence = "likely" if is_its_type else None
    elif (
        error is not None
        and not (hit.alignment.whole and not template.is_tail)
        and _belongs_to_other_message(reading, hit, error)
    ):
        confidence = None
    else:
        is_at_end = hit.end == len(tokens) or (error is not None and _is_whole_message(reading, hit, error))
        is_at_end = is_at_end and not _is_cut_in_name(hit)
        begins_line = error is not None or not _words_before(reading, hit, None)
        confidence = _confidence(hit, is_typed=typed, is_at_end=is_at_end, begins_line=begins_line)
    if confidence is None:
        return None
    causes = sum(error.role == "error" for error in errors)
    reports = reports_another(template.source)
    is_aside = causes <= rank and (rank < len(errors) or is_notice or reports)
    reports_shown = reports and not all(map(is_wrapper, errors[:causes]))
    is_below = error is not None and "\n\n" in reading.text.text[error.start : tokens[hit.start].start]
    is_aside = is_aside and (causes > 0 or reading.is_cut_off)
    return MessageMatch(hit, rank, typed, is_aside, is_notice, reports_shown, is_below, confidence)


def _confidence(hit: TemplateHit, *, is_typed: bool, is_at_end: bool, begins_line: bool) -> Confidence | None:
    """Return how sure a match of this template is, or None.

    A part of a template is measured by its information, because `object has no attribute` stands in many messages.
    `is_at_end` says that the paste, or the error's message in it, ends where the template was left; `begins_line` that no other words of a sentence
    stand before it.
    """
    template, aligned = hit.template, hit.alignment
    if aligned.whole and not template.is_tail:
        return "exact" if aligned.words >= 3 or is_typed else None
    matched = sum(template.information[: aligned.words])
    if is_at_end and not template.is_tail:
        needed = MIN_INFORMATION / 2 if begins_line else MIN_INFORMATION
        return None if matched < needed else "likely" if matched < MIN_INFORMATION else "exact"
    if matched < MIN_INFORMATION:
        return None
    if aligned.whole:
        return "exact" if matched >= 2 * MIN_INFORMATION else "likely"
    return "likely" if matched >= max(2.5 * MIN_INFORMATION, MIN_COVERAGE * sum(template.information)) else None


def _shows_pytorch(messages: MessagesDocument, reading: Reading, hit: TemplateHit) -> bool:
    """Tell whether the paste shows PyTorch, or the message is one that only PyTorch prints, or names a package that is built on it."""
    if hit.template.source not in messages["generic"]:
        return True
    if names_pytorch(reading.text.text):
        return True
    words = [token.text for token in reading.tokens[hit.start : hit.end]]
    if any(word.partition(".")[0] in BUILT_ON_PYTORCH for word in words):
        return True
    names_attribute = any(
        isinstance(piece, Placeholder) and piece.type in (MODULE, TENSOR) for piece in hit.template.pieces
    )
    return names_attribute and any(is_of_pytorch_alone(word) for word in words)


def _is_raised_there(messages: MessagesDocument, reading: Reading, hit: TemplateHit) -> bool:
    """Tell whether the message may come from anywhere, or the paste has a frame in a file that it names: the innermost where that file raises it."""
    raising = messages["raised_in"].get(hit.template.source)
    named = raising or messages["raised_below"].get(hit.template.source)
    if named is None:
        return True
    rank = reading.error_rank(reading.tokens[hit.start].start, reading.tokens[hit.end - 1].start)
    error = reading.errors[rank] if rank < len(reading.errors) else None
    files = traceback_files(reading.text.text, error)
    return any(file.replace("\\", "/").endswith(tuple(named)) for file in (files[-1:] if raising else files))


def _belongs_to_other_message(reading: Reading, hit: TemplateHit, error: ErrorSpan) -> bool:
    """Tell whether a part of a template stands in an error that says something else: one of another type, or in its middle.

    `list index out of range` is no beginning of `index out of range in self`. This does not apply to what stands on a line
    of its own, for example below a warning.
    """
    if "\n" in reading.text.text[error.message_start : reading.tokens[hit.start].start].strip():
        return False
    type_ = hit.template.type.lower()
    if type_ and error.type and " " not in error.type and error.type.rpartition(".")[2].lower() != type_:
        return True
    return not hit.alignment.whole and bool(_words_before(reading, hit, error))


def _words_before(reading: Reading, hit: TemplateHit, error: ErrorSpan | None) -> str:
    """Return what stands before the match: in the message of its error, or in its line where it is in no error."""
    text, start = reading.text.text, reading.tokens[hit.start].start
    beginning = error.message_start if error else text.rfind("\n", 0, start) + 1
    return text[beginning:start].strip(" '\"`([{:.")


def _is_cut_in_name(hit: TemplateHit) -> bool:
    """Tell whether the match ends inside a name of the template, as `torch` does in `torch-sparse`: then the paste has another name."""
    pieces, at = hit.template.pieces, hit.alignment.pieces
    return 0 < at < len(pieces) and f"{pieces[at - 1]}-{pieces[at]}" in hit.template.source.lower()


def _is_whole_message(reading: Reading, hit: TemplateHit, error: ErrorSpan) -> bool:
    """Tell whether the match is the message from its first word to the end of its line, or of its first sentence, which people quote alone."""
    text = reading.text.text
    line_end = text.find("\n", error.message_start) % (len(text) + 1)
    ends = reading.tokens[hit.end].start > line_end or _SENTENCE_END.match(text, reading.tokens[hit.end - 1].end)
    return not _words_before(reading, hit, error) and bool(ends)


def _without_covered(matches: list[MessageMatch]) -> list[MessageMatch]:
    """Leave out a match inside a longer one, or with which a more specific one starts; keep two that are alike."""

    def priority(match: MessageMatch) -> tuple[Any, ...]:
        words, is_typed = match.specificity
        template = match.hit.template
        place = match.hit.start, -match.hit.end
        return -words, -is_typed, *place, template.is_tail, -_literal_length(template.pieces), template.id

    kept: list[MessageMatch] = []
    for match in sorted(matches, key=priority):
        covering = [other for other in kept if other.hit.start <= match.hit.start and match.hit.end <= other.hit.end]
        if all(other.specificity == match.specificity and other.slug != match.slug for other in covering):
            kept.append(match)
    return kept


def _literal_length(pieces: Sequence[Piece]) -> int:
    """Return the number of characters that a template fixes, those glued to placeholders included."""
    return sum(len(piece) if isinstance(piece, str) else len(piece.prefix + piece.suffix) for piece in pieces)

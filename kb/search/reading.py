"""One way to read a paste: its normalized text, its tokens, and the errors in it.

A paste has up to three readings: as it is, with hard-wrapped lines joined, and with misspelt words corrected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb.startup.named_tuple import NamedTuple
from kb.text.frames import shows_traceback
from kb.text.lexer import Token, lex
from kb.text.normalize import NormalizedText, normalize, unwrap_hard_wraps
from kb.text.tracebacks import ErrorSpan, find_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.index.reader import Index
    from kb.index.spelling import Speller

__all__ = ["Reading", "correct_spelling", "read", "readings"]

_MAX_CORRECTIONS = 400
"""The maximum number of words of one paste that are looked up for a misspelling."""


class Reading(NamedTuple):
    """A paste as it is read: `pasted` is the original, `errors` are in the order of causes, root cause first."""

    pasted: str
    text: NormalizedText
    tokens: Sequence[Token]
    errors: Sequence[ErrorSpan]
    is_corrected: bool = False

    def error_rank(self, begin: int, end: int) -> int:
        """Return the position, in the order of causes, of the error whose text contains a match; their number if none does.

        `begin` and `end` are the offsets of the match's first and last token. A line of source code that raises an error, as
        a traceback shows it, belongs to no error. A match that begins there or in a frame is where it ends.
        """
        at = end if self._is_raising(begin) or self._starts_line(begin, 'File "') else begin
        before = [(error.start, rank) for rank, error in enumerate(self.errors) if error.start <= at]
        return max(before)[1] if before and not self._is_raising(at) else len(self.errors)

    def _is_raising(self, offset: int) -> bool:
        return self._starts_line(offset, "raise ")

    def _starts_line(self, offset: int, start: str) -> bool:
        return self.text.text.startswith(start, _line_start(self.text.text, offset))

    @property
    def is_cut_off(self) -> bool:
        """Whether the paste shows a traceback and not the error that it led to, because it was cut off there."""
        is_caused = any(error.role == "error" for error in self.errors)
        after = max((error.start for error in self.errors), default=0)
        return not is_caused and shows_traceback(self.text.text, after)

    def root_cause(self) -> ErrorSpan | None:
        """Return the first error, or the first warning if there is no error."""
        return next((error for role in ("error", "warning") for error in self.errors if error.role == role), None)


def read(pasted: str) -> Reading:
    """Return the paste read as it is."""
    return _read(pasted, normalize(pasted))


def readings(index: Index, pasted: str) -> Iterator[Reading]:
    """Yield the readings of a paste, the one that changes least first. A reading that would equal an earlier one is left out."""
    first = read(pasted)
    yield first
    unwrapped = unwrap_hard_wraps(first.text)
    if unwrapped is not None:
        yield _read(pasted, unwrapped)
    corrected = correct_spelling(index.speller, first.tokens)
    if corrected is not None:
        yield first._replace(tokens=corrected, is_corrected=True)


def correct_spelling(speller: Speller, tokens: Sequence[Token]) -> list[Token] | None:
    """Return the tokens with misspelt words corrected, or None if there are none."""
    corrected: list[Token] = []
    is_changed, looked_up = False, 0
    for token in tokens:
        words: list[str] = []
        if token.type == "word" and looked_up < _MAX_CORRECTIONS:
            words = speller.correct(token.text)
            looked_up += 1
        is_changed |= bool(words)
        corrected += [token._replace(text=word) for word in words] or [token]
    return corrected if is_changed else None


def _read(pasted: str, text: NormalizedText) -> Reading:
    return Reading(pasted, text, lex(text.text), find_errors(text))


def _line_start(text: str, offset: int) -> int:
    """Return where the line of the offset begins, after its indentation."""
    start = text.rfind("\n", 0, offset) + 1
    return offset - len(text[start:offset].lstrip())

"""What a look-up returns: plain, immutable data, ready for a page, a terminal or JSON."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from kb.paste import FoundError

__all__ = ["Answer", "Confidence", "Evidence", "Lang", "Match"]

Confidence = Literal["exact", "likely", "related"]
Lang = Literal["en", "zh"]


class Evidence(NamedTuple):
    """Why an entry was found: the line of the paste and the template that matches it, or the words that both have.

    `line_number` counts from 1; 0 says that no single line decided. `values` are what the template's named placeholders
    stand for, and `explain` is the entry's line about them in both languages, where all its names were captured.
    """

    line: str = ""
    line_number: int = 0
    template: str = ""
    words: tuple[str, ...] = ()
    values: dict[str, str] = {}  # noqa: RUF012 - never changed
    explain: dict[str, str] | None = None


class Match(NamedTuple):
    """An entry that answers the paste, or is related to it. `score` is in [0, 1] and falls along the matches."""

    id: str
    confidence: Confidence
    score: float
    title: dict[str, str]
    evidence: Evidence


class Answer(NamedTuple):
    """The matches, best first, and the errors in the paste, root cause first.

    `answered` is false where no match is better than related.
    """

    answered: bool
    matches: tuple[Match, ...]
    errors: tuple[FoundError, ...]
    lang: Lang

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as `kb lookup --json` prints it."""
        return {
            "answered": self.answered,
            "matches": [{**found._asdict(), "evidence": found.evidence._asdict()} for found in self.matches],
            "errors": [{**error._asdict(), "frame": error.frame and error.frame._asdict()} for error in self.errors],
        }

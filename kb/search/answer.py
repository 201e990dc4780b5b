"""What a look-up returns: plain, immutable data, ready for a page, a terminal or JSON."""

from __future__ import annotations

from kb.startup.named_tuple import NamedTuple
from kb.text.languages import Lang
from kb.text.tracebacks import PastedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

__all__ = ["Answer", "Confidence", "Evidence", "Match", "RecordAnswer", "Understood"]

Confidence: TypeAlias = "Literal['exact', 'likely', 'related']"


class Evidence(NamedTuple):
    """Why an entry was found: the line of the paste and the template that matches it, or the words that both have.

    `line_number` counts from 1; 0 says that no single line decided. `values` are what the template's named placeholders
    stand for, and `explain` is the entry's line about them in both languages, where all its names were captured. `is_whole` says that a whole message
    matched, whose entry is exact or, where it often was not the answer to posts with it, likely.
    """

    line: str = ""
    line_number: int = 0
    template: str = ""
    words: tuple[str, ...] = ()
    values: dict[str, str] = {}  # noqa: RUF012 - never changed
    explain: dict[str, str] | None = None
    is_whole: bool = False


class Match(NamedTuple):
    """An entry that answers the paste, or is related to it. `score` is in [0, 1] and falls along the matches."""

    id: str
    confidence: Confidence
    score: float
    title: dict[Lang, str]
    evidence: Evidence


class RecordAnswer(NamedTuple):
    """What the released packages say. It is read from them and is no verified fix.

    `kind` is `name` (an error about a name or an argument), `versions` (releases that do not fit together) or `origin` (who prints the message).
    `name` is the qualified name, the requirement that is kept, or the function that prints the message; `verdict` is that of
    `kb.record.name_answer.NameAnswer` or the kind of `kb.record.requirement_errors.RequirementAnswer`. `install` are requirements of which one is
    to be installed. `sentences` have code in backticks. `address` is that of the source, if it is known.
    """

    kind: Literal["name", "versions", "origin"]
    package: str
    name: str
    verdict: str
    install: tuple[str, ...]
    sentences: dict[Lang, tuple[str, ...]]
    address: str

    def text(self, lang: Lang) -> str:
        """Return the sentences in one language as one text."""
        return ("" if lang == "zh" else " ").join(self.sentences[lang])


class Understood(NamedTuple):
    """What kb read of a paste that no entry answers.

    `raised_by` is the package whose code raised the root cause, empty where no frame tells, and `version` its version, empty where the paste does not
    show it. `is_foreign` says that another library raised it and that nothing shows PyTorch. `next_step` is what to try next, in both languages.
    """

    raised_by: str
    version: str
    is_foreign: bool
    next_step: dict[Lang, str]


_NEAR = 0.25
"""The probability from which kb doesn't say that it has no entry."""


class Answer(NamedTuple):
    """The matches, best first, and the errors in the paste, root cause first.

    `answered` is false where no match is better than related; then `understood` is set. `record` is what the released packages say, beside the matches
    and whether or not there are any; None if they say nothing. `cause_similarities` say how similar the paste is to what each cause of the answer says, where
    there are several and no message names one.
    """

    answered: bool
    matches: tuple[Match, ...]
    errors: tuple[PastedError, ...]
    lang: Lang
    record: RecordAnswer | None = None
    understood: Understood | None = None
    cause_similarities: tuple[float, ...] = ()

    @property
    def is_foreign(self) -> bool:
        """Whether another library raised the error, and nothing shows PyTorch."""
        return self.understood is not None and self.understood.is_foreign

    @property
    def outcome(self) -> Literal["answered", "recorded", "unsure", "none"]:
        """What is said first: an entry answers; none does, but the released packages say what happened; the nearest entry may answer; none does."""
        if self.answered:
            return "answered"
        if self.record is not None and self.record.kind != "origin":
            return "recorded"
        return "unsure" if self.matches and self.matches[0].score >= _NEAR else "none"

    @property
    def equals(self) -> tuple[Match, ...]:
        """The other answers to the message that the first match explains: the same line may come from either mistake."""
        if not self.answered or not self.matches[0].evidence.line_number:
            return ()
        answers = [match for match in self.matches if match.confidence != "related"]
        places = [(match.evidence.line_number, match.evidence.template) for match in answers]
        return tuple(match for match, place in zip(answers[1:], places[1:], strict=True) if place == places[0])

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as `kb lookup --json` prints it."""
        return {
            "answered": self.answered,
            "matches": [{**match._asdict(), "evidence": match.evidence._asdict()} for match in self.matches],
            "errors": [{**error._asdict(), "frame": error.frame and error.frame._asdict()} for error in self.errors],
            "record": self.record and self.record._asdict(),
            "understood": self.understood and self.understood._asdict(),
        }

"""What is said where no entry answers: what was read in the paste, and how the nearest entries differ from it."""

from __future__ import annotations

from kb.render.strings import STRINGS
from kb.search.cause_choice import PLACEHOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb.search.answer import Answer, Match

__all__ = ["how_it_differs", "what_was_read"]

_MAX_ERROR = 200
"""The characters shown of an error."""

_MAX_WORDS = 5


def what_was_read(answer: Answer) -> str:
    """Return a sentence about the paste's error and the package that raised it, or that there is no error in it; errors stand in backticks."""
    words, understood = STRINGS[answer.lang], answer.understood
    if not answer.errors:
        return words["read_nothing"]
    error = answer.errors[0]
    shown = ": ".join(filter(None, (error.type, error.message.partition("\n")[0]))).replace("`", "'")
    said = words["read"].format(shown if len(shown) <= _MAX_ERROR else shown[:_MAX_ERROR] + "…", error.line_number)
    if understood is None or not understood.raised_by:
        return said
    package = f"{understood.raised_by} {understood.version}".strip()
    return said + words["read_foreign" if understood.is_foreign else "read_by"].format(package, understood.raised_by)


def how_it_differs(answer: Answer, match: Match, messages: Sequence[str]) -> str:
    """Return how an entry with these messages differs from the paste: by its message most like the paste's error, else by the few words that both share."""
    words = STRINGS[answer.lang]
    if answer.errors and messages:
        asked = set(answer.errors[0].message.lower().split())
        nearest = max(
            messages, key=lambda message: (message.startswith(answer.errors[0].type), _overlap(message, asked))
        )
        return words["its_message"].format(PLACEHOLDER.sub("…", nearest.partition("\n")[0]).replace("`", "'"))
    shared = match.evidence.words[:_MAX_WORDS]
    return words["shares"].format(words["comma"].join(shared)) if shared else ""


def _overlap(message: str, asked: set[str]) -> int:
    return len(asked.intersection(message.lower().split()))
